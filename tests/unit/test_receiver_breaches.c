/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The receiving engine against a sender that breaks the protocol, in every way there is: each ends the session with an ERROR that
 * says so, and nothing of any file is left. Each test runs on each transport there is.
 */
#include <check.h>
#include <fcntl.h>
#include <unistd.h>

#include "actor_sender.h"
#include "common/stream.h"

Suite *receiver_breaches_suite(void);

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

/* All of it was stored and nothing acknowledged: whoever is to wait for that would have no reason to. */
BREACH(bytes_of_a_slot_named_twice_are_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 4096);

	actor_say_file(e, 0, "old", 0);
	data.data.flags = 0;
	actor_say(e, &data);
	data.data.offset = 4096;
	actor_say(e, &data);
}

BREACH(bytes_of_a_slot_that_overlap_are_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	data.data.flags = 0;
	actor_say(e, &data);
	data.data.slot_off = 9;
	data.data.offset = 10;
	actor_say(e, &data);
}

BREACH(data_after_end_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", 0);
	actor_say_end(e, 1);
	actor_say(e, &data);
}

BREACH(data_of_a_dry_run_is_refused)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	actor_say_file(e, 0, "old", WIRE_FILE_DRY_RUN);
	actor_say(e, &data);
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

static void say_partial(struct session_end *e, const char *name)
{
	struct wire_record rec = { .type = WIRE_PARTIAL };

	rec.partial.name = wire_text(name);
	actor_say(e, &rec);
}

/* There would be two answers to one question. */
BREACH(a_file_that_resumes_and_asks_is_refused)
{
	struct wire_record rec = { .type = WIRE_FILE };
	uint8_t buf[WIRE_MESSAGE_MAX];
	ssize_t n;

	rec.file.flags = WIRE_FILE_RESUME;
	rec.file.size = 8192;
	rec.file.path = wire_text("old");
	rec.file.name = wire_text("name");
	n = wire_encode(&rec, buf, sizeof(buf));
	ck_assert_int_gt(n, 0);
	buf[4 + 8 + 2] |= WIRE_FILE_ASK >> 16;
	actor_say_bytes(e, buf, (size_t)n);
}

BREACH(partial_said_twice_is_refused)
{
	say_partial(e, ".part");
	say_partial(e, ".part");
}

BREACH(partial_behind_a_file_is_refused)
{
	actor_say_file(e, 0, "old", 0);
	say_partial(e, ".part");
}

BREACH(an_unknown_record_is_refused)
{
	const uint8_t unknown[] = { WIRE_TYPE_END, 0, 0, 0 };

	actor_say_file(e, 0, "old", 0);
	actor_say_bytes(e, unknown, sizeof(unknown));
}

BREACH(half_a_record_is_refused)
{
	const uint8_t half[] = { WIRE_PING, 0, 16, 0, 1, 2, 3 };

	actor_say_file(e, 0, "old", 0);
	actor_say_bytes(e, half, sizeof(half));
}

static void say_far_away(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10);

	data.data.offset = 1ULL << 62;
	actor_say_file(e, 0, "-", WIRE_FILE_SPARSE);
	actor_say(e, &data);
}

/* A few bytes from a daemon would be zeros without end for whoever reads our standard output. */
START_TEST(zeros_in_front_of_a_byte_of_a_stream_are_refused)
{
	struct stream stream;
	char byte;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	ck_assert_int_eq(stream_init(&stream, ends[1]), 0);
	begin(_i, say_far_away);
	session.stream = &stream;
	session_run(&session);
	end_expect(session.to, STATUS_PROTOCOL);
	session_done(&session);
	ck_assert_int_eq(read(ends[0], &byte, 1), -1);
	stream_done(&stream);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

Suite *receiver_breaches_suite(void)
{
	Suite *s = suite_create("receiver_breaches");
	TCase *tc = receiver_tcase(s, "breaches");

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
	endpoint_test(tc, bytes_of_a_slot_named_twice_are_refused);
	endpoint_test(tc, bytes_of_a_slot_that_overlap_are_refused);
	endpoint_test(tc, data_after_end_is_refused);
	endpoint_test(tc, zeros_in_front_of_a_byte_of_a_stream_are_refused);
	endpoint_test(tc, data_of_a_dry_run_is_refused);
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
	endpoint_test(tc, a_file_that_resumes_and_asks_is_refused);
	endpoint_test(tc, partial_said_twice_is_refused);
	endpoint_test(tc, partial_behind_a_file_is_refused);
	endpoint_test(tc, an_unknown_record_is_refused);
	endpoint_test(tc, half_a_record_is_refused);
	return s;
}
