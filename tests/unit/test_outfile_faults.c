/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Writing a file while its system calls fail, one after the other: the copy fails, the old file is whole, and no temporary
 * is left. Only in builds with RDCP_FAULTS; empty in others.
 */
#include <check.h>

Suite *outfile_faults_suite(void);

#ifdef RDCP_FAULTS

#include "copy.h"
#include "tests/fault.h"

static const struct {
	const char *path, *result, *old; /* old: content of the result before, NULL: it is not there */
	unsigned int flags;
	int error;
} sweeps[] = {
	{ "old", "root/old", "old", 0, EIO },
	{ "new", "root/new", NULL, 0, ENOSPC },
	{ "new", "root/new", NULL, PLACE_NO_CLOBBER, EDQUOT },
	{ "dir", "root/dir/name", NULL, PLACE_INTO_DIR, EIO },
	{ "dangling", "root/dangling", NULL, 0, EIO },
};

START_TEST(whatever_call_fails_the_copy_fails_and_the_old_file_is_whole)
{
	unsigned int fds = tree_open_fds();
	unsigned long k;
	int r;

	for (k = 1;; k++) {
		fault_set(k, sweeps[_i].error);
		r = copy(sweeps[_i].path, "new", &plain, sweeps[_i].flags);
		if (!fault_hit())
			break;
		ck_assert_msg(r == -sweeps[_i].error, "call %lu, %s: %d", k, fault_hit(), r);
		ck_assert_uint_eq(temps("root") + temps("root/dir"), 0);
		ck_assert_uint_eq(tree_open_fds(), fds);
		if (committed) { /* only the directory was not synced */
			tree_expect(sweeps[_i].result, "new");
			ck_assert_int_eq(unlink(sweeps[_i].result), 0);
			if (sweeps[_i].old)
				tree_write(sweeps[_i].result, sweeps[_i].old);
		} else if (sweeps[_i].old) {
			tree_expect(sweeps[_i].result, sweeps[_i].old);
		} else {
			ck_assert_int_eq(access(sweeps[_i].result, F_OK), -1);
		}
	}
	ck_assert_int_eq(r, 0);
	tree_expect(sweeps[_i].result, "new");
	ck_assert_uint_ge(
		k, 13); /* open, stat, open, write, ftruncate, chmod, fsync, close, stat, rename, open, fsync: 12 */
}
END_TEST

START_TEST(short_and_interrupted_writes_go_on)
{
	unsigned long k;

	fault_cut(1);
	for (k = 1; k < 40; k++) {
		fault_set(k, EINTR);
		copy("new", "0123456789", &plain, 0);
		if (fault_hit() && strcmp(fault_hit(), "close") && strcmp(fault_hit(), "rename") &&
		    strcmp(fault_hit(), "chmod") && strcmp(fault_hit(), "stat") && strcmp(fault_hit(), "getxattr"))
			tree_expect("root/new", "0123456789");
		unlink("root/new");
	}
}
END_TEST

START_TEST(a_file_system_without_rename_noreplace_gets_a_link)
{
	unsigned long k;
	bool renamed = false;

	for (k = 1; k < 40; k++) {
		fault_set(k, EINVAL);
		if (outfile_create(&file, tree_root, "new", "name", PLACE_NO_CLOBBER) < 0 ||
		    outfile_finish(&file, 0, &plain) < 0) {
			outfile_discard(&file);
			continue;
		}
		ck_assert_int_eq(access("root/new", F_OK), -1);
		if (outfile_commit(&file, PLACE_NO_CLOBBER) == 0 && fault_hit() && !strcmp(fault_hit(), "rename")) {
			tree_expect("root/new", "");
			renamed = true;
		}
		outfile_discard(&file);
		unlink("root/new");
	}
	ck_assert(renamed);
	ck_assert_uint_eq(temps("root"), 0);
}
END_TEST

START_TEST(a_mode_that_cannot_be_set_matters_only_to_preserve)
{
	const struct outfile_attrs preserve = { .mode = 0600, .preserve = true };

	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	fault_set(3, EPERM); /* ftruncate, getxattr, chmod */
	ck_assert_int_eq(outfile_finish(&file, 0, &plain), 0);
	ck_assert_str_eq(fault_hit(), "chmod");
	fault_set(4, EPERM); /* and the time that was set is looked at */
	ck_assert_int_eq(outfile_finish(&file, 0, &preserve), -EPERM);
	ck_assert_str_eq(fault_hit(), "chmod");
}
END_TEST

START_TEST(a_file_system_with_short_names_gets_a_shorter_temporary)
{
	char name[201];

	memset(name, 'n', 200);
	name[200] = '\0';
	fault_set(4, ENAMETOOLONG); /* open, open, stat, open */
	ck_assert_int_eq(outfile_create(&file, tree_root, name, "name", 0), 0);
	ck_assert_str_eq(fault_hit(), "open");
	ck_assert_uint_eq(strlen(file.temp), 1 + 16 + 1 + 8 + 10);
}
END_TEST

static void fault_teardown(void)
{
	fault_set(0, 0);
	fault_cut(0);
	copy_teardown();
}

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, copy_setup, fault_teardown);
	tcase_add_loop_test(tc, whatever_call_fails_the_copy_fails_and_the_old_file_is_whole, 0, ARRAY_SIZE(sweeps));
	tcase_add_test(tc, short_and_interrupted_writes_go_on);
	tcase_add_test(tc, a_file_system_without_rename_noreplace_gets_a_link);
	tcase_add_test(tc, a_mode_that_cannot_be_set_matters_only_to_preserve);
	tcase_add_test(tc, a_file_system_with_short_names_gets_a_shorter_temporary);
}

#else

static void add_tests(TCase *tc)
{
}

#endif

Suite *outfile_faults_suite(void)
{
	Suite *s = suite_create("outfile_faults");
	TCase *tc = tcase_create("faults");

	add_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
