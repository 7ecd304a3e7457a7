/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* names.h: what was added is found, nothing else is, and the limit holds. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/names.h"

Suite *names_suite(void);

static struct names names;

static void setup(void)
{
	ck_assert_int_eq(names_init(&names, NAMES_MAX), 0);
}

static void teardown(void)
{
	names_done(&names);
}

static int add(uint32_t id, const char *path)
{
	return names_add(&names, &id, sizeof(id), path, strlen(path));
}

static bool contains(uint32_t id, const char *path)
{
	return names_contains(&names, &id, sizeof(id), path, strlen(path));
}

START_TEST(empty_set_contains_nothing)
{
	ck_assert(!contains(0, ""));
	ck_assert(!contains(1, "a"));
	ck_assert(!names_contains(&names, NULL, 0, "", 0));
	ck_assert_ptr_null(names.table);
}
END_TEST

START_TEST(name_that_was_added_is_found)
{
	ck_assert_int_eq(add(1, "a/b"), 1);
	ck_assert(contains(1, "a/b"));
	ck_assert_uint_eq(names.count, 1);
}
END_TEST

START_TEST(name_that_differs_in_anything_is_not_found)
{
	ck_assert_int_eq(add(1, "a/b"), 1);
	ck_assert(!contains(2, "a/b"));
	ck_assert(!contains(1, "a/c"));
	ck_assert(!contains(1, "a/b/"));
	ck_assert(!contains(1, "a/"));
	ck_assert(!contains(1, ""));
	ck_assert(!names_contains(&names, NULL, 0, "a/b", 3));
}
END_TEST

START_TEST(id_and_path_do_not_run_into_each_other)
{
	ck_assert_int_eq(names_add(&names, "ab", 2, "c", 1), 1);
	ck_assert(!names_contains(&names, "a", 1, "bc", 2));
	ck_assert(!names_contains(&names, "abc", 3, "", 0));
	ck_assert(!names_contains(&names, NULL, 0, "abc", 3));
	ck_assert(names_contains(&names, "ab", 2, "c", 1));
}
END_TEST

START_TEST(name_that_is_added_twice_counts_once)
{
	ck_assert_int_eq(add(7, "x"), 1);
	ck_assert_int_eq(add(7, "x"), 0);
	ck_assert_uint_eq(names.count, 1);
}
END_TEST

START_TEST(longest_id_counts_to_its_last_byte)
{
	char id[NAMES_ID_MAX];

	memset(id, 'i', sizeof(id));
	ck_assert_int_eq(names_add(&names, id, sizeof(id), "x", 1), 1);
	ck_assert(names_contains(&names, id, sizeof(id), "x", 1));
	id[NAMES_ID_MAX - 1]++;
	ck_assert(!names_contains(&names, id, sizeof(id), "x", 1));
}
END_TEST

START_TEST(path_of_any_bytes_and_length_is_found)
{
	static uint8_t path[8192];

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (uint8_t)(i * 7);
	for (size_t len = 0; len <= sizeof(path); len += len < 300 ? 1 : 61)
		ck_assert_int_eq(names_add(&names, NULL, 0, path, len), 1);
	for (size_t len = 0; len <= sizeof(path); len += len < 300 ? 1 : 61)
		ck_assert(names_contains(&names, NULL, 0, path, len));
	path[sizeof(path) / 2]++;
	ck_assert(!names_contains(&names, NULL, 0, path, sizeof(path) / 2 + 1));
}
END_TEST

START_TEST(set_that_grows_keeps_its_names)
{
	char path[32];

	for (uint32_t i = 0; i < 100000; i++) {
		snprintf(path, sizeof(path), "dir/%u", i);
		ck_assert_int_eq(add(i % 3, path), 1);
	}
	ck_assert_uint_eq(names.count, 100000);
	ck_assert_uint_le(names.room, 262144);
	for (uint32_t i = 0; i < 100000; i++) {
		snprintf(path, sizeof(path), "dir/%u", i);
		ck_assert(contains(i % 3, path));
		ck_assert(!contains(i % 3 + 1, path));
	}
}
END_TEST

START_TEST(name_beyond_the_limit_is_not_remembered)
{
	names_done(&names);
	ck_assert_int_eq(names_init(&names, 2), 0);
	ck_assert_int_eq(add(0, "a"), 1);
	ck_assert_int_eq(add(0, "b"), 1);
	ck_assert_int_eq(add(0, "c"), -ENOSPC);
	ck_assert(!contains(0, "c"));
	ck_assert_int_eq(add(0, "b"), 0);
	ck_assert(contains(0, "a"));
	ck_assert_uint_eq(names.count, 2);
}
END_TEST

START_TEST(limit_is_never_beyond_the_stated_one)
{
	names_done(&names);
	ck_assert_int_eq(names_init(&names, SIZE_MAX), 0);
	ck_assert_uint_eq(names.max, NAMES_MAX);
}
END_TEST

START_TEST(sets_hash_with_secrets_of_their_own)
{
	struct names other;

	ck_assert_int_eq(names_init(&other, 8), 0);
	ck_assert_int_eq(add(1, "a"), 1);
	ck_assert_int_eq(names_add(&other, &(uint32_t){ 1 }, sizeof(uint32_t), "a", 1), 1);
	ck_assert_mem_ne(names.secret, other.secret, sizeof(other.secret));
	ck_assert_mem_ne(names.table, other.table, 64 * sizeof(*names.table));
	names_done(&other);
}
END_TEST

START_TEST(set_that_was_released_is_empty)
{
	ck_assert_int_eq(add(1, "a"), 1);
	names_done(&names);
	ck_assert_ptr_null(names.table);
	names_done(&names);
	ck_assert_int_eq(names_init(&names, NAMES_MAX), 0);
	ck_assert(!contains(1, "a"));
}
END_TEST

Suite *names_suite(void)
{
	Suite *suite = suite_create("names");
	TCase *tc = tcase_create("names");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, empty_set_contains_nothing);
	tcase_add_test(tc, name_that_was_added_is_found);
	tcase_add_test(tc, name_that_differs_in_anything_is_not_found);
	tcase_add_test(tc, id_and_path_do_not_run_into_each_other);
	tcase_add_test(tc, name_that_is_added_twice_counts_once);
	tcase_add_test(tc, longest_id_counts_to_its_last_byte);
	tcase_add_test(tc, path_of_any_bytes_and_length_is_found);
	tcase_add_test(tc, set_that_grows_keeps_its_names);
	tcase_add_test(tc, name_beyond_the_limit_is_not_remembered);
	tcase_add_test(tc, limit_is_never_beyond_the_stated_one);
	tcase_add_test(tc, sets_hash_with_secrets_of_their_own);
	tcase_add_test(tc, set_that_was_released_is_empty);
	return suite;
}
