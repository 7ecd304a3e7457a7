/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Single values of rdcpd.conf: numbers, sizes, times, paths and addresses from their text. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"
#include "rdcpd/config_value.h"

Suite *config_value_suite(void);

START_TEST(units_are_powers_of_1024)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = { { "0", 0 },          { "007", 7 },      { "4096", 4096 },
		     { "4k", 4 * KIB },   { "3M", 3 * MIB }, { "18446744073709551615", UINT64_MAX },
		     { "1T", 1024 * GIB } };
	static const char *const bad[] = {
		"", " 1", "1 ", "1 K", "-1", "+1", "0x10", "1KB", "1.5G", "K", "18446744073709551616", "16777216T"
	};
	struct config_why why;
	uint64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_int_eq(config_value_size(good[i].text, 0, UINT64_MAX, &n, &why), 0);
		ck_assert_uint_eq(n, good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		n = 77;
		ck_assert_int_eq(config_value_size(bad[i], 0, UINT64_MAX, &n, &why), -EINVAL);
		ck_assert_uint_eq(n, 77);
	}
}
END_TEST

START_TEST(times_are_seconds_without_a_unit)
{
	struct config_why why;
	uint64_t n;

	ck_assert_int_eq(config_value_time("10", 0, UINT64_MAX, &n, &why), 0);
	ck_assert_uint_eq(n, 10 * SEC);
	ck_assert_int_eq(config_value_time("1h", 0, UINT64_MAX, &n, &why), 0);
	ck_assert_uint_eq(n, 3600 * SEC);
	ck_assert_int_eq(config_value_time("18446744074", 0, UINT64_MAX, &n, &why), -EINVAL); /* beyond 64 bits of ns */
}
END_TEST

START_TEST(limits_belong_to_the_range)
{
	struct config_why why;
	uint64_t n;

	ck_assert_int_eq(config_value_count("2", 2, 4, &n, &why), 0);
	ck_assert_int_eq(config_value_count("4", 2, 4, &n, &why), 0);
	ck_assert_int_eq(config_value_count("1", 2, 4, &n, &why), -EINVAL);
	ck_assert_int_eq(config_value_count("5", 2, 4, &n, &why), -EINVAL);
	ck_assert_str_eq(why.text, "'5' is not a number from 2 to 4");
}
END_TEST

START_TEST(a_path_of_4095_bytes_survives_and_4096_are_refused)
{
	char path[4097], *got = NULL;
	struct config_why why;

	memset(path, 'x', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 200)
		path[i] = '/';
	path[4095] = '\0';
	ck_assert_int_eq(config_value_path(path, &got, &why), 0);
	ck_assert_str_eq(got, path);
	free(got);
	path[4095] = 'x';
	path[4096] = '\0';
	ck_assert_int_eq(config_value_path(path, &got, &why), -EINVAL);
	ck_assert_str_eq(why.text, "a path of 4096 bytes is too long, at most 4095");
}
END_TEST

static const struct {
	const char *text, *host; /* host NULL: refused */
	unsigned int port;
} addresses[] = {
	{ "10.0.0.1", "10.0.0.1", 10121 },
	{ "10.0.0.1:5", "10.0.0.1", 5 },
	{ "::1", "::1", 10121 },
	{ "2001:db8::1:2", "2001:db8::1:2", 10121 },
	{ "[::1]", "::1", 10121 },
	{ "[2001:db8::1]:65535", "2001:db8::1", 65535 },
	{ "[::1]:", NULL, 0 },
	{ "[::1", NULL, 0 },
	{ "[::1]5", NULL, 0 },
	{ "[10.0.0.1]:5", NULL, 0 },
	{ "10.0.0.1:", NULL, 0 },
	{ "10.0.0.1:65536", NULL, 0 },
	{ "10.0.0.1:+5", NULL, 0 },
	{ "10.0.0.256", NULL, 0 },
	{ ":5", NULL, 0 },
	{ "fe80::1%no-such-if", NULL, 0 },
	{ "host.example:5", NULL, 0 },
};

START_TEST(an_address_is_read_or_refused)
{
	struct config_address *list = NULL;
	struct config_why why;
	size_t count = 0;
	char host[64];
	int err = config_value_listen(addresses[_i].text, &list, &count, &why);

	if (!addresses[_i].host) {
		ck_assert_int_eq(err, -EINVAL);
		ck_assert_ptr_null(list);
		return;
	}
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(count, 1);
	if (list->addr.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&list->addr;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		ck_assert_uint_eq(ntohs(in->sin_port), addresses[_i].port);
	} else {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&list->addr;

		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
		ck_assert_uint_eq(ntohs(in->sin6_port), addresses[_i].port);
	}
	ck_assert_str_eq(host, addresses[_i].host);
	free(list);
}
END_TEST

START_TEST(a_zone_becomes_the_interface)
{
	struct config_address *list = NULL;
	struct config_why why;
	size_t count = 0;

	ck_assert_int_eq(config_value_listen("[fe80::1%lo]:9", &list, &count, &why), 0);
	ck_assert_uint_eq(((struct sockaddr_in6 *)&list->addr)->sin6_scope_id, if_nametoindex("lo"));
	free(list);
}
END_TEST

START_TEST(a_star_with_a_port_is_both_families)
{
	struct config_address *list = NULL;
	struct config_why why;
	size_t count = 0;

	ck_assert_int_eq(config_value_listen("10.0.0.1 *:99", &list, &count, &why), 0);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(ntohs(((struct sockaddr_in *)&list[1].addr)->sin_port), 99);
	ck_assert_uint_eq(ntohs(((struct sockaddr_in6 *)&list[2].addr)->sin6_port), 99);
	ck_assert(!list[0].wildcard && list[1].wildcard && list[2].wildcard);
	free(list);
}
END_TEST

Suite *config_value_suite(void)
{
	Suite *s = suite_create("config_value");
	TCase *tc = tcase_create("config_value");

	tcase_add_test(tc, units_are_powers_of_1024);
	tcase_add_test(tc, times_are_seconds_without_a_unit);
	tcase_add_test(tc, limits_belong_to_the_range);
	tcase_add_test(tc, a_path_of_4095_bytes_survives_and_4096_are_refused);
	tcase_add_loop_test(tc, an_address_is_read_or_refused, 0, ARRAY_SIZE(addresses));
	tcase_add_test(tc, a_zone_becomes_the_interface);
	tcase_add_test(tc, a_star_with_a_port_is_both_families);
	suite_add_tcase(s, tc);
	return s;
}
