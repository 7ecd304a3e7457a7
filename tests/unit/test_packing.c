/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Small files that share a slot: what the sending engine says of them to a receiver that is the test itself, when one of them is
 * not what it was, or its turn does not come at once. Each test runs on each transport there is.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine_pair.h"
#include "tree.h"

Suite *packing_suite(void);

#define SIZE 100

static struct session session;
static struct stat good, bad; /* of a file that is as it was, of one that is another meanwhile */

static void begin(int transport)
{
	struct stat st;

	session_init(&session, transport, tree_root, false, END_SENDER, END_ACTOR);
	make_file("empty", 0, 0);
	make_file("small", SIZE, 1);
	ck_assert_int_eq(stat("small", &st), 0);
	good = bad = st;
	bad.st_mtim.tv_sec--;
}

static void add(const char *from, const struct stat *seen, uint32_t flags)
{
	session_add(&session, from, "to", flags);
	session.files[session.count - 1].seen = seen;
}

/* ---- the receiver ------------------------------------------------------------------------------------------- */

static void ack(struct session_end *e, unsigned int slot)
{
	const struct wire_record rec = { .type = WIRE_ACK, .ack = { .count = 1, .slots = { (uint16_t)slot } } };

	actor_say(e, &rec);
}

static void result(struct session_end *e, uint32_t file, enum status status)
{
	struct wire_record rec = { .type = WIRE_RESULT };

	rec.result.file = file;
	rec.result.status = (uint16_t)status;
	rec.result.text = wire_text("");
	actor_say(e, &rec);
}

static unsigned int slots_used;

static void be_good(struct session_end *e, const struct wire_record *rec)
{
	const struct wire_record done = { .type = WIRE_DONE, .status.status = STATUS_OK };

	if (rec->type == WIRE_DATA && (rec->data.flags & WIRE_DATA_LAST)) {
		slots_used++;
		ack(e, rec->data.slot);
	}
	if (rec->type == WIRE_CLOSE)
		result(e, rec->close.file, STATUS_OK);
	if (rec->type == WIRE_ABORT && rec->abort.file != WIRE_NO_FILE)
		result(e, rec->abort.file, (enum status)rec->abort.status);
	if (rec->type == WIRE_END)
		actor_say(e, &done);
}

/* Of the first four files the second has to wait for its RESULT; so has, then, the sixth for its number. */
static void hold_back_second(struct session_end *e, const struct wire_record *rec)
{
	const struct wire_record ping = { .type = WIRE_PING };

	if (rec->type == WIRE_PONG)
		result(e, 1, STATUS_OK);
	else if (rec->type == WIRE_CLOSE && rec->close.file < 3)
		return;
	else
		be_good(e, rec);
	if (rec->type == WIRE_CLOSE && rec->close.file == 3) {
		result(e, 0, STATUS_OK);
		result(e, 2, STATUS_OK);
	}
	if (rec->type == WIRE_DATA)
		actor_say(e, &ping);
}

static void run(void (*react)(struct session_end *e, const struct wire_record *rec))
{
	slots_used = 0;
	session.to->react = react;
	session_run(&session);
	end_expect(session.from, STATUS_OK);
	ck_assert_uint_eq(session.from->done, 1);
	ck_assert_uint_eq(session.from->side->slab.free_count, session.from->side->slab.slots);
}

static void expect_sent(unsigned int i, enum status status)
{
	const struct verdict *v = &session.from->verdicts[i];

	ck_assert_msg(v->calls == 1 && v->status == status, "file %u: %u verdicts, status %d", i, v->calls, v->status);
	ck_assert_uint_eq(v->bytes, status == STATUS_OK && session.files[i].seen ? SIZE : 0);
}

/* ---- tests -------------------------------------------------------------------------------------------------- */

START_TEST(small_files_share_a_slot)
{
	begin(_i);
	for (unsigned int i = 0; i < 20; i++)
		add("small", &good, 0);
	run(be_good);
	for (unsigned int i = 0; i < 20; i++)
		expect_sent(i, STATUS_OK);
	ck_assert_uint_eq(session.to->heard[WIRE_DATA], 20);
	ck_assert_uint_eq(slots_used, 1);
	session_done(&session);
}
END_TEST

START_TEST(slot_of_files_that_all_changed_is_not_sent)
{
	begin(_i);
	for (unsigned int i = 0; i < 3; i++)
		add("small", &bad, 0);
	run(be_good);
	for (unsigned int i = 0; i < 3; i++)
		expect_sent(i, STATUS_CHANGED);
	ck_assert_uint_eq(session.to->heard[WIRE_FILE], 0);
	ck_assert_uint_eq(session.to->heard[WIRE_DATA], 0);
	session_done(&session);
}
END_TEST

/* Bits of the test's number say which of six files changed. */
START_TEST(whichever_of_them_changed_the_others_arrive)
{
	unsigned int files = 6, changed = 0;

	begin(first_transport());
	for (unsigned int i = 0; i < files; i++) {
		add("small", _i >> i & 1 ? &bad : &good, 0);
		changed += _i >> i & 1;
	}
	run(be_good);
	for (unsigned int i = 0; i < files; i++)
		expect_sent(i, _i >> i & 1 ? STATUS_CHANGED : STATUS_OK);
	ck_assert_uint_eq(session.to->heard[WIRE_DATA], files - changed);
	ck_assert_uint_eq(slots_used, changed < files);
	session_done(&session);
}
END_TEST

START_TEST(slot_whose_last_file_changed_is_acknowledged_before_that_is_said)
{
	begin(_i);
	session.max_files = 4;
	for (unsigned int i = 0; i < 4; i++)
		add("empty", NULL, 0);
	add("small", &good, WIRE_FILE_BELOW);
	add("small", &bad, WIRE_FILE_BELOW);
	run(hold_back_second);
	ck_assert_uint_eq(session.from->entries, 2);
	ck_assert_uint_eq(session.from->failed_entries, 1);
	ck_assert_int_eq(session.from->entry_status, STATUS_CHANGED);
	session_done(&session);
}
END_TEST

static void refuse_first(struct session_end *e, const struct wire_record *rec)
{
	if (rec->type == WIRE_FILE && rec->file.file == 0)
		result(e, 0, STATUS_NOT_ALLOWED);
	if ((rec->type == WIRE_CLOSE && rec->close.file == 0) || (rec->type == WIRE_ABORT && rec->abort.file == 0))
		return;
	be_good(e, rec);
}

START_TEST(file_that_was_refused_spares_those_it_shares_a_slot_with)
{
	begin(_i);
	for (unsigned int i = 0; i < 5; i++)
		add("small", &good, 0);
	run(refuse_first);
	ck_assert_int_eq(session.from->verdicts[0].status, STATUS_NOT_ALLOWED);
	for (unsigned int i = 1; i < 5; i++)
		expect_sent(i, STATUS_OK);
	session_done(&session);
}
END_TEST

/* ---- the suite ---------------------------------------------------------------------------------------------- */

Suite *packing_suite(void)
{
	Suite *s = suite_create("packing");
	TCase *tc = endpoint_tcase("packing");

	tcase_add_checked_fixture(tc, tree_setup, tree_teardown);
	endpoint_test(tc, small_files_share_a_slot);
	endpoint_test(tc, slot_of_files_that_all_changed_is_not_sent);
	tcase_add_loop_test(tc, whichever_of_them_changed_the_others_arrive, 0, 64);
	endpoint_test(tc, slot_whose_last_file_changed_is_acknowledged_before_that_is_said);
	endpoint_test(tc, file_that_was_refused_spares_those_it_shares_a_slot_with);
	suite_add_tcase(s, tc);
	return s;
}
