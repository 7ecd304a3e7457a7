// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Memory that grows with what is in it. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "common/buffer.h"

Suite *buffer_suite(void);

START_TEST(what_is_added_stays_in_order)
{
	struct buffer b = { 0 };

	for (unsigned int i = 0; i < 5000; i++)
		ck_assert_int_eq(buffer_add(&b, &(uint8_t){ (uint8_t)i }, 1, 5000), 0);
	ck_assert_uint_eq(b.len, 5000);
	for (unsigned int i = 0; i < 5000; i++)
		ck_assert_uint_eq(b.data[i], (uint8_t)i);
	buffer_done(&b);
	ck_assert_ptr_null(b.data);
	ck_assert_uint_eq(b.len + b.room, 0);
}
END_TEST

START_TEST(more_than_the_limit_is_refused_and_changes_nothing)
{
	struct buffer b = { 0 };

	ck_assert_int_eq(buffer_add(&b, "hello", 5, 4), -E2BIG);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_int_eq(buffer_add(&b, "hello", 5, 5), 0);
	ck_assert_int_eq(buffer_reserve(&b, 1, 5), -E2BIG);
	ck_assert_int_eq(buffer_reserve(&b, SIZE_MAX, 5), -E2BIG);
	ck_assert_int_eq(buffer_reserve(&b, 0, 4), -E2BIG);
	ck_assert_mem_eq(b.data, "hello", 5);
	buffer_done(&b);
}
END_TEST

START_TEST(reserved_room_is_no_content)
{
	struct buffer b = { 0 };

	ck_assert_int_eq(buffer_reserve(&b, 1000, 1000), 0);
	ck_assert_uint_ge(b.room, 1000);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_int_eq(buffer_add(&b, NULL, 0, 1000), 0);
	ck_assert_uint_eq(b.len, 0);
	buffer_done(&b);
}
END_TEST

Suite *buffer_suite(void)
{
	Suite *s = suite_create("buffer");
	TCase *tc = tcase_create("buffer");

	tcase_add_test(tc, what_is_added_stays_in_order);
	tcase_add_test(tc, more_than_the_limit_is_refused_and_changes_nothing);
	tcase_add_test(tc, reserved_room_is_no_content);
	suite_add_tcase(s, tc);
	return s;
}
