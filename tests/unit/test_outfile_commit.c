/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A file gets its name where others may write to the directory and exchange the temporary, and where the directory may not
 * be read.
 */
#include <grp.h>

#include "common/sys.h"
#include "copy.h"
#include "skip.h"

Suite *outfile_commit_suite(void);

static void share(void)
{
	ck_assert_int_eq(chmod("root", 0777), 0);
}

/* As another user of the directory would: the temporary is moved away, and the file "mine" is under its name. */
static void exchange(void)
{
	char temp[PATH_MAX];

	snprintf(temp, sizeof(temp), "root/%s", file.temp);
	tree_write("root/mine", "");
	ck_assert_int_eq(rename(temp, "root/theirs"), 0);
	ck_assert_int_eq(link("root/mine", temp), 0);
}

static void make(const char *name, unsigned int flags)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, name, "name", flags), 0);
	ck_assert_int_eq(outfile_write(&file, "sent", 4, 0), 0);
	ck_assert_int_eq(outfile_finish(&file, 4, &plain), 0);
}

START_TEST(what_was_written_gets_a_new_name_whatever_the_temporary_is)
{
	share();
	make("new", _i ? PLACE_NO_CLOBBER : 0);
	exchange();
	ck_assert_int_eq(outfile_commit(&file, _i ? PLACE_NO_CLOBBER : 0), 0);
	tree_expect("root/new", "sent");
	ck_assert_uint_eq(temps("root"), 0);
}
END_TEST

/* Also in a directory that is the daemon's alone: all clients are the same user there. */
START_TEST(an_exchanged_temporary_replaces_nothing)
{
	if (_i)
		share();
	make("old", 0);
	exchange();
	ck_assert_int_eq(outfile_commit(&file, 0), -ESTALE);
	ck_assert(!file.named);
	ck_assert_ptr_nonnull(strstr(file.why, "as it was"));
	outfile_discard(&file);
	tree_expect("root/old", "old");
	ck_assert_uint_eq(temps("root"), 0);
}
END_TEST

START_TEST(a_directory_of_another_user_is_shared)
{
	if (geteuid())
		skip_test("needs root");
	ck_assert_int_eq(chown("root", 1, 1), 0);
	make("old", 0);
	exchange();
	ck_assert_int_eq(outfile_commit(&file, 0), -ESTALE);
	tree_expect("root/old", "old");
}
END_TEST

START_TEST(an_exchanged_link_is_not_taken)
{
	int dir = open("root", O_PATH);

	share();
	ck_assert_int_eq(outfile_symlink_in(&file, dir, "old", "text", NULL, 0), 0);
	exchange();
	ck_assert_int_eq(outfile_commit(&file, 0), -ESTALE);
	outfile_discard(&file);
	tree_write("root/first", "first");
	ck_assert_int_eq(outfile_hard_link_in(&file, dir, "old", tree_root, "first", 0), 0);
	unlink("root/mine");
	exchange();
	ck_assert_int_eq(outfile_commit(&file, 0), -ESTALE);
	outfile_discard(&file);
	tree_expect("root/old", "old");
	close(dir);
}
END_TEST

START_TEST(links_in_a_shared_directory_are_made)
{
	char text[8] = "";
	struct stat st;
	int dir = open("root", O_PATH);

	share();
	ck_assert_int_eq(outfile_symlink_in(&file, dir, "l", "text", &(struct outfile_attrs){ .preserve = true }, 0),
			 0);
	ck_assert_int_eq(outfile_commit(&file, 0), 0);
	outfile_discard(&file);
	ck_assert_int_eq(readlink("root/l", text, sizeof(text)), 4);
	ck_assert_str_eq(text, "text");
	ck_assert_int_eq(lstat("root/l", &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 0);
	for (int i = 0; i < 2; i++) { /* the second time it is that file already */
		ck_assert_int_eq(outfile_hard_link_in(&file, dir, "h", tree_root, "old", 0), 0);
		ck_assert_int_eq(outfile_commit(&file, 0), 0);
		outfile_discard(&file);
	}
	tree_expect("root/h", "old");
	ck_assert_uint_eq(temps("root"), 0);
	close(dir);
}
END_TEST

/* --direct has a second descriptor. */
START_TEST(nothing_is_written_past_the_cache_to_what_the_name_leads_to)
{
	static char block[DIRECT_BLOCK] __attribute__((aligned(DIRECT_BLOCK))) = "secret";
	struct stat st;

	share();
	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	exchange();
	outfile_go_direct(&file);
	ck_assert_int_eq(outfile_write(&file, block, sizeof(block), 0), 0);
	ck_assert_int_eq(stat("root/mine", &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_int_eq(stat("root/theirs", &st), 0);
	ck_assert_int_eq(st.st_size, DIRECT_BLOCK);
}
END_TEST

static int become_nobody(void)
{
	return setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0;
}

static int into_drop_box(void)
{
	if (become_nobody())
		return 1;
	if (copy("dir/new", "hello", &plain, 0) < 0)
		return 2;
	if (outfile_symlink_in(&file, open("root/dir", O_PATH), "link", "text", NULL, 0) < 0 ||
	    outfile_commit(&file, 0) < 0)
		return 3;
	return outfile_sync_dir(&file) < 0 ? 4 : 0;
}

START_TEST(a_name_in_a_directory_that_may_not_be_read_is_made_durable)
{
	if (geteuid())
		skip_test("needs root");
	ck_assert_int_eq(chmod("root/dir", 01733), 0);
	ck_assert_int_eq(in_child(into_drop_box), 0);
	tree_expect("root/dir/new", "hello");
}
END_TEST

Suite *outfile_commit_suite(void)
{
	Suite *s = suite_create("outfile_commit");
	TCase *tc = tcase_create("names");

	tcase_add_checked_fixture(tc, copy_setup, copy_teardown);
	tcase_add_loop_test(tc, what_was_written_gets_a_new_name_whatever_the_temporary_is, 0, 2);
	tcase_add_loop_test(tc, an_exchanged_temporary_replaces_nothing, 0, 2);
	tcase_add_test(tc, a_directory_of_another_user_is_shared);
	tcase_add_test(tc, an_exchanged_link_is_not_taken);
	tcase_add_test(tc, links_in_a_shared_directory_are_made);
	tcase_add_test(tc, nothing_is_written_past_the_cache_to_what_the_name_leads_to);
	tcase_add_test(tc, a_name_in_a_directory_that_may_not_be_read_is_made_durable);
	suite_add_tcase(s, tc);
	return s;
}
