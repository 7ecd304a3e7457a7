/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pieces go in and come out again in the same order, in little room where they follow each other. */
#include <check.h>

#include "common/layout.h"
#include "common/util.h"

Suite *layout_suite(void);

static void expect_next(const struct layout *l, struct layout_walk *w, uint64_t offset, uint32_t len)
{
	uint64_t got_offset;
	uint32_t got_len;

	ck_assert(layout_next(l, w, &got_offset, &got_len));
	ck_assert_uint_eq(got_offset, offset);
	ck_assert_uint_eq(got_len, len);
}

static void expect_end(const struct layout *l, struct layout_walk *w)
{
	uint64_t offset = 1;
	uint32_t len = 2;

	ck_assert(!layout_next(l, w, &offset, &len));
	ck_assert(!layout_next(l, w, &offset, &len));
	ck_assert_uint_eq(offset, 1);
	ck_assert_uint_eq(len, 2);
}

START_TEST(nothing_has_no_pieces)
{
	struct layout l = { 0 };
	struct layout_walk w = { 0 };

	expect_end(&l, &w);
	layout_done(&l);
}
END_TEST

START_TEST(pieces_that_follow_each_other_are_one_run)
{
	struct layout l = { 0 };
	struct layout_walk w = { 0 };

	for (uint64_t i = 0; i < 100000; i++)
		ck_assert_int_eq(layout_add(&l, i * MIB, MIB), i == 0);
	ck_assert_int_eq(layout_add(&l, 100000 * MIB, 7), 1);
	ck_assert_uint_eq(l.count, 2);
	ck_assert_uint_eq(l.longest, MIB);
	for (uint64_t i = 0; i < 100000; i++)
		expect_next(&l, &w, i * MIB, MIB);
	expect_next(&l, &w, 100000 * MIB, 7);
	expect_end(&l, &w);
	layout_done(&l);
	ck_assert_uint_eq(l.count, 0);
}
END_TEST

START_TEST(pieces_with_holes_between_them_come_in_order)
{
	struct layout l = { 0 };
	struct layout_walk w = { 0 };

	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_int_eq(layout_add(&l, i * 10000, 4096), 1);
		ck_assert_int_eq(layout_add(&l, i * 10000 + 4096, 100), 1);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		expect_next(&l, &w, i * 10000, 4096);
		expect_next(&l, &w, i * 10000 + 4096, 100);
	}
	expect_end(&l, &w);
	layout_done(&l);
}
END_TEST

START_TEST(a_piece_twice_is_two)
{
	struct layout l = { 0 };
	struct layout_walk w = { 0 };

	ck_assert_int_eq(layout_add(&l, 5, 10), 1);
	ck_assert_int_eq(layout_add(&l, 5, 10), 1);
	expect_next(&l, &w, 5, 10);
	expect_next(&l, &w, 5, 10);
	expect_end(&l, &w);
	layout_done(&l);
}
END_TEST

Suite *layout_suite(void)
{
	Suite *s = suite_create("layout");
	TCase *tc = tcase_create("layout");

	tcase_add_test(tc, nothing_has_no_pieces);
	tcase_add_test(tc, pieces_that_follow_each_other_are_one_run);
	tcase_add_test(tc, pieces_with_holes_between_them_come_in_order);
	tcase_add_test(tc, a_piece_twice_is_two);
	suite_add_tcase(s, tc);
	return s;
}
