/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The directory that a tree goes to: known again on this host, and on no other. */
#include <check.h>
#include <errno.h>
#include <stdint.h>

#include "common/here.h"
#include "common/util.h"
#include "common/walk.h"
#include "tree.h"

Suite *here_suite(void);

START_TEST(directory_is_known_again_on_this_host)
{
	struct wire_here here;
	struct stat st;

	ck_assert_int_eq(here_of(tree_root, &here), 0);
	ck_assert(here_is_this_host(&here));
	ck_assert_int_eq(stat("root", &st), 0);
	ck_assert(here_is(&here, &st));
	ck_assert_int_eq(stat(".", &st), 0);
	ck_assert(!here_is(&here, &st));
	ck_assert_int_eq(here_of(-1, &here), -EBADF);
}
END_TEST

START_TEST(host_of_another_time_is_another_host)
{
	static const int64_t others[] = { INT64_MIN, INT64_MAX, 0 };
	struct wire_here here;
	int64_t started;

	ck_assert_int_eq(here_of(tree_root, &here), 0);
	started = here.started_ns;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		here.started_ns = others[i];
		ck_assert(!here_is_this_host(&here));
	}
	for (int i = -1; i <= 1; i += 2) {
		here.started_ns = started + i * (int64_t)SEC;
		ck_assert(!here_is_this_host(&here));
	}
}
END_TEST

START_TEST(walk_does_not_enter_where_it_is_copied_to)
{
	struct walk_entry entries[8];
	struct wire_here here;
	struct walk walk;

	ck_assert_int_eq(mkdir("root/d", 0755), 0);
	tree_write("root/f", "f");
	ck_assert_int_eq(here_of(tree_root, &here), 0);
	walk_init(&walk);
	walk.destination = &here;
	ck_assert_int_eq(walk_open(&walk, AT_FDCWD, ".", false), 0);
	ck_assert_int_eq(walk_read(&walk, entries, ARRAY_SIZE(entries)), 1);
	ck_assert_str_eq(entries[0].name, "root");
	ck_assert_int_eq(entries[0].error, WALK_ITSELF);
	walk_entry_done(&entries[0]);
	walk_close(&walk);
}
END_TEST

Suite *here_suite(void)
{
	Suite *s = suite_create("here");
	TCase *tc = tcase_create("here");

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	tcase_add_test(tc, directory_is_known_again_on_this_host);
	tcase_add_test(tc, host_of_another_time_is_another_host);
	tcase_add_test(tc, walk_does_not_enter_where_it_is_copied_to);
	suite_add_tcase(s, tc);
	return s;
}
