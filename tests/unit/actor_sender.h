/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the suites of the receiving engine share: a session whose sender is an actor with a script, and a destination in which
 * nothing may change. Sources are none; the destination "old" is there.
 */
#ifndef RDCP_TEST_ACTOR_SENDER_H
#define RDCP_TEST_ACTOR_SENDER_H

#include <dirent.h>
#include <stdio.h>

#include "engine_pair.h"
#include "tree.h"

static struct session session;
static const uint8_t bytes[4096] = "what is in a slot";

static void begin(int transport, void (*script)(struct session_end *e))
{
	session_init(&session, transport, tree_root, false, END_ACTOR, END_RECEIVER);
	session.from->begin = script;
	tree_write("root/old", "old");
}

/* What there was is all that there is. */
__attribute__((unused)) static void expect_untouched(void)
{
	DIR *dir = opendir("root");
	unsigned int entries = 0;

	while (readdir(dir))
		entries++;
	closedir(dir);
	ck_assert_uint_eq(entries, 3);
	tree_expect("root/old", "old");
}

__attribute__((unused)) static void say_abort(struct session_end *e, uint32_t file, unsigned int status,
					      const char *text)
{
	struct wire_record rec = { .type = WIRE_ABORT };

	rec.abort.file = file;
	rec.abort.request = file % SESSION_FILES;
	rec.abort.status = (uint16_t)status;
	rec.abort.text = wire_text(text);
	actor_say(e, &rec);
}

static TCase *receiver_tcase(Suite *s, const char *name)
{
	TCase *tc = endpoint_tcase(name);

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	suite_add_tcase(s, tc);
	return tc;
}

#endif
