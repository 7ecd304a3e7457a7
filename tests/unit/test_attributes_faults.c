/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Attributes read and set while system calls fail, one after the other: told or harmless, and nothing is left behind. Only
 * in builds with RDCP_FAULTS; empty in others.
 */
#include <check.h>

Suite *attributes_faults_suite(void);

#ifdef RDCP_FAULTS

#include <errno.h>
#include <stdbool.h>
#include <sys/xattr.h>

#include "common/attributes.h"
#include "common/util.h"
#include "skip.h"
#include "tests/fault.h"
#include "tree.h"

static char why[ATTRIBUTES_WHY_MAX];

/* A source and a destination, each with an attribute that the other has not. */
static bool prepare(void)
{
	tree_write("source", "");
	tree_write("ours", "");
	return setxattr("source", "user.a", "a", 1, 0) == 0 && setxattr("source", "user.b", "b", 1, 0) == 0 &&
	       setxattr("ours", "user.old", "o", 1, 0) == 0;
}

static int read_source(struct attributes *a)
{
	int r = attributes_read_link(AT_FDCWD, "source", ATTRIBUTES_ALL, a, why);

	ck_assert_int_eq(r < 0, *why != '\0');
	return r;
}

START_TEST(whatever_call_fails_reading_says_so_and_keeps_nothing)
{
	unsigned int fds = tree_open_fds();
	struct attributes a = { 0 };
	unsigned long k;
	int r;

	if (!prepare())
		skip_test("needs extended attributes in TMPDIR");
	for (k = 1;; k++) {
		fault_set(k, EIO);
		r = read_source(&a);
		if (!fault_hit())
			break;
		ck_assert_msg(r == -EIO, "call %lu, %s: %d", k, fault_hit(), r);
		ck_assert_ptr_null(a.blob);
		ck_assert_uint_eq(tree_open_fds(), fds);
	}
	ck_assert_int_eq(r, 0);
	attributes_done(&a);
	ck_assert_uint_ge(k, 8); /* open, stat, twice listxattr, four times getxattr */
}
END_TEST

START_TEST(whatever_call_fails_applying_says_so_and_does_the_rest)
{
	unsigned int fds = tree_open_fds();
	struct attributes a = { 0 };
	unsigned long k;
	int r;

	if (!prepare())
		skip_test("needs extended attributes in TMPDIR");
	fault_set(0, 0);
	ck_assert_int_eq(read_source(&a), 0);
	for (k = 1;; k++) {
		removexattr("ours", "user.a");
		removexattr("ours", "user.b");
		setxattr("ours", "user.old", "o", 1, 0);
		fault_set(k, EIO);
		r = attributes_apply_link(AT_FDCWD, "ours", &a, ATTRIBUTES_ALL, why);
		if (!fault_hit())
			break;
		ck_assert_msg(r == -EIO && *why, "call %lu, %s: %d", k, fault_hit(), r);
		if (strcmp(fault_hit(), "open") != 0 && strcmp(fault_hit(), "setxattr") != 0)
			ck_assert_int_eq(getxattr("ours", "user.b", NULL, 0), 1);
		ck_assert_uint_eq(tree_open_fds(), fds);
	}
	ck_assert_int_eq(r, 0);
	attributes_done(&a);
	ck_assert_uint_ge(k, 7); /* open, chown, twice listxattr, removexattr, twice setxattr */
}
END_TEST

static const struct {
	const char *call;
	int error, result;
} harmless[] = {
	{ "listxattr", ENOTSUP, 0 }, { "listxattr", ERANGE, 0 }, { "getxattr", ENODATA, 0 },
	{ "getxattr", ERANGE, 0 },   { "getxattr", ENOTSUP, 0 }, { "removexattr", ENODATA, 0 },
	{ "chown", EPERM, 1 },       { "chown", EINVAL, 1 },
};

/* It vanished, grew, or was never ours to set. 1: apply says that the owner stayed. */
START_TEST(what_may_fail_fails_without_a_word)
{
	struct attributes a = { 0 };
	bool hit = false;
	unsigned long k;
	int r;

	if (!prepare())
		skip_test("needs extended attributes in TMPDIR");
	for (k = 1; k < 40; k++) {
		fault_set(k, harmless[_i].error);
		r = read_source(&a);
		if (r == 0)
			r = attributes_apply_link(AT_FDCWD, "ours", &a, ATTRIBUTES_ALL, why);
		if (fault_hit() && !strcmp(fault_hit(), harmless[_i].call)) {
			ck_assert_msg(r == harmless[_i].result * ATTRIBUTES_OWNER, "call %lu: %d, %s", k, r, why);
			ck_assert_str_eq(why, "");
			hit = true;
		}
		fault_set(0, 0);
		attributes_done(&a);
		setxattr("ours", "user.old", "o", 1, 0);
	}
	ck_assert(hit);
}
END_TEST

static void teardown(void)
{
	fault_set(0, 0);
	tree_teardown();
}

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, tree_setup, teardown);
	tcase_add_test(tc, whatever_call_fails_reading_says_so_and_keeps_nothing);
	tcase_add_test(tc, whatever_call_fails_applying_says_so_and_does_the_rest);
	tcase_add_loop_test(tc, what_may_fail_fails_without_a_word, 0, ARRAY_SIZE(harmless));
}

#else

static void add_tests(TCase *tc)
{
}

#endif

Suite *attributes_faults_suite(void)
{
	Suite *s = suite_create("attributes_faults");
	TCase *tc = tcase_create("faults");

	add_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
