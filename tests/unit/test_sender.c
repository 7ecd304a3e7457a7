/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The sending engine against a receiver that is the test itself, and mostly not a good one. What breaks the protocol ends the
 * session with an ERROR that says so; a receiver that does nothing is given up. Each test runs on each transport there is.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine_pair.h"
#include "tree.h"

Suite *sender_suite(void);

static struct session session;

/* Larger than the window: CLOSE cannot have been said when the receiver hears of it. */
#define LARGE (64 * 4096)

static void begin(int transport, size_t size)
{
	session_init(&session, transport, tree_root, false, END_SENDER, END_ACTOR);
	make_file("from", size, 1);
	session_add(&session, "from", "to", 0);
}

/* ---- a receiver that is good as far as it goes --------------------------------------------------------------- */

static void ack(struct session_end *e, unsigned int slot)
{
	const struct wire_record rec = { .type = WIRE_ACK, .ack = { .count = 1, .slots = { (uint16_t)slot } } };

	actor_say(e, &rec);
}

static void result(struct session_end *e, uint32_t file, unsigned int status, const char *text)
{
	struct wire_record rec = { .type = WIRE_RESULT };

	rec.result.file = file;
	rec.result.status = (uint16_t)status;
	rec.result.text = wire_text(text);
	actor_say(e, &rec);
}

static void done(struct session_end *e, unsigned int status)
{
	const struct wire_record rec = { .type = WIRE_DONE, .status.status = (uint16_t)status };

	actor_say(e, &rec);
}

static void be_good(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_DATA)
		ack(e, rec->data.slot);
	if (rec->type == WIRE_CLOSE)
		result(e, rec->close.file, STATUS_OK, "");
	if (rec->type == WIRE_END)
		done(e, STATUS_OK);
}

START_TEST(a_good_receiver_gets_it_all_in_order)
{
	begin(_i, LARGE);
	session.to->react = be_good;
	session_run(&session);
	end_expect(session.from, STATUS_OK);
	ck_assert_uint_eq(session.to->heard[WIRE_FILE], 1);
	ck_assert_uint_eq(session.to->heard[WIRE_DATA], 64);
	ck_assert_uint_eq(session.to->heard[WIRE_CLOSE], 1);
	ck_assert_uint_eq(session.to->heard[WIRE_ABORT], 0);
	ck_assert_uint_eq(session.to->heard[WIRE_END], 1);
	ck_assert_uint_eq(session.from->verdicts[0].calls, 1);
	ck_assert_uint_eq(session.from->verdicts[0].bytes, LARGE);
	ck_assert_uint_eq(session.from->side->slab.free_count, session.from->side->slab.slots);
	session_done(&session);
}
END_TEST

/* ---- breaches of the protocol ------------------------------------------------------------------------------- */

static void run_breach(int transport, void (*react)(struct session_end *e, const struct wire_record *rec))
{
	begin(transport, LARGE);
	session.to->react = react;
	session_run(&session);
	end_expect(session.from, STATUS_PROTOCOL);
	ck_assert_int_eq(session.to->error, STATUS_PROTOCOL);
	ck_assert_uint_eq(session.from->done, 0);
	ck_assert_uint_le(session.from->verdicts[0].calls, 1);
	session_done(&session);
}

/* Defines a test whose body is what the receiver does with each record. */
#define BREACH(name)                                                                    \
	static void react_##name(struct session_end *e, const struct wire_record *rec); \
	START_TEST(name)                                                                \
	{                                                                               \
		run_breach(_i, react_##name);                                           \
	}                                                                               \
	END_TEST                                                                        \
	static void react_##name(struct session_end *e, const struct wire_record *rec)

BREACH(an_ack_of_a_slot_that_is_not_there_is_refused)
{
	if (rec->type == WIRE_DATA)
		ack(e, 4);
}

BREACH(an_ack_of_a_slot_far_away_is_refused)
{
	if (rec->type == WIRE_DATA)
		ack(e, UINT16_MAX);
}

BREACH(an_ack_of_a_slot_that_is_not_in_flight_is_refused)
{
	be_good(e, rec);
	if (rec->type == WIRE_CLOSE)
		ack(e, 0);
}

BREACH(a_second_ack_is_refused)
{
	if (rec->type == WIRE_DATA && rec->data.offset == 0) {
		const struct wire_record two = { .type = WIRE_ACK,
						 .ack = { .count = 2, .slots = { rec->data.slot, rec->data.slot } } };

		actor_say(e, &two);
	}
}

BREACH(success_before_close_is_refused)
{
	if (rec->type == WIRE_FILE)
		result(e, 0, STATUS_OK, "");
}

BREACH(a_result_of_a_file_that_is_not_there_is_refused)
{
	if (rec->type == WIRE_FILE)
		result(e, 1, STATUS_IO, "");
}

BREACH(a_result_of_a_number_that_falls_on_another_file_is_refused)
{
	if (rec->type == WIRE_FILE)
		result(e, RECEIVER_MAX_FILES, STATUS_IO, "");
}

BREACH(a_second_result_is_refused)
{
	if (rec->type == WIRE_FILE) {
		result(e, 0, STATUS_IO, "");
		result(e, 0, STATUS_IO, "");
	}
}

BREACH(a_result_after_the_last_is_refused)
{
	if (rec->type == WIRE_CLOSE)
		result(e, 0, STATUS_OK, "");
	be_good(e, rec);
}

BREACH(done_before_end_is_refused)
{
	if (rec->type == WIRE_FILE)
		done(e, STATUS_OK);
}

BREACH(done_before_the_last_result_is_refused)
{
	if (rec->type != WIRE_CLOSE)
		be_good(e, rec);
}

static void say_type(struct session_end *e, enum wire_type type)
{
	struct wire_record rec = { .type = type };

	if (type == WIRE_FILE)
		rec.file.name = wire_text("x");
	if (type == WIRE_DATA)
		rec.data.len = 1;
	if (type == WIRE_GET)
		rec.get.path = wire_text("x");
	actor_say(e, &rec);
}

BREACH(a_file_to_a_sender_is_refused)
{
	if (rec->type == WIRE_FILE)
		say_type(e, WIRE_FILE);
}

BREACH(data_to_a_sender_is_refused)
{
	if (rec->type == WIRE_FILE)
		say_type(e, WIRE_DATA);
}

BREACH(a_close_to_a_sender_is_refused)
{
	if (rec->type == WIRE_FILE)
		say_type(e, WIRE_CLOSE);
}

BREACH(an_abort_to_a_sender_is_refused)
{
	if (rec->type == WIRE_FILE)
		say_type(e, WIRE_ABORT);
}

BREACH(an_end_to_a_sender_is_refused)
{
	if (rec->type == WIRE_FILE)
		say_type(e, WIRE_END);
}

BREACH(a_window_to_a_sender_is_refused)
{
	if (rec->type == WIRE_FILE)
		say_type(e, WIRE_WINDOW);
}

BREACH(a_get_to_a_sender_that_was_not_asked_is_refused)
{
	if (rec->type == WIRE_FILE)
		say_type(e, WIRE_GET);
}

BREACH(garbage_is_refused)
{
	if (rec->type == WIRE_FILE)
		actor_say_bytes(e, "garbage", 7);
}

/* ---- files that the receiver does not want ------------------------------------------------------------------- */

static void lose_first(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_FILE && rec->file.file == 0)
		result(e, 0, STATUS_NO_SPACE, "\033[2J");
	if (rec->type == WIRE_ABORT)
		ck_assert_uint_eq(rec->abort.file, 0);
	be_good(e, rec);
}

START_TEST(a_file_that_failed_at_the_receiver_is_given_up_and_the_next_goes_on)
{
	begin(_i, 16 * LARGE);
	make_file("next", 10000, 2);
	session_add(&session, "next", "next", 0);
	session.to->react = lose_first;
	session_run(&session);
	end_expect(session.from, STATUS_OK);
	ck_assert_uint_eq(session.to->heard[WIRE_ABORT], 1);
	ck_assert_uint_eq(session.to->heard[WIRE_CLOSE], 1);
	ck_assert_int_eq(session.from->verdicts[0].status, STATUS_NO_SPACE);
	ck_assert(session.from->verdicts[0].by_peer);
	ck_assert_str_eq(session.from->verdicts[0].text, "\033[2J");
	ck_assert_uint_lt(session.from->verdicts[0].bytes, 16 * LARGE);
	ck_assert_int_eq(session.from->verdicts[1].status, STATUS_OK);
	ck_assert_uint_eq(session.from->side->slab.free_count, session.from->side->slab.slots);
	session_done(&session);
}
END_TEST

static void not_well(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_END)
		done(e, STATUS_IO);
	else
		be_good(e, rec);
}

START_TEST(a_done_that_is_not_well_is_told)
{
	begin(_i, 10);
	session.to->react = not_well;
	session_run(&session);
	ck_assert_uint_eq(session.from->done, 1);
	ck_assert_int_eq(session.from->done_status, STATUS_IO);
	session_done(&session);
}
END_TEST

/* What cannot be said must not be waited for. */
static void run_unspeakable(int transport, const char *target, const char *name)
{
	begin(transport, 10000);
	session.files[0].target = target;
	session.files[0].name = name;
	session_add(&session, "from", "next", 0);
	session.to->react = be_good;
	session_run(&session);
	end_expect(session.from, STATUS_OK);
	ck_assert_uint_eq(session.from->verdicts[0].calls, 1);
	ck_assert_int_eq(session.from->verdicts[0].status, STATUS_NAME_TOO_LONG);
	ck_assert_int_eq(session.from->verdicts[1].status, STATUS_OK);
	ck_assert_uint_eq(session.from->side->slab.free_count, session.from->side->slab.slots);
	session_done(&session);
}

START_TEST(a_target_longer_than_the_protocol_allows_fails_the_file)
{
	static char target[WIRE_PATH_MAX + 2];

	memset(target, 'x', sizeof(target) - 1);
	run_unspeakable(_i, target, NULL);
}
END_TEST

START_TEST(a_name_longer_than_the_protocol_allows_fails_the_file)
{
	static char name[WIRE_NAME_MAX + 2];

	memset(name, 'x', sizeof(name) - 1);
	run_unspeakable(_i, NULL, name);
}
END_TEST

/* ---- receivers that go away or do nothing -------------------------------------------------------------------- */

static void hang_up(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_DATA)
		endpoint_close(e->side->ep);
}

static void vanish(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_DATA)
		endpoint_abort(e->side->ep, ENDPOINT_LOST, "gone");
}

static void run_loss(int transport, void (*react)(struct session_end *e, const struct wire_record *rec))
{
	begin(transport, LARGE);
	session.silence_ns = 9 * SEC; /* the end of the connection comes before that, under emulation, too */
	session.to->react = react;
	session_run(&session);
	ck_assert_int_ne(session.from->peer.end.status, STATUS_OK);
	ck_assert(session.from->peer.end.by_connection);
	ck_assert_uint_eq(session.from->done, 0);
	session_done(&session);
}

START_TEST(a_receiver_that_hangs_up_ends_the_session)
{
	run_loss(_i, hang_up);
}
END_TEST

START_TEST(a_receiver_that_vanishes_ends_the_session)
{
	run_loss(_i, vanish);
}
END_TEST

static void refuse_session(struct session_end *e, const struct wire_record *rec)
{
	struct wire_record error = { .type = WIRE_ERROR, .status.status = STATUS_STOPPING };

	error.status.text = wire_text("\033]0;x\a");
	if (rec->type == WIRE_DATA && !e->posts[0].calls++)
		actor_say(e, &error);
}

START_TEST(the_receivers_error_is_kept_as_it_said_it)
{
	begin(_i, LARGE);
	session.to->react = refuse_session;
	session_run(&session);
	ck_assert(session.from->peer.end.by_peer);
	ck_assert_int_eq(session.from->peer.end.status, STATUS_STOPPING);
	ck_assert_str_eq(session.from->peer.end.text, "\033]0;x\a");
	session_done(&session);
}
END_TEST

START_TEST(a_receiver_that_says_nothing_is_given_up)
{
	begin(_i, LARGE);
	session.silence_ns = SEC / 5;
	session_run(&session);
	end_expect(session.from, STATUS_TIMEOUT);
	ck_assert_uint_ge(session.to->heard[WIRE_PING], 1);
	ck_assert_int_eq(session.to->error, STATUS_TIMEOUT);
	session_done(&session);
}
END_TEST

static void only_answer(struct session_end *e, const struct wire_record *rec)
{
	const struct wire_record pong = { .type = WIRE_PONG, .ping.token = rec->ping.token };

	if (rec->type == WIRE_PING)
		actor_say(e, &pong);
}

START_TEST(a_receiver_that_lives_but_does_nothing_is_given_up)
{
	begin(_i, LARGE);
	session.silence_ns = SEC / 10;
	session.to->react = only_answer;
	session_run(&session);
	end_expect(session.from, STATUS_TIMEOUT);
	ck_assert_int_eq(session.to->error, STATUS_TIMEOUT);
	ck_assert_uint_ge(session.to->heard[WIRE_PING], 3);
	session_done(&session);
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

	endpoint_test(tc, an_ack_of_a_slot_that_is_not_there_is_refused);
	endpoint_test(tc, an_ack_of_a_slot_far_away_is_refused);
	endpoint_test(tc, an_ack_of_a_slot_that_is_not_in_flight_is_refused);
	endpoint_test(tc, a_second_ack_is_refused);
	endpoint_test(tc, success_before_close_is_refused);
	endpoint_test(tc, a_result_of_a_file_that_is_not_there_is_refused);
	endpoint_test(tc, a_result_of_a_number_that_falls_on_another_file_is_refused);
	endpoint_test(tc, a_second_result_is_refused);
	endpoint_test(tc, a_result_after_the_last_is_refused);
	endpoint_test(tc, done_before_end_is_refused);
	endpoint_test(tc, done_before_the_last_result_is_refused);
	endpoint_test(tc, a_file_to_a_sender_is_refused);
	endpoint_test(tc, data_to_a_sender_is_refused);
	endpoint_test(tc, a_close_to_a_sender_is_refused);
	endpoint_test(tc, an_abort_to_a_sender_is_refused);
	endpoint_test(tc, an_end_to_a_sender_is_refused);
	endpoint_test(tc, a_window_to_a_sender_is_refused);
	endpoint_test(tc, a_get_to_a_sender_that_was_not_asked_is_refused);
	endpoint_test(tc, garbage_is_refused);
}

Suite *sender_suite(void)
{
	Suite *s = suite_create("sender");
	TCase *tc;

	add_breaches(s);
	tc = new_tcase(s, "files");
	endpoint_test(tc, a_good_receiver_gets_it_all_in_order);
	endpoint_test(tc, a_file_that_failed_at_the_receiver_is_given_up_and_the_next_goes_on);
	endpoint_test(tc, a_done_that_is_not_well_is_told);
	endpoint_test(tc, a_target_longer_than_the_protocol_allows_fails_the_file);
	endpoint_test(tc, a_name_longer_than_the_protocol_allows_fails_the_file);

	tc = new_tcase(s, "losses");
	endpoint_test(tc, a_receiver_that_hangs_up_ends_the_session);
	endpoint_test(tc, a_receiver_that_vanishes_ends_the_session);
	endpoint_test(tc, the_receivers_error_is_kept_as_it_said_it);
	endpoint_test(tc, a_receiver_that_says_nothing_is_given_up);
	endpoint_test(tc, a_receiver_that_lives_but_does_nothing_is_given_up);
	return s;
}
