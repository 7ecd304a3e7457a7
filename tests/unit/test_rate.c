/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The limit of bytes a second, against a clock that the test moves. */
#include <check.h>

#include "common/rate.h"
#include "common/util.h"

Suite *rate_suite(void);

#define START (1000 * SEC)

/* Takes pieces as soon as it may, looking every `step_ns`; returns the bytes taken in `time_ns`. */
static uint64_t run(struct rate *r, uint64_t time_ns, uint64_t step_ns, uint64_t *ret_most_in_100_ms)
{
	uint64_t taken = 0, window = 0, window_end = START + 100 * MSEC;
	size_t piece = rate_piece(r, MIB);

	*ret_most_in_100_ms = 0;
	for (uint64_t now = START; now < START + time_ns; now += step_ns) {
		if (now >= window_end) {
			*ret_most_in_100_ms = window > *ret_most_in_100_ms ? window : *ret_most_in_100_ms;
			window = 0;
			window_end += 100 * MSEC;
		}
		while (rate_is_ready(r, now)) {
			rate_take(r, piece, now);
			taken += piece;
			window += piece;
		}
	}
	return taken;
}

static const uint64_t rates[] = { 1, 100, 1000, 65536, 1000000, 10 * MIB, 125000000, 10 * GIB };

START_TEST(the_average_is_the_limit)
{
	struct rate r = { 0 };
	uint64_t taken, most, seconds = 60, expected = rates[_i] * seconds;

	rate_set(&r, rates[_i]);
	taken = run(&r, seconds * SEC, MSEC, &most);
	ck_assert_uint_ge(taken, expected - expected / 100);
	ck_assert_uint_le(taken, expected + expected / 100 + rate_piece(&r, MIB));
}
END_TEST

START_TEST(no_tenth_of_a_second_gets_twice_its_share)
{
	struct rate r = { 0 };
	uint64_t most;

	rate_set(&r, rates[_i]);
	run(&r, 20 * SEC, MSEC, &most);
	ck_assert_uint_le(most, rates[_i] / 5 + 1);
}
END_TEST

START_TEST(timers_that_are_late_do_not_slow_it_down)
{
	struct rate r = { 0 };
	uint64_t taken, most;

	rate_set(&r, 10 * MIB);
	taken = run(&r, 10 * SEC, 7 * MSEC, &most);
	ck_assert_uint_ge(taken, 99 * MIB);
	ck_assert_uint_le(taken, 101 * MIB);
}
END_TEST

START_TEST(idle_time_is_not_saved_up)
{
	struct rate r = { 0 };
	uint64_t taken = 0;

	rate_set(&r, MIB);
	rate_take(&r, 1, START);
	while (rate_is_ready(&r, START + 3600 * SEC)) {
		rate_take(&r, 4 * KIB, START + 3600 * SEC);
		taken += 4 * KIB;
	}
	ck_assert_uint_le(taken, MIB / 40);
}
END_TEST

START_TEST(without_a_limit_everything_is_ready)
{
	struct rate r = { 0 };

	rate_take(&r, UINT64_MAX, START);
	ck_assert(rate_is_ready(&r, 0));
	ck_assert_uint_eq(rate_piece(&r, 4 * MIB), 4 * MIB);
}
END_TEST

START_TEST(a_piece_is_a_power_of_two_within_its_bounds)
{
	struct rate r = { 0 };

	for (uint64_t rate = 1; rate; rate *= 3) {
		rate_set(&r, rate);
		ck_assert(is_power_of_two(rate_piece(&r, 64 * KIB)));
		ck_assert_uint_le(rate_piece(&r, 64 * KIB), 64 * KIB);
		ck_assert(rate_piece(&r, 64 * KIB) == 1 || rate_piece(&r, 64 * KIB) <= rate / 20);
		if (rate > UINT64_MAX / 3)
			break;
	}
}
END_TEST

START_TEST(a_debt_without_end_does_not_wrap)
{
	struct rate r = { 0 };

	rate_set(&r, 1);
	for (int i = 0; i < 10; i++)
		rate_take(&r, UINT64_MAX, START);
	ck_assert(!rate_is_ready(&r, START));
	ck_assert(!rate_is_ready(&r, 1000000 * START));
}
END_TEST

Suite *rate_suite(void)
{
	Suite *s = suite_create("rate");
	TCase *tc = tcase_create("rate");

	tcase_add_loop_test(tc, the_average_is_the_limit, 0, ARRAY_SIZE(rates));
	tcase_add_loop_test(tc, no_tenth_of_a_second_gets_twice_its_share, 0, ARRAY_SIZE(rates));
	tcase_add_test(tc, timers_that_are_late_do_not_slow_it_down);
	tcase_add_test(tc, idle_time_is_not_saved_up);
	tcase_add_test(tc, without_a_limit_everything_is_ready);
	tcase_add_test(tc, a_piece_is_a_power_of_two_within_its_bounds);
	tcase_add_test(tc, a_debt_without_end_does_not_wrap);
	suite_add_tcase(s, tc);
	return s;
}
