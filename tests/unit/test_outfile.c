/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Writing a file: where it goes, what it may replace, what is refused and how precisely, and that nothing is seen of it
 * before it is whole.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "copy.h"

Suite *outfile_suite(void);

/* ---- where it goes ------------------------------------------------------------------------------------------ */

static const struct {
	const char *path, *result; /* the file that appears */
} goes[] = {
	{ "new", "root/new" },
	{ "./dir//new", "root/dir/new" },
	{ "dir", "root/dir/name" },
	{ "dir/", "root/dir/name" },
	{ "dir/.", "root/dir/name" },
	{ ".", "root/name" },
	{ "linkdir", "root/dir/name" },
	{ "linkdir/", "root/dir/name" },
	{ "linkdir/new", "root/dir/new" },
	{ "dir/../new", "root/new" },
	{ "old", "root/old" },
	{ "link", "root/link" },
	{ "dangling", "root/dangling" },
	{ "loop", "root/loop" },
	{ "dir/filelink", "root/dir/filelink" },
};

START_TEST(a_file_goes_where_its_path_says)
{
	struct stat st;

	ck_assert_int_eq(copy(goes[_i].path, "hello", &plain, 0), 0);
	ck_assert_int_eq(lstat(goes[_i].result, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	tree_expect(goes[_i].result, "hello");
	tree_expect("root/old", strcmp(goes[_i].path, "old") ? "old" : "hello"); /* no link was followed */
	ck_assert_int_eq(access("root/nowhere", F_OK), -1);
	ck_assert_uint_eq(temps("root") + temps("root/dir"), 0);
}
END_TEST

static const struct {
	const char *path, *name;
	int result;
	unsigned int flags;
} refused[] = {
	{ "fifo", "name", -ENOTSUP, 0 },
	{ "missing/new", "name", -ENOENT, 0 },
	{ "old/new", "name", -ENOTDIR, 0 },
	{ "old/", "name", -ENOTDIR, 0 },
	{ "old/.", "name", -ENOTDIR, 0 },
	{ "link/", "name", -ENOTDIR, 0 },
	{ "missing/", "name", -ENOENT, 0 },
	{ "missing/.", "name", -ENOENT, 0 },
	{ "dangling/", "name", -ENOENT, 0 },
	{ "loop/new", "name", -ELOOP, 0 },
	{ "", "name", -ENOENT, 0 },
	{ "dir", "sub", -EISDIR, 0 },
	{ "dir", "sublink", -EISDIR, 0 }, /* a link to a directory is not replaced */
	{ "dir", "outlink", -EXDEV, 0 },
	{ "outdir", "name", -EXDEV, 0 },
	{ "outdir/new", "name", -EXDEV, 0 },
	{ "out", "name", -EXDEV, 0 },
	{ "../new", "name", -EXDEV, 0 },
	{ "..", "name", -EXDEV, 0 },
	{ "/tmp", "name", -EXDEV, 0 },
	{ "dir/../../new", "name", -EXDEV, 0 },
	{ "dir", "", -EINVAL, 0 },
	{ "dir", ".", -EINVAL, 0 },
	{ "dir", "..", -EINVAL, 0 },
	{ "dir", "../new", -EINVAL, 0 },
	{ "dir", "sub/new", -EINVAL, 0 },
	{ "old", "name", -ENOTDIR, PLACE_INTO_DIR },
	{ "link", "name", -ENOTDIR, PLACE_INTO_DIR },
	{ "missing", "name", -ENOENT, PLACE_INTO_DIR },
	{ "fifo", "name", -ENOTDIR, PLACE_INTO_DIR },
	{ "old", "name", -EEXIST, PLACE_NO_CLOBBER },
	{ "link", "name", -EEXIST, PLACE_NO_CLOBBER },
	{ "dangling", "name", -EEXIST, PLACE_NO_CLOBBER },
	{ "fifo", "name", -EEXIST, PLACE_NO_CLOBBER },
	{ "dir", "filelink", -EEXIST, PLACE_NO_CLOBBER },
	{ "dir", "sub", -EISDIR, PLACE_NO_CLOBBER },
};

START_TEST(create_says_precisely_what_is_wrong_and_leaves_nothing)
{
	int r = outfile_create(&file, tree_root, refused[_i].path, refused[_i].name, refused[_i].flags);

	ck_assert_msg(r == refused[_i].result, "'%s' + '%s': %d", refused[_i].path, refused[_i].name, r);
	ck_assert_int_eq(file.fd, -1);
	ck_assert_int_eq(file.dir_fd, -1);
	ck_assert_uint_eq(temps("root") + temps("root/dir") + temps(".") + temps("outdir"), 0);
	tree_expect("root/old", "old");
	tree_expect("outside", "outside");
}
END_TEST

START_TEST(a_name_of_255_bytes_fits_and_256_do_not)
{
	char name[300], path[310];

	memset(name, 'n', 256);
	name[256] = '\0';
	ck_assert_int_eq(copy(name, "hello", &plain, 0), -ENAMETOOLONG);
	ck_assert_int_eq(outfile_create(&file, tree_root, "dir", name, 0), -ENAMETOOLONG);
	name[255] = '\0';
	ck_assert_int_eq(copy(name, "hello", &plain, 0), 0);
	snprintf(path, sizeof(path), "root/%s", name);
	tree_expect(path, "hello");
	ck_assert_int_eq(outfile_create(&file, tree_root, "dir", name, 0), 0);
	ck_assert_uint_eq(strlen(file.temp), 255);
}
END_TEST

/* It is only what a peer says: nothing was paid for it. */
START_TEST(room_is_looked_at_and_not_taken)
{
	struct statvfs fs;
	struct stat st;

	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(fstatvfs(file.fd, &fs), 0);
	ck_assert_int_eq(outfile_check_room(&file, fs.f_frsize * (fs.f_bfree / 2), 0), 0);
	ck_assert_int_eq(fstat(file.fd, &st), 0);
	ck_assert_int_eq(st.st_blocks, 0);
	ck_assert_int_eq(outfile_check_room(&file, INT64_MAX, 0), -ENOSPC);
	ck_assert_int_eq(outfile_check_room(&file, INT64_MAX, INT64_MAX), 0);
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters)
{
	char name[300] = "";
	size_t i;

	for (i = 0; i < 85; i++)
		memcpy(name + 3 * i, "\xe2\x82\xac", 4); /* 235 bytes would end in the 79th of these */
	ck_assert_int_eq(outfile_create(&file, tree_root, name, "name", 0), 0);
	ck_assert_uint_eq(strlen(file.temp), 1 + 234 + 1 + 8 + 10);
	ck_assert_int_eq(file.temp[1 + 234], '.');
}
END_TEST

START_TEST(the_temporary_is_private_hidden_and_random)
{
	struct outfile other;
	struct stat st;

	outfile_init(&other);
	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(outfile_create(&other, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(fstat(file.fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(strncmp(file.temp, ".new.", 5), 0);
	ck_assert_str_eq(file.temp + 5 + 8, ".rdcp-part");
	ck_assert_str_ne(file.temp, other.temp);
	ck_assert_int_eq(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(file.dir_fd, F_GETFD), FD_CLOEXEC);
	ck_assert_uint_eq(temps("root"), 2);
	outfile_discard(&other);
	ck_assert_uint_eq(temps("root"), 1);
}
END_TEST

START_TEST(without_a_root_any_path_is_fine)
{
	ck_assert_int_eq(outfile_create(&file, AT_FDCWD, "root/../outdir", "name", 0), 0);
	ck_assert_int_eq(outfile_write(&file, "hello", 5, 0), 0);
	ck_assert_int_eq(outfile_finish(&file, 5, &plain), 0);
	ck_assert_int_eq(outfile_commit(&file, 0), 0);
	tree_expect("outdir/name", "hello");
}
END_TEST

START_TEST(a_link_to_no_file_is_not_replaced_and_one_to_a_file_is)
{
	ck_assert_int_eq(mkfifoat(tree_root, "pipe", 0600), 0);
	ck_assert_int_eq(symlinkat("pipe", tree_root, "to-pipe"), 0);
	ck_assert_int_eq(symlinkat("old", tree_root, "to-old"), 0);
	ck_assert_int_eq(outfile_create(&file, AT_FDCWD, "root/to-pipe", "name", 0), -ENOTSUP);
	ck_assert_int_eq(outfile_create(&file, AT_FDCWD, "root/to-old", "name", 0), 0);
	outfile_discard(&file);
	ck_assert_int_eq(outfile_create(&file, tree_root, "to-pipe", "name", 0), -ENOTSUP);
	ck_assert_int_eq(outfile_create(&file, tree_root, ".", "to-pipe", 0), -ENOTSUP);
	ck_assert_uint_eq(temps("root"), 0);
}
END_TEST

/* Also one of a regular file: where standard output goes is not what its name is for. */
START_TEST(a_link_to_a_descriptor_is_not_replaced)
{
	int fd = open("root/old", O_RDONLY | O_CLOEXEC);
	char path[64];

	ck_assert_int_ge(fd, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(symlinkat(path, tree_root, "desc"), 0);
	ck_assert_int_eq(outfile_create(&file, AT_FDCWD, "root/desc", "name", 0), -ENOTSUP);
	ck_assert_int_eq(outfile_create(&file, AT_FDCWD, path, "name", 0), -ENOTSUP);
	ck_assert_int_eq(outfile_create(&file, tree_root, "desc", "name", 0), -EXDEV);
	close(fd);
}
END_TEST

/* ---- as somebody else, or elsewhere ------------------------------------------------------------------------- */

#define SKIP 77

static int unprivileged(void)
{
	if (!geteuid() && (setgid(65534) || setuid(65534)))
		return 1;
	if (outfile_create(&file, tree_root, "closed", "name", 0) != -EACCES)
		return 2;
	if (outfile_create(&file, tree_root, "closed/sub/new", "name", 0) != -EACCES)
		return 3;
	return 0;
}

START_TEST(a_directory_without_permission_is_eacces)
{
	ck_assert_int_eq(mkdir("root/closed", 0700), 0);
	ck_assert_int_eq(mkdir("root/closed/sub", 0777), 0);
	ck_assert_int_eq(chmod("root/closed", 0), 0);
	ck_assert_int_eq(in_child(unprivileged), 0);
	ck_assert_int_eq(chmod("root/closed", 0700), 0);
}
END_TEST

static int mount_tmpfs(const char *path, unsigned long flags, const char *options)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", path, "tmpfs", flags, options))
		return SKIP;
	close(tree_root); /* it belongs to the other namespace */
	tree_root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int on_read_only(void)
{
	if (mount_tmpfs("root/dir", MS_RDONLY, NULL))
		return SKIP;
	return outfile_create(&file, tree_root, "dir/new", "name", 0) == -EROFS ? 0 : 1;
}

static int on_full(void)
{
	char block[65536] = { 0 };
	uint64_t off = 0;
	int r = 0;

	if (mount_tmpfs("root/dir", 0, "size=1m"))
		return SKIP;
	if (copy("dir/old", "old", &plain, 0) || outfile_create(&file, tree_root, "dir/old", "name", 0))
		return 1;
	for (; off < 4 * MIB && !r; off += sizeof(block))
		r = outfile_write(&file, block, sizeof(block), off);
	if (r != -ENOSPC || off > MIB)
		return 2;
	outfile_discard(&file);
	if (temps("root/dir"))
		return 3;
	tree_expect("root/dir/old", "old");
	return copy("dir/old", "new", &plain, 0) ? 4 : 0; /* there is space again */
}

static int (*const mounts[])(void) = { on_read_only, on_full };

START_TEST(a_read_only_or_full_file_system_is_told)
{
	int r = geteuid() ? SKIP : in_child(mounts[_i]);

	if (r == SKIP)
		fprintf(stderr, "skip: mounting a tmpfs is not possible here\n");
	else
		ck_assert_int_eq(r, 0);
}
END_TEST

/* ---- commit and discard ------------------------------------------------------------------------------------- */

START_TEST(until_commit_the_old_file_stays)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, "old", "name", 0), 0);
	ck_assert_int_eq(outfile_write(&file, "new", 3, 0), 0);
	ck_assert_int_eq(outfile_finish(&file, 3, &plain), 0);
	tree_expect("root/old", "old");
	ck_assert_int_eq(outfile_commit(&file, 0), 0);
	tree_expect("root/old", "new");
	ck_assert_int_eq(outfile_sync_dir(&file), 0);
	outfile_discard(&file); /* only closes now */
	tree_expect("root/old", "new");
}
END_TEST

START_TEST(discard_removes_the_temporary_and_may_come_twice)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, "old", "name", 0), 0);
	ck_assert_int_eq(outfile_write(&file, "new", 3, 0), 0);
	outfile_discard(&file);
	ck_assert_uint_eq(temps("root"), 0);
	tree_expect("root/old", "old");
	ck_assert_int_eq(file.fd, -1);
	ck_assert_int_eq(file.dir_fd, -1);
	outfile_discard(&file);
}
END_TEST

/* Whoever came first may end last: a session that retries has set the time of the directory by then. */
START_TEST(discard_leaves_the_time_of_the_directory)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 2000, .tv_nsec = 3 } };
	struct stat st;

	ck_assert_int_eq(outfile_create(&file, tree_root, "old", "name", 0), 0);
	ck_assert_int_eq(utimensat(tree_root, ".", old, 0), 0);
	outfile_discard(&file);
	ck_assert_int_eq(fstat(tree_root, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 2000);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 3);
}
END_TEST

START_TEST(a_destination_that_appeared_meanwhile_is_not_clobbered)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", PLACE_NO_CLOBBER), 0);
	ck_assert_int_eq(outfile_finish(&file, 0, &plain), 0);
	tree_write("root/new", "theirs");
	ck_assert_int_eq(outfile_commit(&file, PLACE_NO_CLOBBER), -EEXIST);
	outfile_discard(&file);
	tree_expect("root/new", "theirs");
	ck_assert_uint_eq(temps("root"), 0);
}
END_TEST

START_TEST(a_directory_that_appeared_meanwhile_is_eisdir)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(outfile_finish(&file, 0, &plain), 0);
	ck_assert_int_eq(mkdir("root/new", 0755), 0);
	ck_assert_int_eq(outfile_commit(&file, 0), -EISDIR);
	outfile_discard(&file);
	ck_assert_uint_eq(temps("root"), 0);
}
END_TEST

START_TEST(a_directory_moved_meanwhile_takes_the_file_along)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, "dir/new", "name", 0), 0);
	ck_assert_int_eq(outfile_write(&file, "hello", 5, 0), 0);
	ck_assert_int_eq(rename("root/dir", "root/moved"), 0);
	ck_assert_int_eq(symlink("../outdir", "root/dir"), 0);
	ck_assert_int_eq(outfile_finish(&file, 5, &plain), 0);
	ck_assert_int_eq(outfile_commit(&file, 0), 0);
	ck_assert_int_eq(outfile_sync_dir(&file), 0);
	tree_expect("root/moved/new", "hello");
	ck_assert_int_eq(access("outdir/new", F_OK), -1);
}
END_TEST

Suite *outfile_suite(void)
{
	Suite *s = suite_create("outfile");
	TCase *tc = tcase_create("writing");

	tcase_add_checked_fixture(tc, copy_setup, copy_teardown);
	tcase_add_loop_test(tc, a_file_goes_where_its_path_says, 0, ARRAY_SIZE(goes));
	tcase_add_loop_test(tc, create_says_precisely_what_is_wrong_and_leaves_nothing, 0, ARRAY_SIZE(refused));
	tcase_add_test(tc, a_name_of_255_bytes_fits_and_256_do_not);
	tcase_add_test(tc, room_is_looked_at_and_not_taken);
	tcase_add_test(tc, a_long_name_is_cut_between_characters);
	tcase_add_test(tc, the_temporary_is_private_hidden_and_random);
	tcase_add_test(tc, without_a_root_any_path_is_fine);
	tcase_add_test(tc, a_link_to_no_file_is_not_replaced_and_one_to_a_file_is);
	tcase_add_test(tc, a_link_to_a_descriptor_is_not_replaced);
	tcase_add_test(tc, a_directory_without_permission_is_eacces);
	tcase_add_loop_test(tc, a_read_only_or_full_file_system_is_told, 0, ARRAY_SIZE(mounts));
	tcase_add_test(tc, until_commit_the_old_file_stays);
	tcase_add_test(tc, discard_removes_the_temporary_and_may_come_twice);
	tcase_add_test(tc, discard_leaves_the_time_of_the_directory);
	tcase_add_test(tc, a_destination_that_appeared_meanwhile_is_not_clobbered);
	tcase_add_test(tc, a_directory_that_appeared_meanwhile_is_eisdir);
	tcase_add_test(tc, a_directory_moved_meanwhile_takes_the_file_along);
	suite_add_tcase(s, tc);
	return s;
}
