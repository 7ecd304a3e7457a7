/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names in an export: directories, patterns, what leads out of it, and what would never end. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/budget.h"
#include "rdcpd/listing.h"

static char top[] = "/tmp/rdcp-listing-XXXXXX";
static int root = -1;
static struct listing l;

static void put(const char *path)
{
	int fd = openat(root, path, O_CREAT | O_WRONLY, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void setup(void)
{
	strcpy(top + strlen(top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	root = open(top, O_PATH | O_DIRECTORY);
	ck_assert_int_ge(root, 0);
	for (const char *const *d = (const char *const[]){ "d", "d/sub", "e", ".h", NULL }; *d; d++)
		ck_assert_int_eq(mkdirat(root, *d, 0700), 0);
	for (const char *const *f = (const char *const[]){ "d/a.c", "d/b.c", "d/.c.c", "d/sub/x.c", "e/z.c", "l*t",
							   "lit", ".h/y.c", NULL };
	     *f; f++)
		put(*f);
	ck_assert_int_eq(symlinkat("d", root, "link"), 0);
	ck_assert_int_eq(symlinkat("/usr", root, "out"), 0);
	memset(&l, 0, sizeof(l));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void teardown(void)
{
	listing_done(&l);
	close(root);
	nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* As one line, directories with a slash. */
static void assert_names(const char *expected)
{
	char found[1024] = "";

	for (size_t i = 0; i < l.count; i++) {
		strcat(found, i ? " " : "");
		strcat(found, l.entries[i].path);
		strcat(found, l.entries[i].directory ? "/" : "");
	}
	ck_assert_str_eq(found, expected);
	listing_done(&l);
}

START_TEST(directory_is_listed_with_hidden_names)
{
	ck_assert_int_eq(listing_read(&l, root, "."), 0);
	assert_names(".h/ d/ e/ l*t link/ lit out");
	ck_assert_int_eq(listing_read(&l, root, "link/"), 0);
	assert_names(".c.c a.c b.c sub/");
}
END_TEST

START_TEST(file_is_listed_by_its_name)
{
	ck_assert_int_eq(listing_read(&l, root, "d/a.c"), 0);
	assert_names("a.c");
}
END_TEST

START_TEST(what_is_not_there_or_outside_is_refused)
{
	ck_assert_int_eq(listing_read(&l, root, "nothing"), -ENOENT);
	ck_assert_int_eq(listing_read(&l, root, "out"), -EXDEV);
	ck_assert_int_eq(listing_glob(&l, root, "no*"), -ENOENT);
	ck_assert_int_eq(listing_glob(&l, root, "out/*"), -EXDEV);
	ck_assert_uint_eq(l.count, 0);
}
END_TEST

START_TEST(pattern_stands_for_what_matches)
{
	ck_assert_int_eq(listing_glob(&l, root, "d/*.c"), 0);
	assert_names("a.c b.c");
	ck_assert_int_eq(listing_glob(&l, root, "d/.*"), 0);
	assert_names(".c.c");
	ck_assert_int_eq(listing_glob(&l, root, "*/*.c"), 0);
	assert_names("d/a.c d/b.c e/z.c link/a.c link/b.c");
	ck_assert_int_eq(listing_glob(&l, root, "*/sub/x.c"), 0);
	assert_names("d/sub/x.c link/sub/x.c");
	ck_assert_int_eq(listing_glob(&l, root, "[de]/"), 0);
	assert_names("d/ e/");
	ck_assert_int_eq(listing_glob(&l, root, "l*"), 0);
	assert_names("l*t link/ lit");
	ck_assert_int_eq(listing_glob(&l, root, "l*/"), 0);
	assert_names("link/");
}
END_TEST

START_TEST(path_that_exists_stands_for_itself)
{
	ck_assert_int_eq(listing_glob(&l, root, "l*t"), 0);
	assert_names("l*t");
	ck_assert_int_eq(listing_glob(&l, root, "d/a.c"), 0);
	assert_names("d/a.c");
}
END_TEST

/* Two links that lead back to where they are: each component doubles what there is to look at. */
START_TEST(links_that_multiply_come_to_an_end)
{
	char pattern[512] = "*";

	ck_assert_int_eq(mkdirat(root, "loop", 0700), 0);
	ck_assert_int_eq(symlinkat(".", root, "loop/a"), 0);
	ck_assert_int_eq(symlinkat(".", root, "loop/b"), 0);
	strcpy(pattern, "loop");
	for (int i = 0; i < 14; i++)
		strcat(pattern, "/*");
	ck_assert_int_eq(listing_glob(&l, root, pattern), 0);
	ck_assert_uint_eq(l.count, 1U << 14);
	listing_done(&l);
	l.looks = LISTING_LOOKS_MAX - 1000;
	ck_assert_int_eq(listing_glob(&l, root, pattern), -E2BIG);
}
END_TEST

START_TEST(cancelled_call_ends)
{
	atomic_store(&l.cancelled, true);
	ck_assert_int_eq(listing_read(&l, root, "d"), -ECANCELED);
	listing_done(&l);
	ck_assert_int_eq(listing_glob(&l, root, "d/*"), -ECANCELED);
}
END_TEST

START_TEST(names_beyond_the_budget_are_too_many)
{
	struct budget memory;
	char name[32];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "e/f%d", i);
		put(name);
	}
	budget_init(&memory, 3000, NULL);
	l.memory = &memory;
	ck_assert_int_eq(listing_read(&l, root, "e"), -ENOBUFS);
	listing_done(&l);
	ck_assert_uint_eq(memory.used, 0);
	ck_assert_int_eq(listing_glob(&l, root, "*/f*"), -ENOBUFS);
	listing_done(&l);
	ck_assert_uint_eq(memory.used, 0);
	ck_assert_int_eq(listing_read(&l, root, "d"), 0);
	listing_done(&l);
	l.memory = NULL;
}
END_TEST

Suite *listing_suite(void);

Suite *listing_suite(void)
{
	Suite *s = suite_create("listing");
	TCase *tc = tcase_create("names");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, directory_is_listed_with_hidden_names);
	tcase_add_test(tc, file_is_listed_by_its_name);
	tcase_add_test(tc, what_is_not_there_or_outside_is_refused);
	tcase_add_test(tc, pattern_stands_for_what_matches);
	tcase_add_test(tc, path_that_exists_stands_for_itself);
	tcase_add_test(tc, links_that_multiply_come_to_an_end);
	tcase_add_test(tc, names_beyond_the_budget_are_too_many);
	tcase_add_test(tc, cancelled_call_ends);
	suite_add_tcase(s, tc);
	return s;
}
