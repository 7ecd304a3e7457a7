/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The set of what was made, and the rename that looks there. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/budget.h"
#include "common/made.h"
#include "tree.h"

Suite *made_suite(void);

static struct made made;

static void setup(void)
{
	tree_setup();
	made_init(&made, NULL);
}

static void teardown(void)
{
	made_done(&made);
	tree_teardown();
}

static struct stat file(dev_t dev, ino_t ino)
{
	return (struct stat){ .st_dev = dev, .st_ino = ino };
}

START_TEST(what_was_added_is_there_and_nothing_else)
{
	const unsigned int files = 10000;

	for (unsigned int i = 1; i <= files; i++) {
		struct stat st = file(i % 3, i);

		ck_assert_int_eq(made_add(&made, &st), 0);
		ck_assert_int_eq(made_add(&made, &st), 0);
	}
	ck_assert_uint_eq(made.count, files);
	for (unsigned int i = 1; i <= files; i++) {
		struct stat st = file(i % 3, i), other_device = file(i % 3 + 3, i), other = file(i % 3, i + files);

		ck_assert(made_contains(&made, &st));
		ck_assert(!made_contains(&made, &other_device));
		ck_assert(!made_contains(&made, &other));
	}
}
END_TEST

static int rename_to(const char *from, const char *to, bool add, bool expected)
{
	struct stat st;

	ck_assert_int_eq(lstat(from, &st), 0);
	if (add)
		ck_assert_int_eq(made_add(&made, &st), 0);
	return made_rename(&made, &st, expected, AT_FDCWD, from, AT_FDCWD, to);
}

START_TEST(what_was_made_is_not_replaced_and_what_was_there_is)
{
	const bool expected = _i;

	tree_write("there", "old");
	tree_write("a", "first");
	tree_write("b", "second");
	ck_assert_int_eq(rename_to("a", "there", true, expected), 0);
	tree_expect("there", "first");
	ck_assert_int_eq(rename_to("b", "there", true, expected), -ENOTUNIQ);
	tree_expect("there", "first");
	tree_expect("b", "second");
	ck_assert_int_eq(rename_to("b", "new", true, expected), 0);
	tree_expect("new", "second");
}
END_TEST

START_TEST(further_name_of_what_is_there_already_is_no_clash)
{
	tree_write("a", "text");
	ck_assert_int_eq(link("a", "b") | link("a", "temporary"), 0);
	ck_assert_int_eq(rename_to("temporary", "b", true, false), 0);
	tree_expect("b", "text");
}
END_TEST

START_TEST(a_directory_that_is_missing_is_an_error)
{
	tree_write("a", "text");
	ck_assert_int_eq(rename_to("a", "no/where", true, false), -ENOENT);
	ck_assert_int_eq(rename_to("a", "no/where", true, true), -ENOENT);
}
END_TEST

START_TEST(what_there_is_no_memory_for_is_not_remembered)
{
	struct budget memory;
	unsigned int known = 0;

	made_done(&made);
	budget_init(&memory, 10000, NULL);
	made_init(&made, &memory);
	for (unsigned int i = 1; i <= 10000; i++) {
		struct stat st = file(1, i);

		ck_assert_int_eq(made_add(&made, &st), 0);
		known += made_contains(&made, &st);
		ck_assert_uint_le(memory.used, 10000);
	}
	ck_assert_uint_gt(known, 100);
	ck_assert_uint_lt(known, 10000 / sizeof(struct made_file));
	made_done(&made);
	ck_assert_uint_eq(memory.used, 0);
	made_init(&made, NULL);
}
END_TEST

Suite *made_suite(void)
{
	Suite *s = suite_create("made");
	TCase *tc = tcase_create("made");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_was_added_is_there_and_nothing_else);
	tcase_add_test(tc, what_there_is_no_memory_for_is_not_remembered);
	tcase_add_loop_test(tc, what_was_made_is_not_replaced_and_what_was_there_is, 0, 2);
	tcase_add_test(tc, further_name_of_what_is_there_already_is_no_clash);
	tcase_add_test(tc, a_directory_that_is_missing_is_an_error);
	suite_add_tcase(s, tc);
	return s;
}
