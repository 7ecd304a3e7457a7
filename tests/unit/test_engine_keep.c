/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is kept of trees between two engines, push and pull over each transport: attributes, hard links, and what symlinks lead to
 * when they are followed. Only user attributes: what takes root is compared with cp in tests/copy.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/attributes.h"
#include "engine_pair.h"
#include "skip.h"
#include "tree.h"

Suite *engine_keep_suite(void);

#define KEEP (WIRE_FILE_PRESERVE | WIRE_FILE_OWNER | WIRE_FILE_XATTRS)

static struct session session;

/* The test's number is a transport and a direction. */
static struct session_file *begin(int way, uint32_t flags)
{
	session_init(&session, way / 2, tree_root, way % 2, END_SENDER, END_RECEIVER);
	session_add_tree(&session, "src", "dst", flags);
	ck_assert_int_eq(mkdir("src", 0755), 0);
	ck_assert_int_eq(mkdir("src/d", 0755), 0);
	return &session.files[0];
}

static void run(unsigned int failed)
{
	session_run(&session);
	session_expect_orderly(&session);
	session_expect(&session, 0, STATUS_OK);
	ck_assert_uint_eq(session.from->failed_entries, failed);
	ck_assert_uint_eq(session.to->failed_entries, failed);
	ck_assert_uint_eq(count_temps("root"), 0);
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

/* ---- attributes --------------------------------------------------------------------------------------------- */

static char value[3000]; /* ext4 takes 4 KiB together */

static bool set(const char *path, const char *name, size_t len)
{
	memset(value, 'v', sizeof(value));
	return setxattr(path, name, value, len, 0) == 0;
}

static void expect_set(const char *path, const char *name, size_t len)
{
	char got[sizeof(value)];

	ck_assert_int_eq(getxattr(path, name, got, sizeof(got)), (ssize_t)len);
	ck_assert_mem_eq(got, value, len);
}

START_TEST(attributes_of_files_and_directories_arrive)
{
	begin(_i, KEEP);
	make_file("src/small", 10, 1);
	make_file("src/d/large", 20000, 2);
	make_file("src/d/empty", 0, 3);
	if (!set("src/small", "user.a", 3) || !set("src/d/large", "user.b", 100) || !set("src/d/empty", "user.c", 0) ||
	    !set("src/d", "user.d", 5) || !set("src", "user.e", 1)) {
		session_run(&session);
		session_done(&session);
		skip_test("no user attributes in this file system");
	}
	ck_assert_int_eq(chmod("src/small", 0440), 0);
	run(0);
	session_done(&session);
	expect_set("root/dst/small", "user.a", 3);
	expect_set("root/dst/d/large", "user.b", 100);
	expect_set("root/dst/d/empty", "user.c", 0);
	expect_set("root/dst/d", "user.d", 5);
	expect_set("root/dst", "user.e", 1);
	ck_assert_int_eq(look("root/dst/small").st_mode & 07777, 0440);
	expect_same_file("src/d/large", "root/dst/d/large");
}
END_TEST

START_TEST(attributes_of_many_messages_arrive)
{
	char path[64];
	bool large = true;

	begin(_i, KEEP);
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "src/d/%d", i);
		make_file(path, 100, (unsigned int)i);
		large = large && set(path, "user.large", sizeof(value));
	}
	run(0);
	session_done(&session);
	if (!large)
		skip_test("no user attributes in this file system");
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "root/dst/d/%d", i);
		expect_set(path, "user.large", sizeof(value));
	}
}
END_TEST

/* Of files that the receiver is asked about before they are opened, too: with the hard link nothing else is under way. */
START_TEST(files_that_were_asked_for_give_back_the_room_of_their_attributes)
{
	struct session_file *f = begin(_i, KEEP | WIRE_FILE_UPDATE);

	f->ask = f->hard_links = true;
	make_file("src/a", 10, 1);
	ck_assert_int_eq(link("src/a", "src/d/b"), 0);
	run(0);
	session_done(&session);
	ck_assert_uint_eq(look("root/dst/a").st_ino, look("root/dst/d/b").st_ino);
}
END_TEST

START_TEST(attributes_not_asked_for_stay_behind)
{
	begin(_i, WIRE_FILE_PRESERVE);
	make_file("src/f", 10, 1);
	set("src/f", "user.a", 3);
	run(0);
	session_done(&session);
	ck_assert_int_lt(getxattr("root/dst/f", "user.a", NULL, 0), 0);
}
END_TEST

/* ---- hard links --------------------------------------------------------------------------------------------- */

static void expect_same_inode(const char *a, const char *b)
{
	ck_assert_uint_eq(look(a).st_ino, look(b).st_ino);
}

START_TEST(further_names_become_hard_links)
{
	begin(_i, WIRE_FILE_PRESERVE)->hard_links = true;
	make_file("src/a", 10, 1);
	make_file("src/large", 50000, 2);
	make_file("src/alone", 10, 3);
	ck_assert_int_eq(link("src/a", "src/d/b"), 0);
	ck_assert_int_eq(link("src/a", "src/c"), 0);
	ck_assert_int_eq(link("src/large", "src/d/large"), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, "src/d", (struct timespec[2]){ { 5, 0 }, { 5, 0 } }, 0), 0);
	run(0);
	session_done(&session);
	expect_same_inode("root/dst/a", "root/dst/d/b");
	expect_same_inode("root/dst/a", "root/dst/c");
	expect_same_inode("root/dst/large", "root/dst/d/large");
	ck_assert_uint_eq(look("root/dst/a").st_nlink, 3);
	ck_assert_uint_eq(look("root/dst/alone").st_nlink, 1);
	expect_same_file("src/large", "root/dst/d/large");
	ck_assert_int_eq(look("root/dst/d").st_mtim.tv_sec, 5);
}
END_TEST

START_TEST(further_names_are_files_if_links_are_not_wanted)
{
	begin(_i, 0);
	make_file("src/a", 10, 1);
	ck_assert_int_eq(link("src/a", "src/b"), 0);
	run(0);
	session_done(&session);
	ck_assert_uint_eq(look("root/dst/a").st_nlink, 1);
	expect_same_file("root/dst/a", "root/dst/b");
}
END_TEST

/* Whichever name comes first. */
START_TEST(a_name_that_cannot_be_made_takes_no_other_with_it)
{
	begin(_i, 0)->hard_links = true;
	make_file("src/a", 10, 1);
	ck_assert_int_eq(link("src/a", "src/b"), 0);
	ck_assert_int_eq(link("src/a", "src/c"), 0);
	ck_assert_int_eq(link("src/a", "src/e"), 0);
	/* two are left */
	ck_assert_int_eq(mkdir("root/dst", 0755), 0);
	ck_assert_int_eq(mkdir("root/dst/src", 0755), 0);
	ck_assert_int_eq(mkdir("root/dst/src/a", 0755), 0);
	ck_assert_int_eq(mkdir("root/dst/src/b", 0755), 0);
	run(2);
	ck_assert_int_eq(session.to->entry_status, STATUS_IS_DIRECTORY);
	session_done(&session);
	expect_same_file("src/a", "root/dst/src/c");
	expect_same_inode("root/dst/src/c", "root/dst/src/e");
}
END_TEST

/* ---- symlinks that are followed ----------------------------------------------------------------------------- */

START_TEST(what_symlinks_lead_to_arrives)
{
	begin(_i, 0)->follow = true;
	ck_assert_int_eq(mkdir("aside", 0755), 0);
	make_file("aside/small", 10, 1);
	make_file("aside/large", 50000, 2);
	ck_assert_int_eq(symlink("../../aside", "src/d/aside"), 0);
	ck_assert_int_eq(symlink("../aside/large", "src/large"), 0);
	ck_assert_int_eq(symlink("../aside/small", "src/small"), 0);
	run(0);
	session_done(&session);
	ck_assert(S_ISDIR(look("root/dst/d/aside").st_mode));
	expect_same_file("aside/small", "root/dst/d/aside/small");
	expect_same_file("aside/large", "root/dst/d/aside/large");
	expect_same_file("aside/large", "root/dst/large");
	expect_same_file("aside/small", "root/dst/small");
	ck_assert(S_ISREG(look("root/dst/small").st_mode));
}
END_TEST

static void follow_to(int way, const char *link, const char *text, enum status status, const char *why)
{
	begin(way, 0)->follow = true;
	make_file("src/d/f", 10, 1);
	ck_assert_int_eq(symlink(text, link), 0);
	run(1);
	ck_assert_int_eq(session.to->entry_status, status);
	ck_assert_str_eq(session.to->entry_text, why);
	session_done(&session);
	expect_same_file("src/d/f", "root/dst/d/f");
	ck_assert(!is_there("root/dst/d/link"));
}

START_TEST(a_dangling_symlink_fails_and_the_rest_goes_on)
{
	follow_to(_i, "src/d/link", "nowhere", STATUS_NOT_FOUND, "the symlink leads nowhere");
}
END_TEST

START_TEST(a_symlink_to_itself_fails)
{
	follow_to(_i, "src/d/link", "link", STATUS_FAILED, "the symlink leads in a circle");
}
END_TEST

START_TEST(a_symlink_to_a_directory_it_is_in_fails)
{
	follow_to(_i, "src/d/link", "../d", STATUS_FAILED, "the symlink leads in a circle");
}
END_TEST

START_TEST(a_symlink_to_the_top_fails)
{
	follow_to(_i, "src/d/link", "../../src", STATUS_FAILED, "the symlink leads in a circle");
}
END_TEST

Suite *engine_keep_suite(void)
{
	Suite *s = suite_create("engine_keep");
	TCase *tc = endpoint_tcase("keep");
	const int from = 2 * first_transport(), to = 2 * transports();

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	tcase_add_loop_test(tc, attributes_of_files_and_directories_arrive, from, to);
	tcase_add_loop_test(tc, attributes_of_many_messages_arrive, from, to);
	tcase_add_loop_test(tc, files_that_were_asked_for_give_back_the_room_of_their_attributes, from, to);
	tcase_add_loop_test(tc, attributes_not_asked_for_stay_behind, from, to);
	tcase_add_loop_test(tc, further_names_become_hard_links, from, to);
	tcase_add_loop_test(tc, further_names_are_files_if_links_are_not_wanted, from, to);
	tcase_add_loop_test(tc, a_name_that_cannot_be_made_takes_no_other_with_it, from, to);
	tcase_add_loop_test(tc, what_symlinks_lead_to_arrives, from, to);
	tcase_add_loop_test(tc, a_dangling_symlink_fails_and_the_rest_goes_on, from, to);
	tcase_add_loop_test(tc, a_symlink_to_itself_fails, from, to);
	tcase_add_loop_test(tc, a_symlink_to_a_directory_it_is_in_fails, from, to);
	tcase_add_loop_test(tc, a_symlink_to_the_top_fails, from, to);
	suite_add_tcase(s, tc);
	return s;
}
