/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reading: what is refused and how precisely, what a file that is not as stat(2) says does, and change under the reader. */
#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/infile.h"
#include "common/util.h"
#include "tests/fault.h"
#include "tree.h"

Suite *infile_suite(void);

static struct infile file;

static void setup(void)
{
	tree_setup();
	infile_init(&file);
	ck_assert_int_eq(mkdir("root/dir", 0755), 0);
	tree_write("root/file", "0123456789");
	tree_write("root/empty", "");
	tree_write("outside", "outside");
	ck_assert_int_eq(symlink("file", "root/link"), 0);
	ck_assert_int_eq(symlink("loop", "root/loop"), 0);
	ck_assert_int_eq(symlink("nowhere", "root/dangling"), 0);
	ck_assert_int_eq(symlink("../outside", "root/out"), 0);
	ck_assert_int_eq(mkfifo("root/fifo", 0600), 0);
}

static void teardown(void)
{
	infile_close(&file);
	tree_teardown();
}

static const struct {
	const char *path;
	int result;
} opens[] = {
	{ "file", 0 },
	{ "link", 0 },
	{ "empty", 0 },
	{ "dir", -EISDIR },
	{ ".", -EISDIR },
	{ "dir/", -EISDIR },
	{ "fifo", -ENOTSUP }, /* and does not wait for a writer */
	{ "missing", -ENOENT },
	{ "missing/file", -ENOENT },
	{ "dangling", -ENOENT },
	{ "loop", -ELOOP },
	{ "file/", -ENOTDIR },
	{ "file/x", -ENOTDIR },
	{ "out", -EXDEV },
	{ "../outside", -EXDEV },
	{ "/etc/passwd", -EXDEV },
};

START_TEST(open_says_precisely_what_is_wrong)
{
	int r = infile_open(&file, tree_root, opens[_i].path);

	ck_assert_msg(r == opens[_i].result, "'%s': %d", opens[_i].path, r);
	ck_assert_int_eq(file.fd >= 0, r == 0);
	if (!r)
		ck_assert_int_eq(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
}
END_TEST

START_TEST(a_socket_or_a_device_is_not_a_regular_file)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "root/socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(infile_open(&file, tree_root, "socket"), -ENOTSUP);
	close(fd);
	ck_assert_int_eq(infile_open(&file, AT_FDCWD, "/dev/null"), -ENOTSUP);
	ck_assert_int_eq(file.fd, -1);
}
END_TEST

START_TEST(a_device_is_refused_without_being_opened)
{
	/* no driver has this number: to open it would be -ENXIO */
	if (geteuid() || mknod("root/device", S_IFCHR | 0600, makedev(4095, 1)) < 0) {
		fprintf(stderr, "skip: making a device node is not possible here\n");
		return;
	}
	ck_assert_int_eq(infile_open(&file, tree_root, "device"), -ENOTSUP);
}
END_TEST

START_TEST(an_unreadable_file_is_eacces)
{
	pid_t pid;
	int status;

	ck_assert_int_eq(chmod("root/file", 0), 0);
	if (geteuid()) {
		ck_assert_int_eq(infile_open(&file, tree_root, "file"), -EACCES);
		return;
	}
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		_exit(infile_open(&file, tree_root, "file") == -EACCES ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(reading_gives_what_is_there_and_no_more)
{
	char buf[64];

	ck_assert_int_eq(infile_open(&file, tree_root, "file"), 0);
	ck_assert_int_eq(file.stat.st_size, 10);
	ck_assert(!file.unsized);
	ck_assert_int_eq(infile_read(&file, buf, 10, 0), 10);
	ck_assert_int_eq(memcmp(buf, "0123456789", 10), 0);
	ck_assert_int_eq(infile_read(&file, buf, sizeof(buf), 7), 3);
	ck_assert_int_eq(memcmp(buf, "789", 3), 0);
	ck_assert_int_eq(infile_read(&file, buf, 1, 10), 0);
	ck_assert_int_eq(infile_read(&file, buf, 1, 1000), 0);
	ck_assert_int_eq(infile_read(&file, buf, 0, 0), 0);
	ck_assert_int_eq(infile_read(&file, buf, 1, UINT64_MAX), -EINVAL);
	ck_assert_int_eq(infile_check(&file), 0);
}
END_TEST

START_TEST(an_empty_file_is_sized)
{
	char c;

	ck_assert_int_eq(infile_open(&file, tree_root, "empty"), 0);
	ck_assert(!file.unsized);
	ck_assert_int_eq(infile_read(&file, &c, 1, 0), 0);
	ck_assert_int_eq(infile_check(&file), 0);
}
END_TEST

START_TEST(a_file_of_proc_is_unsized_and_readable)
{
	char buf[4096];

	ck_assert_int_eq(infile_open(&file, AT_FDCWD, "/proc/self/status"), 0);
	ck_assert_int_eq(file.stat.st_size, 0);
	ck_assert(file.unsized);
	ck_assert_int_gt(infile_read(&file, buf, sizeof(buf), 0), 100);
	ck_assert_int_eq(memcmp(buf, "Name:", 5), 0);
	ck_assert_int_eq(infile_check(&file), 0);
}
END_TEST

START_TEST(a_file_of_sysfs_ends_before_its_size_and_is_unsized)
{
	char buf[4096];

	ck_assert_int_eq(infile_open(&file, AT_FDCWD, "/sys/devices/system/cpu/possible"), 0);
	ck_assert(file.unsized);
	ck_assert_int_eq(file.stat.st_size, 0);
	ck_assert_int_gt(infile_read(&file, buf, sizeof(buf), 0), 0);
	ck_assert_int_eq(buf[0], '0');
	ck_assert_int_eq(infile_check(&file), 0);
}
END_TEST

START_TEST(a_file_of_nothing_but_a_hole_is_sized)
{
	tree_write("root/hole", "");
	ck_assert_int_eq(truncate("root/hole", 4096), 0);
	ck_assert_int_eq(infile_open(&file, tree_root, "hole"), 0);
	ck_assert(!file.unsized);
	ck_assert_int_eq(file.stat.st_size, 4096);
	ck_assert_int_eq(truncate("root/hole", 100), 0);
	ck_assert_int_eq(infile_check(&file), -ESTALE);
}
END_TEST

START_TEST(a_file_of_proc_that_cannot_be_read_is_no_empty_file)
{
	ck_assert_int_eq(infile_open(&file, AT_FDCWD, "/proc/self/mem"), -EIO); /* nothing is mapped at 0 */
	ck_assert_int_eq(file.fd, -1);
}
END_TEST

START_TEST(an_offset_beyond_4_gib_is_reached)
{
	int fd = open("root/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char buf[16];

	ck_assert_int_eq(pwrite(fd, "end", 3, 5LL << 30), 3);
	close(fd);
	ck_assert_int_eq(infile_open(&file, tree_root, "sparse"), 0);
	ck_assert_int_eq(infile_read(&file, buf, sizeof(buf), (5ULL << 30) - 1), 4);
	ck_assert_int_eq(memcmp(buf, "\0end", 4), 0);
}
END_TEST

START_TEST(the_sum_of_holes_without_end_is_not_made)
{
	static const atomic_bool no;
	_Atomic uint64_t worked = 0;
	uint8_t sum[16];
	int fd = open("root/hollow", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(pwrite(fd, "end", 3, 3LL << 39), 3);
	close(fd);
	ck_assert_int_eq(infile_open(&file, tree_root, "hollow"), 0);
	ck_assert_int_eq(infile_sum(&file, &no, &worked, sum), -EFBIG);
	ck_assert_uint_eq(worked, 0);
}
END_TEST

static void grow(void)
{
	FILE *f = fopen("root/file", "ae");

	fputs("more", f);
	fclose(f);
}

static void shrink(void)
{
	ck_assert_int_eq(truncate("root/file", 5), 0);
}

static void touch(void)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1, .tv_nsec = 1 } };

	ck_assert_int_eq(utimensat(AT_FDCWD, "root/file", times, 0), 0);
}

static void (*const changes[])(void) = { grow, shrink, touch };

START_TEST(a_file_that_changed_while_it_was_read_is_estale)
{
	ck_assert_int_eq(infile_open(&file, tree_root, "file"), 0);
	ck_assert_int_eq(infile_check(&file), 0);
	changes[_i]();
	ck_assert_int_eq(infile_check(&file), -ESTALE);
}
END_TEST

START_TEST(a_file_that_was_replaced_is_still_the_one_that_was_opened)
{
	char buf[16];

	ck_assert_int_eq(infile_open(&file, tree_root, "file"), 0);
	ck_assert_int_eq(unlink("root/file"), 0);
	tree_write("root/file", "something else");
	ck_assert_int_eq(infile_read(&file, buf, sizeof(buf), 0), 10);
	ck_assert_int_eq(memcmp(buf, "0123456789", 10), 0);
	ck_assert_int_eq(infile_check(&file), 0);
}
END_TEST

START_TEST(close_may_come_twice_or_early)
{
	struct infile other;

	infile_init(&other);
	infile_close(&other);
	ck_assert_int_eq(infile_open(&other, tree_root, "file"), 0);
	infile_close(&other);
	ck_assert_int_eq(other.fd, -1);
	infile_close(&other);
}
END_TEST

#ifdef RDCP_FAULTS

START_TEST(short_and_interrupted_reads_go_on)
{
	unsigned long k, calls = 0;
	char buf[16];

	ck_assert_int_eq(infile_open(&file, tree_root, "file"), 0);
	fault_cut(1);
	for (k = 1; k <= 11; k++) {
		fault_set(k, EINTR);
		memset(buf, 0, sizeof(buf));
		ck_assert_int_eq(infile_read(&file, buf, 10, 0), 10);
		ck_assert_str_eq(buf, "0123456789");
		calls = fault_count();
	}
	ck_assert_uint_eq(calls, 10); /* one byte each, the eleventh never came */
}
END_TEST

START_TEST(a_read_error_after_some_bytes_is_an_error)
{
	char buf[16];

	ck_assert_int_eq(infile_open(&file, tree_root, "file"), 0);
	fault_cut(4);
	fault_set(2, EIO);
	ck_assert_int_eq(infile_read(&file, buf, 10, 0), -EIO);
	ck_assert_str_eq(fault_hit(), "read");
}
END_TEST

START_TEST(any_call_that_fails_in_open_is_reported_and_leaves_nothing_open)
{
	unsigned int fds = tree_open_fds();
	unsigned long k;
	int r;

	for (k = 1;; k++) {
		fault_set(k, EIO);
		r = infile_open(&file, tree_root, "empty");
		if (!fault_hit())
			break;
		ck_assert_int_eq(r, -EIO);
		ck_assert_uint_eq(tree_open_fds(), fds);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(k, 6); /* open, stat, open, stat, read */
}
END_TEST

static void fault_teardown(void)
{
	fault_set(0, 0);
	fault_cut(0);
	teardown();
}

static void add_fault_tests(Suite *s)
{
	TCase *tc = tcase_create("faults");

	tcase_add_checked_fixture(tc, setup, fault_teardown);
	tcase_add_test(tc, short_and_interrupted_reads_go_on);
	tcase_add_test(tc, a_read_error_after_some_bytes_is_an_error);
	tcase_add_test(tc, any_call_that_fails_in_open_is_reported_and_leaves_nothing_open);
	suite_add_tcase(s, tc);
}
#endif

Suite *infile_suite(void)
{
	Suite *s = suite_create("infile");
	TCase *tc = tcase_create("reading");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, open_says_precisely_what_is_wrong, 0, ARRAY_SIZE(opens));
	tcase_add_test(tc, a_socket_or_a_device_is_not_a_regular_file);
	tcase_add_test(tc, a_device_is_refused_without_being_opened);
	tcase_add_test(tc, an_unreadable_file_is_eacces);
	tcase_add_test(tc, reading_gives_what_is_there_and_no_more);
	tcase_add_test(tc, an_empty_file_is_sized);
	tcase_add_test(tc, a_file_of_proc_is_unsized_and_readable);
	tcase_add_test(tc, a_file_of_sysfs_ends_before_its_size_and_is_unsized);
	tcase_add_test(tc, a_file_of_nothing_but_a_hole_is_sized);
	tcase_add_test(tc, a_file_of_proc_that_cannot_be_read_is_no_empty_file);
	tcase_add_test(tc, an_offset_beyond_4_gib_is_reached);
	tcase_add_test(tc, the_sum_of_holes_without_end_is_not_made);
	tcase_add_loop_test(tc, a_file_that_changed_while_it_was_read_is_estale, 0, ARRAY_SIZE(changes));
	tcase_add_test(tc, a_file_that_was_replaced_is_still_the_one_that_was_opened);
	tcase_add_test(tc, close_may_come_twice_or_early);
	suite_add_tcase(s, tc);
#ifdef RDCP_FAULTS
	add_fault_tests(s);
#endif
	return s;
}
