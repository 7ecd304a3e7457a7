/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Directories that are lost: what is beneath them, and what only looks like it. */
#include <check.h>
#include <stdio.h>

#include "common/subtrees.h"

Suite *subtrees_suite(void);

START_TEST(what_is_beneath_is_found_and_nothing_else)
{
	struct subtrees s = { 0 };

	ck_assert_ptr_null(subtrees_find(&s, "a"));
	subtrees_add(&s, "a");
	subtrees_add(&s, "b/c");
	ck_assert_str_eq(subtrees_find(&s, "a/b")->path, "a");
	ck_assert_str_eq(subtrees_find(&s, "a/b/c")->path, "a");
	ck_assert_str_eq(subtrees_find(&s, "b/c/d")->path, "b/c");
	ck_assert_ptr_null(subtrees_find(&s, "a"));
	ck_assert_ptr_null(subtrees_find(&s, "ab/c"));
	ck_assert_ptr_null(subtrees_find(&s, "b/d"));
	ck_assert_ptr_null(subtrees_find(&s, ""));
	subtrees_done(&s);
	ck_assert_ptr_null(subtrees_find(&s, "a/b"));
}
END_TEST

START_TEST(what_fails_is_counted_beneath_a_lost_directory)
{
	struct subtrees s = { 0 };

	ck_assert(!subtrees_note(&s, "f", false));
	ck_assert(!subtrees_note(&s, "a", true));
	ck_assert(subtrees_note(&s, "a/f", false));
	ck_assert(subtrees_note(&s, "a/b", true));
	ck_assert(subtrees_note(&s, "a/b/f", false));
	ck_assert_uint_eq(s.count, 1);
	ck_assert_uint_eq(s.newest->entries, 3);
	ck_assert(subtrees_have(&s, "a"));
	ck_assert(subtrees_have(&s, "a/b/c"));
	ck_assert(!subtrees_have(&s, "f"));
	ck_assert(!subtrees_have(&s, "ab"));
	subtrees_done(&s);
}
END_TEST

START_TEST(one_too_many_is_not_remembered)
{
	struct subtrees s = { 0 };
	char path[32];

	for (unsigned int i = 0; i <= SUBTREES_MAX; i++) {
		snprintf(path, sizeof(path), "d%u", i);
		subtrees_add(&s, path);
	}
	ck_assert_uint_eq(s.count, SUBTREES_MAX);
	ck_assert_ptr_null(subtrees_find(&s, "d256/x"));
	ck_assert_ptr_nonnull(subtrees_find(&s, "d0/x"));
	subtrees_done(&s);
}
END_TEST

START_TEST(sentence_names_the_directory_and_counts)
{
	char say[SUBTREES_SENTENCE_MAX];

	ck_assert_str_eq(subtrees_say(say, sizeof(say), "a\nd", 1, "stored"),
			 "'a\\012d': 1 entry beneath it was not stored, either");
	ck_assert_str_eq(subtrees_say(say, sizeof(say), "d", 2, "copied"),
			 "'d': 2 entries beneath it were not copied, either");
}
END_TEST

Suite *subtrees_suite(void)
{
	Suite *s = suite_create("subtrees");
	TCase *tc = tcase_create("subtrees");

	tcase_add_test(tc, what_is_beneath_is_found_and_nothing_else);
	tcase_add_test(tc, what_fails_is_counted_beneath_a_lost_directory);
	tcase_add_test(tc, one_too_many_is_not_remembered);
	tcase_add_test(tc, sentence_names_the_directory_and_counts);
	suite_add_tcase(s, tc);
	return s;
}
