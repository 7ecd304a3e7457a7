/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is removed as left behind, and what is not. Times of change cannot be made up, so "before" is a moment of the test: what
 * was made before it is old.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util.h"
#include "rdcpd/sweep.h"
#include "skip.h"

Suite *sweep_suite(void);

#define PART ".abcdefgh.rdcp-part"

static char dir[256];
static struct sweep *sweep;
static char told[4096];
static unsigned int pauses, pauses_allowed = 1000;

static bool on_pause(void *owner)
{
	ck_assert_ptr_eq(owner, dir);
	return ++pauses > pauses_allowed;
}

static void on_removed(void *owner, const char *path, uint64_t bytes)
{
	size_t n = strlen(told);

	ck_assert_ptr_eq(owner, dir);
	ck_assert_int_eq(strncmp(path, dir, strlen(dir)), 0);
	snprintf(told + n, sizeof(told) - n, "%s %llu\n", path + strlen(dir), (unsigned long long)bytes);
}

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/rdcp-sweep.XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	sweep = calloc(1, sizeof(*sweep));
	sweep->pause = on_pause;
	sweep->removed = on_removed;
	sweep->owner = dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void teardown(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(sweep);
}

static char *at(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, size_t size)
{
	int fd = open(at(name), O_CREAT | O_WRONLY | O_EXCL, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

static bool there(const char *name)
{
	struct stat st;

	return lstat(at(name), &st) == 0;
}

static void make_dir(const char *name)
{
	ck_assert_int_eq(mkdir(at(name), 0700), 0);
}

/* All that is there now is old. The clock of files may be a tick behind, so the moment is a little later. */
static bool run(void)
{
	clock_gettime(CLOCK_REALTIME, &sweep->before);
	sweep->before.tv_sec++;
	return sweep_directory(sweep, dir);
}

START_TEST(old_ones_go_at_any_depth_and_are_told)
{
	make_dir("d");
	make_dir("d/e");
	put(".top" PART, 7);
	put("d/e/.deep" PART, 0);
	put("d/e/whole", 3);
	put("d/.hidden", 3);
	ck_assert(run());
	ck_assert(!there(".top" PART) && !there("d/e/.deep" PART));
	ck_assert(there("d/e/whole") && there("d/.hidden"));
	ck_assert_uint_eq(sweep->removed_count, 2);
	ck_assert_uint_eq(sweep->removed_bytes, 7);
	ck_assert_uint_eq(sweep->failed, 0);
	ck_assert_ptr_nonnull(strstr(told, "/.top" PART " 7\n"));
	ck_assert_ptr_nonnull(strstr(told, "/d/e/.deep" PART " 0\n"));
}
END_TEST

START_TEST(what_was_written_to_or_changed_lately_stays)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	put(".new" PART, 1);
	put(".given_an_old_time" PART, 1);
	ck_assert_int_eq(utimensat(AT_FDCWD, at(".given_an_old_time" PART), old, 0), 0);
	clock_gettime(CLOCK_REALTIME, &sweep->before);
	sweep->before.tv_sec -= 3600;
	ck_assert(sweep_directory(sweep, dir));
	ck_assert(there(".new" PART) && there(".given_an_old_time" PART));
	ck_assert_uint_eq(sweep->removed_count, 0);
}
END_TEST

START_TEST(what_is_locked_stays_until_it_is_not)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int by_flock, by_range;

	put(".flock" PART, 1);
	put(".range" PART, 1);
	by_flock = open(at(".flock" PART), O_WRONLY);
	by_range = open(at(".range" PART), O_WRONLY);
	ck_assert_int_eq(flock(by_flock, LOCK_EX), 0);
	ck_assert_int_eq(fcntl(by_range, F_OFD_SETLK, &lock), 0);
	ck_assert(run());
	ck_assert(there(".flock" PART) && there(".range" PART));
	close(by_flock);
	close(by_range);
	ck_assert(run());
	ck_assert(!there(".flock" PART) && !there(".range" PART));
}
END_TEST

START_TEST(what_is_no_regular_file_stays)
{
	put("target", 1);
	ck_assert_int_eq(symlink("target", at(".link" PART)), 0);
	ck_assert_int_eq(mkfifo(at(".fifo" PART), 0600), 0);
	make_dir(".dir" PART);
	ck_assert(run());
	ck_assert(there(".link" PART) && there(".fifo" PART) && there(".dir" PART) && there("target"));
	ck_assert_uint_eq(sweep->failed, 0);
}
END_TEST

START_TEST(links_lead_nowhere)
{
	char outside[1100];

	make_dir("root");
	make_dir("outside");
	put("outside/.f" PART, 1);
	snprintf(outside, sizeof(outside), "%s", at("outside"));
	ck_assert_int_eq(symlink("../outside", at("root/relative")), 0);
	ck_assert_int_eq(symlink(outside, at("root/absolute")), 0);
	clock_gettime(CLOCK_REALTIME, &sweep->before);
	sweep->before.tv_sec++;
	ck_assert(sweep_directory(sweep, at("root")));
	ck_assert(there("outside/.f" PART));
	ck_assert_uint_eq(sweep->removed_count, 0);
}
END_TEST

/* Of the same file system: the number of the device would say nothing. */
START_TEST(mounts_are_not_entered)
{
	char outside[1100], inside[1100];

	make_dir("root");
	make_dir("root/mount");
	make_dir("outside");
	put("outside/.f" PART, 1);
	snprintf(outside, sizeof(outside), "%s", at("outside"));
	snprintf(inside, sizeof(inside), "%s", at("root/mount"));
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(outside, inside, NULL, MS_BIND, NULL) < 0)
		skip_test("no mounts of its own");
	ck_assert(there("root/mount/.f" PART));
	clock_gettime(CLOCK_REALTIME, &sweep->before);
	sweep->before.tv_sec++;
	ck_assert(sweep_directory(sweep, at("root")));
	ck_assert(there("outside/.f" PART));
	ck_assert_uint_eq(sweep->failed, 0);
	ck_assert_int_eq(umount(inside), 0);
}
END_TEST

START_TEST(it_pauses_and_stops_when_it_is_told)
{
	char name[64];

	for (int i = 0; i < 3 * SWEEP_STEP; i++) {
		snprintf(name, sizeof(name), ".f%d" PART, i);
		put(name, 0);
	}
	ck_assert(run());
	ck_assert_uint_eq(sweep->removed_count, 3 * SWEEP_STEP);
	ck_assert_uint_eq(pauses, 3);

	pauses = pauses_allowed = 0;
	for (int i = 0; i < 2 * SWEEP_STEP; i++) {
		snprintf(name, sizeof(name), ".g%d" PART, i);
		put(name, 0);
	}
	sweep->removed_count = sweep->seen = 0;
	ck_assert(!run());
	ck_assert_uint_lt(sweep->removed_count, SWEEP_STEP);
}
END_TEST

START_TEST(the_deepest_tree_ends_the_search_and_not_the_daemon)
{
	char path[PATH_MAX];
	size_t n = (size_t)snprintf(path, sizeof(path), "%s", dir);

	for (int i = 0; i < SWEEP_DEPTH_MAX + 5; i++) {
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	ck_assert(run());
	ck_assert_uint_eq(sweep->failed, 1);
	ck_assert_int_eq(sweep->error, -ELOOP);
}
END_TEST

START_TEST(a_root_that_is_not_there_is_a_failure)
{
	ck_assert(sweep_directory(sweep, at("none")));
	ck_assert_uint_eq(sweep->failed, 1);
	ck_assert_int_eq(sweep->error, -ENOENT);
	ck_assert_str_eq(sweep->error_path, at("none"));
}
END_TEST

Suite *sweep_suite(void)
{
	Suite *s = suite_create("sweep");
	TCase *tc = tcase_create("sweep");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, old_ones_go_at_any_depth_and_are_told);
	tcase_add_test(tc, what_was_written_to_or_changed_lately_stays);
	tcase_add_test(tc, what_is_locked_stays_until_it_is_not);
	tcase_add_test(tc, what_is_no_regular_file_stays);
	tcase_add_test(tc, links_lead_nowhere);
	tcase_add_test(tc, mounts_are_not_entered);
	tcase_add_test(tc, it_pauses_and_stops_when_it_is_told);
	tcase_add_test(tc, the_deepest_tree_ends_the_search_and_not_the_daemon);
	tcase_add_test(tc, a_root_that_is_not_there_is_a_failure);
	suite_add_tcase(s, tc);
	return s;
}
