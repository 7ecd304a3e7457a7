/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whole trees between two engines, push and pull over each transport there is: what arrives, in which order, and what becomes of
 * the rest when one entry, or the top, cannot be made.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine_pair.h"
#include "tree.h"

Suite *engine_trees_suite(void);

#define SLOT 4096 /* of the harness */

static struct session session;

/* The test's number is a transport and a direction. */
static void begin(int way)
{
	session_init(&session, way / 2, tree_root, way % 2, END_SENDER, END_RECEIVER);
}

static void run_tree(uint32_t flags)
{
	session_add_tree(&session, "src", "dst", flags);
	session_run(&session);
	session_expect_orderly(&session);
}

static void copy_tree(int way, uint32_t flags)
{
	begin(way);
	run_tree(flags);
	session_expect(&session, 0, STATUS_OK);
	ck_assert_uint_eq(session.from->failed_entries, 0);
	ck_assert_uint_eq(session.to->failed_entries, 0);
	ck_assert_uint_eq(session.from->entries, session.to->entries);
	session_done(&session);
	ck_assert_uint_eq(count_temps("root"), 0);
}

static void make_dir(const char *path)
{
	ck_assert_msg(mkdir(path, 0755) == 0, "'%s': %s", path, strerror(errno));
}

/* Both ends say that so many failed, the last of them this one. */
static void expect_failed(unsigned int count, const char *path, enum status status)
{
	const struct session_end *ends[2] = { session.from, session.to };

	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(ends[i]->failed_entries, count);
		ck_assert_str_eq(ends[i]->entry_path, path);
		ck_assert_int_eq(ends[i]->entry_status, status);
	}
}

static struct stat look(const char *path)
{
	struct stat st;

	ck_assert_msg(lstat(path, &st) == 0, "'%s': %s", path, strerror(errno));
	return st;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* ---- what arrives ------------------------------------------------------------------------------------------- */

static const size_t sizes[] = { 0,    1,        SLOT / 2 - 1, SLOT / 2, SLOT / 2 + 1, SLOT - 1,
				SLOT, SLOT + 1, 3 * SLOT,     63,       64,           65 };

static void make_sizes(const char *dir)
{
	char path[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		snprintf(path, sizeof(path), "%s/%u", dir, i);
		make_file(path, sizes[i], i);
	}
}

static void expect_sizes(const char *from, const char *to)
{
	char a[64], b[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		snprintf(a, sizeof(a), "%s/%u", from, i);
		snprintf(b, sizeof(b), "%s/%u", to, i);
		expect_same_file(a, b);
	}
}

START_TEST(files_of_all_sizes_arrive_with_the_directories_they_are_in)
{
	make_dir("src");
	make_dir("src/a");
	make_dir("src/a/b");
	make_dir("src/empty");
	make_sizes("src");
	make_sizes("src/a");
	make_sizes("src/a/b");
	copy_tree(_i, 0);
	expect_sizes("src", "root/dst");
	expect_sizes("src/a", "root/dst/a");
	expect_sizes("src/a/b", "root/dst/a/b");
	ck_assert(S_ISDIR(look("root/dst/empty").st_mode));
}
END_TEST

START_TEST(second_copy_goes_into_the_first)
{
	make_dir("src");
	tree_write("src/f", "text");
	copy_tree(_i, 0);
	copy_tree(_i, 0);
	tree_expect("root/dst/f", "text");
	tree_expect("root/dst/src/f", "text");
}
END_TEST

START_TEST(exact_copy_goes_over_the_first)
{
	make_dir("src");
	tree_write("src/f", "one");
	copy_tree(_i, WIRE_FILE_EXACT);
	tree_write("src/f", "two");
	copy_tree(_i, WIRE_FILE_EXACT);
	tree_expect("root/dst/f", "two");
	ck_assert(!is_there("root/dst/src"));
}
END_TEST

START_TEST(with_one_file_at_a_time_a_tree_arrives)
{
	make_dir("src");
	make_dir("src/a");
	make_sizes("src");
	make_sizes("src/a");
	begin(_i);
	session.max_files = 1;
	session.threads = 1;
	run_tree(0);
	session_expect(&session, 0, STATUS_OK);
	session_done(&session);
	expect_sizes("src", "root/dst");
	expect_sizes("src/a", "root/dst/a");
}
END_TEST

START_TEST(more_files_than_can_be_under_way_arrive)
{
	char path[64], to[64];

	make_dir("src");
	for (unsigned int i = 0; i < 3 * RECEIVER_MAX_FILES; i++) {
		snprintf(path, sizeof(path), "src/%u", i);
		make_file(path, i % 100, i);
	}
	copy_tree(_i, 0);
	for (unsigned int i = 0; i < 3 * RECEIVER_MAX_FILES; i++) {
		snprintf(path, sizeof(path), "src/%u", i);
		snprintf(to, sizeof(to), "root/dst/%u", i);
		expect_same_file(path, to);
	}
}
END_TEST

START_TEST(more_links_than_fit_a_message_arrive)
{
	char path[64], text[2001], got[2002];
	ssize_t n;

	make_dir("src");
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "src/%u", i);
		memset(text, 'a' + (int)(i % 26), sizeof(text) - 1);
		text[1 + i * 20] = '\0';
		ck_assert_int_eq(symlink(text, path), 0);
	}
	copy_tree(_i, 0);
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "root/dst/%u", i);
		n = readlink(path, got, sizeof(got));
		ck_assert_int_eq(n, 1 + (int)i * 20);
		ck_assert(all_bytes_are((uint8_t *)got, (size_t)n, (uint8_t)('a' + i % 26)));
	}
}
END_TEST

START_TEST(links_arrive_as_they_are)
{
	char text[64] = "";

	make_dir("src");
	make_dir("src/d");
	tree_write("src/d/f", "text");
	ck_assert_int_eq(symlink("d", "src/to-directory"), 0);
	ck_assert_int_eq(symlink("nowhere", "src/dangling"), 0);
	ck_assert_int_eq(symlink("/nowhere/at", "src/absolute"), 0);
	copy_tree(_i, WIRE_FILE_PRESERVE);
	ck_assert(S_ISLNK(look("root/dst/to-directory").st_mode));
	tree_expect("root/dst/to-directory/f", "text");
	ck_assert_int_eq(readlink("root/dst/dangling", text, sizeof(text)), 7);
	ck_assert_int_eq(readlink("root/dst/absolute", text, sizeof(text)), 11);
	ck_assert_int_eq(look("src/dangling").st_mtim.tv_nsec, look("root/dst/dangling").st_mtim.tv_nsec);
}
END_TEST

/* ---- attributes --------------------------------------------------------------------------------------------- */

static void set_times(const char *path, time_t sec)
{
	const struct timespec times[2] = { { .tv_sec = sec, .tv_nsec = 7 }, { .tv_sec = sec, .tv_nsec = 123456789 } };

	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void expect_like(const char *a, const char *b)
{
	struct stat x = look(a), y = look(b);

	ck_assert_uint_eq(x.st_mode, y.st_mode);
	ck_assert_int_eq(x.st_mtim.tv_sec, y.st_mtim.tv_sec);
	ck_assert_int_eq(x.st_mtim.tv_nsec, y.st_mtim.tv_nsec);
}

START_TEST(preserved_directories_get_mode_and_time_when_all_is_in_them)
{
	static const char *dirs[] = { "src/a/b", "src/a", "src" };
	char to[64];

	make_dir("src");
	make_dir("src/a");
	make_dir("src/a/b");
	make_sizes("src");
	make_sizes("src/a/b");
	for (unsigned int i = 0; i < ARRAY_SIZE(dirs); i++) {
		ck_assert_int_eq(chmod(dirs[i], 0500 + i), 0);
		set_times(dirs[i], -1000 + i);
	}
	copy_tree(_i, WIRE_FILE_PRESERVE);
	for (unsigned int i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(to, sizeof(to), "root/dst%s", dirs[i] + 3);
		expect_like(dirs[i], to);
		ck_assert_int_eq(chmod(dirs[i], 0700), 0);
		ck_assert_int_eq(chmod(to, 0700), 0);
	}
}
END_TEST

START_TEST(directory_that_may_not_be_written_is_so_in_the_end)
{
	make_dir("src");
	make_dir("src/d");
	tree_write("src/d/f", "text");
	ck_assert_int_eq(chmod("src/d", 0555), 0);
	copy_tree(_i, 0);
	ck_assert_uint_eq(look("root/dst/d").st_mode & 07777, 0555);
	tree_expect("root/dst/d/f", "text");
}
END_TEST

/* ---- what fails --------------------------------------------------------------------------------------------- */

START_TEST(top_that_cannot_be_made_is_one_error)
{
	make_dir("src");
	make_sizes("src");
	tree_write("root/dst", "old");
	begin(_i);
	run_tree(0);
	session_expect(&session, 0, STATUS_NOT_DIRECTORY);
	ck_assert_uint_eq(session.from->entries, 0);
	ck_assert_uint_eq(session.to->entries, 0);
	session_done(&session);
	tree_expect("root/dst", "old");
}
END_TEST

START_TEST(top_that_cannot_be_made_spares_what_comes_after_it)
{
	make_dir("src");
	make_sizes("src");
	tree_write("file", "text");
	tree_write("root/dst", "old");
	begin(_i);
	session_add_tree(&session, "src", "dst", 0);
	session_add(&session, "file", "file", 0);
	session_add_tree(&session, "src", "other", 0);
	session_run(&session);
	session_expect_orderly(&session);
	session_expect(&session, 0, STATUS_NOT_DIRECTORY);
	session_expect(&session, 1, STATUS_OK);
	session_expect(&session, 2, STATUS_OK);
	session_done(&session);
	tree_expect("root/file", "text");
	expect_sizes("src", "root/other");
}
END_TEST

START_TEST(top_that_is_not_there_is_one_error)
{
	begin(_i);
	session_add_tree(&session, "src", "dst", 0);
	session_run(&session);
	end_expect(session.from, STATUS_OK);
	ck_assert_int_eq(session.from->verdicts[0].status, STATUS_NOT_FOUND);
	session_done(&session);
	ck_assert(!is_there("root/dst"));
}
END_TEST

START_TEST(top_that_is_a_file_is_copied_as_one)
{
	tree_write("src", "text");
	begin(_i);
	run_tree(0);
	session_expect(&session, 0, STATUS_OK);
	session_done(&session);
	tree_expect("root/dst", "text");
}
END_TEST

START_TEST(special_file_is_an_error_and_the_rest_arrives)
{
	make_dir("src");
	make_dir("src/d");
	make_sizes("src/d");
	ck_assert_int_eq(mkfifo("src/d/fifo", 0600), 0);
	begin(_i);
	run_tree(0);
	session_expect(&session, 0, STATUS_OK);
	expect_failed(1, "d/fifo", STATUS_NOT_REGULAR);
	session_done(&session);
	expect_sizes("src/d", "root/dst/d");
	ck_assert(!is_there("root/dst/d/fifo"));
}
END_TEST

START_TEST(file_in_the_place_of_a_directory_stays_and_the_rest_arrives)
{
	make_dir("src");
	make_dir("src/d");
	tree_write("src/d/f", "text");
	make_sizes("src");
	make_dir("root/dst");
	tree_write("root/dst/d", "old");
	begin(_i);
	run_tree(WIRE_FILE_EXACT);
	session_expect(&session, 0, STATUS_OK);
	expect_failed(2, "d/f", STATUS_NOT_DIRECTORY);
	session_done(&session);
	tree_expect("root/dst/d", "old");
	expect_sizes("src", "root/dst");
}
END_TEST

START_TEST(directory_in_the_place_of_a_file_stays_and_the_rest_arrives)
{
	make_dir("src");
	make_sizes("src");
	tree_write("src/f", "text");
	make_dir("root/dst");
	make_dir("root/dst/f");
	begin(_i);
	run_tree(WIRE_FILE_EXACT);
	session_expect(&session, 0, STATUS_OK);
	expect_failed(1, "f", STATUS_IS_DIRECTORY);
	session_done(&session);
	ck_assert(S_ISDIR(look("root/dst/f").st_mode));
	expect_sizes("src", "root/dst");
}
END_TEST

START_TEST(link_in_the_place_of_a_directory_is_not_entered)
{
	make_dir("src");
	make_dir("src/d");
	tree_write("src/d/f", "text");
	make_dir("root/dst");
	make_dir("outside");
	ck_assert_int_eq(symlink("../../outside", "root/dst/d"), 0);
	begin(_i);
	run_tree(WIRE_FILE_EXACT);
	session_expect(&session, 0, STATUS_OK);
	ck_assert_uint_eq(session.from->failed_entries, 2);
	session_done(&session);
	ck_assert(!is_there("outside/f"));
}
END_TEST

START_TEST(existing_files_stay_without_clobbering_and_the_rest_arrives)
{
	make_dir("src");
	make_sizes("src");
	make_dir("root/dst");
	tree_write("root/dst/3", "old");
	begin(_i);
	run_tree(WIRE_FILE_EXACT | WIRE_FILE_NO_CLOBBER);
	session_expect(&session, 0, STATUS_OK);
	expect_failed(1, "3", STATUS_FAILED);
	session_done(&session);
	tree_expect("root/dst/3", "old");
	expect_same_file("src/4", "root/dst/4");
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

#define way_test(tc, test) tcase_add_loop_test(tc, test, 2 * first_transport(), 2 * transports())

Suite *engine_trees_suite(void)
{
	Suite *s = suite_create("engine_trees");
	TCase *tc = endpoint_tcase("trees");

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	way_test(tc, files_of_all_sizes_arrive_with_the_directories_they_are_in);
	way_test(tc, second_copy_goes_into_the_first);
	way_test(tc, exact_copy_goes_over_the_first);
	way_test(tc, with_one_file_at_a_time_a_tree_arrives);
	way_test(tc, more_files_than_can_be_under_way_arrive);
	way_test(tc, more_links_than_fit_a_message_arrive);
	way_test(tc, links_arrive_as_they_are);
	way_test(tc, preserved_directories_get_mode_and_time_when_all_is_in_them);
	way_test(tc, directory_that_may_not_be_written_is_so_in_the_end);
	way_test(tc, top_that_cannot_be_made_is_one_error);
	way_test(tc, top_that_cannot_be_made_spares_what_comes_after_it);
	way_test(tc, top_that_is_not_there_is_one_error);
	way_test(tc, top_that_is_a_file_is_copied_as_one);
	way_test(tc, special_file_is_an_error_and_the_rest_arrives);
	way_test(tc, file_in_the_place_of_a_directory_stays_and_the_rest_arrives);
	way_test(tc, directory_in_the_place_of_a_file_stays_and_the_rest_arrives);
	way_test(tc, link_in_the_place_of_a_directory_is_not_entered);
	way_test(tc, existing_files_stay_without_clobbering_and_the_rest_arrives);
	suite_add_tcase(s, tc);
	return s;
}
