/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a session tells of itself to another thread. */
#include <check.h>
#include <pthread.h>
#include <string.h>

#include "common/util.h"
#include "rdcpd/counters.h"

Suite *counters_suite(void);

static struct counters counters;

static void setup(void)
{
	counters_init(&counters, 10 * SEC);
}

static void teardown(void)
{
	counters_done(&counters);
}

START_TEST(a_rate_is_of_the_time_since_the_last_one)
{
	counters_set_bytes(&counters, 1000);
	counters_rate(&counters, 12 * SEC);
	ck_assert_uint_eq(counters_get(&counters.rate), 500);
	counters_set_bytes(&counters, 4000);
	counters_rate(&counters, 12 * SEC + 500 * MSEC);
	ck_assert_uint_eq(counters_get(&counters.rate), 6000);
	counters_rate(&counters, 13 * SEC);
	ck_assert_uint_eq(counters_get(&counters.rate), 0);
	counters_rate(&counters, 13 * SEC); /* no time has passed: no rate, no division */
	ck_assert_uint_eq(counters_get(&counters.bytes), 4000);
}
END_TEST

START_TEST(a_file_is_there_until_there_is_none)
{
	char file[PATH_MAX];

	ck_assert_uint_eq(counters_get_file(&counters, file), 0);
	ck_assert_str_eq(file, "");
	counters_set_file(&counters, "a/b", 17);
	ck_assert_uint_eq(counters_get_file(&counters, file), 17);
	ck_assert_str_eq(file, "a/b");
	counters_set_file(&counters, NULL, 0);
	ck_assert_uint_eq(counters_get_file(&counters, file), 0);
	ck_assert_str_eq(file, "");
}
END_TEST

#define ROUNDS 20000

/* Names whose bytes are all the same: a torn one shows. */
static void *write_names(void *arg)
{
	char name[2000];

	for (int i = 0; i < ROUNDS; i++) {
		memset(name, 'a' + i % 26, sizeof(name));
		name[1 + i % (int)(sizeof(name) - 1)] = '\0';
		counters_set_file(&counters, name, (uint64_t)i);
		counters_set_bytes(&counters, (uint64_t)i);
	}
	return NULL;
}

START_TEST(a_name_is_never_read_half_written)
{
	pthread_t writer;
	char file[PATH_MAX];

	ck_assert_int_eq(pthread_create(&writer, NULL, write_names, NULL), 0);
	while (counters_get(&counters.bytes) < ROUNDS - 1) {
		counters_get_file(&counters, file);
		ck_assert_uint_eq(strspn(file, (char[]){ file[0], '\0' }), strlen(file));
	}
	pthread_join(writer, NULL);
}
END_TEST

Suite *counters_suite(void)
{
	Suite *s = suite_create("counters");
	TCase *tc = tcase_create("counters");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, a_rate_is_of_the_time_since_the_last_one);
	tcase_add_test(tc, a_file_is_there_until_there_is_none);
	tcase_add_test(tc, a_name_is_never_read_half_written);
	suite_add_tcase(s, tc);
	return s;
}
