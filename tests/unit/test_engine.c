/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whole copies: both engines, real files, in either direction. Every test runs as a push and as a pull, on each transport
 * there is (`_i` says which, see begin()).
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util.h"
#include "engine_pair.h"
#include "skip.h"
#include "tree.h"

Suite *engine_suite(void);

static struct session session;

static void begin(int i)
{
	session_init(&session, i / 2, tree_root, i % 2, END_SENDER, END_RECEIVER);
}

/* Runs it to a good end and leaves nothing behind. */
static void finish(void)
{
	session_run(&session);
	session_expect_orderly(&session);
	session_done(&session);
	ck_assert_uint_eq(count_temps("root"), 0);
}

static void expect_copied(unsigned int i)
{
	char to[256];

	session_expect(&session, i, STATUS_OK);
	snprintf(to, sizeof(to), "root/%s", session.files[i].to);
	expect_same_file(session.files[i].from, to);
}

static void expect_all_copied(void)
{
	for (unsigned int i = 0; i < session.count; i++)
		expect_copied(i);
}

/* ---- sizes and numbers -------------------------------------------------------------------------------------- */

static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 4 * 4096, 4 * 4096 + 1, 100 * 4096 - 1, 0, 300000 };

static void add_sizes(uint32_t flags)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "from%u", i);
		snprintf(to, sizeof(to), "to%u", session.count);
		make_file(from, sizes[i], i);
		session_add(&session, from, to, flags);
	}
}

START_TEST(every_size_arrives_whole)
{
	begin(_i);
	add_sizes(0);
	finish();
	expect_all_copied();
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		ck_assert_uint_eq(session.from->verdicts[i].bytes, sizes[i]);
		ck_assert_uint_eq(session.to->verdicts[i].bytes, sizes[i]);
	}
}
END_TEST

START_TEST(files_synced_one_by_one_arrive_whole)
{
	begin(_i);
	add_sizes(WIRE_FILE_SYNC);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(files_never_synced_arrive_whole)
{
	begin(_i);
	add_sizes(WIRE_FILE_NO_SYNC);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(files_read_again_arrive_whole)
{
	begin(_i);
	add_sizes(WIRE_FILE_VERIFY);
	add_sizes(WIRE_FILE_VERIFY | WIRE_FILE_NO_SYNC);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(files_past_the_page_cache_arrive_whole)
{
	begin(_i);
	add_sizes(WIRE_FILE_DIRECT);
	add_sizes(WIRE_FILE_DIRECT | WIRE_FILE_VERIFY);
	finish();
	expect_all_copied();
}
END_TEST

/* Pieces end in the middle of a block then. */
START_TEST(small_pieces_past_the_page_cache_arrive_whole)
{
	begin(_i);
	make_file("from", 50001, 1);
	session_add(&session, "from", "to", WIRE_FILE_DIRECT | WIRE_FILE_VERIFY);
	session.sender_limit = 500000;
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(a_single_slot_is_enough)
{
	begin(_i);
	session.pair.client.slots_log2 = session.pair.server.slots_log2 = 0;
	add_sizes(0);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(many_slots_are_not_too_many)
{
	begin(_i);
	session.pair.client.slots_log2 = session.pair.server.slots_log2 = 7;
	add_sizes(0);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(the_fewest_receives_are_enough)
{
	begin(_i);
	session.pair.client.receives = session.pair.server.receives = 1 << WIRE_MIN_RECEIVES_LOG2;
	add_sizes(WIRE_FILE_SYNC);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(no_file_at_all_is_done)
{
	begin(_i);
	finish();
}
END_TEST

static void add_many(unsigned int count, uint32_t flags)
{
	for (unsigned int i = 0; i < count; i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "from%u", i);
		snprintf(to, sizeof(to), "to%u", i);
		make_file(from, i * 41 % 9000, i);
		session_add(&session, from, to, i % 3 ? flags : 0);
	}
}

START_TEST(more_files_than_may_be_open_follow_each_other)
{
	begin(_i);
	add_many(200, 0);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(one_file_at_a_time_if_the_peer_wants)
{
	begin(_i);
	session.max_files = 1;
	add_many(20, WIRE_FILE_SYNC);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(two_files_at_a_time_if_the_peer_wants)
{
	begin(_i);
	session.max_files = 2;
	session.threads = 1;
	add_many(40, WIRE_FILE_NO_SYNC);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(files_without_a_size_arrive_whole)
{
	static const char *const sources[] = { "/proc/filesystems", "/proc/self/mountinfo", "/proc/version",
					       "/proc/kallsyms" };

	begin(_i);
	make_file("from", 5000, 1);
	session_add(&session, "from", "to", 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(sources); i++) {
		char to[16];

		snprintf(to, sizeof(to), "proc%u", i);
		if (access(sources[i], R_OK) == 0)
			session_add(&session, sources[i], to, i & 1 ? 0 : WIRE_FILE_SYNC);
	}
	session.pair.client.slot_log2 = session.pair.server.slot_log2 = 16;
	finish();
	expect_all_copied();
}
END_TEST

/* ---- what is there already ---------------------------------------------------------------------------------- */

START_TEST(a_destination_is_replaced)
{
	begin(_i);
	make_file("from", 10000, 1);
	make_file("root/to", 20000, 2);
	session_add(&session, "from", "to", 0);
	finish();
	expect_all_copied();
}
END_TEST

START_TEST(a_file_goes_into_a_directory_under_its_name)
{
	begin(_i);
	make_file("from", 10000, 1);
	ck_assert_int_eq(mkdir("root/dir", 0755), 0);
	session_add(&session, "from", "dir", 0);
	session_add(&session, "from", "dir/other", WIRE_FILE_INTO_DIR);
	finish();
	session_expect(&session, 0, STATUS_OK);
	expect_same_file("from", "root/dir/from");
	session_expect(&session, 1, STATUS_NOT_FOUND);
}
END_TEST

START_TEST(a_file_copied_onto_itself_stays_what_it_is)
{
	begin(_i);
	make_file("root/same", 100000, 1);
	make_file("copy", 100000, 1);
	session_add(&session, "root/same", "same", 0);
	finish();
	session_expect(&session, 0, STATUS_OK);
	expect_same_file("copy", "root/same");
}
END_TEST

static const uint32_t ways_to_sync[] = { 0, WIRE_FILE_SYNC, WIRE_FILE_NO_SYNC };

/* Also when the second is whole long before the first. */
START_TEST(of_two_sources_with_one_name_the_second_is_refused)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(ways_to_sync); i++) {
		unlink("root/to");
		begin(_i);
		if (i == 0)
			tree_write("root/to", "is replaced once");
		make_file("a", 500000, 1);
		make_file("b", 10, 2);
		session_add(&session, "a", "to", WIRE_FILE_EXACT | ways_to_sync[i]);
		session_add(&session, "b", "to", WIRE_FILE_EXACT | ways_to_sync[i]);
		session_run(&session);
		session_expect_orderly(&session);
		session_expect(&session, 0, STATUS_OK);
		session_expect(&session, 1, STATUS_JUST_MADE);
		session_done(&session);
		ck_assert_uint_eq(count_temps("root"), 0);
		expect_same_file("a", "root/to");
	}
}
END_TEST

/* No path says that it is one place: two names of a directory, as two names that differ in case. */
START_TEST(of_two_sources_with_two_names_for_one_place_one_is_refused)
{
	const unsigned int copies = 100;
	char from[16], to[32];
	unsigned int refused = 0;

	begin(_i);
	ck_assert_int_eq(mkdir("root/d", 0755) | symlink("d", "root/e"), 0);
	for (unsigned int i = 0; i < copies; i++) {
		snprintf(from, sizeof(from), "from%u", i);
		make_file(from, 10, i);
		snprintf(to, sizeof(to), "%s/%u", i % 2 ? "e" : "d", i / 2);
		session_add(&session, from, to, ways_to_sync[i / 2 % ARRAY_SIZE(ways_to_sync)]);
	}
	session_run(&session);
	session_expect_orderly(&session);
	for (unsigned int i = 0; i < copies; i++) {
		bool lost = session.from->verdicts[i].status == STATUS_JUST_MADE;

		session_expect(&session, i, lost ? STATUS_JUST_MADE : STATUS_OK);
		snprintf(from, sizeof(from), "from%u", i);
		snprintf(to, sizeof(to), "root/d/%u", i / 2);
		ck_assert(same_file(from, to) == !lost);
		refused += lost;
	}
	session_done(&session);
	ck_assert_uint_eq(refused, copies / 2);
}
END_TEST

START_TEST(mode_and_time_are_kept_when_asked_for)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1234567890, .tv_nsec = 123456789 } };
	struct stat st;

	begin(_i);
	make_file("from", 100, 1);
	ck_assert_int_eq(chmod("from", 0640), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, "from", times, 0), 0);
	session_add(&session, "from", "to", WIRE_FILE_PRESERVE);
	finish();
	expect_copied(0);
	ck_assert_int_eq(stat("root/to", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1234567890);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
}
END_TEST

static void expect_slow(uint64_t sender_limit, uint64_t receiver_limit)
{
	uint64_t began = now_ns();

	make_file("from", 100000, 1);
	session_add(&session, "from", "to", 0);
	make_file("small", 20000, 2);
	for (unsigned int i = 0; i < 5; i++) {
		session_add(&session, "small", "", 0);
		snprintf(session.files[i + 1].to, sizeof(session.files[i + 1].to), "small%u", i);
	}
	session.sender_limit = sender_limit;
	session.receiver_limit = receiver_limit;
	finish();
	for (unsigned int i = 0; i < session.count; i++)
		expect_copied(i);
	ck_assert_uint_ge(now_ns() - began, 180 * MSEC);
}

START_TEST(the_limit_of_the_sender_is_kept)
{
	begin(_i);
	expect_slow(1000000, 0);
}
END_TEST

START_TEST(the_limit_of_the_receiver_is_kept)
{
	begin(_i);
	expect_slow(0, 1000000);
}
END_TEST

START_TEST(the_lower_limit_is_kept)
{
	begin(_i);
	expect_slow(1000000000, 1000000);
}
END_TEST

/* ---- files that fail ---------------------------------------------------------------------------------------- */

static void add_good(const char *to)
{
	make_file("good", 30000, 7);
	session_add(&session, "good", to, 0);
}

START_TEST(sources_that_cannot_be_sent_fail_alone)
{
	begin(_i);
	add_good("first");
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	session_add(&session, "missing", "to", 0);
	session_add(&session, "root", "to", 0);
	session_add(&session, "fifo", "to", 0);
	session_add(&session, "/dev/null", "to", WIRE_FILE_SYNC);
	session_add(&session, "good/below", "to", 0);
	session_add(&session, "good", "last", 0);
	finish();
	expect_copied(0);
	session_expect(&session, 1, STATUS_NOT_FOUND);
	session_expect(&session, 2, STATUS_IS_DIRECTORY);
	session_expect(&session, 3, STATUS_NOT_REGULAR);
	session_expect(&session, 4, STATUS_NOT_REGULAR);
	session_expect(&session, 5, STATUS_NOT_DIRECTORY);
	expect_copied(6);
	ck_assert_int_eq(access("root/to", F_OK), -1);
}
END_TEST

static enum status refuse_some(struct session *s, const struct wire_file *file, char *text)
{
	if (file->file % 3 == 2)
		return STATUS_OK;
	snprintf(text, WIRE_TEXT_MAX + 1, "not %u", file->file);
	return STATUS_NOT_ALLOWED;
}

START_TEST(files_that_have_no_place_fail_alone)
{
	char text[16];

	begin(_i);
	add_many(150, WIRE_FILE_SYNC);
	session.place = refuse_some;
	finish();
	for (unsigned int i = 0; i < session.count; i++) {
		if (i % 3 == 2) {
			expect_copied(i);
			continue;
		}
		session_expect(&session, i, STATUS_NOT_ALLOWED);
		snprintf(text, sizeof(text), "not %u", i);
		ck_assert_str_eq(session.from->verdicts[i].text, text);
		ck_assert(session.from->verdicts[i].by_peer);
	}
}
END_TEST

START_TEST(a_large_file_that_has_no_place_is_not_read_to_its_end)
{
	begin(_i);
	make_file("from", 4 << 20, 1);
	session_add(&session, "from", "to", 0);
	add_good("next"); /* number 1, refused as well */
	session_add(&session, "good", "last", 0);
	session.place = refuse_some;
	finish();
	session_expect(&session, 0, STATUS_NOT_ALLOWED);
	ck_assert_uint_lt(session.from->verdicts[0].bytes, 4 << 20);
	expect_copied(2);
}
END_TEST

START_TEST(destinations_that_cannot_be_written_fail_alone)
{
	begin(_i);
	ck_assert_int_eq(mkdir("root/dir", 0755), 0);
	ck_assert_int_eq(mkdir("root/dir/good", 0755), 0);
	ck_assert_int_eq(mkfifo("root/fifo", 0600), 0);
	make_file("root/there", 10, 1);
	make_file("there", 10, 1);
	ck_assert_int_eq(symlink("../outside", "root/out"), 0);
	add_good("no/such/parent");
	session_add(&session, "good", "dir", 0);
	session_add(&session, "good", "fifo", 0);
	session_add(&session, "good", "there", WIRE_FILE_NO_CLOBBER);
	session_add(&session, "good", "there/below", 0);
	session_add(&session, "good", "../outside", 0);
	session_add(&session, "good", "last", 0);
	finish();
	session_expect(&session, 0, STATUS_NOT_FOUND);
	session_expect(&session, 1, STATUS_IS_DIRECTORY);
	session_expect(&session, 2, STATUS_NOT_REGULAR);
	session_expect(&session, 3, STATUS_FAILED);
	ck_assert_ptr_nonnull(strstr(session.from->verdicts[3].text, strerror(EEXIST)));
	session_expect(&session, 4, STATUS_NOT_DIRECTORY);
	session_expect(&session, 5, session.to->verdicts[5].status);
	ck_assert_int_ne(session.to->verdicts[5].status, STATUS_OK);
	ck_assert_int_eq(access("outside", F_OK), -1);
	expect_same_file("there", "root/there");
	expect_copied(6);
}
END_TEST

/* More than the window: it cannot have been read whole when it is announced. */
#define LARGER_THAN_WINDOW (64 * 4096)

static enum status shrink(struct session *s, const struct wire_file *file, char *text)
{
	if (file->file == 0)
		ck_assert_int_eq(truncate("from", 5), 0);
	return STATUS_OK;
}

static enum status grow(struct session *s, const struct wire_file *file, char *text)
{
	if (file->file == 0)
		ck_assert_int_eq(truncate("from", 2 * LARGER_THAN_WINDOW), 0);
	return STATUS_OK;
}

static void expect_change(enum status (*place)(struct session *s, const struct wire_file *file, char *text))
{
	make_file("from", LARGER_THAN_WINDOW, 1);
	make_file("root/to", 10, 2);
	make_file("old", 10, 2);
	session_add(&session, "from", "to", 0);
	add_good("next");
	session.place = place;
	finish();
	session_expect(&session, 0, STATUS_CHANGED);
	expect_same_file("old", "root/to");
	expect_copied(1);
}

START_TEST(a_source_that_shrinks_fails)
{
	begin(_i);
	expect_change(shrink);
}
END_TEST

START_TEST(a_source_that_grows_fails)
{
	begin(_i);
	expect_change(grow);
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

static void add(TCase *tc, const TTest *test)
{
	tcase_add_loop_test(tc, test, 2 * first_transport(), 2 * transports());
}

static TCase *new_tcase(Suite *s, const char *name)
{
	TCase *tc = endpoint_tcase(name);

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	suite_add_tcase(s, tc);
	return tc;
}

Suite *engine_suite(void)
{
	Suite *s = suite_create("engine");
	TCase *tc = new_tcase(s, "sizes");

	add(tc, every_size_arrives_whole);
	add(tc, files_synced_one_by_one_arrive_whole);
	add(tc, files_never_synced_arrive_whole);
	add(tc, files_read_again_arrive_whole);
	add(tc, files_past_the_page_cache_arrive_whole);
	add(tc, small_pieces_past_the_page_cache_arrive_whole);
	add(tc, a_single_slot_is_enough);
	add(tc, many_slots_are_not_too_many);
	add(tc, the_fewest_receives_are_enough);
	add(tc, no_file_at_all_is_done);
	add(tc, more_files_than_may_be_open_follow_each_other);
	add(tc, one_file_at_a_time_if_the_peer_wants);
	add(tc, two_files_at_a_time_if_the_peer_wants);
	add(tc, files_without_a_size_arrive_whole);

	add(tc, the_limit_of_the_sender_is_kept);
	add(tc, the_limit_of_the_receiver_is_kept);
	add(tc, the_lower_limit_is_kept);

	tc = new_tcase(s, "destinations");
	add(tc, a_destination_is_replaced);
	add(tc, a_file_goes_into_a_directory_under_its_name);
	add(tc, a_file_copied_onto_itself_stays_what_it_is);
	add(tc, of_two_sources_with_one_name_the_second_is_refused);
	add(tc, of_two_sources_with_two_names_for_one_place_one_is_refused);
	add(tc, mode_and_time_are_kept_when_asked_for);

	tc = new_tcase(s, "failures");
	add(tc, sources_that_cannot_be_sent_fail_alone);
	add(tc, files_that_have_no_place_fail_alone);
	add(tc, a_large_file_that_has_no_place_is_not_read_to_its_end);
	add(tc, destinations_that_cannot_be_written_fail_alone);
	add(tc, a_source_that_shrinks_fails);
	add(tc, a_source_that_grows_fails);
	return s;
}
