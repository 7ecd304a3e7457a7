/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The window against simulated links: a pipe that takes `slots_per_sec` at most, and answers after `rtt`. */
#include <check.h>

#include "common/util.h"
#include "common/window.h"

struct link {
	double slots_per_sec;
	uint64_t rtt_ns;
	uint64_t now_ns;
};

/* Time for one acknowledgement with the window full: bandwidth or window over round trip, whichever is slower. */
static void run(struct window *w, struct link *l, unsigned int acks, bool limited)
{
	for (unsigned int i = 0; i < acks; i++) {
		double by_window = (double)w->size * SEC / (double)l->rtt_ns;
		double rate = by_window < l->slots_per_sec ? by_window : l->slots_per_sec;

		l->now_ns += (uint64_t)(SEC / rate);
		window_has_room(w, limited ? w->size : 0);
		window_on_ack(w, l->now_ns);
		ck_assert_uint_ge(w->size, 1);
		ck_assert_uint_le(w->size, w->max);
	}
}

START_TEST(a_long_link_gets_all_it_needs)
{
	struct link l = { .slots_per_sec = 10000, .rtt_ns = 50 * MSEC, .now_ns = SEC }; /* needs 500 slots */
	struct window w;

	window_init(&w, 1024, MIB);
	run(&w, &l, 20000, true);
	ck_assert_uint_ge(w.size, 256);
}
END_TEST

START_TEST(a_short_link_keeps_few_slots)
{
	struct link l = { .slots_per_sec = 2000, .rtt_ns = 100000, .now_ns = SEC };
	struct window w;
	uint64_t sum = 0;

	window_init(&w, 1024, MIB);
	for (unsigned int i = 0; i < 100; i++) {
		run(&w, &l, 50, true);
		sum += w.size;
	}
	ck_assert_uint_le(sum / 100, 8); /* trials go up, and come back */
}
END_TEST

START_TEST(a_link_that_becomes_long_gets_more)
{
	struct link l = { .slots_per_sec = 2000, .rtt_ns = 100000, .now_ns = SEC };
	struct window w;

	window_init(&w, 256, MIB);
	run(&w, &l, 5000, true);
	ck_assert_uint_le(w.size, 8);
	l.rtt_ns = 50 * MSEC; /* needs 100 */
	run(&w, &l, 20000, true);
	ck_assert_uint_ge(w.size, 64);
}
END_TEST

START_TEST(a_slow_source_says_nothing_about_the_window)
{
	struct link l = { .slots_per_sec = 10000, .rtt_ns = 50 * MSEC, .now_ns = SEC };
	struct window w;

	window_init(&w, 1024, MIB);
	run(&w, &l, 5000, false);
	ck_assert_uint_eq(w.size, 4);
}
END_TEST

START_TEST(small_slots_start_with_as_many_bytes)
{
	struct window w;

	window_init(&w, 4096, 4 * KIB);
	ck_assert_uint_eq(w.size, 1024);
	window_init(&w, 16, 64 * KIB);
	ck_assert_uint_eq(w.size, 16);
	window_init(&w, 32, 64 * MIB);
	ck_assert_uint_eq(w.size, 4);
	window_init(&w, 1, MIB);
	ck_assert_uint_eq(w.size, 1);
}
END_TEST

START_TEST(one_slot_is_a_window_too)
{
	struct link l = { .slots_per_sec = 2000, .rtt_ns = MSEC, .now_ns = SEC };
	struct window w;

	window_init(&w, 1, MIB);
	run(&w, &l, 1000, true);
	ck_assert_uint_eq(w.size, 1);
	ck_assert(window_has_room(&w, 0));
	ck_assert(!window_has_room(&w, 1));
}
END_TEST

Suite *window_suite(void);

Suite *window_suite(void)
{
	Suite *s = suite_create("window");
	TCase *tc = tcase_create("links");

	tcase_add_test(tc, a_long_link_gets_all_it_needs);
	tcase_add_test(tc, a_short_link_keeps_few_slots);
	tcase_add_test(tc, a_link_that_becomes_long_gets_more);
	tcase_add_test(tc, a_slow_source_says_nothing_about_the_window);
	tcase_add_test(tc, small_slots_start_with_as_many_bytes);
	tcase_add_test(tc, one_slot_is_a_window_too);
	suite_add_tcase(s, tc);
	return s;
}
