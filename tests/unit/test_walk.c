/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Walking a tree: every entry once, directories before what is in them, whatever becomes of the tree meanwhile. */
#include <check.h>
#include <errno.h>

#include "common/beneath.h"
#include "common/budget.h"
#include "common/filter.h"
#include "common/util.h"
#include "common/walk.h"
#include "tree.h"

Suite *walk_suite(void);

#define MAX_ENTRIES 400

static struct walk walk;
static struct walk_entry entries[MAX_ENTRIES];
static unsigned int count;

static void setup(void)
{
	tree_setup();
	walk_init(&walk);
	count = 0;
}

static void teardown(void)
{
	while (count)
		walk_entry_done(&entries[--count]);
	walk_close(&walk);
	tree_teardown();
}

static void open_top(const char *path)
{
	ck_assert_int_eq(walk_open(&walk, AT_FDCWD, path, false), 0);
}

/* The rest of it, so many at a time. */
static void read_all(unsigned int at_a_time)
{
	int n;

	do {
		ck_assert_uint_le(count + at_a_time, MAX_ENTRIES);
		n = walk_read(&walk, entries + count, at_a_time);
		ck_assert_int_ge(n, 0);
		count += (unsigned int)n;
	} while (n);
}

static void path_of(const struct walk_entry *e, char path[512])
{
	snprintf(path, 512, "%s%s%s", e->dir, *e->dir ? "/" : "", e->name);
}

/* Its place among the entries; it is there `times` times. */
static unsigned int find(const char *path, unsigned int times)
{
	unsigned int seen = 0, at = 0;
	char p[512];

	for (unsigned int i = 0; i < count; i++) {
		path_of(&entries[i], p);
		if (strcmp(p, path) != 0)
			continue;
		seen++;
		at = i;
	}
	ck_assert_msg(seen == times, "'%s' came %u times", path, seen);
	return at;
}

static void make_tree(void)
{
	ck_assert_int_eq(mkdir("top", 0755) | mkdir("top/a", 0755) | mkdir("top/a/b", 0755) | mkdir("top/c", 0755), 0);
	tree_write("top/f", "text");
	tree_write("top/a/f", "text");
	tree_write("top/a/b/f", "text");
	ck_assert_int_eq(symlink("nowhere", "top/a/link") | symlink("a", "top/to-a") | mkfifo("top/fifo", 0600), 0);
}

/* The test's number is how many are read at a time. */
START_TEST(every_entry_comes_once_and_its_directory_before_it)
{
	static const char *paths[] = { "a", "a/b", "a/b/f", "a/f", "a/link", "c", "f", "fifo", "to-a" };

	make_tree();
	open_top("top");
	read_all((unsigned int)_i);
	ck_assert_uint_eq(count, ARRAY_SIZE(paths));
	for (unsigned int i = 0; i < ARRAY_SIZE(paths); i++)
		ck_assert_int_eq(entries[find(paths[i], 1)].error, 0);
	ck_assert_uint_lt(find("a", 1), find("a/f", 1));
	ck_assert_uint_lt(find("a/b", 1), find("a/b/f", 1));
	ck_assert_str_eq(entries[find("a/link", 1)].link, "nowhere");
	ck_assert_ptr_null(entries[find("f", 1)].link);
	ck_assert(S_ISFIFO(entries[find("fifo", 1)].stat.st_mode));
	ck_assert_int_eq(entries[find("a/b/f", 1)].stat.st_size, 4);
}
END_TEST

START_TEST(what_the_filter_excludes_does_not_come)
{
	struct filter filter = { 0 };

	make_tree();
	ck_assert_int_eq(filter_add(&filter, "/a/f", true), 0);
	ck_assert_int_eq(filter_add(&filter, "b/", false), 0);
	ck_assert_int_eq(filter_add(&filter, "f", false), 0);
	walk.filter = &filter;
	open_top("top");
	read_all(3);
	ck_assert_uint_eq(count, 6);
	find("a/f", 1);
	find("a/b", 0);
	find("a/b/f", 0);
	find("f", 0);
	filter_done(&filter);
}
END_TEST

START_TEST(unfinished_files_do_not_come)
{
	make_tree();
	tree_write("top/.f.abcdefgh.rdcp-part", "te");
	tree_write("top/a/.f.a2345672.rdcp-part", "te");
	ck_assert_int_eq(symlink("nowhere", "top/c/.l.abcdefgh.rdcp-part"), 0);
	ck_assert_int_eq(symlink("../f", "top/c/.m.abcdefgh.rdcp-part"), 0);
	ck_assert_int_eq(mkdir("top/.d.abcdefgh.rdcp-part", 0755), 0);
	tree_write("top/.d.abcdefgh.rdcp-part/g", "text");
	ck_assert_int_eq(walk_open(&walk, AT_FDCWD, "top", _i), 0);
	read_all(3);
	find(".f.abcdefgh.rdcp-part", 0);
	find("a/.f.a2345672.rdcp-part", 0);
	find("c/.l.abcdefgh.rdcp-part", 0);
	find("c/.m.abcdefgh.rdcp-part", 0);
	find(".d.abcdefgh.rdcp-part", 1);
	find(".d.abcdefgh.rdcp-part/g", 1);
	find("f", 1);
	find("a/b/f", 1);
}
END_TEST

START_TEST(walk_that_is_cancelled_ends)
{
	make_tree();
	open_top("top");
	walk_cancel(&walk);
	read_all(10);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(empty_directory_has_no_entries)
{
	open_top("root");
	read_all(10);
	ck_assert_uint_eq(count, 0);
	ck_assert(S_ISDIR(walk.stat.st_mode));
}
END_TEST

START_TEST(top_may_be_named_by_a_link)
{
	make_tree();
	ck_assert_int_eq(symlink("top", "link"), 0);
	open_top("link");
	read_all(100);
	find("a/b/f", 1);
}
END_TEST

START_TEST(file_is_not_a_directory)
{
	tree_write("f", "text");
	ck_assert_int_eq(walk_open(&walk, AT_FDCWD, "f", false), -ENOTDIR);
	walk_close(&walk);
	ck_assert_int_eq(walk_open(&walk, AT_FDCWD, "nothing", false), -ENOENT);
	walk_close(&walk);
	ck_assert_int_eq(walk_open(&walk, tree_root, "..", false), -EXDEV);
}
END_TEST

START_TEST(no_descriptor_is_left_wherever_it_ends)
{
	unsigned int fds = tree_open_fds();

	make_tree();
	for (unsigned int n = 0; n < 12; n++) {
		open_top("top");
		for (unsigned int i = 0; i < n; i++)
			if (walk_read(&walk, entries, 1) == 1)
				walk_entry_done(entries);
		walk_close(&walk);
		ck_assert_uint_eq(tree_open_fds(), fds);
	}
}
END_TEST

/* ---- a tree that changes ------------------------------------------------------------------------------------- */

/* All of the top was read when its last entry was: directories are entered later. */
static void read_top(void)
{
	open_top("top");
	count = (unsigned int)walk_read(&walk, entries, 5);
	ck_assert_uint_eq(count, 5);
}

START_TEST(link_in_the_place_of_a_directory_is_an_error_of_it)
{
	make_tree();
	ck_assert_int_eq(mkdir("outside", 0755), 0);
	tree_write("outside/secret", "text");
	read_top();
	ck_assert_int_eq(rename("top/a", "gone"), 0);
	ck_assert_int_eq(symlink("../outside", "top/a"), 0);
	read_all(100);
	find("a/secret", 0);
	ck_assert_int_eq(entries[find("a", 2)].error, -ELOOP);
	ck_assert(S_ISDIR(entries[find("a", 2)].stat.st_mode));
}
END_TEST

START_TEST(directory_that_vanished_is_an_error_of_it_and_the_rest_comes)
{
	make_tree();
	ck_assert_int_eq(mkdir("top/d", 0755), 0);
	open_top("top");
	count = (unsigned int)walk_read(&walk, entries, 6);
	ck_assert_uint_eq(count, 6);
	ck_assert_int_eq(rmdir("top/c"), 0);
	read_all(1);
	ck_assert_int_eq(entries[find("c", 2)].error, -ENOENT);
	find("a/b/f", 1);
}
END_TEST

START_TEST(unreadable_directory_is_an_error_of_it_and_the_rest_comes)
{
	make_tree();
	ck_assert_int_eq(mkdir("top/a/b/closed", 0), 0);
	if (!geteuid())
		ck_assert_int_eq(seteuid(65534), 0);
	open_top("top");
	read_all(3);
	if (!getuid())
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(entries[find("a/b/closed", 2)].error, -EACCES);
	ck_assert_str_eq(entries[find("a/b/closed", 2)].dir, "a/b");
	find("a/b/f", 1);
}
END_TEST

/* ---- limits -------------------------------------------------------------------------------------------------- */

/* A tree that is deeper than a path can be long. */
START_TEST(what_is_deeper_than_a_path_is_an_error_and_not_the_end)
{
	char name[256];
	unsigned int depth = 0, failed = 0;
	int half;

	memset(name, 'x', 255);
	name[255] = '\0';
	ck_assert_int_eq(mkdir("top", 0755) | chdir("top"), 0);
	for (; depth < 20; depth++)
		ck_assert_int_eq(mkdir(name, 0755) | chdir(name), 0);
	ck_assert_int_eq(chdir(tree_path), 0);
	open_top("top");
	read_all(7);
	for (unsigned int i = 0; i < count; i++)
		failed += entries[i].error == -ENAMETOOLONG;
	ck_assert_uint_eq(failed, 1);
	ck_assert_uint_eq(count, 16 + 1 + 1); /* the seventeenth is seen, and then cannot be entered */
	/* nftw(3) could not either: half of it is moved to where it can */
	ck_assert_int_eq(chdir("top"), 0);
	for (depth = 0; depth < 10; depth++)
		ck_assert_int_eq(chdir(name), 0);
	half = open(tree_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(renameat(AT_FDCWD, name, half, "half") | close(half) | chdir(tree_path), 0);
}
END_TEST

START_TEST(link_of_the_longest_text_is_read)
{
	char text[4096];

	memset(text, 'x', 4095);
	text[4095] = '\0';
	ck_assert_int_eq(mkdir("top", 0755) | symlink(text, "top/l"), 0);
	open_top("top");
	read_all(10);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(entries[0].link, text);
}
END_TEST

START_TEST(what_remains_to_be_entered_is_within_a_budget)
{
	struct budget memory;
	char path[64];
	int n;

	for (int i = 0; i < 50; i++) {
		snprintf(path, sizeof(path), "root/d%d", i);
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	budget_init(&memory, 100000, NULL);
	walk.memory = &memory;
	open_top("root");
	read_all(7);
	ck_assert_uint_ge(count, 50);
	ck_assert_uint_eq(memory.used, 0);
	walk_close(&walk);
	atomic_store(&memory.max, 2000);
	open_top("root");
	while ((n = walk_read(&walk, entries + count, 7)) > 0)
		count += (unsigned int)n;
	ck_assert_int_eq(n, -ENOBUFS);
	walk_close(&walk);
	ck_assert_uint_eq(memory.used, 0);
	walk.memory = NULL;
}
END_TEST

Suite *walk_suite(void)
{
	Suite *s = suite_create("walk");
	TCase *tc = tcase_create("walk");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, every_entry_comes_once_and_its_directory_before_it, 1, 12);
	tcase_add_test(tc, what_the_filter_excludes_does_not_come);
	tcase_add_loop_test(tc, unfinished_files_do_not_come, 0, 2);
	tcase_add_test(tc, walk_that_is_cancelled_ends);
	tcase_add_test(tc, empty_directory_has_no_entries);
	tcase_add_test(tc, top_may_be_named_by_a_link);
	tcase_add_test(tc, file_is_not_a_directory);
	tcase_add_test(tc, no_descriptor_is_left_wherever_it_ends);
	tcase_add_test(tc, link_in_the_place_of_a_directory_is_an_error_of_it);
	tcase_add_test(tc, directory_that_vanished_is_an_error_of_it_and_the_rest_comes);
	tcase_add_test(tc, unreadable_directory_is_an_error_of_it_and_the_rest_comes);
	tcase_add_test(tc, what_is_deeper_than_a_path_is_an_error_and_not_the_end);
	tcase_add_test(tc, what_remains_to_be_entered_is_within_a_budget);
	tcase_add_test(tc, link_of_the_longest_text_is_read);
	suite_add_tcase(s, tc);
	return s;
}
