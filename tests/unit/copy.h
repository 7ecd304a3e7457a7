/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the tests of outfile share: a tree to copy into, and a copy from create to sync in one call. The pieces are fixtures
 * and helpers; `file` is the file being written.
 */
#ifndef RDCP_TEST_COPY_H
#define RDCP_TEST_COPY_H

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>

#include "common/outfile.h"
#include "common/util.h"
#include "tree.h"

static struct outfile file;
static bool committed; /* copy() got past outfile_commit() */
static const struct outfile_attrs plain = { .mode = 0644 };

static void copy_setup(void)
{
	tree_setup();
	outfile_init(&file);
	ck_assert_int_eq(mkdir("root/dir", 0755), 0);
	ck_assert_int_eq(mkdir("root/dir/sub", 0755), 0);
	tree_write("root/old", "old");
	ck_assert_int_eq(mkfifo("root/fifo", 0600), 0);
	tree_write("outside", "outside");
	ck_assert_int_eq(mkdir("outdir", 0755), 0);
	ck_assert_int_eq(symlink("old", "root/link"), 0);
	ck_assert_int_eq(symlink("nowhere", "root/dangling"), 0);
	ck_assert_int_eq(symlink("loop", "root/loop"), 0);
	ck_assert_int_eq(symlink("dir", "root/linkdir"), 0);
	ck_assert_int_eq(symlink("../outside", "root/out"), 0);
	ck_assert_int_eq(symlink("../outdir", "root/outdir"), 0);
	ck_assert_int_eq(symlink("sub", "root/dir/sublink"), 0);
	ck_assert_int_eq(symlink("../../outdir", "root/dir/outlink"), 0);
	ck_assert_int_eq(symlink("../old", "root/dir/filelink"), 0);
}

static void copy_teardown(void)
{
	outfile_discard(&file);
	tree_teardown();
}

/* Temporaries in this directory. */
__attribute__((unused)) static unsigned int temps(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;
	struct dirent *e;

	ck_assert_ptr_nonnull(dir);
	while ((e = readdir(dir)))
		n += strstr(e->d_name, ".rdcp-part") != NULL;
	closedir(dir);
	return n;
}

/* All the way: `text` to `path` or into it as "name"; the first error. */
__attribute__((unused)) static int copy(const char *path, const char *text, const struct outfile_attrs *attrs,
					unsigned int flags)
{
	int r = outfile_create(&file, tree_root, path, "name", flags);

	committed = false;
	if (r >= 0)
		r = outfile_write(&file, text, strlen(text), 0);
	if (r >= 0)
		r = outfile_finish(&file, strlen(text), attrs);
	if (r >= 0)
		r = outfile_sync(&file);
	if (r >= 0)
		r = outfile_commit(&file, flags);
	committed = r >= 0;
	if (r >= 0)
		r = outfile_sync_dir(&file);
	outfile_discard(&file);
	return r;
}

/* In a child, since there is no way back. 0: as expected. */
__attribute__((unused)) static int in_child(int (*body)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(body());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "status %#x", (unsigned int)status);
	return WEXITSTATUS(status);
}

#endif
