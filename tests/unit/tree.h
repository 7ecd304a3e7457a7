/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A temporary directory for tests of file code: made before each test, the current directory during it, removed after it.
 * As libcheck fixtures: tcase_add_checked_fixture(tc, tree_setup, tree_teardown).
 */
#ifndef RDCP_TEST_TREE_H
#define RDCP_TEST_TREE_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tree_path[PATH_MAX / 2];
static int tree_root = -1; /* O_PATH descriptor of the directory "root" in it, what a receiver is confined to */

static int tree_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void tree_setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(tree_path, sizeof(tree_path), "%s/rdcp-unit-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(tree_path));
	ck_assert_int_eq(chmod(tree_path, 0755), 0);
	ck_assert_int_eq(chdir(tree_path), 0);
	ck_assert_int_eq(mkdir("root", 0755), 0);
	tree_root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(tree_root, 0);
}

static void tree_teardown(void)
{
	close(tree_root);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(nftw(tree_path, tree_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Makes a file with this text; paths are relative to the temporary directory. */
__attribute__((unused)) static void tree_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

__attribute__((unused)) static void tree_expect(const char *path, const char *text)
{
	char buf[4096];
	FILE *f = fopen(path, "re");
	size_t n;

	ck_assert_msg(f != NULL, "'%s' is missing", path);
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = '\0';
	fclose(f);
	ck_assert_str_eq(buf, text);
}

/* Descriptors this process has open. */
__attribute__((unused)) static unsigned int tree_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
