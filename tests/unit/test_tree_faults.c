/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A tree is copied while the k-th file call or post fails, for k = 1, 2, ... until a copy passes without a fault. After each: both
 * engines came to an end, something is said to have failed if anything is missing, what is there is whole, and no temporary, slot
 * or descriptor is left. Only in builds with RDCP_FAULTS; empty in others.
 */
#include <check.h>

Suite *tree_faults_suite(void);

#ifdef RDCP_FAULTS

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine_pair.h"
#include "tests/fault.h"
#include "tree.h"

#define CALLS_AT_LEAST 60
#define CALLS_AT_MOST 600

static struct session session;

static const char *const files[] = { "f", "empty", "d/f", "d/large", "d/e/f", "d/e/g" };
static const char *const others[] = { "d", "d/e", "none", "link", "d/dangling" };

static const struct sweep {
	int error;
	uint32_t flags;
	unsigned int max_files;
} sweeps[] = {
	{ EIO, 0, 64 },
	{ ENOSPC, WIRE_FILE_PRESERVE, 64 },
	{ EIO, WIRE_FILE_SYNC | WIRE_FILE_PRESERVE, 3 },
	{ EACCES, WIRE_FILE_NO_SYNC, 64 },
	{ ENOMEM, WIRE_FILE_NO_CLOBBER, 1 },
	{ EINTR, WIRE_FILE_PRESERVE, 64 },
	{ EMFILE, 0, 2 },
};

static void make_tree(void)
{
	char path[64];

	ck_assert_int_eq(mkdir("src", 0755) | mkdir("src/d", 0755) | mkdir("src/d/e", 0755) | mkdir("src/none", 0755),
			 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "src/%s", files[i]);
		make_file(path,
			  strcmp(files[i], "d/large") == 0 ? 3 * 4096 + 5
			  : strcmp(files[i], "empty")      ? 100 + i
							   : 0,
			  i);
	}
	ck_assert_int_eq(symlink("f", "src/link") | symlink("nowhere", "src/d/dangling"), 0);
	ck_assert_int_eq(chmod("src/d/e", 0555), 0);
}

/* EINTR is answered by making the call again, mostly. */
static void expect_tree(const char *call, bool all_well)
{
	char from[64], to[64];
	struct stat st;

	for (unsigned int i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(from, sizeof(from), "src/%s", files[i]);
		snprintf(to, sizeof(to), "root/dst/%s", files[i]);
		if (all_well || lstat(to, &st) == 0)
			ck_assert_msg(same_file(from, to), "'%s' failed, and '%s' is not whole", call, files[i]);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		snprintf(to, sizeof(to), "root/dst/%s", others[i]);
		if (all_well)
			ck_assert_msg(lstat(to, &st) == 0, "'%s' failed, all is well, and '%s' is missing", call,
				      others[i]);
	}
}

static void remove_copy(void)
{
	nftw("root/dst", tree_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

static bool is_well(const struct session_end *e)
{
	return e->done && e->verdicts[0].calls == 1 && e->verdicts[0].status == STATUS_OK && !e->failed_entries;
}

/* One copy; false: no fault was hit, the sweep is over. */
static bool copy_with_fault(int way, const struct sweep *sweep, unsigned long k)
{
	char call[64] = "no call";
	bool hit, well;

	session_init(&session, way / 2, tree_root, way % 2, END_SENDER, END_RECEIVER);
	session.max_files = sweep->max_files;
	session_add_tree(&session, "src", "dst", sweep->flags);
	session.fault = k;
	session.fault_error = sweep->error;
	session_run(&session);
	hit = fault_hit();
	if (hit)
		snprintf(call, sizeof(call), "call %lu, %s", k, fault_hit());
	fault_set(0, 0);
	well = is_well(session.from);
	if (!hit)
		ck_assert(well);
	if (!strstr(call, "post_"))
		ck_assert_msg(session.from->done && session.to->done, "%s: the session ended: %s", call,
			      session.to->peer.end.text);
	if (session.from->done && session.to->done) {
		ck_assert_uint_eq(session.from->side->slab.free_count, session.from->side->slab.slots);
		ck_assert_msg(session.from->verdicts[0].calls == 1, "%s: no verdict", call);
	}
	if (well)
		ck_assert_msg(is_well(session.to), "%s: all is well, but not at the receiver", call);
	session_done(&session);
	expect_tree(call, well);
	ck_assert_msg(count_temps("root") == 0, "%s: a temporary is left", call);
	remove_copy();
	return hit;
}

static void run_sweep(int way, const struct sweep *sweep)
{
	unsigned int fds;
	unsigned long k = 1;

	make_tree();
	fds = tree_open_fds();
	while (copy_with_fault(way, sweep, k)) {
		ck_assert_uint_eq(tree_open_fds(), fds);
		ck_assert_uint_lt(k++, CALLS_AT_MOST);
	}
	ck_assert_uint_ge(k, CALLS_AT_LEAST);
}

START_TEST(whatever_call_fails_what_is_there_of_a_pushed_tree_is_whole)
{
	run_sweep(0, &sweeps[_i]);
}
END_TEST

START_TEST(whatever_call_fails_what_is_there_of_a_pulled_tree_is_whole)
{
	run_sweep(1, &sweeps[_i]);
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
	tcase_add_loop_test(tc, whatever_call_fails_what_is_there_of_a_pushed_tree_is_whole, 0, ARRAY_SIZE(sweeps));
	tcase_add_loop_test(tc, whatever_call_fails_what_is_there_of_a_pulled_tree_is_whole, 0, ARRAY_SIZE(sweeps));
}

#else

static void add_tests(TCase *tc)
{
}

#endif

Suite *tree_faults_suite(void)
{
	Suite *s = suite_create("tree_faults");
	TCase *tc = tcase_create("sweep");

	tcase_set_timeout(tc, 60);
	add_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
