/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The line that systemctl status shows. */
#include <check.h>

#include "common/util.h"
#include "rdcpd/status.h"

Suite *status_suite(void);

static const char *line(struct status_totals before, struct status_totals now)
{
	static char text[STATUS_LINE_SIZE];

	status_line(&before, &now, text);
	return text;
}

#define AT(seconds, ...) ((struct status_totals){ .time = (seconds)*SEC, .listening = 1, __VA_ARGS__ })

START_TEST(rates_are_between_the_two_times)
{
	ck_assert_str_eq(line(AT(1, .in = 5), AT(3, .sessions = 3, .in = 2400000005ULL)), "3 sessions, 1.2 GB/s in");
	ck_assert_str_eq(line(AT(1, ), AT(2, .sessions = 2, .in = 999, .out = 35000000)),
			 "2 sessions, 999 B/s in, 35 MB/s out");
	ck_assert_str_eq(line(AT(1, ), AT(2, .sessions = 1, .out = 999600)), "1 session, 1.0 MB/s out");
	ck_assert_str_eq(line(AT(1, ), AT(2, .sessions = 1, .out = 5000000000000ULL)), "1 session, 5000 GB/s out");
}
END_TEST

START_TEST(nothing_moving_is_no_rate)
{
	ck_assert_str_eq(line(AT(1, .in = 7), AT(2, .sessions = 1, .in = 7)), "1 session");
	ck_assert_str_eq(line(AT(1, ), AT(1, .in = 7)), "0 sessions, 0 B/s in");
}
END_TEST

START_TEST(an_address_that_is_missing_is_said)
{
	struct status_totals none = { .time = SEC }, some = { .time = SEC, .sessions = 1 };

	ck_assert_str_eq(line(none, none), "waiting for an address that can be served");
	ck_assert_str_eq(line(none, some), "1 session; no address can be served now");
}
END_TEST

Suite *status_suite(void)
{
	Suite *s = suite_create("status");
	TCase *tc = tcase_create("line");

	tcase_add_test(tc, rates_are_between_the_two_times);
	tcase_add_test(tc, nothing_moving_is_no_rate);
	tcase_add_test(tc, an_address_that_is_missing_is_said);
	suite_add_tcase(s, tc);
	return s;
}
