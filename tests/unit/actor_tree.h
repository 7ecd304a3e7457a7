/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the suites of a receiver of trees share: a sender that is an actor with steps, each taken when the one before was answered,
 * and what it says of tops and entries.
 */
#ifndef RDCP_TEST_ACTOR_TREE_H
#define RDCP_TEST_ACTOR_TREE_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor_sender.h"

#define BELOW WIRE_FILE_BELOW
#define DIRECTORY WIRE_FILE_DIRECTORY
#define LEAVE (WIRE_FILE_DIRECTORY | WIRE_FILE_LEAVE)

/* ---- what a sender of trees says ---------------------------------------------------------------------------- */

static void say_entry(struct session_end *e, uint32_t number, uint32_t request, uint32_t flags, const char *path,
		      const char *name)
{
	struct wire_record rec = { .type = WIRE_FILE };

	rec.file = (struct wire_file){
		.file = number,
		.request = request,
		.flags = flags,
		.mode = 0755,
		.path = wire_text(path),
		.name = wire_text(name),
	};
	actor_say(e, &rec);
}

static void say_link(struct session_end *e, uint32_t number, const char *text)
{
	struct wire_record rec = { .type = WIRE_LINK, .link.file = number };

	rec.link.text = wire_text(text);
	actor_say(e, &rec);
}

static void say_close(struct session_end *e, uint32_t number)
{
	struct wire_record rec = actor_close(number, NULL);

	actor_say(e, &rec);
}

/* All of an entry without bytes. */
static void say_whole(struct session_end *e, uint32_t number, uint32_t request, uint32_t flags, const char *path,
		      const char *name)
{
	say_entry(e, number, request, flags, path, name);
	if (flags & (WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK))
		say_link(e, number, "text");
	say_close(e, number);
}

static void say_top(struct session_end *e, uint32_t number, uint32_t request, const char *path)
{
	say_whole(e, number, request, DIRECTORY, path, "top");
}

__attribute__((unused)) static void say_ping(struct session_end *e)
{
	const struct wire_record rec = { .type = WIRE_PING };

	actor_say(e, &rec);
}

/* ---- scripts: a step at the beginning, the next ones with each answer to the one before ---------------------- */

static void (*const *steps)(struct session_end *e);
static unsigned int step, wanted; /* RESULTs, or a PONG, that the next one waits for */

static void on_answer(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type != WIRE_RESULT && rec->type != WIRE_PONG)
		return;
	if (wanted && --wanted == 0 && steps[step])
		steps[step++](e);
}

static void first_step(struct session_end *e)
{
	e->react = on_answer;
	steps[step++](e);
}

static void run_steps(int transport, void (*const *script)(struct session_end *e))
{
	steps = script;
	step = wanted = 0;
	begin(transport, first_step);
	session_run(&session);
}

__attribute__((unused)) static void expect_well(uint64_t results)
{
	end_expect(session.to, STATUS_OK);
	ck_assert_uint_eq(session.from->heard[WIRE_RESULT], results);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 1);
	for (unsigned int i = 0; i < results; i++)
		ck_assert_uint_eq(session.from->verdicts[i].calls, 1);
	session_done(&session);
	ck_assert_uint_eq(count_temps("root"), 0);
	tree_expect("root/old", "old");
}

__attribute__((unused)) static void expect_verdict(uint32_t number, enum status status)
{
	const struct verdict *v = &session.from->verdicts[number];

	ck_assert_msg(v->calls == 1 && v->status == status, "file %u: %u verdicts, status %d: %s", number, v->calls,
		      v->status, v->text);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

__attribute__((unused)) static void say_first_top(struct session_end *e)
{
	wanted = 1;
	say_top(e, 0, 0, "top");
}

#endif
