/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* However rdma-core fails, it comes out as a negative errno, and never as 0. */
#include <check.h>
#include <errno.h>

#include "common/endpoint_rdma_calls.h"

Suite *endpoint_rdma_calls_suite(void);

static int returns(int r, int error)
{
	errno = error;
	return r;
}

static void *gives(void *p, int error)
{
	errno = error;
	return p;
}

/* Like rdma_create_qp(3) on siw: errno is what it was. */
static int fails_without_a_word(void)
{
	return -1;
}

START_TEST(each_way_to_fail_is_a_negative_errno)
{
	ck_assert_int_eq(verbs_call(returns(-1, ENOMEM)), -ENOMEM);
	ck_assert_int_eq(verbs_call(returns(ENOMEM, 0)), -ENOMEM);
	ck_assert_int_eq(verbs_call(returns(-ENOMEM, 0)), -ENOMEM);
	ck_assert_int_eq(verbs_end(returns(EBUSY, 0)), -EBUSY);
	ck_assert_int_eq(verbs_count(returns(-1, EINVAL)), -EINVAL);
	ck_assert_int_eq(verbs_count(returns(-EINVAL, 0)), -EINVAL);
}
END_TEST

START_TEST(a_failure_without_errno_is_no_success)
{
	int r = 0;

	ck_assert_int_lt(verbs_call(returns(-1, 0)), 0);
	ck_assert_int_lt(verbs_end(returns(-1, 0)), 0);
	ck_assert_int_lt(verbs_count(returns(-1, 0)), 0);
	ck_assert_ptr_null(verbs_make(gives(NULL, 0), &r));
	ck_assert_int_lt(r, 0);
}
END_TEST

START_TEST(the_errno_of_an_earlier_call_is_not_the_reason)
{
	errno = ENOENT;
	ck_assert_int_eq(verbs_call(fails_without_a_word()), -EIO);
}
END_TEST

START_TEST(success_stays_success)
{
	int object, r = 7;

	ck_assert_int_eq(verbs_call(returns(0, EAGAIN)), 0);
	ck_assert_int_eq(verbs_end(returns(0, EAGAIN)), 0);
	ck_assert_int_eq(verbs_count(returns(5, EAGAIN)), 5);
	ck_assert_ptr_eq(verbs_make(gives(&object, EAGAIN), &r), &object);
	ck_assert_int_eq(r, 7);
}
END_TEST

Suite *endpoint_rdma_calls_suite(void)
{
	Suite *s = suite_create("endpoint_rdma_calls");
	TCase *tc = tcase_create("results");

	tcase_add_test(tc, each_way_to_fail_is_a_negative_errno);
	tcase_add_test(tc, a_failure_without_errno_is_no_success);
	tcase_add_test(tc, the_errno_of_an_earlier_call_is_not_the_reason);
	tcase_add_test(tc, success_stays_success);
	suite_add_tcase(s, tc);
	return s;
}
