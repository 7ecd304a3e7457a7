/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What only the stream transport has: its bytes, and peers that break its rules. One end is the real endpoint, the
 * other a raw socket. What both transports promise is in test_endpoint.c.
 */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/util.h"
#include "common/wire.h"
#include "endpoint_raw.h"

Suite *endpoint_stream_suite(void);

#define WINDOW (1ULL << 40) /* where the peer's slab begins */

static uint32_t rkey_of_rep(void)
{
	uint32_t rkey;

	ck_assert_uint_ge(raw.got, HEADER + 24);
	ck_assert_uint_eq(raw.buf[3], REP);
	memcpy(&rkey, raw.buf + HEADER + 16, sizeof(rkey));
	return rkey;
}

static bool server_has_message(struct pair *p)
{
	return p->server.messages;
}

/* ---- bytes -------------------------------------------------------------------------------------------------- */

START_TEST(request_is_these_bytes)
{
	const uint8_t golden[HEADER + 8] = { 'r', 'd', 1, 1, 24, 0, 0,   0,   0,   0,   0,   0,   0,   0,
					     0,   0,   0, 0, 0,  0, 'r', 'e', 'q', 'u', 'e', 's', 't', '!' };
	int fd;

	pair_init(&pair, 0);
	fd = listen_raw();
	pair_start(&pair);
	raw_take(accept(fd, NULL, NULL));
	pair_run(&pair, raw_has_blob);
	ck_assert_uint_eq(raw.got, HEADER + 24);
	ck_assert_mem_eq(raw.buf, golden, sizeof(golden));
	raw_close();
	close(fd);
	pair_run(&pair, client_closed);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_LOST);
	ck_assert_uint_eq(pair.client.connected, 0);
	pair_done(&pair);
}
END_TEST

START_TEST(write_and_message_are_these_bytes)
{
	uint8_t buf[256], golden[2 * HEADER + 8];
	struct post post = { 0 };
	size_t n;

	pair_init(&pair, 0);
	raw_client();
	raw_send(buf, send_frame(buf));
	pair_run(&pair, server_has_message);
	raw.got = 0;
	endpoint_aim(pair.server.ep, WINDOW, 0x01020304);
	memcpy(slab_slot(&pair.server.slab, 1) + 5, "abc", 3);
	ck_assert_int_eq(side_write(&pair.server, &post, 1, 5, 3), 0);
	ck_assert(side_say(&pair.server, "x", 1));
	pair_run(&pair, raw_has_blob);

	n = frame(golden, WRITE, 3, WINDOW + 4096 + 5, 0x01020304);
	memcpy(golden + n, "abc", 3);
	n += 3;
	frame(golden + n, SEND, 5, 0, 0);
	memcpy(golden + n + HEADER, (uint8_t[]){ 1, 0, 1, 0, 'x' }, 5); /* one credit comes back */
	ck_assert_uint_eq(raw.got, sizeof(golden));
	ck_assert_mem_eq(raw.buf, golden, sizeof(golden));
	raw_close();
	pair_done(&pair);
	ck_assert_uint_eq(post.calls, 1);
}
END_TEST

/* One byte a round, so that every frame is cut everywhere. */
static struct dribble {
	struct loop_timer timer;
	uint8_t data[512];
	size_t len, at;
} dribble;

static void on_dribble(struct loop_timer *t)
{
	raw_send(dribble.data + dribble.at, 1);
	if (++dribble.at < dribble.len)
		loop_timer_set(&pair.loop, t, now_ns());
}

static void start_dribble(size_t len)
{
	dribble.timer.expired = on_dribble;
	dribble.len = len;
	dribble.at = 0;
	loop_timer_set(&pair.loop, &dribble.timer, now_ns());
}

START_TEST(frames_cut_anywhere_are_understood)
{
	size_t n;

	pair_init(&pair, 0);
	pair_listen(&pair);
	raw_take(connect_raw());
	start_dribble(req_frame(dribble.data));
	pair_run(&pair, raw_has_blob);

	n = frame(dribble.data, WRITE, 100, WINDOW + 4090, rkey_of_rep());
	for (unsigned int i = 0; i < 100; i++)
		dribble.data[n++] = (uint8_t)(i + 1);
	n += send_frame(dribble.data + n);
	start_dribble(n);
	pair_run(&pair, server_has_message);
	for (unsigned int i = 0; i < 100; i++)
		ck_assert_uint_eq(pair.server.slab.base[4090 + i], i + 1);
	ck_assert_uint_eq(pair.server.slab.base[4089], 0);
	ck_assert_uint_eq(pair.server.slab.base[4190], 0);
	raw_close();
	pair_run(&pair, server_closed);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_LOST);
	pair_done(&pair);
}
END_TEST

/* ---- peers that break the rules ----------------------------------------------------------------------------- */

static void server_ends_with(enum endpoint_fault_kind kind)
{
	pair_run(&pair, server_closed);
	ck_assert_int_eq(pair.server.fault.kind, kind);
	pair_run(&pair, raw_ended);
	raw_close();
	pair_done(&pair);
}

START_TEST(illegal_frame_is_a_protocol_error)
{
	static const struct {
		uint8_t type;
		uint32_t len;
	} frames[] = { { 0, 0 },    { CLOSE + 1, 0 }, { 255, 0 },           { REQ, 24 },          { REP, 24 },
		       { REJ, 24 }, { SEND, 0 },      { SEND, 8193 },       { SEND, UINT32_MAX }, { WRITE, 0 },
		       { NAK, 1 },  { CLOSE, 1 },     { CLOSE, UINT32_MAX } };
	uint8_t buf[HEADER];

	for (unsigned int i = 0; i < ARRAY_SIZE(frames); i++) {
		pair_init(&pair, 0);
		raw_client();
		raw_send(buf, frame(buf, frames[i].type, frames[i].len, 0, 0));
		server_ends_with(ENDPOINT_PROTOCOL);
	}
}
END_TEST

START_TEST(illegal_answer_is_a_protocol_error)
{
	static const struct {
		uint8_t type;
		uint32_t len;
	} frames[] = { { REP, 197 }, { REJ, 149 }, { REQ, 24 }, { SEND, 5 }, { WRITE, 1 }, { CLOSE, 0 }, { NAK, 0 } };
	uint8_t buf[HEADER];
	int fd;

	for (unsigned int i = 0; i < ARRAY_SIZE(frames); i++) {
		pair_init(&pair, 0);
		fd = listen_raw();
		pair_start(&pair);
		raw_take(accept(fd, NULL, NULL));
		pair_run(&pair, raw_has_blob);
		raw_send(buf, frame(buf, frames[i].type, frames[i].len, 0, 0));
		pair_run(&pair, client_closed);
		ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_PROTOCOL);
		ck_assert_uint_eq(pair.client.connected, 0);
		raw_close();
		close(fd);
		pair_done(&pair);
	}
}
END_TEST

START_TEST(bytes_that_are_no_frame_are_a_protocol_error)
{
	uint8_t buf[HEADER];

	for (unsigned int i = 0; i < 3; i++) {
		pair_init(&pair, 0);
		raw_client();
		frame(buf, CLOSE, 0, 0, 0);
		buf[i] ^= 0x40;
		raw_send(buf, HEADER);
		server_ends_with(ENDPOINT_PROTOCOL);
	}
}
END_TEST

START_TEST(message_without_a_credit_is_a_protocol_error)
{
	uint8_t buf[5 * (HEADER + 5)];
	size_t n = 0;

	pair_init(&pair, 0);
	pair.server.receives = 4;
	raw_client();
	for (unsigned int i = 0; i < 5; i++)
		n += send_frame(buf + n);
	raw_send(buf, n);
	server_ends_with(ENDPOINT_PROTOCOL);
	ck_assert_uint_eq(pair.server.messages, 4);
}
END_TEST

START_TEST(malformed_message_is_a_protocol_error)
{
	uint8_t buf[64];
	size_t n;

	pair_init(&pair, 0);
	raw_client();
	n = send_frame(buf);
	buf[HEADER] = 2; /* more records than there are */
	raw_send(buf, n);
	server_ends_with(ENDPOINT_PROTOCOL);
	ck_assert_uint_eq(pair.server.messages, 0);
}
END_TEST

START_TEST(frame_before_the_reply_is_a_protocol_error)
{
	uint8_t buf[128];
	size_t n = req_frame(buf);

	pair_init(&pair, 0);
	pair.server.stop = STOP_REGISTERED;
	pair_listen(&pair);
	raw_take(connect_raw());
	n += send_frame(buf + n);
	raw_send(buf, n);
	server_ends_with(ENDPOINT_PROTOCOL);
	ck_assert_uint_eq(pair.server.messages, 0);
}
END_TEST

START_TEST(refused_write_is_answered_with_a_nak)
{
	uint8_t buf[HEADER], golden[HEADER];
	static const uint8_t body[1 << 16];

	pair_init(&pair, 0);
	raw_client();
	raw_send(buf, frame(buf, WRITE, UINT32_MAX, WINDOW, rkey_of_rep()));
	raw_send(body, sizeof(body)); /* unread bytes must not turn the NAK into a reset */
	raw.got = 0;
	pair_run(&pair, raw_has_header);
	frame(golden, NAK, 0, 0, 0);
	ck_assert_uint_eq(raw.got, HEADER);
	ck_assert_mem_eq(raw.buf, golden, HEADER);
	raw_close();
	pair_run(&pair, server_closed);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_PROTOCOL);
	pair_done(&pair);
}
END_TEST

START_TEST(end_in_the_middle_of_a_write_is_lost)
{
	uint8_t buf[HEADER];

	pair_init(&pair, 0);
	raw_client();
	raw_send(buf, frame(buf, WRITE, 1000, WINDOW, rkey_of_rep()));
	raw_send("half", 4);
	raw_close();
	pair_run(&pair, server_closed);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_LOST);
	pair_done(&pair);
}
END_TEST

START_TEST(close_frame_makes_the_end_orderly)
{
	uint8_t buf[HEADER];

	pair_init(&pair, 0);
	raw_client();
	raw_send(buf, frame(buf, CLOSE, 0, 0, 0));
	server_ends_with(ENDPOINT_CLOSED);
}
END_TEST

START_TEST(peer_that_does_not_hang_up_does_not_hold_up_a_close)
{
	uint8_t buf[64];

	pair_init(&pair, 0);
	raw_client();
	raw_send(buf, send_frame(buf));
	pair_run(&pair, server_has_message);
	endpoint_close(pair.server.ep);
	pair_run(&pair, server_closed);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
	ck_assert_uint_ge(raw.got, 2 * HEADER + 24);
	ck_assert_uint_eq(raw.buf[raw.got - HEADER + 3], CLOSE);
	raw_close();
	pair_done(&pair);
}
END_TEST

START_TEST(server_that_never_answers_is_unreachable)
{
	int fd;

	pair_init(&pair, 0);
	pair.timeout_ns = 200 * MSEC;
	fd = listen_raw();
	pair_start(&pair);
	pair_run(&pair, client_closed);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_UNREACHABLE);
	close(fd);
	pair_done(&pair);
}
END_TEST

START_TEST(dial_of_another_address_family_fails_at_once)
{
	struct sockaddr addr = { .sa_family = AF_UNIX };
	struct endpoint_fault fault;
	struct endpoint *ep = NULL;

	pair_init(&pair, 0);
	ck_assert_int_eq(endpoint_dial(&endpoint_stream, &pair.loop, &addr, SEC, NULL, NULL, &ep, &fault),
			 -EAFNOSUPPORT);
	ck_assert_int_eq(fault.kind, ENDPOINT_ADDRESS);
	ck_assert_ptr_null(ep);
	pair_done(&pair);
}
END_TEST

static TCase *bytes_case(void)
{
	TCase *tc = endpoint_tcase("bytes");

	tcase_add_test(tc, request_is_these_bytes);
	tcase_add_test(tc, write_and_message_are_these_bytes);
	tcase_add_test(tc, frames_cut_anywhere_are_understood);
	return tc;
}

static TCase *rules_case(void)
{
	TCase *tc = endpoint_tcase("rules");

	tcase_add_test(tc, illegal_frame_is_a_protocol_error);
	tcase_add_test(tc, illegal_answer_is_a_protocol_error);
	tcase_add_test(tc, bytes_that_are_no_frame_are_a_protocol_error);
	tcase_add_test(tc, message_without_a_credit_is_a_protocol_error);
	tcase_add_test(tc, malformed_message_is_a_protocol_error);
	tcase_add_test(tc, frame_before_the_reply_is_a_protocol_error);
	tcase_add_test(tc, refused_write_is_answered_with_a_nak);
	tcase_add_test(tc, end_in_the_middle_of_a_write_is_lost);
	tcase_add_test(tc, close_frame_makes_the_end_orderly);
	tcase_add_test(tc, peer_that_does_not_hang_up_does_not_hold_up_a_close);
	tcase_add_test(tc, server_that_never_answers_is_unreachable);
	tcase_add_test(tc, dial_of_another_address_family_fails_at_once);
	return tc;
}

Suite *endpoint_stream_suite(void)
{
	Suite *s = suite_create("endpoint_stream");

	suite_add_tcase(s, bytes_case());
	suite_add_tcase(s, rules_case());
	return s;
}
