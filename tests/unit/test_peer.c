/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The pulse of a session and its last words: who is heard of, who is given up, who had the last word. One side is the peer layer
 * with an idle receiving engine, the other the test itself.
 */
#include <check.h>
#include <string.h>

#include "engine_pair.h"
#include "tree.h"

Suite *peer_suite(void);

static struct session session;

static void begin(int transport, uint64_t silence_ns, void (*script)(struct session_end *e))
{
	session_init(&session, transport, tree_root, false, END_ACTOR, END_RECEIVER);
	session.silence_ns = silence_ns;
	session.from->begin = script;
}

/* The peer's session, whose other side answers by `react`, comes to this end. */
static void run_to(enum status status, void (*react)(struct session_end *e, const struct wire_record *rec))
{
	session.from->react = react;
	session_run(&session);
	end_expect(session.to, status);
}

static void say_ping(struct session_end *e, uint64_t token, uint64_t worked)
{
	const struct wire_record rec = { .type = WIRE_PING, .ping = { .token = token, .worked = worked } };

	actor_say(e, &rec);
}

static void say_pong(struct session_end *e, uint64_t token, uint64_t worked)
{
	const struct wire_record rec = { .type = WIRE_PONG, .ping = { .token = token, .worked = worked } };

	actor_say(e, &rec);
}

static void say_nothing_more(struct session_end *e)
{
	actor_say_end(e, 0);
}

/* ---- PING and PONG ------------------------------------------------------------------------------------------ */

static void ping_with_token(struct session_end *e)
{
	say_ping(e, 0x1122334455667788, 0);
}

static void expect_token(struct session_end *e, const struct wire_record *rec)
{
	ck_assert_int_eq(rec->type, WIRE_PONG);
	ck_assert_uint_eq(rec->ping.token, 0x1122334455667788);
	say_nothing_more(e);
}

START_TEST(a_ping_is_answered_with_its_token)
{
	begin(_i, 5 * SEC, ping_with_token);
	run_to(STATUS_OK, expect_token);
	ck_assert_uint_eq(session.from->heard[WIRE_PONG], 1);
	session_done(&session);
}
END_TEST

static void pong_unasked(struct session_end *e)
{
	say_pong(e, 3, 0);
	say_pong(e, 4, 0);
	say_nothing_more(e);
}

START_TEST(a_pong_that_nobody_asked_for_is_ignored)
{
	begin(_i, 5 * SEC, pong_unasked);
	session_run(&session);
	end_expect(session.to, STATUS_OK);
	session_done(&session);
}
END_TEST

/* Longer than the silence that is allowed: five answers at a third of it each. */
static void answer_five(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type != WIRE_PING)
		return;
	say_pong(e, rec->ping.token, 0);
	if (e->heard[WIRE_PING] == 5)
		say_nothing_more(e);
}

START_TEST(a_peer_that_answers_is_not_given_up)
{
	begin(_i, SEC / 2, NULL);
	run_to(STATUS_OK, answer_five);
	ck_assert_uint_eq(session.from->heard[WIRE_PING], 5);
	session_done(&session);
}
END_TEST

/* ---- silence and stalling ----------------------------------------------------------------------------------- */

START_TEST(a_peer_that_never_says_anything_is_given_up)
{
	begin(_i, SEC / 4, NULL);
	session_run(&session);
	end_expect(session.to, STATUS_TIMEOUT);
	ck_assert_uint_ge(session.from->heard[WIRE_PING], 1);
	ck_assert_int_eq(session.from->error, STATUS_TIMEOUT);
	session_done(&session);
}
END_TEST

static void answer_always(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_PING)
		say_pong(e, rec->ping.token, 7);
}

START_TEST(a_peer_that_answers_but_does_nothing_is_given_up)
{
	begin(_i, SEC / 10, NULL);
	run_to(STATUS_TIMEOUT, answer_always);
	ck_assert_int_eq(session.from->error, STATUS_TIMEOUT);
	session_done(&session);
}
END_TEST

static void say_busy(struct session_end *e, uint64_t token)
{
	const struct wire_record rec = { .type = WIRE_PONG, .ping = { .token = token, .flags = WIRE_PING_BUSY } };

	actor_say(e, &rec);
}

/* Neither side has work, and both would say so for ever. */
START_TEST(two_sides_that_wait_for_each_other_are_told_apart_from_work)
{
	const uint64_t began = now_ns();

	begin(_i, SEC / 2, NULL);
	run_to(STATUS_TIMEOUT, answer_always);
	ck_assert_uint_lt(now_ns() - began, session.to->peer.stall_ns);
	ck_assert_ptr_nonnull(strstr(session.to->peer.end.text, "neither side has anything left to do"));
	session_done(&session);
}
END_TEST

/* A long fsync: nothing moves, but there is work. */
static uint64_t busy_until;

static void answer_while_busy(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type != WIRE_PING)
		return;
	say_busy(e, rec->ping.token);
	if (now_ns() >= busy_until)
		say_nothing_more(e);
}

START_TEST(a_peer_that_is_busy_is_not_given_up_for_standing_still)
{
	begin(_i, SEC / 2, NULL);
	busy_until = now_ns() + 3 * SEC;
	run_to(STATUS_OK, answer_while_busy);
	session_done(&session);
}
END_TEST

static void be_busy_always(struct session_end *e, const struct wire_record *rec)
{
	session.to->peer.stall_ns = 2 * SEC;
	if (rec->type == WIRE_PING)
		say_busy(e, rec->ping.token);
}

START_TEST(a_peer_that_is_busy_for_ever_is_given_up)
{
	begin(_i, SEC / 2, NULL);
	run_to(STATUS_TIMEOUT, be_busy_always);
	ck_assert_ptr_nonnull(strstr(session.to->peer.end.text, "no progress for"));
	session_done(&session);
}
END_TEST

/* For longer than it may stand still. */
static void answer_while_working(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type != WIRE_PING)
		return;
	session.to->peer.stall_ns = 2 * SEC;
	say_pong(e, rec->ping.token, e->heard[WIRE_PING]);
	if (e->heard[WIRE_PING] == 5)
		say_nothing_more(e);
}

START_TEST(a_peer_that_answers_that_it_works_is_not_given_up)
{
	begin(_i, 2 * SEC, NULL);
	run_to(STATUS_OK, answer_while_working);
	ck_assert_uint_eq(session.from->heard[WIRE_PING], 5);
	session_done(&session);
}
END_TEST

static void first_ping(struct session_end *e)
{
	say_ping(e, 0, 0);
}

/* The other way round: it asks, and is never asked. */
static uint64_t works_until;

static void ping_while_working(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type != WIRE_PONG)
		return;
	session.to->peer.stall_ns = 2 * SEC;
	if (now_ns() < works_until)
		say_ping(e, rec->ping.token + 1, rec->ping.token + 1);
	else
		say_nothing_more(e);
}

START_TEST(a_peer_that_says_that_it_works_is_not_given_up)
{
	begin(_i, 3 * SEC, first_ping);
	works_until = now_ns() + 4 * SEC;
	run_to(STATUS_OK, ping_while_working);
	ck_assert_uint_eq(session.from->heard[WIRE_PING], 0);
	session_done(&session);
}
END_TEST

/* Its own PINGs are no progress either, however many. */
static void ping_on(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_PONG)
		say_ping(e, rec->ping.token + 1, 0);
}

START_TEST(a_peer_that_only_pings_is_given_up)
{
	begin(_i, SEC / 20, first_ping);
	run_to(STATUS_TIMEOUT, ping_on);
	ck_assert_int_eq(session.from->error, STATUS_TIMEOUT);
	session_done(&session);
}
END_TEST

/* ---- last words --------------------------------------------------------------------------------------------- */

static void say_error(struct session_end *e, unsigned int status, const char *text)
{
	struct wire_record rec = { .type = WIRE_ERROR };

	rec.status.status = (uint16_t)status;
	rec.status.text = wire_text(text);
	actor_say(e, &rec);
}

static void error_without_reason(struct session_end *e)
{
	say_error(e, STATUS_OK, "");
}

START_TEST(an_error_is_never_ok)
{
	begin(_i, 5 * SEC, error_without_reason);
	session_run(&session);
	ck_assert(session.to->peer.end.by_peer);
	ck_assert_int_eq(session.to->peer.end.status, STATUS_FAILED);
	ck_assert_uint_eq(session.from->heard[WIRE_ERROR], 0);
	session_done(&session);
}
END_TEST

static void two_errors(struct session_end *e)
{
	say_error(e, STATUS_IO, "first");
	say_error(e, STATUS_BUSY, "second");
}

START_TEST(the_first_end_wins)
{
	begin(_i, 5 * SEC, two_errors);
	session_run(&session);
	ck_assert_int_eq(session.to->peer.end.status, STATUS_IO);
	ck_assert_str_eq(session.to->peer.end.text, "first");
	session_done(&session);
}
END_TEST

static void error_of_full_length(struct session_end *e)
{
	static char text[WIRE_TEXT_MAX + 1];

	memset(text, 'x', WIRE_TEXT_MAX);
	say_error(e, STATUS_IO, text);
}

START_TEST(the_longest_text_is_kept_whole)
{
	begin(_i, 5 * SEC, error_of_full_length);
	session_run(&session);
	ck_assert_uint_eq(strlen(session.to->peer.end.text), WIRE_TEXT_MAX);
	session_done(&session);
}
END_TEST

static void breach_and_more(struct session_end *e)
{
	actor_say_file(e, 7, "x", 0);
	say_error(e, STATUS_IO, "too late");
	say_ping(e, 1, 0);
}

/* The offender hears why, even if it goes on talking and never hangs up. */
START_TEST(an_offender_that_stays_is_hung_up_on)
{
	begin(_i, 5 * SEC, breach_and_more);
	session.from->stays = true;
	session_run(&session);
	end_expect(session.to, STATUS_PROTOCOL);
	ck_assert_str_eq(session.to->peer.end.text, "unexpected or invalid FILE record");
	ck_assert_int_eq(session.from->error, STATUS_PROTOCOL);
	ck_assert_str_eq(session.from->error_text, "unexpected or invalid FILE record");
	ck_assert_uint_eq(session.from->heard[WIRE_ERROR], 1);
	ck_assert_uint_eq(session.from->heard[WIRE_PONG], 0);
	session_done(&session);
}
END_TEST

START_TEST(a_peer_that_does_not_hang_up_after_done_is_hung_up_on)
{
	begin(_i, 5 * SEC, say_nothing_more);
	session.from->stays = true;
	session_run(&session);
	end_expect(session.to, STATUS_OK);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 1);
	ck_assert_uint_eq(session.from->heard[WIRE_ERROR], 0);
	session_done(&session);
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

Suite *peer_suite(void)
{
	Suite *s = suite_create("peer");
	TCase *tc = endpoint_tcase("peer");

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	endpoint_test(tc, a_ping_is_answered_with_its_token);
	endpoint_test(tc, a_pong_that_nobody_asked_for_is_ignored);
	endpoint_test(tc, a_peer_that_answers_is_not_given_up);
	endpoint_test(tc, a_peer_that_never_says_anything_is_given_up);
	endpoint_test(tc, a_peer_that_answers_but_does_nothing_is_given_up);
	endpoint_test(tc, two_sides_that_wait_for_each_other_are_told_apart_from_work);
	endpoint_test(tc, a_peer_that_is_busy_is_not_given_up_for_standing_still);
	endpoint_test(tc, a_peer_that_is_busy_for_ever_is_given_up);
	endpoint_test(tc, a_peer_that_answers_that_it_works_is_not_given_up);
	endpoint_test(tc, a_peer_that_says_that_it_works_is_not_given_up);
	endpoint_test(tc, a_peer_that_only_pings_is_given_up);
	endpoint_test(tc, an_error_is_never_ok);
	endpoint_test(tc, the_first_end_wins);
	endpoint_test(tc, the_longest_text_is_kept_whole);
	endpoint_test(tc, an_offender_that_stays_is_hung_up_on);
	endpoint_test(tc, a_peer_that_does_not_hang_up_after_done_is_hung_up_on);
	suite_add_tcase(s, tc);
	return s;
}
