/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a session may remember: taken, given back, and part of a larger whole. */
#include <check.h>
#include <stdint.h>

#include "common/budget.h"

Suite *budget_suite(void);

START_TEST(no_more_is_taken_than_there_is)
{
	struct budget b;

	budget_init(&b, 100, NULL);
	ck_assert_int_eq(budget_take(&b, 101), -ENOBUFS);
	ck_assert_int_eq(budget_take(&b, SIZE_MAX), -ENOBUFS);
	ck_assert_int_eq(budget_take(&b, 60), 0);
	ck_assert_int_eq(budget_take(&b, 41), -ENOBUFS);
	ck_assert_int_eq(budget_take(&b, 40), 0);
	ck_assert_int_eq(budget_take(&b, 1), -ENOBUFS);
	budget_give(&b, 100);
	ck_assert_uint_eq(b.used, 0);
	ck_assert_int_eq(budget_take(&b, 100), 0);
}
END_TEST

START_TEST(parts_share_what_the_whole_has)
{
	struct budget whole, a, b;

	budget_init(&whole, 100, NULL);
	budget_init(&a, 80, &whole);
	budget_init(&b, 80, &whole);
	ck_assert_int_eq(budget_take(&a, 80), 0);
	ck_assert_int_eq(budget_take(&b, 21), -ENOBUFS);
	ck_assert_uint_eq(b.used, 0);
	ck_assert_int_eq(budget_take(&b, 20), 0);
	budget_give(&a, 80);
	ck_assert_uint_eq(whole.used, 20);
	atomic_store(&whole.max, 10); /* lowered meanwhile */
	ck_assert_int_eq(budget_take(&b, 1), -ENOBUFS);
	budget_give(&b, 20);
	ck_assert_uint_eq(whole.used, 0);
}
END_TEST

START_TEST(what_can_be_done_without_leaves_as_much)
{
	struct budget b;

	budget_init(&b, 100, NULL);
	ck_assert_int_eq(budget_take_spare(&b, 51), -ENOBUFS);
	ck_assert_int_eq(budget_take_spare(&b, 50), 0);
	ck_assert_uint_eq(b.used, 50);
	ck_assert_int_eq(budget_take_spare(&b, 26), -ENOBUFS);
	ck_assert_int_eq(budget_take(&b, 50), 0);
}
END_TEST

START_TEST(without_a_budget_there_is_no_limit)
{
	ck_assert_int_eq(budget_take(NULL, SIZE_MAX), 0);
	budget_give(NULL, SIZE_MAX);
}
END_TEST

Suite *budget_suite(void)
{
	Suite *s = suite_create("budget");
	TCase *tc = tcase_create("budget");

	tcase_add_test(tc, no_more_is_taken_than_there_is);
	tcase_add_test(tc, parts_share_what_the_whole_has);
	tcase_add_test(tc, what_can_be_done_without_leaves_as_much);
	tcase_add_test(tc, without_a_budget_there_is_no_limit);
	suite_add_tcase(s, tc);
	return s;
}
