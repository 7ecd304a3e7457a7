/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The receiving engine against a sender that is the test itself, and mostly not a good one. What breaks the protocol ends the
 * session with an ERROR that says so; what is wrong with a file fails that file alone. Nothing of a failed file is left.
 * Each test runs on each transport there is.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine_pair.h"
#include "tree.h"

Suite *receiver_suite(void);

static struct session session;
static const uint8_t bytes[4096] = "what is in a slot";

static void begin(int transport, void (*script)(struct session_end *e))
{
	session_init(&session, transport, tree_root, false, END_ACTOR, END_RECEIVER);
	session.from->begin = script;
	tree_write("root/old", "old");
}

/* What there was is all that there is. */
static void expect_untouched(void)
{
	DIR *dir = opendir("root");
	unsigned int entries = 0;

	while (readdir(dir))
		entries++;
	closedir(dir);
	ck_assert_uint_eq(entries, 3);
	tree_expect("root/old", "old");
}

/* ---- breaches of the protocol ------------------------------------------------------------------------------- */

static void run_breach(int transport, void (*script)(struct session_end *e))
{
	begin(transport, script);
	session_run(&session);
	end_expect(session.to, STATUS_PROTOCOL);
	ck_assert_uint_eq(session.from->heard[WIRE_ERROR], 1);
	ck_assert_int_eq(session.from->error, STATUS_PROTOCOL);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 0);
	session_done(&session);
	expect_untouched();
}

/* Defines a test whose body is what the sender says. */
#define BREACH(name)                                   \
	static void say_##name(struct session_end *e); \
	START_TEST(name)                               \
	{                                              \
		run_breach(_i, say_##name);            \
	}                                              \
	END_TEST                                       \
	static void say_##name(struct session_end *e)

BREACH(data_in_a_slot_that_is_not_there_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	data.data.slot = 4;
	actor_say(e, &data);
}

BREACH(data_in_a_slot_far_away_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	data.data.slot = UINT16_MAX;
	actor_say(e, &data);
}

BREACH(data_past_the_end_of_its_slot_is_refused)
{
	struct wire_record data = actor_data(e, 0, 3, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	data.data.slot_off = 4096 - 9;
	actor_say(e, &data);
}

BREACH(data_longer_than_a_slot_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	data.data.len = 4097;
	actor_say(e, &data);
}

BREACH(data_whose_end_wraps_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	data.data.slot_off = UINT32_MAX - 4;
	data.data.len = 10;
	actor_say(e, &data);
}

BREACH(data_of_a_file_that_is_not_there_is_refused)
{
	struct wire_record data = actor_data(e, 1, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
}

BREACH(data_of_a_number_that_falls_on_another_file_is_refused)
{
	struct wire_record data = actor_data(e, RECEIVER_MAX_FILES, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
}

BREACH(data_before_any_file_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say(e, &data);
}

BREACH(data_after_close_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data);

	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
	end.close.size = 11; /* or it would be well */
	actor_say(e, &end);
	actor_say(e, &data);
}

BREACH(a_slot_named_after_its_last_data_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	actor_say(e, &data);
	actor_say(e, &data);
}

static enum status refuse_all(struct session *s, const struct wire_file *file, char *text)
{
	return STATUS_NOT_ALLOWED;
}

/* Chunks of a file that is lost are dropped at once: many of them must not be acknowledged before the first ACK went out. */
BREACH(a_slot_used_again_before_its_acknowledgement_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	e->session->place = refuse_all;
	actor_say_file(e, 0, "old", 0);
	for (unsigned int i = 0; i < 200; i++)
		actor_say(e, &data);
}

BREACH(more_chunks_than_there_is_room_for_are_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	data.data.flags = 0;
	for (unsigned int i = 0; i < 4 + RECEIVER_MAX_FILES + 1; i++)
		actor_say(e, &data);
}

BREACH(a_first_file_that_is_not_0_is_refused)
{
	actor_say_file(e, 1, "old", 0);
}

BREACH(a_file_number_left_out_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	actor_say_file(e, 2, "new", 0);
}

BREACH(a_file_number_used_twice_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	actor_say_file(e, 0, "old", 0);
}

BREACH(more_files_than_may_be_open_are_refused)
{
	for (uint32_t i = 0; i <= RECEIVER_MAX_FILES; i++)
		actor_say_file(e, i, "new", 0);
}

BREACH(an_end_with_too_many_files_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	actor_say_end(e, 2);
}

BREACH(an_end_with_too_few_files_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	actor_say_end(e, 0);
}

BREACH(an_end_with_all_files_there_can_be_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	actor_say_end(e, (1ULL << 32) + 1);
}

BREACH(a_second_end_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	actor_say_end(e, 1);
	actor_say_end(e, 1);
}

BREACH(a_file_after_end_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	actor_say_end(e, 1);
	actor_say_file(e, 1, "new", 0);
}

BREACH(a_second_close_is_refused)
{
	struct wire_record end = actor_close(0, NULL);

	end.close.size = 1;
	actor_say_file(e, 0, "old", 0);
	actor_say(e, &end);
	actor_say(e, &end);
}

BREACH(a_close_of_no_file_is_refused)
{
	struct wire_record end = actor_close(5, NULL);

	actor_say(e, &end);
}

static void say_abort(struct session_end *e, uint32_t file, unsigned int status, const char *text)
{
	struct wire_record rec = { .type = WIRE_ABORT };

	rec.abort.file = file;
	rec.abort.request = file % SESSION_FILES;
	rec.abort.status = (uint16_t)status;
	rec.abort.text = wire_text(text);
	actor_say(e, &rec);
}

BREACH(an_abort_of_no_file_is_refused)
{
	say_abort(e, 3, STATUS_IO, "");
}

BREACH(an_abort_of_a_request_never_made_is_refused)
{
	say_abort(e, WIRE_NO_FILE, STATUS_IO, "");
}

BREACH(a_second_abort_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	say_abort(e, 0, STATUS_IO, "");
	say_abort(e, 0, STATUS_IO, "");
}

BREACH(an_abort_after_close_is_refused)
{
	struct wire_record end = actor_close(0, NULL);

	end.close.size = 1;
	actor_say_file(e, 0, "old", 0);
	actor_say(e, &end);
	say_abort(e, 0, STATUS_IO, "");
}

BREACH(an_acknowledgement_to_a_receiver_is_refused)
{
	const struct wire_record rec = { .type = WIRE_ACK, .ack.count = 1 };

	actor_say(e, &rec);
}

BREACH(a_result_to_a_receiver_is_refused)
{
	const struct wire_record rec = { .type = WIRE_RESULT };

	actor_say(e, &rec);
}

BREACH(done_to_a_receiver_is_refused)
{
	const struct wire_record rec = { .type = WIRE_DONE };

	actor_say(e, &rec);
}

BREACH(a_window_to_a_receiver_is_refused)
{
	const struct wire_record rec = { .type = WIRE_WINDOW };

	actor_say(e, &rec);
}

BREACH(a_get_to_a_receiver_is_refused)
{
	struct wire_record rec = { .type = WIRE_GET };

	rec.get.path = wire_text("x");
	actor_say(e, &rec);
}

BREACH(an_unknown_record_is_refused)
{
	const uint8_t unknown[] = { WIRE_TYPE_END, 0, 0, 0 };

	actor_say_file(e, 0, "old", 0);
	actor_say_bytes(e, unknown, sizeof(unknown));
}

BREACH(half_a_record_is_refused)
{
	const uint8_t half[] = { WIRE_PING, 0, 8, 0, 1, 2, 3 };

	actor_say_file(e, 0, "old", 0);
	actor_say_bytes(e, half, sizeof(half));
}

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

static void say_shared_slot(struct session_end *e)
{
	struct wire_record first = actor_data(e, 0, 0, bytes, 10), second = first, end;

	first.data.flags = 0;
	second.data.file = 1;
	second.data.slot_off = 5;
	second.data.len = 5;
	second.data.hash = digest_chunk(bytes + 5, 5);
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
	tree_expect("root/two", "is in");
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
	ck_assert_int_eq(session.from->verdicts[0].status, STATUS_OK);
	ck_assert_int_eq(stat("root/huge", &st), 0);
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

static TCase *new_tcase(Suite *s, const char *name)
{
	TCase *tc = endpoint_tcase(name);

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	suite_add_tcase(s, tc);
	return tc;
}

static void add_breaches(Suite *s)
{
	TCase *tc = new_tcase(s, "breaches");

	endpoint_test(tc, data_in_a_slot_that_is_not_there_is_refused);
	endpoint_test(tc, data_in_a_slot_far_away_is_refused);
	endpoint_test(tc, data_past_the_end_of_its_slot_is_refused);
	endpoint_test(tc, data_longer_than_a_slot_is_refused);
	endpoint_test(tc, data_whose_end_wraps_is_refused);
	endpoint_test(tc, data_of_a_file_that_is_not_there_is_refused);
	endpoint_test(tc, data_of_a_number_that_falls_on_another_file_is_refused);
	endpoint_test(tc, data_before_any_file_is_refused);
	endpoint_test(tc, data_after_close_is_refused);
	endpoint_test(tc, a_slot_named_after_its_last_data_is_refused);
	endpoint_test(tc, a_slot_used_again_before_its_acknowledgement_is_refused);
	endpoint_test(tc, more_chunks_than_there_is_room_for_are_refused);
	endpoint_test(tc, a_first_file_that_is_not_0_is_refused);
	endpoint_test(tc, a_file_number_left_out_is_refused);
	endpoint_test(tc, a_file_number_used_twice_is_refused);
	endpoint_test(tc, more_files_than_may_be_open_are_refused);
	endpoint_test(tc, an_end_with_too_many_files_is_refused);
	endpoint_test(tc, an_end_with_too_few_files_is_refused);
	endpoint_test(tc, an_end_with_all_files_there_can_be_is_refused);
	endpoint_test(tc, a_second_end_is_refused);
	endpoint_test(tc, a_file_after_end_is_refused);
	endpoint_test(tc, a_second_close_is_refused);
	endpoint_test(tc, a_close_of_no_file_is_refused);
	endpoint_test(tc, an_abort_of_no_file_is_refused);
	endpoint_test(tc, an_abort_of_a_request_never_made_is_refused);
	endpoint_test(tc, a_second_abort_is_refused);
	endpoint_test(tc, an_abort_after_close_is_refused);
	endpoint_test(tc, an_acknowledgement_to_a_receiver_is_refused);
	endpoint_test(tc, a_result_to_a_receiver_is_refused);
	endpoint_test(tc, done_to_a_receiver_is_refused);
	endpoint_test(tc, a_window_to_a_receiver_is_refused);
	endpoint_test(tc, a_get_to_a_receiver_is_refused);
	endpoint_test(tc, an_unknown_record_is_refused);
	endpoint_test(tc, half_a_record_is_refused);
}

Suite *receiver_suite(void)
{
	Suite *s = suite_create("receiver");
	TCase *tc;

	add_breaches(s);
	tc = new_tcase(s, "failures");
	endpoint_test(tc, bytes_that_are_not_what_was_read_fail_the_file);
	endpoint_test(tc, a_wrong_digest_fails_the_file);
	endpoint_test(tc, a_size_that_is_not_the_sum_of_its_parts_fails_the_file);
	endpoint_test(tc, a_part_that_is_missing_fails_the_file);
	endpoint_test(tc, a_part_out_of_place_fails_the_file);
	endpoint_test(tc, an_offset_beyond_every_file_system_fails_the_file);
	endpoint_test(tc, a_file_given_up_leaves_nothing);
	endpoint_test(tc, a_file_given_up_without_a_reason_is_aborted);
	endpoint_test(tc, many_files_given_up_leave_nothing);

	tc = new_tcase(s, "oddities");
	endpoint_test(tc, files_may_share_a_slot);
	endpoint_test(tc, an_announced_size_is_believed_only_at_close_and_a_mode_never_wholly);
	endpoint_test(tc, a_result_does_not_wait_for_the_end);
	endpoint_test(tc, a_flood_of_pings_does_not_stop_a_copy);

	tc = new_tcase(s, "losses");
	endpoint_test(tc, a_sender_that_hangs_up_leaves_nothing);
	endpoint_test(tc, a_sender_that_vanishes_leaves_nothing);
	endpoint_test(tc, a_sender_that_writes_where_it_may_not_leaves_nothing);
	endpoint_test(tc, the_senders_error_is_kept_as_it_said_it);
	return s;
}
