/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ATTRIBUTES at the receiver: what a sender may say, in which order and how much of it; what is wrong ends the session and leaves
 * nothing. What comes of attributes that are well is in engine_keep.
 */
#include <check.h>
#include <errno.h>

#include "actor_sender.h"
#include "common/receiver_impl.h"

Suite *receiver_attributes_suite(void);

/* Version 1, that says nothing. */
static const uint8_t nothing[ATTRIBUTES_MIN] = { 'R', 'A', 1 };

static struct wire_record piece(uint32_t file, const void *data, size_t len)
{
	struct wire_record rec = { .type = WIRE_ATTRIBUTES };

	rec.attributes.file = file;
	rec.attributes.piece = data;
	rec.attributes.len = (uint16_t)len;
	return rec;
}

/* ---- what breaks the protocol ------------------------------------------------------------------------------- */

static void run_breach(int transport, void (*script)(struct session_end *e))
{
	begin(transport, script);
	session_run(&session);
	end_expect(session.to, STATUS_PROTOCOL);
	ck_assert_uint_eq(session.from->heard[WIRE_ERROR], 1);
	session_done(&session);
	expect_untouched();
}

static void say_too_early(struct session_end *e)
{
	const struct wire_record rec = piece(0, nothing, sizeof(nothing));

	actor_say(e, &rec);
}

START_TEST(attributes_of_no_file_are_refused)
{
	run_breach(_i, say_too_early);
}
END_TEST

static void say_too_late(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), rec = piece(0, nothing, sizeof(nothing));

	actor_say_file(e, 0, "old", WIRE_FILE_OWNER);
	actor_say(e, &data);
	actor_say(e, &rec);
}

START_TEST(attributes_behind_data_are_refused)
{
	run_breach(_i, say_too_late);
}
END_TEST

static void say_after_close(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), rec = piece(0, nothing, sizeof(nothing));
	struct wire_record end = actor_close(0, &data);

	actor_say_file(e, 0, "old", WIRE_FILE_OWNER);
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say(e, &rec);
}

START_TEST(attributes_behind_close_are_refused)
{
	run_breach(_i, say_after_close);
}
END_TEST

static void say_half(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), rec = piece(0, nothing, sizeof(nothing) - 1);
	struct wire_record end = actor_close(0, &data);

	actor_say_file(e, 0, "old", WIRE_FILE_OWNER);
	actor_say(e, &rec);
	actor_say(e, &data);
	actor_say(e, &end);
}

START_TEST(attributes_that_are_cut_off_are_refused)
{
	run_breach(_i, say_half);
}
END_TEST

/* ---- what is well ------------------------------------------------------------------------------------------- */

static void say_in_pieces(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data), rec;

	actor_say_file(e, 0, "new", WIRE_FILE_XATTRS);
	for (size_t i = 0; i < sizeof(nothing); i++) {
		rec = piece(0, nothing + i, 1);
		actor_say(e, &rec);
	}
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

static void say_unwanted(struct session_end *e)
{
	struct wire_record data = actor_data(e, 0, 0, bytes, 10), end = actor_close(0, &data), rec;

	actor_say_file(e, 0, "new", 0);
	rec = piece(0, "no attributes at all", 20);
	actor_say(e, &rec);
	actor_say(e, &data);
	actor_say(e, &end);
	actor_say_end(e, 1);
}

static void run_well(int transport, void (*script)(struct session_end *e))
{
	begin(transport, script);
	session_run(&session);
	ck_assert_uint_eq(session.from->heard[WIRE_DONE], 1);
	ck_assert_int_eq(session.to->verdicts[0].status, STATUS_OK);
	session_done(&session);
	tree_expect("root/new", "what is in");
}

START_TEST(attributes_may_come_in_single_bytes)
{
	run_well(_i, say_in_pieces);
}
END_TEST

START_TEST(attributes_that_nobody_wants_are_dropped)
{
	run_well(_i, say_unwanted);
}
END_TEST

/* ---- how much ----------------------------------------------------------------------------------------------- */

/* One file of a receiver that is not there otherwise. */
static struct receive_file *new_file(void)
{
	struct receiver *r = calloc(1, sizeof(*r));

	ck_assert_ptr_nonnull(r);
	r->files[0].receiver = r;
	r->files[0].said.flags = WIRE_FILE_OWNER;
	return &r->files[0];
}

static int add(struct receive_file *f, size_t len)
{
	const struct wire_record rec = piece(0, bytes, len);

	return receive_file_add_attributes(f, &rec.attributes);
}

START_TEST(a_file_has_so_many_attributes_and_no_more)
{
	struct receive_file *f = new_file();

	for (size_t i = 0; i < ATTRIBUTES_MAX / sizeof(bytes); i++)
		ck_assert_int_eq(add(f, sizeof(bytes)), 0);
	ck_assert_uint_eq(f->blob.len, ATTRIBUTES_MAX);
	ck_assert_uint_eq(f->blob.room, ATTRIBUTES_MAX);
	ck_assert_int_eq(add(f, 1), -EPROTO);
	ck_assert_int_eq(receive_file_close_attributes(f), -EBADMSG);
	receive_file_drop_attributes(f);
	ck_assert_uint_eq(f->receiver->attributes_len, 0);
	ck_assert_ptr_null(f->blob.data);
	free(f->receiver);
}
END_TEST

START_TEST(all_files_together_have_so_many_attributes_and_no_more)
{
	struct receive_file *f = new_file();

	f->receiver->attributes_len = WIRE_ATTRIBUTES_ROOM - 10;
	ck_assert_int_eq(add(f, 11), -EPROTO);
	ck_assert_int_eq(add(f, 10), 0);
	ck_assert_int_eq(add(f, 1), -EPROTO);
	receive_file_drop_attributes(f);
	ck_assert_uint_eq(f->receiver->attributes_len, WIRE_ATTRIBUTES_ROOM - 10);
	free(f->receiver);
}
END_TEST

START_TEST(attributes_of_a_file_that_is_lost_take_no_memory)
{
	struct receive_file *f = new_file();

	ck_assert_int_eq(add(f, 5), 0);
	f->status = STATUS_NO_SPACE;
	ck_assert_int_eq(add(f, 5), 0);
	ck_assert_uint_eq(f->blob.len, 5);
	ck_assert_int_eq(receive_file_close_attributes(f), 0);
	receive_file_drop_attributes(f);
	free(f->receiver);
}
END_TEST

Suite *receiver_attributes_suite(void)
{
	Suite *s = suite_create("receiver_attributes");
	TCase *tc = receiver_tcase(s, "records"), *direct = tcase_create("amounts");

	endpoint_test(tc, attributes_of_no_file_are_refused);
	endpoint_test(tc, attributes_behind_data_are_refused);
	endpoint_test(tc, attributes_behind_close_are_refused);
	endpoint_test(tc, attributes_that_are_cut_off_are_refused);
	endpoint_test(tc, attributes_may_come_in_single_bytes);
	endpoint_test(tc, attributes_that_nobody_wants_are_dropped);
	tcase_add_test(direct, a_file_has_so_many_attributes_and_no_more);
	tcase_add_test(direct, all_files_together_have_so_many_attributes_and_no_more);
	tcase_add_test(direct, attributes_of_a_file_that_is_lost_take_no_memory);
	suite_add_tcase(s, direct);
	return s;
}
