/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files with several names: which name is the first, and in which order the others come back. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/budget.h"
#include "common/links.h"

Suite *links_suite(void);

static struct links links;

static void setup(void)
{
	memset(&links, 0, sizeof(links));
}

static void teardown(void)
{
	links_done(&links);
}

static int add(dev_t dev, ino_t ino, const char *dir, const char *name, struct links_file **ret_file)
{
	const struct stat st = { .st_dev = dev, .st_ino = ino };

	return links_add(&links, &st, dir, name, NULL, ret_file);
}

START_TEST(a_first_name_is_new_and_further_ones_lead_to_it)
{
	struct links_file *first, *other;
	struct links_name name;

	ck_assert_int_eq(add(1, 10, "", "a", &first), 0);
	ck_assert_str_eq(first->path, "a");
	ck_assert_int_eq(add(1, 11, "d/e", "b", &other), 0);
	ck_assert_str_eq(other->path, "d/e/b");
	ck_assert_int_eq(add(1, 11, "", "c", &other), 1);
	ck_assert_int_eq(add(1, 10, "d", "x", &other), 1);

	ck_assert(links_take(&links, &name));
	ck_assert_str_eq(name.file->path, "d/e/b");
	ck_assert_str_eq(name.dir, "");
	ck_assert_str_eq(name.name, "c");
	free(name.dir);
	free(name.name);
	ck_assert(links_take(&links, &name));
	ck_assert_ptr_eq(name.file, first);
	ck_assert_str_eq(name.dir, "d");
	free(name.dir);
	free(name.name);
	ck_assert(!links_take(&links, &name));
}
END_TEST

START_TEST(the_same_number_on_another_device_is_another_file)
{
	struct links_file *first;

	ck_assert_int_eq(add(1, 10, "", "a", &first), 0);
	ck_assert_int_eq(add(2, 10, "", "b", &first), 0);
	ck_assert_str_eq(first->path, "b");
}
END_TEST

START_TEST(names_added_after_some_were_taken_come_as_well)
{
	struct links_file *file;
	struct links_name name;

	ck_assert_int_eq(add(1, 1, "", "a", &file), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(add(1, 1, "d", "b", &file), 1);
		ck_assert(links_take(&links, &name));
		ck_assert_str_eq(name.name, "b");
		free(name.dir);
		free(name.name);
		ck_assert(!links_take(&links, &name));
	}
}
END_TEST

START_TEST(many_files_are_all_found_again)
{
	struct links_file *file;
	struct links_name name;
	char text[16];
	int i;

	for (i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		ck_assert_int_eq(add(1, (ino_t)i * 4096, "", text, &file), 0);
	}
	for (i = 0; i < 5000; i++)
		ck_assert_int_eq(add(1, (ino_t)i * 4096, "second", "name", &file), 1);
	for (i = 0; links_take(&links, &name); i++) {
		snprintf(text, sizeof(text), "%d", i);
		ck_assert_str_eq(name.file->path, text);
		free(name.dir);
		free(name.name);
	}
	ck_assert_int_eq(i, 5000);
}
END_TEST

START_TEST(names_beyond_the_limit_are_files_of_their_own)
{
	struct links_file *file;

	ck_assert_int_eq(add(1, 1, "", "a", &file), 0);
	links.names = LINKS_MAX - 1;
	ck_assert_int_eq(add(1, 1, "", "b", &file), 0);
	ck_assert_ptr_null(file);
	ck_assert_int_eq(add(1, 2, "", "c", &file), 0);
	ck_assert_ptr_null(file);
}
END_TEST

START_TEST(names_beyond_the_budget_are_files_of_their_own)
{
	struct links_file *file;
	struct budget memory;

	budget_init(&memory, 2 * (sizeof(struct links_file) + sizeof(struct links_name) + 100), NULL);
	links.memory = &memory;
	ck_assert_int_eq(add(1, 1, "", "a", &file), 0);
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(add(1, 1, "", "b", &file), 1);
	ck_assert_int_eq(add(1, 1, "", "c", &file), 0);
	ck_assert_ptr_null(file);
	links_done(&links);
	ck_assert_uint_eq(memory.used, 0);
	links.memory = NULL;
}
END_TEST

Suite *links_suite(void)
{
	Suite *s = suite_create("links");
	TCase *tc = tcase_create("links");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_first_name_is_new_and_further_ones_lead_to_it);
	tcase_add_test(tc, the_same_number_on_another_device_is_another_file);
	tcase_add_test(tc, names_added_after_some_were_taken_come_as_well);
	tcase_add_test(tc, many_files_are_all_found_again);
	tcase_add_test(tc, names_beyond_the_limit_are_files_of_their_own);
	tcase_add_test(tc, names_beyond_the_budget_are_files_of_their_own);
	suite_add_tcase(s, tc);
	return s;
}
