/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The endpoint's contract, see test_endpoint.c: messages and their credits, writes and their order.
 */
#include <check.h>
#include <string.h>

#include "common/util.h"
#include "common/wire.h"
#include "endpoint_pair.h"

Suite *endpoint_data_suite(void);

static struct pair pair;

/* ---- messages ----------------------------------------------------------------------------------------------- */

static void echo_upper(struct side *s, const uint8_t *records, size_t len)
{
	ck_assert_uint_eq(len, 5);
	ck_assert_mem_eq(records, "hello", 5);
	ck_assert(side_say(s, "HELLO", 5));
}

static void expect_upper(struct side *s, const uint8_t *records, size_t len)
{
	ck_assert_uint_eq(len, 5);
	ck_assert_mem_eq(records, "HELLO", 5);
}

static bool client_has_message(struct pair *p)
{
	return p->client.messages;
}

START_TEST(messages_go_both_ways)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	pair.server.on_message = echo_upper;
	pair.client.on_message = expect_upper;
	ck_assert(side_say(&pair.client, "hello", 5));
	pair_run(&pair, client_has_message);
	ck_assert_uint_eq(pair.server.messages, 1);
	pair_done(&pair);
}
END_TEST

static void expect_full(struct side *s, const uint8_t *records, size_t len)
{
	ck_assert_uint_eq(len, WIRE_RECORDS_MAX);
	for (size_t i = 0; i < len; i++)
		if (records[i] != (uint8_t)(i * 7))
			ck_abort_msg("byte %zu is not what was sent", i);
}

static bool server_has_message(struct pair *p)
{
	return p->server.messages;
}

START_TEST(message_of_full_size_arrives_whole)
{
	uint8_t records[WIRE_RECORDS_MAX];

	for (size_t i = 0; i < sizeof(records); i++)
		records[i] = (uint8_t)(i * 7);
	pair_init(&pair, _i);
	pair_connect(&pair);
	pair.server.on_message = expect_full;
	ck_assert(side_say(&pair.client, records, sizeof(records)));
	pair_run(&pair, server_has_message);
	pair_done(&pair);
}
END_TEST

static void expect_both_records(struct side *s, const uint8_t *records, size_t len)
{
	ck_assert_uint_eq(len, 6);
	ck_assert_mem_eq(records, "onetwo", 6);
}

START_TEST(records_of_one_round_share_a_message)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	pair.server.on_message = expect_both_records;
	ck_assert(side_say(&pair.client, "one", 3));
	ck_assert(side_say(&pair.client, "two", 3));
	pair_run(&pair, server_has_message);
	pair_done(&pair);
}
END_TEST

/* Each side sends MANY numbers and checks those it gets. An exceeded credit is a broken rule at the receiver. */
#define MANY 1000

static void say_numbers(struct side *s)
{
	uint32_t n = s->sent;

	while (n < MANY && side_say(s, &n, sizeof(n))) {
		n = ++s->sent;
		if (s->pair->round % 2 == 0)
			endpoint_flush(s->ep); /* a message each */
	}
}

static void expect_numbers(struct side *s, const uint8_t *records, size_t len)
{
	uint32_t n;

	ck_assert_uint_eq(len % sizeof(n), 0);
	for (; len; records += sizeof(n), len -= sizeof(n)) {
		memcpy(&n, records, sizeof(n));
		ck_assert_uint_eq(n, s->received++);
	}
}

static bool all_numbers_there(struct pair *p)
{
	ck_assert_uint_eq(p->client.closed + p->server.closed, 0);
	return p->client.received == p->client.wanted && p->server.received == p->server.wanted;
}

static void exchange_numbers(int transport, unsigned int round, unsigned int client_receives,
			     unsigned int server_receives)
{
	struct endpoint_stats stats;

	pair_init(&pair, transport);
	pair.round = round;
	pair.client.receives = client_receives;
	pair.server.receives = server_receives;
	pair_connect(&pair);
	pair.client.on_message = pair.server.on_message = expect_numbers;
	pair.client.on_writable = pair.server.on_writable = say_numbers;
	pair.server.wanted = round % 3 == 1 ? 0 : MANY; /* one direction only, or both */
	pair.client.wanted = round % 3 == 2 ? 0 : MANY;
	if (pair.server.wanted)
		say_numbers(&pair.client);
	if (pair.client.wanted)
		say_numbers(&pair.server);
	pair_run(&pair, all_numbers_there);
	endpoint_stats(pair.server.ep, &stats);
	if (round % 2 == 0)
		ck_assert_uint_ge(stats.receives, pair.server.wanted);
	pair_done(&pair);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_CLOSED);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
}

START_TEST(a_thousand_messages_never_exceed_the_credits)
{
	static const unsigned int receives[][2] = { { 2, 4 },   { 4, 2 }, { 2, 64 }, { 64, 2 },
						    { 64, 64 }, { 3, 5 }, { 16, 16 } };

	for (unsigned int i = 0; i < ARRAY_SIZE(receives); i++)
		for (unsigned int round = 0; round < 6; round++)
			exchange_numbers(_i, round, receives[i][0], receives[i][1]);
}
END_TEST

static void answer(struct side *s, const uint8_t *records, size_t len)
{
	ck_assert_uint_eq(len, 1);
	if (s == &s->pair->server || s->messages < 200)
		ck_assert(side_say(s, "p", 1));
}

static bool played(struct pair *p)
{
	return p->client.messages == 200;
}

START_TEST(ping_pong_needs_few_receives)
{
	pair_init(&pair, _i);
	pair.client.receives = 2;
	pair.server.receives = 4;
	pair_connect(&pair);
	pair.client.on_message = pair.server.on_message = answer;
	ck_assert(side_say(&pair.client, "p", 1));
	pair_run(&pair, played);
	ck_assert_uint_eq(pair.server.messages, 200);
	pair_done(&pair);
}
END_TEST

static bool client_writable(struct pair *p)
{
	return p->client.writables;
}

START_TEST(reserve_without_credit_leads_to_writable)
{
	unsigned int n = 0;

	pair_init(&pair, _i);
	pair.server.receives = 4;
	pair_connect(&pair);
	while (side_say(&pair.client, "x", 1)) {
		endpoint_flush(pair.client.ep);
		ck_assert_uint_le(++n, 4);
	}
	pair_run(&pair, client_writable);
	ck_assert(side_say(&pair.client, "x", 1));
	pair_done(&pair);
}
END_TEST

/* ---- writes ------------------------------------------------------------------------------------------------- */

static struct post posts[16];

/* What was written must be there by now; and is thrown away, so that the next round cannot live off it. */
static void expect_slots(struct side *s, const uint8_t *records, size_t len)
{
	for (unsigned int i = 0; i < s->slab.slots; i++)
		expect_filled(s, s->pair->round, i);
	memset(s->slab.base, 0, slab_bytes(&s->slab));
	ck_assert(side_say(s, "k", 1));
}

static bool round_done(struct pair *p)
{
	for (unsigned int i = 0; i < p->client.slab.slots; i++)
		if (!posts[i].calls)
			return false;
	return p->client.messages + p->server.messages == 2;
}

static void write_all_slots(struct side *from, struct side *to, unsigned int round)
{
	struct pair *p = from->pair;

	p->round = round;
	p->client.messages = p->server.messages = 0;
	memset(posts, 0, sizeof(posts));
	to->on_message = expect_slots;
	from->on_message = NULL;
	for (unsigned int i = 0; i < from->slab.slots; i++) {
		fill(from, round, i);
		ck_assert_int_eq(side_write(from, &posts[i], i, 0, from->slab.slot_size), 0);
		ck_assert_uint_eq(posts[i].calls, 0);
	}
	ck_assert(side_say(from, "w", 1));
	pair_run(p, round_done);
	for (unsigned int i = 0; i < from->slab.slots; i++) {
		ck_assert_uint_eq(posts[i].calls, 1);
		ck_assert_int_eq(posts[i].status, 0);
	}
}

static void write_rounds(int transport, unsigned int slot_log2, unsigned int slots_log2)
{
	struct endpoint_stats stats;

	pair_init(&pair, transport);
	pair.client.slot_log2 = pair.server.slot_log2 = slot_log2;
	pair.client.slots_log2 = pair.server.slots_log2 = slots_log2;
	pair_connect(&pair);
	for (unsigned int round = 0; round < 8; round++) {
		write_all_slots(&pair.client, &pair.server, round);
		write_all_slots(&pair.server, &pair.client, round);
	}
	endpoint_stats(pair.client.ep, &stats);
	ck_assert_uint_eq(stats.writes, 8U << slots_log2);
	ck_assert_uint_eq(stats.write_bytes, 8ULL << (slots_log2 + slot_log2));
	pair_done(&pair);
}

START_TEST(slots_written_are_there_with_their_message_4k_x_1)
{
	write_rounds(_i, 12, 0);
}
END_TEST

START_TEST(slots_written_are_there_with_their_message_64k_x_16)
{
	write_rounds(_i, 16, 4);
}
END_TEST

START_TEST(slots_written_are_there_with_their_message_1m_x_4)
{
	write_rounds(_i, 20, 2);
}
END_TEST

static void expect_slot_of_message(struct side *s, const uint8_t *records, size_t len)
{
	for (unsigned int i = 0; i < s->slab.slots / 2; i++)
		expect_filled(s, 9, i + (s == &s->pair->server ? 0 : s->slab.slots / 2));
}

static bool both_have_message(struct pair *p)
{
	return p->client.messages && p->server.messages;
}

/* More than any socket holds, so neither side gets anywhere if it writes before it reads. */
START_TEST(both_sides_write_at_once)
{
	pair_init(&pair, _i);
	pair.client.slot_log2 = pair.server.slot_log2 = 22;
	pair_connect(&pair);
	pair.client.on_message = pair.server.on_message = expect_slot_of_message;
	for (unsigned int i = 0; i < 4; i++) {
		struct side *from = i < 2 ? &pair.client : &pair.server;

		fill(from, 9, i);
		ck_assert_int_eq(side_write(from, &posts[i], i, 0, from->slab.slot_size), 0);
	}
	ck_assert(side_say(&pair.client, "w", 1));
	ck_assert(side_say(&pair.server, "w", 1));
	pair_run(&pair, both_have_message);
	pair_done(&pair);
	for (unsigned int i = 0; i < 4; i++)
		ck_assert_uint_eq(posts[i].calls, 1);
}
END_TEST

static bool first_post_written(struct pair *p)
{
	return posts[0].calls && p->server.messages;
}

/* Exactly the bytes off..off+len change, whatever their number. */
static void write_part(unsigned int slot, size_t off, size_t len)
{
	struct slab *to = &pair.server.slab;
	size_t at = slot * to->slot_size + off;

	memset(to->base, 0xee, slab_bytes(to));
	memset(posts, 0, sizeof(posts));
	pair.server.messages = 0;
	ck_assert_int_eq(side_write(&pair.client, &posts[0], slot, off, len), 0);
	ck_assert(side_say(&pair.client, "w", 1));
	pair_run(&pair, first_post_written);
	ck_assert_int_eq(posts[0].status, 0);
	ck_assert(all_bytes_are(to->base, at, 0xee));
	ck_assert_mem_eq(to->base + at, pair.client.slab.base + at, len);
	ck_assert(all_bytes_are(to->base + at + len, slab_bytes(to) - at - len, 0xee));
}

START_TEST(write_touches_just_its_bytes)
{
	static const size_t lengths[] = { 1, 2, 1023, 1024, 1025, 1444, 1445, 1446, 4095, 4096, 4097, 8191 };

	pair_init(&pair, _i);
	pair.client.slot_log2 = pair.server.slot_log2 = 13;
	pair_connect(&pair);
	for (unsigned int i = 0; i < pair.client.slab.slots; i++)
		fill(&pair.client, 3, i);
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
		write_part(i % 4, 0, lengths[i]);
		write_part(3, 8192 - lengths[i], lengths[i]);
		write_part(i % 4, 1, lengths[i]);
	}
	pair_done(&pair);
}
END_TEST

START_TEST(more_writes_than_slots_are_not_taken)
{
	struct post extra = { 0 };

	pair_init(&pair, _i);
	pair_connect(&pair);
	for (unsigned int i = 0; i < pair.client.slab.slots; i++)
		ck_assert_int_eq(side_write(&pair.client, &posts[i], i, 0, 1), 0);
	ck_assert_int_lt(side_write(&pair.client, &extra, 0, 0, 1), 0);
	ck_assert(side_say(&pair.client, "w", 1));
	pair_run(&pair, first_post_written);
	pair_done(&pair);
	ck_assert_uint_eq(extra.calls, 0);
}
END_TEST

/* ---- writes that are refused -------------------------------------------------------------------------------- */

static void expect_refused(void)
{
	if (!is_iwarp(&pair))
		ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_REFUSED_WRITE);
	if (is_tcp(&pair))
		ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_PROTOCOL);
	ck_assert_uint_eq(posts[0].calls, 1);
	ck_assert(!posts[0].after_closed);
	ck_assert_uint_eq(pair.server.messages, 0);
	ck_assert(all_bytes_are(pair.server.slab.base, slab_bytes(&pair.server.slab), 0));
}

static void refused_write(int transport, uint64_t base_shift, uint32_t rkey_change, size_t len)
{
	pair_init(&pair, transport);
	pair_connect(&pair);
	memset(posts, 0, sizeof(posts));
	endpoint_aim(pair.client.ep, pair.client.peer_base + base_shift, pair.client.peer_rkey ^ rkey_change);
	ck_assert_int_eq(side_write(&pair.client, &posts[0], 0, 0, len), 0);
	ck_assert(side_say(&pair.client, "w", 1));
	pair_run(&pair, both_closed);
	expect_refused();
	pair_done(&pair);
}

START_TEST(write_with_a_wrong_rkey_is_refused)
{
	refused_write(_i, 0, 0x5a5a00, 16);
}
END_TEST

START_TEST(write_outside_of_the_slab_is_refused)
{
	const uint64_t size = 4 * 4096;

	refused_write(_i, size, 0, 1);
	refused_write(_i, size - 1, 0, 2);
	refused_write(_i, (uint64_t)-4096, 0, 4096);
	refused_write(_i, (uint64_t)-1, 0, 2);
	refused_write(_i, 1ULL << 46, 0, 1);
}
END_TEST

START_TEST(write_into_a_slab_that_is_not_for_writing_is_refused)
{
	pair_init(&pair, _i);
	pair.server.read_only = true;
	pair_connect(&pair);
	ck_assert_uint_eq(pair.client.peer_base, 0);
	ck_assert_int_eq(side_write(&pair.client, &posts[0], 0, 0, 16), 0);
	ck_assert(side_say(&pair.client, "w", 1));
	pair_run(&pair, both_closed);
	expect_refused();
	pair_done(&pair);
}
END_TEST

static TCase *messages_case(void)
{
	TCase *tc = endpoint_tcase("messages");

	endpoint_test(tc, messages_go_both_ways);
	endpoint_test(tc, message_of_full_size_arrives_whole);
	endpoint_test(tc, records_of_one_round_share_a_message);
	endpoint_test(tc, a_thousand_messages_never_exceed_the_credits);
	endpoint_test(tc, ping_pong_needs_few_receives);
	endpoint_test(tc, reserve_without_credit_leads_to_writable);
	return tc;
}

static TCase *writes_case(void)
{
	TCase *tc = endpoint_tcase("writes");

	endpoint_test(tc, slots_written_are_there_with_their_message_4k_x_1);
	endpoint_test(tc, slots_written_are_there_with_their_message_64k_x_16);
	endpoint_test(tc, slots_written_are_there_with_their_message_1m_x_4);
	endpoint_test(tc, both_sides_write_at_once);
	endpoint_test(tc, write_touches_just_its_bytes);
	endpoint_test(tc, more_writes_than_slots_are_not_taken);
	endpoint_test(tc, write_with_a_wrong_rkey_is_refused);
	endpoint_test(tc, write_outside_of_the_slab_is_refused);
	endpoint_test(tc, write_into_a_slab_that_is_not_for_writing_is_refused);
	return tc;
}

Suite *endpoint_data_suite(void)
{
	Suite *s = suite_create("endpoint_data");

	suite_add_tcase(s, messages_case());
	suite_add_tcase(s, writes_case());
	return s;
}
