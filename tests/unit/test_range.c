/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ranges of addresses: what they hold, and what is no range. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "common/util.h"
#include "rdcpd/range.h"

Suite *range_suite(void);

static bool holds(const char *range, const char *addr)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_scope_id = 3 };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = 7 };
	struct range r;
	char why[256] = "";

	ck_assert_msg(!range_parse(range, strlen(range), &r, why, sizeof(why)), "%s", why);
	if (inet_pton(AF_INET, addr, &in.sin_addr) == 1)
		return range_holds(&r, (struct sockaddr *)&in);
	ck_assert_int_eq(inet_pton(AF_INET6, addr, &in6.sin6_addr), 1);
	return range_holds(&r, (struct sockaddr *)&in6);
}

START_TEST(a_range_holds_its_first_and_last_address_and_no_neighbour)
{
	ck_assert(holds("192.0.2.0/24", "192.0.2.0"));
	ck_assert(holds("192.0.2.0/24", "192.0.2.255"));
	ck_assert(!holds("192.0.2.0/24", "192.0.3.0"));
	ck_assert(!holds("192.0.2.0/24", "192.0.1.255"));
	ck_assert(holds("10.128.0.0/9", "10.255.255.255"));
	ck_assert(!holds("10.128.0.0/9", "10.127.255.255"));
	ck_assert(holds("192.0.2.8/31", "192.0.2.9"));
	ck_assert(!holds("192.0.2.8/31", "192.0.2.10"));
	ck_assert(holds("2001:db8::/33", "2001:db8:7fff::1"));
	ck_assert(!holds("2001:db8::/33", "2001:db8:8000::"));
	ck_assert(holds("fe80::/10", "fe80::1"));
}
END_TEST

START_TEST(an_address_alone_is_itself)
{
	ck_assert(holds("192.0.2.1", "192.0.2.1"));
	ck_assert(!holds("192.0.2.1", "192.0.2.0"));
	ck_assert(holds("::1", "::1"));
	ck_assert(!holds("::1", "::2"));
}
END_TEST

START_TEST(families_do_not_mix)
{
	ck_assert(holds("0.0.0.0/0", "203.0.113.9"));
	ck_assert(!holds("0.0.0.0/0", "2001:db8::1"));
	ck_assert(!holds("::/0", "203.0.113.9"));
	ck_assert(holds("192.0.2.0/24", "::ffff:192.0.2.7"));
	ck_assert(!holds("::/0", "::ffff:192.0.2.7"));
}
END_TEST

START_TEST(what_has_no_address_is_in_no_range)
{
	struct sockaddr_storage none = { .ss_family = AF_UNIX };
	struct range all[2];
	char why[64];

	ck_assert_int_eq(range_parse("0.0.0.0/0", 9, &all[0], why, sizeof(why)), 0);
	ck_assert_int_eq(range_parse("::/0", 4, &all[1], why, sizeof(why)), 0);
	ck_assert(!ranges_hold(all, 2, (struct sockaddr *)&none));
	none.ss_family = AF_INET;
	ck_assert(ranges_hold(all, 2, (struct sockaddr *)&none));
	ck_assert(!ranges_hold(all, 0, (struct sockaddr *)&none));
}
END_TEST

START_TEST(what_is_no_range_is_refused)
{
	static const char *const bad[] = { "",
					   "host",
					   "192.0.2.1/33",
					   "192.0.2.1/",
					   "192.0.2.0/08",
					   "192.0.2.0/-1",
					   "192.0.2.0/24/1",
					   "192.0.2",
					   "192.0.2.1/24",
					   "192.0.2.0/255.255.255.0",
					   "2001:db8::1/32",
					   "::/129",
					   "fe80::1%eth0",
					   "[::1]",
					   "*",
					   "/0",
					   "192.0.2.0/4294967320",
					   "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct range r = { .family = 9 };
		char why[256] = "";

		ck_assert_msg(range_parse(bad[i], strlen(bad[i]), &r, why, sizeof(why)) == -EINVAL, "'%s'", bad[i]);
		ck_assert_uint_eq(r.family, 9);
		ck_assert_uint_gt(strlen(why), 0);
	}
}
END_TEST

Suite *range_suite(void)
{
	Suite *s = suite_create("range");
	TCase *tc = tcase_create("range");

	tcase_add_test(tc, a_range_holds_its_first_and_last_address_and_no_neighbour);
	tcase_add_test(tc, an_address_alone_is_itself);
	tcase_add_test(tc, families_do_not_mix);
	tcase_add_test(tc, what_has_no_address_is_in_no_range);
	tcase_add_test(tc, what_is_no_range_is_refused);
	suite_add_tcase(s, tc);
	return s;
}
