/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The receiving engine against a sender of trees that lies about them: entries that lead out of the top, tops in the middle of
 * others, records that come late. It costs the entry, and nothing outside of the top is touched.
 */
#include <fcntl.h>
#include <sys/xattr.h>

#include "actor_tree.h"
#include "common/attributes.h"
#include "skip.h"

Suite *tree_lies_suite(void);

/* ---- a record that comes in a message of its own -------------------------------------------------------------- */

static void say_half_a_link(struct session_end *e)
{
	wanted = 1;
	say_entry(e, 1, 0, BELOW | WIRE_FILE_SYMLINK, "", "l");
	say_link(e, 1, "text");
	say_ping(e);
}

/* Nothing else follows before its RESULT is there. */
static void say_other_half(struct session_end *e)
{
	wanted = 1;
	say_close(e, 1);
}

static void abort_it(struct session_end *e)
{
	wanted = 1;
	say_abort(e, 1, STATUS_IO, "");
}

static void say_end_of_2(struct session_end *e)
{
	actor_say_end(e, 2);
}

START_TEST(link_whose_close_comes_later_is_made)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_half_a_link, say_other_half, say_end_of_2,
							 NULL };

	run_steps(_i, script);
	expect_verdict(1, STATUS_OK);
	expect_well(2);
	ck_assert(is_there("root/top/l"));
}
END_TEST

START_TEST(link_whose_abort_comes_later_is_reported)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_half_a_link, abort_it, say_end_of_2, NULL };

	run_steps(_i, script);
	expect_verdict(1, STATUS_IO);
	expect_well(2);
	ck_assert(!is_there("root/top/l"));
}
END_TEST

static uint8_t blob[512];
static size_t blob_len;

static void say_attributes(struct session_end *e, uint32_t number, size_t from, size_t to)
{
	struct wire_record rec = { .type = WIRE_ATTRIBUTES };

	rec.attributes.file = number;
	rec.attributes.piece = blob + from;
	rec.attributes.len = (uint16_t)(to - from);
	actor_say(e, &rec);
}

static void say_half_a_leave(struct session_end *e)
{
	wanted = 1;
	say_entry(e, 1, 0, LEAVE, "", "top");
	say_attributes(e, 1, 0, blob_len / 2);
	say_ping(e);
}

#define ROUNDS 500 /* that a worker has to begin too early */

static unsigned int rounds;

static void say_rest_of_leave(struct session_end *e)
{
	wanted = 1;
	if (++rounds < ROUNDS) {
		step--;
		say_ping(e);
		return;
	}
	say_attributes(e, 1, blob_len / 2, blob_len);
	say_close(e, 1);
}

static void say_first_top_with_attributes(struct session_end *e)
{
	wanted = 1;
	say_whole(e, 0, 0, DIRECTORY | WIRE_FILE_XATTRS, "top", "top");
}

/* As attributes.h reads them; false: this file system has none. */
static bool read_blob(void)
{
	struct attributes read = { 0 };
	char why[ATTRIBUTES_WHY_MAX] = "";
	struct stat st;
	int fd = open("src", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	if (fsetxattr(fd, "user.a", "value", 5, 0) < 0)
		return close(fd), false;
	ck_assert_int_eq(attributes_read(fd, &st, ATTRIBUTES_XATTRS, &read, why), 0);
	ck_assert_uint_le(read.len, sizeof(blob));
	memcpy(blob, read.blob, read.len);
	blob_len = read.len;
	attributes_done(&read);
	close(fd);
	return true;
}

START_TEST(directory_whose_attributes_come_later_gets_them)
{
	void (*const script[])(struct session_end *) = { say_first_top_with_attributes, say_half_a_leave,
							 say_rest_of_leave, say_end_of_2, NULL };
	char got[16];

	ck_assert_int_eq(mkdir("src", 0755), 0);
	if (!read_blob())
		skip_test("no user attributes in this file system");
	rounds = 0;
	run_steps(_i, script);
	expect_verdict(1, STATUS_OK);
	expect_well(2);
	ck_assert_int_eq(getxattr("root/top", "user.a", got, sizeof(got)), 5);
}
END_TEST

START_TEST(directory_whose_abort_comes_later_is_reported)
{
	void (*const script[])(struct session_end *) = { say_first_top_with_attributes, say_half_a_leave, abort_it,
							 say_end_of_2, NULL };

	ck_assert_int_eq(mkdir("src", 0755), 0);
	if (!read_blob())
		skip_test("no user attributes in this file system");
	run_steps(_i, script);
	expect_verdict(1, STATUS_IO);
	expect_well(2);
}
END_TEST

/* ---- modes of directories that were there ---------------------------------------------------------------------- */

static void say_with_mode(struct session_end *e, uint32_t number, uint32_t flags, const char *name, uint32_t mode)
{
	struct wire_record rec = { .type = WIRE_FILE };

	rec.file = (struct wire_file){
		.file = number,
		.flags = flags,
		.mode = mode,
		.path = wire_text(""),
		.name = wire_text(name),
	};
	actor_say(e, &rec);
	say_close(e, number);
}

static void say_directories(struct session_end *e)
{
	wanted = 2;
	say_with_mode(e, 1, BELOW | DIRECTORY, "there", 0755);
	say_with_mode(e, 2, BELOW | DIRECTORY, "made", 0555);
}

static void say_other_modes(struct session_end *e)
{
	say_with_mode(e, 3, BELOW | LEAVE, "there", 0677);
	say_with_mode(e, 4, BELOW | LEAVE, "never-named", 0677);
	say_with_mode(e, 5, BELOW | LEAVE, "made", 0077);
	say_with_mode(e, 6, BELOW | LEAVE, "made", 0555);
	say_with_mode(e, 7, LEAVE, "top", 0677);
	actor_say_end(e, 8);
}

static void expect_mode(const char *path, mode_t mode)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_msg((st.st_mode & 07777) == mode, "'%s' has mode %o", path, st.st_mode & 07777);
}

/* One that was made has the mode that it was made for, and no other. */
START_TEST(directory_that_was_there_keeps_its_mode_whatever_is_said_when_it_is_left)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_directories, say_other_modes, NULL };

	ck_assert_int_eq(mkdir("root/top", 0700) | mkdir("root/top/top", 0700), 0);
	ck_assert_int_eq(mkdir("root/top/top/there", 0700) | mkdir("root/top/top/never-named", 0700), 0);
	run_steps(_i, script);
	expect_well(8);
	expect_mode("root/top/top", 0700);
	expect_mode("root/top/top/there", 0700);
	expect_mode("root/top/top/never-named", 0700);
	expect_mode("root/top/top/made", 0555);
}
END_TEST

/* ---- ways out of the top -------------------------------------------------------------------------------------- */

static const char *const ways_out[] = { "..",  "../..", "d/../../..", "/",    "/tmp", "//",
					"out", "out/.", "d/up",       "root", "." };

static void say_ways_out(struct session_end *e)
{
	uint32_t number = 1;

	for (unsigned int i = 0; i < ARRAY_SIZE(ways_out); i++) {
		say_whole(e, number++, 0, BELOW, ways_out[i], "file");
		say_whole(e, number++, 0, BELOW | DIRECTORY, ways_out[i], "directory");
		say_whole(e, number++, 0, BELOW | WIRE_FILE_SYMLINK, ways_out[i], "link");
		say_whole(e, number++, 0, BELOW | LEAVE, ways_out[i], "victim");
	}
	actor_say_end(e, number);
}

START_TEST(path_that_leads_out_of_the_top_costs_the_entry)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_ways_out, NULL };
	const uint32_t last = 4 * (ARRAY_SIZE(ways_out) - 1);
	struct stat st;

	ck_assert_int_eq(mkdir("root/top", 0755) | mkdir("root/top/top", 0755) | mkdir("root/top/top/d", 0755), 0);
	ck_assert_int_eq(mkdir("outside", 0700) | mkdir("outside/victim", 0700) | mkdir("victim", 0700), 0);
	ck_assert_int_eq(symlink("../../../outside", "root/top/top/out") | symlink("../..", "root/top/top/d/up"), 0);
	run_steps(_i, script);
	for (uint32_t i = 1; i <= last; i++)
		ck_assert_msg(session.from->verdicts[i].status != STATUS_OK, "'%s' leads out of the top",
			      ways_out[(i - 1) / 4]);
	/* "." stays in it: only that there is no victim to leave */
	for (uint32_t i = 1; i <= 3; i++)
		expect_verdict(last + i, STATUS_OK);
	expect_verdict(last + 4, STATUS_NOT_FOUND);
	expect_well(last + 5);
	ck_assert(!is_there("outside/file") && !is_there("root/file") && !is_there("root/top/file"));
	ck_assert_int_eq(lstat("outside/victim", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
}
END_TEST

static const char *const link_texts[] = { "../old", "../../outside", "/nowhere/at/all", "..", ".", "/", "d/", "out/f",
					  "no" };

static void say_hard_links(struct session_end *e)
{
	char name[16];
	uint32_t number = 1;

	for (unsigned int i = 0; i < ARRAY_SIZE(link_texts); i++) {
		snprintf(name, sizeof(name), "l%u", i);
		say_entry(e, number, 0, BELOW | WIRE_FILE_HARD_LINK, "", name);
		say_link(e, number, link_texts[i]);
		say_close(e, number++);
	}
	actor_say_end(e, number);
}

START_TEST(hard_link_to_what_is_outside_of_the_top_costs_the_entry)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_hard_links, NULL };
	struct stat st;

	ck_assert_int_eq(mkdir("root/top", 0755) | mkdir("root/top/top", 0755) | mkdir("root/top/top/d", 0755), 0);
	ck_assert_int_eq(mkdir("outside", 0755) | symlink("../../../outside", "root/top/top/out"), 0);
	tree_write("outside/f", "text");
	run_steps(_i, script);
	for (uint32_t i = 1; i <= ARRAY_SIZE(link_texts); i++)
		ck_assert_int_ne(session.from->verdicts[i].status, STATUS_OK);
	expect_well(ARRAY_SIZE(link_texts) + 1);
	ck_assert_int_eq(stat("outside/f", &st), 0);
	ck_assert_uint_eq(st.st_nlink, 1);
}
END_TEST

static void say_directory(struct session_end *e)
{
	wanted = 2;
	say_whole(e, 1, 0, BELOW | DIRECTORY, "", "d");
	say_whole(e, 2, 0, BELOW, "d", "first");
}

/* Somebody at the receiver's puts a link in its place. */
static void swap_directory(struct session_end *e)
{
	ck_assert_int_eq(rename("root/top/d", "root/top/gone"), 0);
	ck_assert_int_eq(symlink("../../outside", "root/top/d"), 0);
	wanted = 4;
	say_whole(e, 3, 0, BELOW, "d", "second"); /* the directory that was opened, wherever it is now */
	say_whole(e, 4, 0, BELOW, "", "other");
	say_whole(e, 5, 0, BELOW, "d", "third");
	say_whole(e, 6, 0, BELOW | LEAVE, "", "d");
}

static void say_end_of_7(struct session_end *e)
{
	actor_say_end(e, 7);
}

START_TEST(link_put_in_the_place_of_a_directory_is_not_followed)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_directory, swap_directory, say_end_of_7,
							 NULL };
	struct stat st;

	ck_assert_int_eq(mkdir("outside", 0700), 0);
	run_steps(_i, script);
	expect_verdict(3, STATUS_OK);
	expect_verdict(4, STATUS_OK);
	ck_assert_int_ne(session.from->verdicts[5].status, STATUS_OK);
	ck_assert_int_ne(session.from->verdicts[6].status, STATUS_OK);
	expect_well(7);
	ck_assert(is_there("root/top/gone/first") && is_there("root/top/gone/second"));
	ck_assert(!is_there("outside/second") && !is_there("outside/third"));
	ck_assert_int_eq(stat("outside", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
}
END_TEST

/* ---- more than one top ---------------------------------------------------------------------------------------- */

static void say_second_top(struct session_end *e)
{
	wanted = 1;
	say_top(e, 1, 1, "second");
}

static void say_entry_of_second(struct session_end *e)
{
	say_whole(e, 2, 1, BELOW, "", "f");
	actor_say_end(e, 3);
}

START_TEST(entries_behind_a_second_top_go_there)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_second_top, say_entry_of_second, NULL };

	run_steps(_i, script);
	expect_well(3);
	ck_assert(is_there("root/second/f") && !is_there("root/top/f"));
}
END_TEST

static void say_entry_of_first(struct session_end *e)
{
	say_whole(e, 2, 0, BELOW, "", "f");
}

START_TEST(entry_of_the_first_behind_a_second_top_is_refused)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_second_top, say_entry_of_first, NULL };

	run_steps(_i, script);
	end_expect(session.to, STATUS_PROTOCOL);
	session_done(&session);
	ck_assert(!is_there("root/second/f") && !is_there("root/top/f"));
}
END_TEST

/* It was placed when the first top was the one that counts. */
static void say_second_top_and_entry_of_first(struct session_end *e)
{
	say_top(e, 1, 1, "second");
	say_whole(e, 2, 0, BELOW, "d", "f");
	say_whole(e, 3, 0, BELOW | LEAVE, "", "d");
	say_whole(e, 4, 0, LEAVE, "", "top");
	actor_say_end(e, 5);
}

START_TEST(entry_of_the_first_while_a_second_top_is_made_stays_in_the_first)
{
	void (*const script[])(struct session_end *) = { say_first_top, say_second_top_and_entry_of_first, NULL };

	ck_assert_int_eq(mkdir("root/top", 0755) | mkdir("root/top/top", 0755) | mkdir("root/top/top/d", 0755), 0);
	ck_assert_int_eq(mkdir("root/second", 0755) | mkdir("root/second/top", 0755), 0);
	ck_assert_int_eq(mkdir("root/second/top/d", 0755), 0);
	run_steps(_i, script);
	expect_well(5);
	ck_assert(is_there("root/top/top/d/f"));
	ck_assert(!is_there("root/second/top/d/f"));
}
END_TEST

/* ---- what is not there, and what is already -------------------------------------------------------------------- */

static void say_file_f(struct session_end *e)
{
	wanted = 2;
	say_whole(e, 1, 0, BELOW, "", "f");
	say_whole(e, 2, 0, BELOW | DIRECTORY, "", "d");
}

static void say_oddities(struct session_end *e)
{
	say_whole(e, 3, 0, BELOW | LEAVE, "", "nothing");
	say_whole(e, 4, 0, BELOW, "nothing", "f");
	say_whole(e, 5, 0, BELOW | LEAVE, "", "f");
	say_whole(e, 6, 0, BELOW | DIRECTORY, "", "f");
	say_whole(e, 7, 0, BELOW, "", "d");
	say_whole(e, 8, 0, BELOW | WIRE_FILE_SYMLINK, "", "d");
	say_whole(e, 9, 0, BELOW, "f", "f");
	say_whole(e, 10, 0, LEAVE, "", "top");
	say_whole(e, 11, 0, LEAVE, "", "top");
	say_whole(e, 12, 0, WIRE_FILE_SYMLINK, "link", "link");
	actor_say_end(e, 13);
}

START_TEST(entry_that_cannot_be_costs_only_itself)
{
	static const enum status expected[] = {
		STATUS_OK,
		STATUS_OK,
		STATUS_OK,
		STATUS_NOT_FOUND,
		STATUS_NOT_FOUND,
		STATUS_NOT_DIRECTORY,
		STATUS_NOT_DIRECTORY,
		STATUS_IS_DIRECTORY,
		STATUS_IS_DIRECTORY,
		STATUS_NOT_DIRECTORY,
		STATUS_OK,
		STATUS_OK,
		STATUS_NOT_REGULAR,
	};
	void (*const script[])(struct session_end *) = { say_first_top, say_file_f, say_oddities, NULL };

	run_steps(_i, script);
	for (uint32_t i = 0; i < ARRAY_SIZE(expected); i++)
		expect_verdict(i, expected[i]);
	expect_well(ARRAY_SIZE(expected));
	ck_assert(!is_there("root/link"));
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

Suite *tree_lies_suite(void)
{
	Suite *s = suite_create("tree_lies");
	TCase *tc = receiver_tcase(s, "lies");

	endpoint_test(tc, link_whose_close_comes_later_is_made);
	endpoint_test(tc, link_whose_abort_comes_later_is_reported);
	endpoint_test(tc, directory_whose_attributes_come_later_gets_them);
	endpoint_test(tc, directory_whose_abort_comes_later_is_reported);
	endpoint_test(tc, directory_that_was_there_keeps_its_mode_whatever_is_said_when_it_is_left);
	endpoint_test(tc, path_that_leads_out_of_the_top_costs_the_entry);
	endpoint_test(tc, hard_link_to_what_is_outside_of_the_top_costs_the_entry);
	endpoint_test(tc, link_put_in_the_place_of_a_directory_is_not_followed);
	endpoint_test(tc, entries_behind_a_second_top_go_there);
	endpoint_test(tc, entry_of_the_first_behind_a_second_top_is_refused);
	endpoint_test(tc, entry_of_the_first_while_a_second_top_is_made_stays_in_the_first);
	endpoint_test(tc, entry_that_cannot_be_costs_only_itself);
	return s;
}
