/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users and groups by name and by number. What Debian and Fedora both have: root and daemon. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/account.h"

Suite *account_suite(void);

START_TEST(a_name_and_its_number_lead_to_each_other)
{
	char name[ACCOUNT_NAME_MAX + 1];
	uint32_t id;
	int again;

	for (again = 0; again < 2; again++) { /* asked, and remembered */
		ck_assert_int_eq(account_id(ACCOUNT_USER, "root", 4, &id), 0);
		ck_assert_uint_eq(id, 0);
		ck_assert_int_eq(account_name(ACCOUNT_USER, 0, name), 0);
		ck_assert_str_eq(name, "root");
		ck_assert_int_eq(account_id(ACCOUNT_GROUP, "daemon", 6, &id), 0);
		ck_assert_uint_ne(id, 0);
		ck_assert_int_eq(account_name(ACCOUNT_GROUP, id, name), 0);
		ck_assert_str_eq(name, "daemon");
	}
}
END_TEST

START_TEST(a_name_ends_at_its_length)
{
	uint32_t id = 7;

	ck_assert_int_eq(account_id(ACCOUNT_USER, "rootless", 4, &id), 0);
	ck_assert_uint_eq(id, 0);
}
END_TEST

START_TEST(what_is_unknown_is_said_and_nothing_is_written)
{
	char name[ACCOUNT_NAME_MAX + 1] = "untouched";
	uint32_t id = 7;
	int again;

	for (again = 0; again < 2; again++) {
		ck_assert_int_eq(account_id(ACCOUNT_USER, "no-such-user-here", 17, &id), -ENOENT);
		ck_assert_int_eq(account_id(ACCOUNT_GROUP, "no-such-group-here", 18, &id), -ENOENT);
		ck_assert_int_eq(account_name(ACCOUNT_USER, 0x7fff1234, name), -ENOENT);
		ck_assert_int_eq(account_name(ACCOUNT_GROUP, UINT32_MAX, name), -ENOENT);
	}
	ck_assert_uint_eq(id, 7);
	ck_assert_str_eq(name, "untouched");
}
END_TEST

START_TEST(what_cannot_be_a_name_is_not_asked_for)
{
	static const char *const bad[] = { "", "a:b", "a/b", "a\nb", "a\177", "\001" };
	char longest[ACCOUNT_NAME_MAX + 2];
	uint32_t id;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(account_id(ACCOUNT_USER, bad[i], strlen(bad[i]), &id), -EINVAL);
	ck_assert_int_eq(account_id(ACCOUNT_USER, "a\0b", 3, &id), -EINVAL);
	memset(longest, 'n', sizeof(longest));
	ck_assert(account_name_ok(longest, ACCOUNT_NAME_MAX));
	ck_assert_int_eq(account_id(ACCOUNT_USER, longest, ACCOUNT_NAME_MAX, &id), -ENOENT);
	ck_assert_int_eq(account_id(ACCOUNT_USER, longest, ACCOUNT_NAME_MAX + 1, &id), -EINVAL);
	ck_assert(account_name_ok("EXAMPLE\\J\303\266rg Doe", 17));
}
END_TEST

/* More names than the table holds, and one that stays right among them. */
static void *look_up_many(void *arg)
{
	char name[ACCOUNT_NAME_MAX + 1];
	uintptr_t wrong = 0;
	uint32_t id;
	int i;

	for (i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "no-such-user-%d", i);
		wrong += account_id(ACCOUNT_USER, name, strlen(name), &id) != -ENOENT;
		wrong += account_id(ACCOUNT_USER, "root", 4, &id) != 0 || id != 0;
		wrong += account_name(ACCOUNT_GROUP, 0, name) != 0 || strcmp(name, "root") != 0;
	}
	return (void *)wrong;
}

START_TEST(several_threads_get_the_right_answers_from_a_table_that_is_too_small)
{
	pthread_t threads[4];
	void *wrong;
	int i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, look_up_many, NULL), 0);
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
		ck_assert_ptr_null(wrong);
	}
}
END_TEST

Suite *account_suite(void)
{
	Suite *s = suite_create("account");
	TCase *tc = tcase_create("accounts");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_name_and_its_number_lead_to_each_other);
	tcase_add_test(tc, a_name_ends_at_its_length);
	tcase_add_test(tc, what_is_unknown_is_said_and_nothing_is_written);
	tcase_add_test(tc, what_cannot_be_a_name_is_not_asked_for);
	tcase_add_test(tc, several_threads_get_the_right_answers_from_a_table_that_is_too_small);
	suite_add_tcase(s, tc);
	return s;
}
