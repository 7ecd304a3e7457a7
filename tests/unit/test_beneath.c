/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* No path leaves its root: by dots, by a slash, by symlinks, or by symlinks that change meanwhile. */
#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "common/beneath.h"
#include "common/cleanup.h"
#include "common/util.h"
#include "tree.h"

Suite *beneath_suite(void);

static void setup(void)
{
	tree_setup();
	tree_write("outside", "outside");
	ck_assert_int_eq(mkdir("root/dir", 0755), 0);
	tree_write("root/file", "file");
	tree_write("root/dir/file", "dir/file");
	ck_assert_int_eq(symlink("file", "root/link"), 0);
	ck_assert_int_eq(symlink("../file", "root/dir/up"), 0);
	ck_assert_int_eq(symlink("../outside", "root/out"), 0);
	ck_assert_int_eq(symlink("..", "root/parent"), 0);
	ck_assert_int_eq(symlink("/etc/passwd", "root/absolute"), 0);
	ck_assert_int_eq(symlink("/", "root/slash"), 0);
	ck_assert_int_eq(symlink("loop", "root/loop"), 0);
	ck_assert_int_eq(symlink("nowhere", "root/dangling"), 0);
}

static const struct {
	const char *path;
	int result; /* 0: opens */
} paths[] = {
	{ "file", 0 },
	{ "./dir/../file", 0 },
	{ "dir//file", 0 },
	{ "link", 0 },
	{ "dir/up", 0 },
	{ ".", 0 },
	{ "..", -EXDEV },
	{ "../outside", -EXDEV },
	{ "dir/../../outside", -EXDEV },
	{ "/etc/passwd", -EXDEV },
	{ "/", -EXDEV },
	{ "out", -EXDEV },
	{ "parent/outside", -EXDEV },
	{ "absolute", -EXDEV },
	{ "slash/etc/passwd", -EXDEV },
	{ "loop", -ELOOP },
	{ "dangling", -ENOENT },
	{ "missing", -ENOENT },
	{ "file/", -ENOTDIR },
	{ "file/x", -ENOTDIR },
	{ "", -ENOENT },
};

START_TEST(a_path_opens_only_beneath_its_root)
{
	int r = beneath_open(tree_root, paths[_i].path, O_RDONLY, 0);

	ck_assert_msg(paths[_i].result ? r == paths[_i].result : r >= 0, "'%s': %d", paths[_i].path, r);
	if (r >= 0) {
		ck_assert_int_eq(fcntl(r, F_GETFD), FD_CLOEXEC);
		close(r);
	}
}
END_TEST

START_TEST(what_is_created_is_beneath_the_root_and_has_its_mode)
{
	struct stat st;
	int fd = beneath_open(tree_root, "dir/new", O_WRONLY | O_CREAT | O_EXCL, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(stat("root/dir/new", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(beneath_open(tree_root, "out", O_WRONLY | O_CREAT | O_TRUNC, 0600), -EXDEV);
	ck_assert_int_eq(beneath_open(tree_root, "../new", O_WRONLY | O_CREAT, 0600), -EXDEV);
	tree_expect("outside", "outside");
	/* a mode without O_CREAT is openat2's EINVAL, not ours */
	fd = beneath_open(tree_root, "file", O_RDONLY, 0644);
	ck_assert_int_ge(fd, 0);
	close(fd);
}
END_TEST

START_TEST(without_a_root_any_path_is_fine)
{
	int fd = beneath_open(AT_FDCWD, "root/../outside", O_RDONLY, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = beneath_open(AT_FDCWD, "/", O_PATH, 0);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(beneath_open(AT_FDCWD, "missing", O_RDONLY, 0), -ENOENT);
}
END_TEST

START_TEST(a_magic_link_is_not_followed)
{
	_cleanup_close_ int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(self, 0);
	ck_assert_int_eq(beneath_open(self, "cwd", O_PATH | O_DIRECTORY, 0), -ELOOP);
	ck_assert_int_eq(beneath_open(self, "root/etc", O_PATH | O_DIRECTORY, 0), -ELOOP);
}
END_TEST

/* "./././file" of `len` bytes, `len` even. */
static void long_path(char *path, size_t len)
{
	size_t i;

	for (i = 0; i < len - 4; i += 2)
		memcpy(path + i, "./", 2);
	memcpy(path + len - 4, "file", 5);
}

START_TEST(a_path_longer_than_path_max_is_refused)
{
	char path[PATH_MAX + 100], name[NAME_MAX + 1] = "untouched";
	int fd;

	long_path(path, PATH_MAX + 2);
	ck_assert_int_eq(beneath_open(tree_root, path, O_RDONLY, 0), -ENAMETOOLONG);
	long_path(path, PATH_MAX + 8);
	ck_assert_int_eq(beneath_open_parent(tree_root, path, name), -ENAMETOOLONG);
	ck_assert_str_eq(name, "untouched");
	long_path(path, PATH_MAX - 2);
	fd = beneath_open(tree_root, path, O_RDONLY, 0);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fd = beneath_open_parent(tree_root, path, name);
	ck_assert_int_ge(fd, 0);
	ck_assert_str_eq(name, "file");
	close(fd);
}
END_TEST

static const struct {
	const char *path, *name; /* NULL: fails */
	int result;
	const char *dir;
} parents[] = {
	{ "file", "file", 0, "root" },        { "new", "new", 0, "root" },
	{ "dir/new", "new", 0, "root/dir" },  { "dir//new", "new", 0, "root/dir" },
	{ "./dir/../new", "new", 0, "root" }, { "out", "out", 0, "root" }, /* the last component is not followed */
	{ "", NULL, -EINVAL, NULL },          { ".", NULL, -EINVAL, NULL },
	{ "..", NULL, -EINVAL, NULL },        { "/", NULL, -EINVAL, NULL },
	{ "dir/", NULL, -EINVAL, NULL },      { "dir/.", NULL, -EINVAL, NULL },
	{ "dir/..", NULL, -EINVAL, NULL },    { "../x", NULL, -EXDEV, NULL },
	{ "/x", NULL, -EXDEV, NULL },         { "/etc/x", NULL, -EXDEV, NULL },
	{ "parent/x", NULL, -EXDEV, NULL },   { "missing/x", NULL, -ENOENT, NULL },
	{ "file/x", NULL, -ENOTDIR, NULL },   { "loop/x", NULL, -ELOOP, NULL },
};

START_TEST(the_parent_is_opened_and_the_name_given)
{
	char name[NAME_MAX + 1] = "untouched";
	struct stat got, want;
	int r = beneath_open_parent(tree_root, parents[_i].path, name);

	if (parents[_i].result) {
		ck_assert_msg(r == parents[_i].result, "'%s': %d", parents[_i].path, r);
		ck_assert_str_eq(name, "untouched");
		return;
	}
	ck_assert_msg(r >= 0, "'%s': %d", parents[_i].path, r);
	ck_assert_str_eq(name, parents[_i].name);
	ck_assert_int_eq(fstat(r, &got), 0);
	ck_assert_int_eq(stat(parents[_i].dir, &want), 0);
	ck_assert_uint_eq(got.st_ino, want.st_ino);
	close(r);
}
END_TEST

START_TEST(without_a_root_the_parent_of_an_absolute_path_is_found)
{
	char name[NAME_MAX + 1];
	_cleanup_close_ int fd = beneath_open_parent(AT_FDCWD, "/etc", name);

	ck_assert_int_ge(fd, 0);
	ck_assert_str_eq(name, "etc");
}
END_TEST

START_TEST(a_name_of_255_bytes_fits_and_256_do_not)
{
	char path[4 + 256 + 1] = "dir/", name[NAME_MAX + 1];
	int fd;

	memset(path + 4, 'n', 256);
	ck_assert_int_eq(beneath_open_parent(tree_root, path, name), -ENAMETOOLONG);
	path[4 + 255] = '\0';
	fd = beneath_open_parent(tree_root, path, name);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(strlen(name), 255);
	close(fd);
}
END_TEST

static atomic_bool race_over;

/* Turns root/race from a directory into a symlink that leads outside and back. */
static void *flip(void *arg)
{
	while (!race_over) {
		renameat2(AT_FDCWD, "root/race", AT_FDCWD, "root/other", RENAME_EXCHANGE);
		sched_yield();
	}
	return NULL;
}

START_TEST(a_symlink_put_in_meanwhile_never_leads_outside)
{
	struct stat inside, st;
	unsigned int i, opened = 0, refused = 0;
	pthread_t thread;

	ck_assert_int_eq(mkdir("root/race", 0755), 0);
	tree_write("root/race/outside", "inside");
	ck_assert_int_eq(stat("root/race/outside", &inside), 0);
	ck_assert_int_eq(symlink("..", "root/other"), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, flip, NULL), 0);
	for (i = 0; i < 20000 && (i < 2000 || !opened || !refused); i++) {
		int fd = beneath_open(tree_root, "race/outside", O_RDONLY, 0);

		if (fd >= 0) {
			ck_assert_int_eq(fstat(fd, &st), 0);
			ck_assert_uint_eq(st.st_ino, inside.st_ino);
			close(fd);
			opened++;
		} else {
			ck_assert_msg(fd == -EXDEV || fd == -EAGAIN, "%d", fd);
			refused++;
		}
	}
	race_over = true;
	pthread_join(thread, NULL);
	ck_assert_uint_gt(opened, 0);
	ck_assert_uint_gt(refused, 0);
}
END_TEST

Suite *beneath_suite(void)
{
	Suite *s = suite_create("beneath");
	TCase *tc = tcase_create("paths");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, tree_teardown);
	tcase_add_loop_test(tc, a_path_opens_only_beneath_its_root, 0, ARRAY_SIZE(paths));
	tcase_add_test(tc, what_is_created_is_beneath_the_root_and_has_its_mode);
	tcase_add_test(tc, without_a_root_any_path_is_fine);
	tcase_add_test(tc, a_magic_link_is_not_followed);
	tcase_add_test(tc, a_path_longer_than_path_max_is_refused);
	tcase_add_loop_test(tc, the_parent_is_opened_and_the_name_given, 0, ARRAY_SIZE(parents));
	tcase_add_test(tc, without_a_root_the_parent_of_an_absolute_path_is_found);
	tcase_add_test(tc, a_name_of_255_bytes_fits_and_256_do_not);
	tcase_add_test(tc, a_symlink_put_in_meanwhile_never_leads_outside);
	suite_add_tcase(s, tc);
	return s;
}
