/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a thread may do under another user's rights. Needs root, whose own rights must not shine through. The user has uid
 * 64001, gid 64002 and group 64003 besides, none of which has to exist.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "rdcpd/identity.h"
#include "skip.h"

Suite *identity_suite(void);

static char dir[256];
static gid_t groups[] = { 64002, 64003 };
static const struct identity somebody = { .uid = 64001, .gid = 64002, .groups = groups, .group_count = 2 };

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/rdcp-identity.XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void teardown(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool may_become(void)
{
	return !geteuid() && identity_try(&somebody) == 0;
}

/* A file or, with a '/' at the end, a directory. */
static void make(const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (path[strlen(path) - 1] == '/')
		ck_assert_int_eq(mkdir(path, 0700), 0);
	else
		ck_assert_int_ge(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	ck_assert_int_eq(chown(path, uid, gid), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

/* As somebody: 0, or the error of opening it. */
static int try_open(void *arg)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, (const char *)arg);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int opens(const char *name)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", name);
	return identity_run(&somebody, try_open, copy);
}

START_TEST(what_the_user_may_open_is_opened_and_nothing_else)
{
	if (!may_become())
		skip_test("needs root");
	make("own", 0600, 64001, 0);
	make("group", 0640, 0, 64002);
	make("other_group", 0640, 0, 64003);
	make("foreign_group", 0640, 0, 64004);
	make("root", 0600, 0, 0);
	make("private/", 0700, 64009, 64009);
	make("private/f", 0644, 64001, 64002);
	ck_assert_int_eq(opens("own"), 0);
	ck_assert_int_eq(opens("group"), 0);
	ck_assert_int_eq(opens("other_group"), 0);
	ck_assert_int_eq(opens("foreign_group"), -EACCES);
	ck_assert_int_eq(opens("root"), -EACCES);
	ck_assert_int_eq(opens("private/f"), -EACCES);
}
END_TEST

static int make_file(void *arg)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/mine/new", dir);
	return close(open(path, O_CREAT | O_EXCL | O_WRONLY, 0640));
}

/* The session's workers: threads of the thread. */
static void *nested(void *arg)
{
	*(int *)arg = make_file(NULL);
	return NULL;
}

static int through_a_thread(void *arg)
{
	pthread_t t;
	int r = -1;

	ck_assert_int_eq(pthread_create(&t, NULL, nested, &r), 0);
	pthread_join(t, NULL);
	return r;
}

START_TEST(files_made_by_its_threads_are_the_users)
{
	char path[512];
	struct stat st;

	if (!may_become())
		skip_test("needs root");
	make("mine/", 0700, 64001, 64002);
	ck_assert_int_eq(identity_run(&somebody, through_a_thread, NULL), 0);
	snprintf(path, sizeof(path), "%s/mine/new", dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, 64001);
	ck_assert_uint_eq(st.st_gid, 64002);
}
END_TEST

static int look_at_myself(void *arg)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	/* the other ids stay: a user must not be able to send signals to the daemon */
	ck_assert_uint_eq(getuid(), 0);
	ck_assert_uint_eq(geteuid(), 0);
	ck_assert_int_eq((int)syscall(SYS_capget, &header, caps), 0);
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		ck_assert_uint_eq(caps[i].permitted | caps[i].effective | caps[i].inheritable, 0);
	setfsuid(0); /* no way back: root is still its real user, but that is all */
	return try_open(arg);
}

START_TEST(the_thread_has_no_capability_left)
{
	char name[] = "private/f";

	if (!may_become())
		skip_test("needs root");
	make("private/", 0700, 64009, 64009);
	make("private/f", 0644, 64009, 64009);
	ck_assert_int_eq(identity_run(&somebody, look_at_myself, name), -EACCES);
}
END_TEST

START_TEST(the_calling_thread_stays_what_it_was)
{
	gid_t before[256], after[256];
	int n = getgroups(256, before);

	if (!may_become())
		skip_test("needs root");
	make("root", 0600, 0, 0);
	ck_assert_int_eq(opens("root"), -EACCES);
	ck_assert_int_eq(setfsuid((uid_t)-1), 0);
	ck_assert_int_eq(setfsgid((gid_t)-1), (int)getegid());
	ck_assert_int_eq(getgroups(256, after), n);
	ck_assert_mem_eq(before, after, (size_t)n * sizeof(gid_t));
	ck_assert_int_eq(try_open("root"), 0);
}
END_TEST

static int say_which_thread(void *arg)
{
	*(pthread_t *)arg = pthread_self();
	return 17;
}

START_TEST(without_a_user_root_needs_no_thread)
{
	pthread_t thread;

	if (geteuid())
		skip_test("needs root");
	ck_assert_int_eq(identity_run(NULL, say_which_thread, &thread), 17);
	ck_assert(pthread_equal(thread, pthread_self()));
}
END_TEST

/* On a thread that has no capability any more. */
static int try_again(void *arg)
{
	pthread_t thread = 0;

	ck_assert_int_eq(identity_run(&somebody, say_which_thread, &thread), -EPERM);
	ck_assert(!thread);
	ck_assert_int_eq(identity_try(&somebody), -EPERM);
	ck_assert_int_eq(identity_run(NULL, say_which_thread, &thread), 17);
	return 0;
}

START_TEST(without_the_capability_it_fails_and_runs_nothing)
{
	if (may_become())
		ck_assert_int_eq(identity_run(&somebody, try_again, NULL), 0);
	else
		try_again(NULL);
}
END_TEST

START_TEST(names_are_looked_up_and_root_is_refused)
{
	struct identity id = { .uid = 7 };

	ck_assert_int_eq(identity_load("no-such-user-here", &id), -ENOENT);
	ck_assert_int_eq(identity_load("root", &id), -EPERM);
	ck_assert_uint_eq(id.uid, 7);
	ck_assert_int_eq(identity_load("nobody", &id), 0);
	ck_assert_uint_ne(id.uid, 0);
	ck_assert_uint_ge(id.group_count, 1);
	ck_assert_uint_eq(id.groups[0], id.gid);
	identity_done(&id);
	identity_done(&id);
}
END_TEST

Suite *identity_suite(void)
{
	Suite *s = suite_create("identity");
	TCase *tc = tcase_create("identity");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_the_user_may_open_is_opened_and_nothing_else);
	tcase_add_test(tc, files_made_by_its_threads_are_the_users);
	tcase_add_test(tc, the_thread_has_no_capability_left);
	tcase_add_test(tc, the_calling_thread_stays_what_it_was);
	tcase_add_test(tc, without_a_user_root_needs_no_thread);
	tcase_add_test(tc, without_the_capability_it_fails_and_runs_nothing);
	tcase_add_test(tc, names_are_looked_up_and_root_is_refused);
	suite_add_tcase(s, tc);
	return s;
}
