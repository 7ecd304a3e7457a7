/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The sending engine against a receiver that lies about what it has and where it is: out of order, twice, more than there is, of files
 * that did not ask. Each ends the session with an ERROR that says so. Each test runs on each transport there is.
 */
#include <check.h>
#include <unistd.h>

#include "engine_pair.h"
#include "tree.h"

Suite *sender_lies_suite(void);

#define PIECES 2048 /* of a slot; together they are worth a question */

static struct session session;

static void have(struct session_end *e, uint64_t first, uint16_t count, uint16_t flags)
{
	struct wire_record rec = { .type = WIRE_HAVE };

	rec.have.flags = flags;
	rec.have.first = first;
	rec.have.count = count;
	for (uint16_t i = 0; i < count; i++)
		rec.have.hashes[i] = i + 1U;
	actor_say(e, &rec);
}

static void here(struct session_end *e, uint32_t file)
{
	const struct wire_record rec = { .type = WIRE_HERE, .here.file = file };

	actor_say(e, &rec);
}

static void run_lie(int transport, bool resume, bool ask,
		    void (*react)(struct session_end *e, const struct wire_record *rec))
{
	session_init(&session, transport, tree_root, false, END_SENDER, END_ACTOR);
	make_file("from", 1, 1);
	ck_assert_int_eq(truncate("from", PIECES * 4096), 0);
	session_add(&session, "from", "to", 0);
	session.files[0].resume = resume;
	session.files[0].ask = ask;
	session.files[0].dense = true;
	session.to->react = react;
	session_run(&session);
	end_expect(session.from, STATUS_PROTOCOL);
	ck_assert_int_eq(session.to->error, STATUS_PROTOCOL);
	ck_assert_uint_eq(session.from->done, 0);
	session_done(&session);
}

/* Defines a test whose body is what the receiver does when it hears of the file. */
#define LIE(name, resume, ask)                                                         \
	static void say_##name(struct session_end *e);                                 \
	static void react_##name(struct session_end *e, const struct wire_record *rec) \
	{                                                                              \
		if (rec->type == WIRE_FILE)                                            \
			say_##name(e);                                                 \
	}                                                                              \
	START_TEST(name)                                                               \
	{                                                                              \
		run_lie(_i, resume, ask, react_##name);                                \
	}                                                                              \
	END_TEST                                                                       \
	static void say_##name(struct session_end *e)

LIE(pieces_out_of_order_are_refused, true, false)
{
	have(e, 1, 1, 0);
}

LIE(pieces_told_twice_are_refused, true, false)
{
	have(e, 0, 1, 0);
	have(e, 0, 1, WIRE_HAVE_LAST);
}

LIE(pieces_behind_the_last_are_refused, true, false)
{
	have(e, 0, 1, WIRE_HAVE_LAST);
	have(e, 1, 1, 0);
}

LIE(more_pieces_than_the_file_has_are_refused, true, false)
{
	for (unsigned int first = 0; first <= PIECES; first += WIRE_HAVE_MAX)
		have(e, first, WIRE_HAVE_MAX, 0);
}

LIE(no_pieces_without_an_end_are_refused, true, false)
{
	have(e, 0, 0, 0);
}

LIE(pieces_of_a_file_that_only_asks_are_refused, false, true)
{
	have(e, 0, 1, WIRE_HAVE_LAST);
}

LIE(pieces_of_a_file_that_does_not_ask_are_refused, false, false)
{
	have(e, 0, 0, WIRE_HAVE_LAST);
}

LIE(the_place_of_a_file_that_is_no_directory_is_refused, false, false)
{
	here(e, 0);
}

/* ---- more than is remembered -------------------------------------------------------------------------------- */

static struct budget memory;
static size_t most; /* of it that was taken */

/* It tells of all pieces, wrongly, and then stores what comes. */
static void react_with_all(struct session_end *e, const struct wire_record *rec)
{
	struct wire_record out = { .type = WIRE_RESULT };

	if (rec->type == WIRE_FILE)
		for (unsigned int first = 0; first < PIECES; first += WIRE_HAVE_MAX)
			have(e, first, WIRE_HAVE_MAX, first + WIRE_HAVE_MAX == PIECES ? WIRE_HAVE_LAST : 0);
	if (memory.used > most)
		most = memory.used;
	if (rec->type == WIRE_DATA) {
		out.type = WIRE_ACK;
		out.ack = (struct wire_ack){ .count = 1, .slots = { rec->data.slot } };
		actor_say(e, &out);
	} else if (rec->type == WIRE_CLOSE) {
		ck_assert_uint_eq(memory.used, 0); /* it waits only for RESULT, which may never come */
		actor_say(e, &out);
	} else if (rec->type == WIRE_END) {
		out.type = WIRE_DONE;
		actor_say(e, &out);
	}
}

START_TEST(what_is_held_is_remembered_within_the_budget_and_the_rest_is_sent)
{
	session_init(&session, _i, tree_root, false, END_SENDER, END_ACTOR);
	budget_init(&memory, 8000, NULL);
	session.memory = &memory;
	make_file("from", 1, 1);
	ck_assert_int_eq(truncate("from", PIECES * 4096), 0);
	session_add(&session, "from", "to", 0);
	session.files[0].resume = session.files[0].dense = true;
	session.to->react = react_with_all;
	session_run(&session);
	end_expect(session.from, STATUS_OK);
	ck_assert_uint_eq(session.from->done, 1);
	ck_assert_uint_gt(most, 0);
	ck_assert_uint_le(most, 4000);
	session_done(&session);
	ck_assert_uint_eq(memory.used, 0);
}
END_TEST

Suite *sender_lies_suite(void)
{
	Suite *s = suite_create("sender_lies");
	TCase *tc = endpoint_tcase("lies");

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	endpoint_test(tc, pieces_out_of_order_are_refused);
	endpoint_test(tc, pieces_told_twice_are_refused);
	endpoint_test(tc, pieces_behind_the_last_are_refused);
	endpoint_test(tc, more_pieces_than_the_file_has_are_refused);
	endpoint_test(tc, no_pieces_without_an_end_are_refused);
	endpoint_test(tc, pieces_of_a_file_that_only_asks_are_refused);
	endpoint_test(tc, pieces_of_a_file_that_does_not_ask_are_refused);
	endpoint_test(tc, the_place_of_a_file_that_is_no_directory_is_refused);
	endpoint_test(tc, what_is_held_is_remembered_within_the_budget_and_the_rest_is_sent);
	suite_add_tcase(s, tc);
	return s;
}
