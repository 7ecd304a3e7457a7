/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The receiving engine against a sender of trees whose records come in no order there can be: each ends the session with an ERROR
 * that says so.
 */
#include "actor_tree.h"

Suite *tree_breaches_suite(void);

/* ---- breaches of the protocol ------------------------------------------------------------------------------- */

static void run_breach(int transport, void (*script)(struct session_end *e))
{
	void (*const script_steps[])(struct session_end *) = { say_first_top, script, NULL };

	run_steps(transport, script_steps);
	end_expect(session.to, STATUS_PROTOCOL);
	ck_assert_uint_eq(session.from->heard[WIRE_ERROR], 1);
	ck_assert_int_eq(session.from->error, STATUS_PROTOCOL);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 0);
	session_done(&session);
	ck_assert_uint_eq(count_temps("root"), 0);
	tree_expect("root/old", "old");
}

/* Defines a test whose body is what the sender says when the top, file 0, is there. */
#define BREACH(name)                                   \
	static void say_##name(struct session_end *e); \
	START_TEST(name)                               \
	{                                              \
		run_breach(_i, say_##name);            \
	}                                              \
	END_TEST                                       \
	static void say_##name(struct session_end *e)

BREACH(entry_of_another_request_is_refused)
{
	say_whole(e, 1, 1, BELOW, "", "f");
}

BREACH(leave_of_another_request_is_refused)
{
	say_whole(e, 1, 7, LEAVE, "top", "top");
}

BREACH(second_text_of_a_link_is_refused)
{
	say_entry(e, 1, 0, BELOW | WIRE_FILE_SYMLINK, "", "l");
	say_link(e, 1, "a");
	say_link(e, 1, "b");
}

BREACH(text_of_a_regular_file_is_refused)
{
	say_entry(e, 1, 0, BELOW, "", "f");
	say_link(e, 1, "a");
}

BREACH(text_of_a_directory_is_refused)
{
	say_entry(e, 1, 0, BELOW | DIRECTORY, "", "d");
	say_link(e, 1, "a");
}

BREACH(text_of_no_file_is_refused)
{
	say_link(e, 3, "a");
}

BREACH(text_after_close_is_refused)
{
	say_whole(e, 1, 0, BELOW | WIRE_FILE_SYMLINK, "", "l");
	say_link(e, 1, "b");
}

BREACH(close_of_a_link_without_text_is_refused)
{
	say_entry(e, 1, 0, BELOW | WIRE_FILE_SYMLINK, "", "l");
	say_close(e, 1);
}

static void say_data(struct session_end *e, uint32_t flags)
{
	struct wire_record data = actor_data(e, 1, 0, bytes, 10);

	say_entry(e, 1, 0, flags, "", "d");
	actor_say(e, &data);
}

BREACH(data_of_a_directory_is_refused)
{
	say_data(e, BELOW | DIRECTORY);
}

BREACH(data_of_a_directory_that_is_left_is_refused)
{
	say_data(e, BELOW | LEAVE);
}

BREACH(data_of_a_symlink_is_refused)
{
	say_data(e, BELOW | WIRE_FILE_SYMLINK);
}

BREACH(data_of_a_hard_link_is_refused)
{
	say_data(e, BELOW | WIRE_FILE_HARD_LINK);
}

static void say_without_top(struct session_end *e)
{
	say_whole(e, 0, 0, BELOW, "", "f");
}

static void leave_without_top(struct session_end *e)
{
	say_whole(e, 0, 0, LEAVE, "", "f");
}

static void entry_before_the_top_is_there(struct session_end *e)
{
	say_top(e, 0, 0, "top");
	say_whole(e, 1, 0, BELOW, "", "f");
}

static void entry_of_a_top_that_failed(struct session_end *e)
{
	wanted = 1;
	say_top(e, 0, 0, "old/top");
}

static void run_alone(int transport, void (*first)(struct session_end *e), void (*second)(struct session_end *e))
{
	void (*const script[])(struct session_end *) = { first, second, NULL };

	run_steps(transport, script);
	end_expect(session.to, STATUS_PROTOCOL);
	ck_assert_int_eq(session.from->error, STATUS_PROTOCOL);
	session_done(&session);
	tree_expect("root/old", "old");
	ck_assert(!is_there("root/f"));
	ck_assert(!is_there("root/top/f"));
}

START_TEST(entry_without_a_top_is_refused)
{
	run_alone(_i, say_without_top, NULL);
}
END_TEST

START_TEST(leave_without_a_top_is_refused)
{
	run_alone(_i, leave_without_top, NULL);
}
END_TEST

START_TEST(entry_before_the_top_is_there_is_refused)
{
	run_alone(_i, entry_before_the_top_is_there, NULL);
}
END_TEST

static void say_entry_of_failed(struct session_end *e)
{
	say_whole(e, 1, 0, BELOW, "", "f");
}

START_TEST(entry_of_a_top_that_failed_is_refused)
{
	run_alone(_i, entry_of_a_top_that_failed, say_entry_of_failed);
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

Suite *tree_breaches_suite(void)
{
	Suite *s = suite_create("tree_breaches");
	TCase *tc = receiver_tcase(s, "breaches");

	endpoint_test(tc, entry_of_another_request_is_refused);
	endpoint_test(tc, leave_of_another_request_is_refused);
	endpoint_test(tc, second_text_of_a_link_is_refused);
	endpoint_test(tc, text_of_a_regular_file_is_refused);
	endpoint_test(tc, text_of_a_directory_is_refused);
	endpoint_test(tc, text_of_no_file_is_refused);
	endpoint_test(tc, text_after_close_is_refused);
	endpoint_test(tc, close_of_a_link_without_text_is_refused);
	endpoint_test(tc, data_of_a_directory_is_refused);
	endpoint_test(tc, data_of_a_directory_that_is_left_is_refused);
	endpoint_test(tc, data_of_a_symlink_is_refused);
	endpoint_test(tc, data_of_a_hard_link_is_refused);
	endpoint_test(tc, entry_without_a_top_is_refused);
	endpoint_test(tc, leave_without_a_top_is_refused);
	endpoint_test(tc, entry_before_the_top_is_there_is_refused);
	endpoint_test(tc, entry_of_a_top_that_failed_is_refused);
	return s;
}
