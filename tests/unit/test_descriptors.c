/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The descriptors of a process divided among sessions. Each test is a process of its own. */
#include <check.h>
#include <sys/resource.h>

#include "common/descriptors.h"

Suite *descriptors_suite(void);

static void limit_to(rlim_t soft, rlim_t hard)
{
	const struct rlimit rl = { soft, hard };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	descriptors_init();
}

START_TEST(the_soft_limit_is_raised_to_the_hard_one)
{
	struct rlimit rl;

	limit_to(100, 300);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	ck_assert_uint_eq(rl.rlim_cur, 300);
	ck_assert_uint_eq(descriptors_limit(), 300);
}
END_TEST

START_TEST(sessions_share_what_is_left_until_there_is_no_more)
{
	unsigned int taken, sum = 0, sessions = 0, before = 1000;

	limit_to(1024, 1024);
	while ((taken = descriptors_take(1000, DESCRIPTORS_LEAST, 8))) {
		ck_assert_uint_ge(taken, DESCRIPTORS_LEAST);
		ck_assert_uint_le(taken, before);
		before = taken;
		sum += taken;
		sessions++;
	}
	ck_assert_uint_ge(sessions, 16);
	ck_assert_uint_lt(sum, 1024 - DESCRIPTORS_LEAST);
	ck_assert_uint_eq(descriptors_take(1, 1, 1), 1); /* what is no session may be left */
	descriptors_give(1);
	descriptors_give(sum);
	ck_assert_uint_eq(descriptors_take(100, 1, 1), 100);
}
END_TEST

START_TEST(as_many_sessions_as_parts_have_a_share_worth_having)
{
	limit_to(4096, 4096);
	for (unsigned int session = 0; session < 32; session++)
		ck_assert_uint_ge(descriptors_take(1040, DESCRIPTORS_LEAST, 32), 40);
}
END_TEST

START_TEST(few_descriptors_are_few_files)
{
	limit_to(20, 20);
	ck_assert_uint_eq(descriptors_take(100, DESCRIPTORS_LEAST, 1), 0);
	ck_assert_uint_eq(descriptors_files(DESCRIPTORS_LEAST, 256), 1);
	ck_assert_uint_eq(descriptors_files(DESCRIPTORS_OF_SESSION + 10 * DESCRIPTORS_OF_FILE, 256), 10);
	ck_assert_uint_eq(descriptors_files(100000, 256), 256);
}
END_TEST

Suite *descriptors_suite(void)
{
	Suite *s = suite_create("descriptors");
	TCase *tc = tcase_create("shares");

	tcase_add_test(tc, the_soft_limit_is_raised_to_the_hard_one);
	tcase_add_test(tc, sessions_share_what_is_left_until_there_is_no_more);
	tcase_add_test(tc, as_many_sessions_as_parts_have_a_share_worth_having);
	tcase_add_test(tc, few_descriptors_are_few_files);
	suite_add_tcase(s, tc);
	return s;
}
