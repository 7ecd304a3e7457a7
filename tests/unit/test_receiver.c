/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The receiving engine against a sender that is the test itself: what is wrong with a file fails that file alone, what is odd
 * but right is stored, and of a sender that goes away nothing is left. What breaks the protocol is in
 * test_receiver_breaches.c. Each test runs on each transport there is.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor_sender.h"

Suite *receiver_suite(void);

/* ---- files that are wrong ----------------------------------------------------------------------------------- */

/* The files 0, 1, ... fail so; then the session comes to its good end, and nothing was stored. */
static void run_failure(int transport, void (*script)(struct session_end *e), unsigned int files, enum status status)
{
	begin(transport, script);
	session_run(&session);
	end_expect(session.to, STATUS_OK);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 1);
	for (unsigned int i = 0; i < files; i++) {
		ck_assert_uint_eq(session.from->verdicts[i].calls, 1);
		ck_assert_int_eq(session.from->verdicts[i].status, status);
		ck_assert_uint_eq(session.to->verdicts[i].calls, 1);
		ck_assert_int_eq(session.to->verdicts[i].status, status);
	}
	session_done(&session);
	expect_untouched();
}

#define FAILURE(name, files, status)                        \
	static void say_##name(struct session_end *e);      \
	START_TEST(name)                                    \
	{                                                   \
		run_failure(_i, say_##name, files, status); \
	}                                                   \
	END_TEST                                            \
	static void say_##name(struct session_end *e)

FAILURE(bytes_that_are_not_what_was_read_fail_the_file, 1, STATUS_CORRUPT)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data);

	actor_say_file(e, 0, "old", 0);
	data.data.hash ^= 1;
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

/* What is on its way to be read again. */
static int open_temporary(void)
{
	DIR *dir = opendir("root");
	struct dirent *entry;
	int fd = -1;

	while ((entry = readdir(dir)))
		if (strstr(entry->d_name, ".rdcp-part"))
			fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
	closedir(dir);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct wire_record spoilt_data;

static void spoil_on_ack(struct session_end *e, const struct wire_record *rec)
{
	struct wire_record end = actor_close(0, &spoilt_data);
	int fd;

	if (rec->type != WIRE_ACK)
		return;
	fd = open_temporary();
	if (spoilt_data.data.len == 10)
		ck_assert_int_eq(pwrite(fd, "x", 1, 5), 1);
	else
		ck_assert_int_eq(ftruncate(fd, 1000), 0);
	close(fd);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

static void say_what_is_spoilt(struct session_end *e, size_t len)
{
	e->react = spoil_on_ack;
	spoilt_data = actor_data(e, 0, 0, bytes, len);
	actor_say_file(e, 0, "old", WIRE_FILE_VERIFY);
	actor_say(e, &spoilt_data);
}

FAILURE(a_byte_that_changed_where_it_is_stored_is_found, 1, STATUS_CORRUPT)
{
	say_what_is_spoilt(e, 10);
}

FAILURE(bytes_missing_where_they_are_stored_are_found, 1, STATUS_CORRUPT)
{
	say_what_is_spoilt(e, 4096);
}

FAILURE(a_wrong_digest_fails_the_file, 3, STATUS_CORRUPT)
{
	static const uint32_t flags[] = { 0, WIRE_FILE_SYNC, WIRE_FILE_NO_SYNC };

	for (uint32_t i = 0; i < 3; i++) {
		struct wire_record data = actor_data(e, i, i, bytes, 10), end = actor_close(i, &data);

		end.close.digest[15] ^= 1;
		actor_say_file(e, i, "old", flags[i]);
		actor_say(e, &data);
		actor_say(e, &end);
	}
	actor_say_end(e, 3);
}

FAILURE(a_size_that_is_not_the_sum_of_its_parts_fails_the_file, 3, STATUS_CORRUPT)
{
	static const uint64_t wrong[] = { 0, 9, INT64_MAX };

	for (uint32_t i = 0; i < 3; i++) {
		struct wire_record data = actor_data(e, i, i, bytes, 10), end = actor_close(i, &data);

		end.close.size = wrong[i];
		actor_say_file(e, i, "old", 0);
		actor_say(e, &data);
		actor_say(e, &end);
	}
	actor_say_end(e, 3);
}

FAILURE(a_part_that_is_missing_fails_the_file, 1, STATUS_CORRUPT)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data);

	actor_say_file(e, 0, "old", 0);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

FAILURE(a_part_out_of_place_fails_the_file, 1, STATUS_CORRUPT)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data);

	data.data.offset = 1;
	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

static void say_far_away(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end;

	data.data.offset = (uint64_t)INT64_MAX - 10;
	end = actor_close(0, &data);
	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

/* Too large, or, where a file may be that large (tmpfs), not the sum of its parts. */
START_TEST(an_offset_beyond_every_file_system_fails_the_file)
{
	enum status status;

	begin(_i, say_far_away);
	session_run(&session);
	end_expect(session.to, STATUS_OK);
	status = session.to->verdicts[0].status;
	ck_assert(status == STATUS_TOO_LARGE || status == STATUS_CORRUPT);
	ck_assert_int_eq(session.from->verdicts[0].status, status);
	session_done(&session);
	expect_untouched();
}
END_TEST

FAILURE(a_file_given_up_leaves_nothing, 1, STATUS_CHANGED)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
	say_abort(e, 0, STATUS_CHANGED, "");
	actor_say_end(e, 1);
}

FAILURE(a_file_given_up_without_a_reason_is_aborted, 1, STATUS_ABORTED)
{
	actor_say_file(e, 0, "old", 0);
	say_abort(e, 0, STATUS_OK, "");
	actor_say_end(e, 1);
}

/* All of them at once, all lost, with data under way. */
FAILURE(many_files_given_up_leave_nothing, RECEIVER_MAX_FILES, STATUS_IO)
{
	for (uint32_t i = 0; i < RECEIVER_MAX_FILES; i++)
		actor_say_file(e, i, "new", 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct wire_record data = actor_data(e, i * 7, i, bytes, 4096);

		actor_say(e, &data);
	}
	for (uint32_t i = 0; i < RECEIVER_MAX_FILES; i++)
		say_abort(e, i, STATUS_IO, "");
	actor_say_end(e, RECEIVER_MAX_FILES);
}

/* ---- what is odd, and right --------------------------------------------------------------------------------- */

static void run_good(int transport, void (*script)(struct session_end *e))
{
	begin(transport, script);
	session_run(&session);
	end_expect(session.to, STATUS_OK);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 1);
	session_done(&session);
	ck_assert_uint_eq(count_temps("root"), 0);
}

static void say_at_once(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 4096), end = actor_close(0, &data);

	actor_say_file(e, 0, "new", 0);
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

START_TEST(a_sender_that_keeps_no_limit_waits_at_the_end)
{
	uint64_t began = now_ns();

	begin(_i, say_at_once);
	session.receiver_limit = 10000;
	session_run(&session);
	end_expect(session.to, STATUS_OK);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 1);
	session_done(&session);
	ck_assert_uint_ge(now_ns() - began, 300 * MSEC);
}
END_TEST

static void say_shared_slot(struct session_end *e)
{
	struct wire_record first = actor_data(e, 0, 0, bytes, 17), second = first, end;

	first.data.flags = 0;
	first.data.len = 10;
	first.data.hash = digest_chunk(bytes, 10);
	second.data.file = 1;
	second.data.slot_off = 11;
	second.data.len = 6;
	second.data.hash = digest_chunk(bytes + 11, 6);
	actor_say_file(e, 0, "one", 0);
	actor_say(e, &first);
	actor_say_file(e, 1, "two", WIRE_FILE_SYNC);
	actor_say(e, &second);
	end = actor_close(0, &first);
	actor_say(e, &end);
	end = actor_close(1, &second);
	actor_say(e, &end);
	actor_say_end(e, 2);
}

START_TEST(files_may_share_a_slot)
{
	run_good(_i, say_shared_slot);
	tree_expect("root/one", "what is in");
	tree_expect("root/two", "a slot");
	ck_assert_uint_eq(session.from->heard[WIRE_ACK], 1);
}
END_TEST

static void say_size_of_a_lie(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data);
	struct wire_record rec = { .type = WIRE_FILE };

	rec.file = (struct wire_file){
		.size = INT64_MAX,
		.mode = 07777,
		.flags = WIRE_FILE_PRESERVE,
		.mtime_sec = INT64_MIN,
		.path = wire_text("huge"),
		.name = wire_text("name"),
	};
	actor_say(e, &rec);
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

START_TEST(an_announced_size_is_believed_only_at_close_and_a_mode_never_wholly)
{
	struct stat st;

	run_good(_i, say_size_of_a_lie);
	ck_assert_int_eq(stat("root/huge", &st), 0);
	ck_assert_int_eq(session.from->verdicts[0].status,
			 st.st_mtim.tv_sec == INT64_MIN ? STATUS_OK : STATUS_ATTRIBUTES); /* which tmpfs can store */
	ck_assert_int_eq(st.st_size, 10);
	ck_assert_uint_eq(st.st_mode & 07777, 0777);
}
END_TEST

static void say_close_then_end_later(struct session_end *e)
{
	struct wire_record end = actor_close(0, NULL);

	actor_say_file(e, 0, "empty", 0);
	actor_say(e, &end);
}

static void end_after_result(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_RESULT)
		actor_say_end(e, 1);
}

START_TEST(a_result_does_not_wait_for_the_end)
{
	begin(_i, say_close_then_end_later);
	session.from->react = end_after_result;
	session_run(&session);
	end_expect(session.to, STATUS_OK);
	session_done(&session);
	tree_expect("root/empty", "");
}
END_TEST

static void say_flood(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data);
	const struct wire_record ping = { .type = WIRE_PING, .ping.token = 7 };

	for (unsigned int i = 0; i < 1000; i++)
		actor_say(e, &ping);
	actor_say_file(e, 0, "new", 0);
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

START_TEST(a_flood_of_pings_does_not_stop_a_copy)
{
	run_good(_i, say_flood);
	tree_expect("root/new", "what is in");
	ck_assert_uint_ge(session.from->heard[WIRE_PONG], 1);
}
END_TEST

/* ---- senders that go away ----------------------------------------------------------------------------------- */

static void say_half(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
}

static void leave_on_ack(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_ACK)
		endpoint_close(e->side->ep);
}

static void vanish_on_ack(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_ACK)
		endpoint_abort(e->side->ep, ENDPOINT_LOST, "gone");
}

static void say_error_on_ack(struct session_end *e, const struct wire_record *rec)
{
	struct wire_record error = { .type = WIRE_ERROR, .status.status = 999 };

	error.status.text = wire_text("\033]0;x\a\xc2\x9b"
				      "7m\nnext line");
	if (rec->type == WIRE_ACK)
		actor_say(e, &error);
}

static void write_anywhere_on_ack(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type != WIRE_ACK)
		return;
	endpoint_aim(e->side->ep, e->side->peer_base + 4 * 4096, e->side->peer_rkey);
	ck_assert_int_eq(side_write(e->side, &e->posts[1], 0, 0, 10), 0);
	actor_say_end(e, 1);
}

static void run_loss(int transport, void (*react)(struct session_end *e, const struct wire_record *rec))
{
	begin(transport, say_half);
	session.from->react = react;
	session_run(&session);
	ck_assert_int_ne(session.to->peer.end.status, STATUS_OK);
	ck_assert_uint_eq(session.to->done, 0);
	session_done(&session);
	expect_untouched();
}

START_TEST(a_sender_that_hangs_up_leaves_nothing)
{
	run_loss(_i, leave_on_ack);
	ck_assert(session.to->peer.end.by_connection);
}
END_TEST

START_TEST(a_sender_that_vanishes_leaves_nothing)
{
	run_loss(_i, vanish_on_ack);
	ck_assert(session.to->peer.end.by_connection);
}
END_TEST

START_TEST(a_sender_that_writes_where_it_may_not_leaves_nothing)
{
	run_loss(_i, write_anywhere_on_ack);
	ck_assert(session.to->peer.end.by_connection);
}
END_TEST

START_TEST(the_senders_error_is_kept_as_it_said_it)
{
	run_loss(_i, say_error_on_ack);
	ck_assert(session.to->peer.end.by_peer);
	ck_assert_int_eq(session.to->peer.end.status, 999);
	ck_assert_str_eq(session.to->peer.end.text, "\033]0;x\a\xc2\x9b"
						    "7m\nnext line");
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

Suite *receiver_suite(void)
{
	Suite *s = suite_create("receiver");
	TCase *tc = receiver_tcase(s, "failures");
	endpoint_test(tc, bytes_that_are_not_what_was_read_fail_the_file);
	endpoint_test(tc, a_byte_that_changed_where_it_is_stored_is_found);
	endpoint_test(tc, bytes_missing_where_they_are_stored_are_found);
	endpoint_test(tc, a_wrong_digest_fails_the_file);
	endpoint_test(tc, a_size_that_is_not_the_sum_of_its_parts_fails_the_file);
	endpoint_test(tc, a_part_that_is_missing_fails_the_file);
	endpoint_test(tc, a_part_out_of_place_fails_the_file);
	endpoint_test(tc, an_offset_beyond_every_file_system_fails_the_file);
	endpoint_test(tc, a_file_given_up_leaves_nothing);
	endpoint_test(tc, a_file_given_up_without_a_reason_is_aborted);
	endpoint_test(tc, many_files_given_up_leave_nothing);

	tc = receiver_tcase(s, "oddities");
	endpoint_test(tc, files_may_share_a_slot);
	endpoint_test(tc, an_announced_size_is_believed_only_at_close_and_a_mode_never_wholly);
	endpoint_test(tc, a_result_does_not_wait_for_the_end);
	endpoint_test(tc, a_flood_of_pings_does_not_stop_a_copy);
	endpoint_test(tc, a_sender_that_keeps_no_limit_waits_at_the_end);

	tc = receiver_tcase(s, "losses");
	endpoint_test(tc, a_sender_that_hangs_up_leaves_nothing);
	endpoint_test(tc, a_sender_that_vanishes_leaves_nothing);
	endpoint_test(tc, a_sender_that_writes_where_it_may_not_leaves_nothing);
	endpoint_test(tc, the_senders_error_is_kept_as_it_said_it);
	return s;
}
