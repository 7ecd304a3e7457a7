/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whole copies while the k-th file call or the k-th post at an endpoint fails, for k = 1, 2, ... until a copy passes without a
 * fault. After each: both engines came to an end, each file has at most one verdict at an end, and the same at both; a file
 * that failed left the old one in place, no temporary is there, no slot and no descriptor is missing. Only in builds with
 * RDCP_FAULTS; empty in others. The sanitizers look after memory.
 */
#include <check.h>

Suite *engine_faults_suite(void);

#ifdef RDCP_FAULTS

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine_pair.h"
#include "tests/fault.h"
#include "tree.h"

#define FILES 3
#define CALLS_AT_LEAST 40 /* a sweep that ends before has not looked at much */
#define CALLS_AT_MOST 400

static struct session session;
static const size_t sizes[FILES] = { 0, 6 * 4096 + 5, 100 };

static const struct sweep {
	int error;
	uint32_t flags;
	unsigned int max_files;
} sweeps[] = {
	{ EIO, 0, 64 },
	{ EIO, WIRE_FILE_SYNC, 64 },
	{ EIO, WIRE_FILE_NO_SYNC, 64 },
	{ ENOSPC, 0, 1 },
	{ ENOMEM, 0, 64 },
	{ EINTR, 0, 64 },
	{ EINTR, WIRE_FILE_SYNC | WIRE_FILE_NO_CLOBBER, 64 },
	{ EAGAIN, WIRE_FILE_PRESERVE, 2 },
};

static void from_to(unsigned int i, char from[16], char to[16])
{
	snprintf(from, 16, "from%u", i);
	snprintf(to, 16, "root/to%u", i);
}

/* The sources are as ever; where a destination may be replaced there is one. */
static void set_out(const struct sweep *sweep)
{
	char from[16], to[16];

	for (unsigned int i = 0; i < FILES; i++) {
		from_to(i, from, to);
		unlink(to);
		if (!(sweep->flags & WIRE_FILE_NO_CLOBBER))
			tree_write(to, "old");
	}
}

static bool is_old(const struct sweep *sweep, const char *to)
{
	char buf[8] = "";
	FILE *f = fopen(to, "re");
	bool old;

	if (!f)
		return sweep->flags & WIRE_FILE_NO_CLOBBER;
	old = fread(buf, 1, sizeof(buf), f) == 3 && !memcmp(buf, "old", 3);
	fclose(f);
	return old;
}

/* The error that the call failed with, in words where the status has none. */
static void expect_cause(const struct sweep *sweep, const struct verdict *v)
{
	ck_assert_msg(v->status == status_from_errno(sweep->error) || v->status == STATUS_UNSYNCED,
		      "%s failed, and the file with %d: %s", fault_hit(), v->status, v->text);
	if (v->status == STATUS_FAILED || v->status == STATUS_UNSYNCED)
		ck_assert_ptr_nonnull(strstr(v->text, strerror(sweep->error)));
}

static void expect_file(const struct sweep *sweep, unsigned int i, bool orderly)
{
	const struct verdict *sent = &session.from->verdicts[i], *stored = &session.to->verdicts[i];
	char from[16], to[16];
	bool new;

	from_to(i, from, to);
	new = same_file(from, to);
	ck_assert_uint_le(sent->calls, 1);
	ck_assert_uint_le(stored->calls, 1);
	if (orderly || (sent->calls && stored->calls))
		session_expect(&session, i, stored->status);
	if (sent->calls && sent->status == STATUS_OK)
		ck_assert(stored->calls && stored->status == STATUS_OK);
	if (orderly && stored->status != STATUS_OK)
		expect_cause(sweep, stored);
	if (stored->calls && status_is_stored(stored->status))
		ck_assert(new);
	else if (orderly) /* a file that was replaced is never told as failed */
		ck_assert_msg(is_old(sweep, to), "%s failed, and the file with %d: it was replaced", fault_hit(),
			      stored->status);
	else
		ck_assert(new || is_old(sweep, to));
}

/* Nothing but the three destinations. */
static void expect_nothing_left(void)
{
	DIR *dir = opendir("root");
	struct dirent *e;

	while ((e = readdir(dir)))
		ck_assert_msg(!strncmp(e->d_name, "to", 2) || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."),
			      "'%s' was left", e->d_name);
	closedir(dir);
}

static void expect_slots_back(void)
{
	ck_assert_uint_eq(session.from->side->slab.free_count, session.from->side->slab.slots);
	ck_assert_uint_eq(session.to->side->slab.free_count, session.to->side->slab.slots);
}

static bool is_post(void)
{
	return !strncmp(fault_hit(), "post_", 5);
}

/* One copy; false: no fault was hit, the sweep is over. */
static bool copy_with_fault(int way, const struct sweep *sweep, unsigned long k)
{
	bool orderly, hit;
	char from[16], to[16];

	set_out(sweep);
	session_init(&session, way / 2, tree_root, way % 2, END_SENDER, END_RECEIVER);
	session.max_files = sweep->max_files;
	for (unsigned int i = 0; i < FILES; i++) {
		from_to(i, from, to);
		session_add(&session, from, to + strlen("root/"), sweep->flags);
	}
	session.fault = k;
	session.fault_error = sweep->error;
	session_run(&session);
	hit = fault_hit();
	orderly = session.from->done && session.to->done;
	if (hit && !is_post())
		ck_assert_msg(orderly, "call %lu, %s: the session ended: %s", k, fault_hit(),
			      session.to->peer.end.text);
	if (!hit)
		ck_assert(orderly);
	if (orderly)
		expect_slots_back();
	for (unsigned int i = 0; hit && i < FILES; i++)
		expect_file(sweep, i, orderly);
	for (unsigned int i = 0; !hit && i < FILES; i++)
		session_expect(&session, i, STATUS_OK);
	session_done(&session);
	expect_nothing_left();
	return hit;
}

static void run_sweep(int way, const struct sweep *sweep)
{
	unsigned int fds = tree_open_fds();
	unsigned long k = 1;
	char from[16], to[16];

	for (unsigned int i = 0; i < FILES; i++) {
		from_to(i, from, to);
		make_file(from, sizes[i], i);
	}
	while (copy_with_fault(way, sweep, k)) {
		ck_assert_uint_eq(tree_open_fds(), fds);
		ck_assert_uint_lt(k++, CALLS_AT_MOST);
	}
	ck_assert_uint_ge(k, CALLS_AT_LEAST);
	for (unsigned int i = 0; i < FILES; i++) {
		from_to(i, from, to);
		expect_same_file(from, to);
	}
	fault_set(0, 0);
}

START_TEST(whatever_call_fails_no_half_file_is_left_by_a_push)
{
	run_sweep(0, &sweeps[_i]);
}
END_TEST

START_TEST(whatever_call_fails_no_half_file_is_left_by_a_pull)
{
	run_sweep(1, &sweeps[_i]);
}
END_TEST

static void teardown(void)
{
	fault_set(0, 0);
	fault_cut(0);
	tree_teardown();
}

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, tree_setup, teardown);
	tcase_add_loop_test(tc, whatever_call_fails_no_half_file_is_left_by_a_push, 0, ARRAY_SIZE(sweeps));
	tcase_add_loop_test(tc, whatever_call_fails_no_half_file_is_left_by_a_pull, 0, ARRAY_SIZE(sweeps));
}

#else

static void add_tests(TCase *tc)
{
}

#endif

Suite *engine_faults_suite(void)
{
	Suite *s = suite_create("engine_faults");
	TCase *tc = tcase_create("sweep");

	tcase_set_timeout(tc, 60);
	add_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
