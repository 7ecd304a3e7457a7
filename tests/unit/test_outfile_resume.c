// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Temporaries that are gone on with: who gets them, and where they are kept. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "copy.h"
#include "skip.h"

Suite *outfile_resume_suite(void);

#define SKIP 77
#define DIR_NAME ".partial"

/* As the receiver does. */
static int begin(struct outfile *f, uint64_t id, const char *dir)
{
	f->id = id;
	f->part_name = dir;
	return outfile_create(f, tree_root, "new", "name", OUTFILE_RESUME);
}

static void leave_one(const char *dir)
{
	ck_assert_int_eq(begin(&file, 1, dir), 0);
	ck_assert_int_eq(outfile_write(&file, "hel", 3, 0), 0);
	outfile_leave(&file);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static const char *const dirs[] = { NULL, DIR_NAME };

START_TEST(what_was_left_is_gone_on_with)
{
	const char *where = dirs[_i] ? "root/" DIR_NAME : "root";
	char text[8] = "";

	leave_one(dirs[_i]);
	ck_assert_uint_eq(temps(where), 1);
	ck_assert_int_eq(begin(&file, 1, dirs[_i]), 0);
	ck_assert_uint_eq(file.held, 3);
	ck_assert_int_eq(outfile_read(&file, text, 3, 0), 0);
	ck_assert_str_eq(text, "hel");
	ck_assert_int_eq(outfile_read(&file, text, 3, 1), -EIO);
	ck_assert_int_eq(outfile_write(&file, "lo", 2, 3), 0);
	ck_assert_int_eq(outfile_finish(&file, 5, &plain), 0);
	ck_assert_int_eq(outfile_commit(&file, 0), 0);
	tree_expect("root/new", "hello");
	ck_assert_uint_eq(temps("root"), 0);
	ck_assert(!is_there("root/" DIR_NAME));
}
END_TEST

/* What SystemCallFilter=~@privileged of rdcpd.service comes to here. */
static bool forbid_setfsuid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setfsuid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int in_the_sandbox(void)
{
	if (!forbid_setfsuid())
		return SKIP;
	if (setfsuid((uid_t)-1) != -1)
		return 1;
	leave_one(NULL);
	if (begin(&file, 1, NULL) < 0)
		return 2;
	return file.is_resumable && file.held == 3 ? 0 : 3;
}

START_TEST(the_sandbox_of_the_service_does_not_hinder)
{
	int r = in_child(in_the_sandbox);

	if (r == SKIP)
		skip_test("no filter for system calls");
	else
		ck_assert_int_eq(r, 0);
}
END_TEST

START_TEST(what_is_of_another_file_is_not_touched)
{
	leave_one(dirs[_i]);
	ck_assert_int_eq(begin(&file, 2, dirs[_i]), 0);
	ck_assert_uint_eq(file.held, 0);
	outfile_discard(&file);
	ck_assert_uint_eq(temps(dirs[_i] ? "root/" DIR_NAME : "root"), 1);
}
END_TEST

START_TEST(one_that_is_in_use_is_not_shared)
{
	struct outfile other;

	outfile_init(&other);
	ck_assert_int_eq(begin(&file, 1, dirs[_i]), 0);
	ck_assert_int_eq(begin(&other, 1, dirs[_i]), 0);
	ck_assert(file.is_resumable && !other.is_resumable);
	ck_assert_str_ne(file.temp, other.temp);
	outfile_discard(&file);
	outfile_discard(&other);
	ck_assert_uint_eq(temps("root"), 0);
	ck_assert(!is_there("root/" DIR_NAME));
}
END_TEST

START_TEST(the_directory_is_private_and_goes_with_the_last)
{
	struct outfile other;
	struct stat st;

	outfile_init(&other);
	ck_assert_int_eq(begin(&file, 1, DIR_NAME), 0);
	ck_assert_int_eq(begin(&other, 2, DIR_NAME), 0);
	ck_assert_int_eq(stat("root/" DIR_NAME, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_uint_eq(temps("root/" DIR_NAME), 2);
	outfile_discard(&file);
	ck_assert_uint_eq(temps("root/" DIR_NAME), 1);
	outfile_leave(&other); /* nothing is in it */
	ck_assert(!is_there("root/" DIR_NAME));
}
END_TEST

START_TEST(a_directory_with_other_things_stays)
{
	ck_assert_int_eq(mkdir("root/" DIR_NAME, 0755), 0);
	tree_write("root/" DIR_NAME "/mine", "mine");
	leave_one(DIR_NAME);
	ck_assert_int_eq(begin(&file, 1, DIR_NAME), 0);
	outfile_discard(&file);
	tree_expect("root/" DIR_NAME "/mine", "mine");
	ck_assert_uint_eq(temps("root/" DIR_NAME), 0);
}
END_TEST

START_TEST(what_is_no_directory_is_an_error)
{
	if (_i == 0)
		tree_write("root/" DIR_NAME, "a file");
	else
		ck_assert_int_eq(symlink("../outdir", "root/" DIR_NAME), 0);
	ck_assert_int_eq(begin(&file, 1, DIR_NAME), -ENOTDIR);
	ck_assert(file.part_failed);
	ck_assert_int_eq(file.dir_fd, -1);
	ck_assert_uint_eq(temps("root") + temps("outdir"), 0);
	ck_assert(is_there("root/" DIR_NAME));
}
END_TEST

/* Or he could put something else in the place of what we write. */
START_TEST(a_directory_of_another_user_is_not_used)
{
	if (geteuid())
		skip_test("needs root");
	ck_assert_int_eq(mkdir("root/" DIR_NAME, 0777), 0);
	ck_assert_int_eq(chown("root/" DIR_NAME, 12345, 12345), 0);
	ck_assert_int_eq(begin(&file, 1, DIR_NAME), 0);
	ck_assert(!file.is_resumable && !file.part_failed);
	ck_assert_int_eq(file.part_fd, -1);
	ck_assert_uint_eq(temps("root"), 1);
	ck_assert_uint_eq(temps("root/" DIR_NAME), 0);
	outfile_discard(&file);
	ck_assert(is_there("root/" DIR_NAME));
}
END_TEST

static int with_a_mount(void)
{
	if (mkdir("root/" DIR_NAME, 0755) || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("tmpfs", "root/" DIR_NAME, "tmpfs", 0, NULL))
		return SKIP;
	close(tree_root); /* it belongs to the other namespace */
	tree_root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (begin(&file, 1, DIR_NAME) != -EXDEV || !file.part_failed)
		return 1;
	return temps("root") || temps("root/" DIR_NAME);
}

START_TEST(another_file_system_is_an_error)
{
	int r = geteuid() ? SKIP : in_child(with_a_mount);

	if (r == SKIP)
		skip_test("needs to mount");
	else
		ck_assert_int_eq(r, 0);
}
END_TEST

Suite *outfile_resume_suite(void)
{
	Suite *s = suite_create("outfile_resume");
	TCase *tc = tcase_create("partial");

	tcase_add_checked_fixture(tc, copy_setup, copy_teardown);
	tcase_add_loop_test(tc, what_was_left_is_gone_on_with, 0, ARRAY_SIZE(dirs));
	tcase_add_test(tc, the_sandbox_of_the_service_does_not_hinder);
	tcase_add_loop_test(tc, what_is_of_another_file_is_not_touched, 0, ARRAY_SIZE(dirs));
	tcase_add_loop_test(tc, one_that_is_in_use_is_not_shared, 0, ARRAY_SIZE(dirs));
	tcase_add_test(tc, the_directory_is_private_and_goes_with_the_last);
	tcase_add_test(tc, a_directory_with_other_things_stays);
	tcase_add_loop_test(tc, what_is_no_directory_is_an_error, 0, 2);
	tcase_add_test(tc, a_directory_of_another_user_is_not_used);
	tcase_add_test(tc, another_file_system_is_an_error);
	suite_add_tcase(s, tc);
	return s;
}
