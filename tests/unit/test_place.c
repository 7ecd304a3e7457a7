/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where something goes, and the directories that are made for it: places by cp's rule, the top of a tree, what is below it. All of
 * them from a root that nothing leads out of.
 */
#include <check.h>
#include <errno.h>
#include <stdbool.h>

#include "common/outdir.h"
#include "common/place.h"
#include "common/util.h"
#include "tree.h"

Suite *place_suite(void);

#define INTO PLACE_INTO_DIR
#define EXACT PLACE_EXACT
#define MAKE PLACE_MAKE_PATH

static void setup(void)
{
	tree_setup();
	ck_assert_int_eq(mkdir("root/dir", 0755) | mkdir("root/dir/sub", 0755) | mkdir("outside", 0755), 0);
	tree_write("root/file", "text");
	ck_assert_int_eq(symlink("dir", "root/link") | symlink("nowhere", "root/dangling"), 0);
	ck_assert_int_eq(symlink("../outside", "root/out") | symlink("file", "root/to-file"), 0);
	ck_assert_int_eq(symlink("loop", "root/loop") | symlink("/", "root/absolute"), 0);
}

static bool same_inode(const char *path, int fd)
{
	struct stat a, b;

	return stat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* ---- places --------------------------------------------------------------------------------------------------- */

static const struct found {
	const char *path;
	unsigned int flags;
	int result;
	const char *dir, *name; /* when it is not negative */
} finds[] = {
	{ "new", 0, 0, "root", "new" },
	{ "file", 0, 0, "root", "file" },
	{ "dir", 0, 1, "root/dir", "name" },
	{ "dir/", 0, 1, "root/dir", "name" },
	{ "dir/.", 0, 1, "root/dir", "name" },
	{ "dir//sub", 0, 1, "root/dir/sub", "name" },
	{ "dir/..", 0, 1, "root", "name" },
	{ ".", 0, 1, "root", "name" },
	{ "link", 0, 1, "root/dir", "name" },
	{ "link/new", 0, 0, "root/dir", "new" },
	{ "dir/new", 0, 0, "root/dir", "new" },
	{ "dir/file", 0, 0, "root/dir", "file" },
	{ "dangling", 0, 0, "root", "dangling" },
	{ "to-file", 0, 0, "root", "to-file" },
	{ "loop", 0, 0, "root", "loop" },
	{ "new/", 0, -ENOENT, NULL, NULL },
	{ "new/f", 0, -ENOENT, NULL, NULL },
	{ "file/", 0, -ENOTDIR, NULL, NULL },
	{ "file/f", 0, -ENOTDIR, NULL, NULL },
	{ "out", 0, -EXDEV, NULL, NULL },
	{ "out/f", 0, -EXDEV, NULL, NULL },
	{ "absolute", 0, -EXDEV, NULL, NULL },
	{ "..", 0, -EXDEV, NULL, NULL },
	{ "../f", 0, -EXDEV, NULL, NULL },
	{ "/", 0, -EXDEV, NULL, NULL },
	/* into */
	{ "dir", INTO, 1, "root/dir", "name" },
	{ "new", INTO, -ENOENT, NULL, NULL },
	{ "file", INTO, -ENOTDIR, NULL, NULL },
	{ "new", INTO | MAKE, 1, "root/new", "name" },
	{ "new/a/b/", INTO | MAKE, 1, "root/new/a/b", "name" },
	{ "dir/a", INTO | MAKE, 1, "root/dir/a", "name" },
	{ "file", INTO | MAKE, -ENOTDIR, NULL, NULL },
	/* exactly */
	{ "dir", EXACT, 0, "root", "dir" },
	{ "dir/new", EXACT, 0, "root/dir", "new" },
	/* made on the way */
	{ "new/f", MAKE, 0, "root/new", "f" },
	{ "new/./a//f", MAKE, 0, "root/new/a", "f" },
	{ "dir/new/f", MAKE, 0, "root/dir/new", "f" },
	{ "dir", MAKE, 1, "root/dir", "name" },
	{ "new", MAKE, 0, "root", "new" },
	{ "file/a/f", MAKE, -ENOTDIR, NULL, NULL },
	{ "out/a/f", MAKE, -EXDEV, NULL, NULL },
	{ "../a/f", MAKE, -EXDEV, NULL, NULL },
	{ "new/../../a/f", MAKE, -EXDEV, NULL, NULL },
	{ "dangling/a/f", MAKE, -ENOENT, NULL, NULL },
};

START_TEST(place_is_found_as_cp_finds_it)
{
	const struct found *f = &finds[_i];
	unsigned int fds = tree_open_fds();
	char name[NAME_MAX + 1];
	int dir = -1, r = place_find(tree_root, f->path, "name", f->flags, &dir, name);

	ck_assert_msg(r == f->result, "'%s' with %#x: %d instead of %d", f->path, f->flags, r, f->result);
	if (r >= 0) {
		ck_assert_msg(same_inode(f->dir, dir), "'%s' is not in '%s'", f->path, f->dir);
		ck_assert_str_eq(name, f->name);
		close(dir);
	}
	ck_assert_uint_eq(tree_open_fds(), fds);
	ck_assert(!is_there("a") && !is_there("outside/a") && !is_there("outside/f"));
	if (!(f->flags & MAKE))
		ck_assert(!is_there("root/new"));
}
END_TEST

START_TEST(name_has_to_be_one)
{
	char name[257];

	ck_assert_int_eq(place_check_name("a"), 0);
	ck_assert_int_eq(place_check_name("..."), 0);
	ck_assert_int_eq(place_check_name("-"), 0);
	ck_assert_int_eq(place_check_name(""), -EINVAL);
	ck_assert_int_eq(place_check_name("."), -EINVAL);
	ck_assert_int_eq(place_check_name(".."), -EINVAL);
	ck_assert_int_eq(place_check_name("/"), -EINVAL);
	ck_assert_int_eq(place_check_name("a/b"), -EINVAL);
	memset(name, 'x', 256);
	name[256] = '\0';
	ck_assert_int_eq(place_check_name(name), -ENAMETOOLONG);
	name[255] = '\0';
	ck_assert_int_eq(place_check_name(name), 0);
}
END_TEST

START_TEST(name_that_is_none_goes_into_no_directory)
{
	char name[NAME_MAX + 1];
	unsigned int fds = tree_open_fds();
	int dir;

	ck_assert_int_eq(place_find(tree_root, "dir", "..", 0, &dir, name), -EINVAL);
	ck_assert_int_eq(place_find(tree_root, "dir", "a/b", 0, &dir, name), -EINVAL);
	ck_assert_int_eq(place_find(tree_root, "dir", "", 0, &dir, name), -EINVAL);
	ck_assert_uint_eq(tree_open_fds(), fds);
}
END_TEST

START_TEST(path_longer_than_a_path_is_refused)
{
	char path[PATH_MAX + 10], name[NAME_MAX + 1];
	int dir;

	for (unsigned int i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? '/' : 'x';
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(place_find(tree_root, path, "name", MAKE, &dir, name), -ENAMETOOLONG);
	ck_assert(!is_there("root/x"));
}
END_TEST

/* ---- the top of a tree ------------------------------------------------------------------------------------------ */

static const struct top {
	const char *path;
	unsigned int flags;
	int error;
	const char *top; /* when it is none */
	bool made, entered;
} tops[] = {
	{ "new", 0, 0, "root/new", true, false },        { "new/", 0, 0, "root/new", true, false },
	{ "new///", 0, 0, "root/new", true, false },     { "dir", 0, 0, "root/dir/name", true, true },
	{ "dir/", 0, 0, "root/dir/name", true, true },   { "link", 0, 0, "root/dir/name", true, true },
	{ ".", 0, 0, "root/name", true, true },          { "dir/sub/..", 0, 0, "root/dir/name", true, true },
	{ "new/a", 0, -ENOENT, NULL, false, false },     { "new/a/", MAKE, 0, "root/new/a", true, false },
	{ "new", INTO, -ENOENT, NULL, false, false },    { "new", INTO | MAKE, 0, "root/new/name", true, true },
	{ "file", 0, -ENOTDIR, NULL, false, false },     { "file/", 0, -ENOTDIR, NULL, false, false },
	{ "dangling", 0, -ENOTDIR, NULL, false, false }, { "dir", EXACT, 0, "root/dir", false, false },
	{ ".", EXACT, 0, "root", false, false },         { "link", EXACT, 0, "root/dir", false, false },
	{ "new", EXACT, 0, "root/new", true, false },    { "to-file", EXACT, -ENOTDIR, NULL, false, false },
	{ "out", 0, -EXDEV, NULL, false, false },        { "out", EXACT, -EXDEV, NULL, false, false },
	{ "..", EXACT, -EXDEV, NULL, false, false },     { "../new", 0, -EXDEV, NULL, false, false },
};

START_TEST(top_is_made_or_entered)
{
	const struct top *t = &tops[_i];
	unsigned int fds = tree_open_fds();
	bool made, entered;
	int parent, fd = outdir_make(tree_root, t->path, "name", 0750, t->flags, &parent, &made, &entered);

	ck_assert_msg(t->error ? fd == t->error : fd >= 0, "'%s' with %#x: %d", t->path, t->flags, fd);
	if (fd >= 0) {
		ck_assert_msg(same_inode(t->top, fd), "'%s' is not '%s'", t->path, t->top);
		ck_assert_int_eq(made, t->made);
		ck_assert_int_eq(entered, t->entered);
		close(fd);
	}
	if (parent >= 0)
		close(parent);
	ck_assert_uint_eq(tree_open_fds(), fds);
	ck_assert(!is_there("outside/name") && !is_there("new") && !is_there("name"));
}
END_TEST

START_TEST(directory_can_be_filled_until_it_is_finished)
{
	struct stat st;

	ck_assert_int_eq(outdir_make_in(tree_root, "new", 04000), 1);
	ck_assert_int_eq(stat("root/new", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(outdir_make_in(tree_root, "new", 0755), 0);
	ck_assert_int_eq(outdir_make_in(tree_root, "file", 0755), -ENOTDIR);
	ck_assert_int_eq(outdir_make_in(tree_root, "link", 0755), -ENOTDIR);
	ck_assert_int_eq(outdir_make_in(tree_root, "a/b", 0755), -EINVAL);
	ck_assert_int_eq(outdir_make_in(tree_root, "..", 0755), -EINVAL);
}
END_TEST

static bool unsynced;

START_TEST(finished_directory_has_mode_and_time)
{
	const struct outfile_attrs attrs = { .mode = 07555, .preserve = true, .mtime = { -5, 123456789 } };
	struct stat st;

	ck_assert_int_eq(outdir_finish(tree_root, "dir/sub", &attrs, true, &unsynced), 0);
	ck_assert_int_eq(stat("root/dir/sub", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0555);
	ck_assert_int_eq(st.st_mtim.tv_sec, -5);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
	ck_assert_int_eq(outdir_finish(tree_root, "", &attrs, false, &unsynced), 0);
	ck_assert_int_eq(stat("root", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0555);
	ck_assert_int_eq(chmod("root", 0755), 0);
}
END_TEST

START_TEST(only_directories_on_a_way_without_links_are_finished)
{
	const struct outfile_attrs attrs = { .mode = 0700, .preserve = true };
	struct stat st;

	ck_assert_int_eq(outdir_finish(tree_root, "link", &attrs, true, &unsynced), -ELOOP);
	ck_assert_int_eq(outdir_finish(tree_root, "link/sub", &attrs, true, &unsynced), -ELOOP);
	ck_assert_int_eq(outdir_finish(tree_root, "out", &attrs, true, &unsynced), -ELOOP);
	ck_assert_int_eq(outdir_finish(tree_root, "..", &attrs, true, &unsynced), -EXDEV);
	ck_assert_int_eq(outdir_finish(tree_root, "file", &attrs, true, &unsynced), -ENOTDIR);
	ck_assert_int_eq(outdir_finish(tree_root, "nothing", &attrs, true, &unsynced), -ENOENT);
	ck_assert_int_eq(stat("outside", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
}
END_TEST

Suite *place_suite(void)
{
	Suite *s = suite_create("place");
	TCase *tc = tcase_create("place");

	tcase_add_checked_fixture(tc, setup, tree_teardown);
	tcase_add_loop_test(tc, place_is_found_as_cp_finds_it, 0, ARRAY_SIZE(finds));
	tcase_add_test(tc, name_has_to_be_one);
	tcase_add_test(tc, name_that_is_none_goes_into_no_directory);
	tcase_add_test(tc, path_longer_than_a_path_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("directories");
	tcase_add_checked_fixture(tc, setup, tree_teardown);
	tcase_add_loop_test(tc, top_is_made_or_entered, 0, ARRAY_SIZE(tops));
	tcase_add_test(tc, directory_can_be_filled_until_it_is_finished);
	tcase_add_test(tc, finished_directory_has_mode_and_time);
	tcase_add_test(tc, only_directories_on_a_way_without_links_are_finished);
	suite_add_tcase(s, tc);
	return s;
}
