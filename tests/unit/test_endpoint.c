/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The endpoint's contract (common/endpoint.h), once for each transport: tcp always, rdma in the lab, where
 * RDCP_TEST_RDMA_ADDR is set. Here: how connections are made. test_endpoint_data.c: messages and writes;
 * test_endpoint_end.c: how connections end; test_endpoint_stream.c: what only the stream transport has.
 */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "common/util.h"
#include "common/wire.h"
#include "endpoint_pair.h"
#include "skip.h"

Suite *endpoint_suite(void);

static struct pair pair;

/* ---- connecting --------------------------------------------------------------------------------------------- */

START_TEST(connect_carries_both_blobs)
{
	pair_init(&pair, _i);
	pair_connect(&pair); /* compares the blobs */
	ck_assert_uint_eq(pair.client.resolved, 1);
	ck_assert_uint_eq(pair.client.connected, 1);
	ck_assert_uint_eq(pair.server.resolved, 0);
	ck_assert_uint_eq(pair.client.peer_base, pair.server.base);
	ck_assert_uint_eq(pair.server.peer_rkey, pair.client.rkey);
	pair_done(&pair);
}
END_TEST

static bool requested(struct pair *p)
{
	return p->request;
}

START_TEST(request_knows_its_peer)
{
	const struct sockaddr_in *peer, *addr = (struct sockaddr_in *)&pair.addr;

	pair_init(&pair, _i);
	pair.server.stop = STOP_REQUESTED;
	pair_listen(&pair);
	pair_start(&pair);
	pair_run(&pair, requested);
	peer = (struct sockaddr_in *)&pair.request->peer;
	ck_assert_int_eq(peer->sin_family, pair.addr.ss_family);
	if (peer->sin_family == AF_INET)
		ck_assert_uint_eq(peer->sin_addr.s_addr, addr->sin_addr.s_addr);
	side_accept(&pair.server);
	ck_assert_ptr_nonnull(pair.server.ep);
	pair_run(&pair, client_connected);
	pair_done(&pair);
}
END_TEST

static size_t make_rej(uint8_t *buf, size_t size)
{
	struct wire_rej rej = { .reason = 21, .text_len = 9, .text = "come back" };
	ssize_t n;

	memset(rej.challenge, 0xc5, sizeof(rej.challenge));
	n = wire_encode_rej(&rej, buf, size);
	ck_assert_int_gt(n, 0);
	return (size_t)n;
}

static void check_rejected(const struct side *s, const uint8_t *rej, size_t len)
{
	ck_assert_int_eq(s->fault.kind, ENDPOINT_REJECTED);
	ck_assert_uint_ge(s->fault.blob_len, len);
	ck_assert_mem_eq(s->fault.blob, rej, len);
	ck_assert_uint_eq(s->connected, 0);
}

START_TEST(reject_carries_its_blob)
{
	uint8_t rej[WIRE_REJ_MAX];
	size_t len = make_rej(rej, sizeof(rej));

	pair_init(&pair, _i);
	pair.server.stop = STOP_REQUESTED;
	pair_listen(&pair);
	pair_start(&pair);
	pair_run(&pair, requested);
	endpoint_request_reject(steal_request(&pair), rej, len);
	pair_run(&pair, client_closed);
	check_rejected(&pair.client, rej, len);
	pair_done(&pair);
}
END_TEST

static bool server_made(struct pair *p)
{
	return p->server.ep;
}

START_TEST(refusal_of_a_made_endpoint_carries_its_blob)
{
	uint8_t rej[WIRE_REJ_MAX];
	size_t len = make_rej(rej, sizeof(rej));

	pair_init(&pair, _i);
	pair.server.stop = STOP_REGISTERED;
	pair_listen(&pair);
	pair_start(&pair);
	pair_run(&pair, server_made);
	endpoint_refuse(pair.server.ep, rej, len);
	pair_run(&pair, both_closed);
	check_rejected(&pair.client, rej, len);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
	pair_done(&pair);
}
END_TEST

START_TEST(reject_of_a_peer_that_is_gone_is_silent)
{
	uint8_t rej[WIRE_REJ_MAX];
	size_t len = make_rej(rej, sizeof(rej));

	pair_init(&pair, _i);
	pair.server.stop = STOP_REQUESTED;
	pair_listen(&pair);
	pair_start(&pair);
	pair_run(&pair, requested);
	endpoint_abort(pair.client.ep, ENDPOINT_TIMEOUT, "impatient");
	pair_run(&pair, client_closed);
	endpoint_request_reject(steal_request(&pair), rej, len);
	pair_done(&pair);
}
END_TEST

START_TEST(nobody_listening_is_nobody)
{
	pair_init(&pair, _i);
	pair_start(&pair);
	pair_run(&pair, client_closed);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_NOBODY);
	ck_assert_uint_eq(pair.client.connected, 0);
	pair_done(&pair);
}
END_TEST

static struct endpoint_fault last_fault;
static bool was_closed;

static void note_closed(void *owner, const struct endpoint_fault *fault)
{
	last_fault = *fault;
	was_closed = true;
	pair_check(owner);
}

static bool noted(struct pair *p)
{
	return was_closed;
}

/* A device says no at once, or when the route is looked for. */
START_TEST(rdma_to_a_loopback_address_is_called_that)
{
	static const struct endpoint_events events = { .closed = note_closed };
	struct sockaddr_in lo = { .sin_family = AF_INET,
				  .sin_port = htons(9),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct endpoint *ep = NULL;

	if (transports() == 1)
		skip_test("RDCP_TEST_RDMA_ADDR is not set");
	pair_init(&pair, 1);
	if (endpoint_dial(pair.transport, &pair.loop, (struct sockaddr *)&lo, pair.timeout_ns, &events, &pair, &ep,
			  &last_fault) == 0)
		pair_run(&pair, noted);
	ck_assert_int_eq(last_fault.kind, ENDPOINT_LOOPBACK);
	endpoint_free(ep);
	pair_done(&pair);
}
END_TEST

START_TEST(listening_twice_is_address_in_use)
{
	struct endpoint_listener *second = NULL;
	struct endpoint_fault fault;

	pair_init(&pair, _i);
	pair_listen(&pair);
	ck_assert_int_eq(endpoint_listen(pair.transport, (struct sockaddr *)&pair.addr, pair.addr_len, &second, &fault),
			 -EADDRINUSE);
	ck_assert_ptr_null(second);
	ck_assert_str_ne(fault.text, "");
	pair_done(&pair);
}
END_TEST

START_TEST(transport_is_found_by_name)
{
	ck_assert_ptr_eq(endpoint_transport_find("tcp"), &endpoint_stream);
	ck_assert_ptr_eq(endpoint_transport_find("rdma"), &endpoint_rdma);
	ck_assert_ptr_null(endpoint_transport_find("carrier pigeon"));
}
END_TEST

/* ---- half-made ---------------------------------------------------------------------------------------------- */

START_TEST(close_right_after_dial_closes_once)
{
	pair_init(&pair, _i);
	pair_listen(&pair);
	pair_start(&pair);
	endpoint_close(pair.client.ep);
	ck_assert_uint_eq(pair.client.closed, 0);
	pair_run(&pair, client_closed);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_CLOSED);
	ck_assert_uint_eq(pair.client.resolved, 0);
	pair_done(&pair);
}
END_TEST

static bool client_resolved(struct pair *p)
{
	return p->client.resolved;
}

START_TEST(half_made_client_closes_once)
{
	static const enum stop stops[] = { STOP_RESOLVED, STOP_OPENED, STOP_REGISTERED };

	for (unsigned int i = 0; i < ARRAY_SIZE(stops); i++) {
		pair_init(&pair, _i);
		pair.client.stop = stops[i];
		pair_listen(&pair);
		pair_start(&pair);
		pair_run(&pair, client_resolved);
		pair_done(&pair);
		ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_CLOSED);
	}
}
END_TEST

START_TEST(half_made_server_closes_once_and_the_client_notices)
{
	static const enum stop stops[] = { STOP_RESOLVED, STOP_OPENED, STOP_REGISTERED };

	for (unsigned int i = 0; i < ARRAY_SIZE(stops); i++) {
		pair_init(&pair, _i);
		pair.server.stop = stops[i];
		pair_listen(&pair);
		pair_start(&pair);
		pair_run(&pair, server_made);
		endpoint_close(pair.server.ep);
		pair_run(&pair, both_closed);
		ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
		ck_assert_uint_eq(pair.client.connected, 0);
		pair_done(&pair);
	}
}
END_TEST

START_TEST(null_is_free)
{
	endpoint_free(NULL);
	endpoint_listener_free(NULL);
}
END_TEST

START_TEST(rdma_is_tested_too)
{
	if (transports() == 1)
		skip_test("RDCP_TEST_RDMA_ADDR is not set");
}
END_TEST

static TCase *connecting_case(void)
{
	TCase *tc = endpoint_tcase("connecting");

	endpoint_test(tc, connect_carries_both_blobs);
	endpoint_test(tc, request_knows_its_peer);
	endpoint_test(tc, reject_carries_its_blob);
	endpoint_test(tc, refusal_of_a_made_endpoint_carries_its_blob);
	endpoint_test(tc, reject_of_a_peer_that_is_gone_is_silent);
	endpoint_test(tc, nobody_listening_is_nobody);
	tcase_add_test(tc, rdma_to_a_loopback_address_is_called_that);
	endpoint_test(tc, listening_twice_is_address_in_use);
	tcase_add_test(tc, transport_is_found_by_name);
	return tc;
}

static TCase *half_made_case(void)
{
	TCase *tc = endpoint_tcase("half made");

	endpoint_test(tc, close_right_after_dial_closes_once);
	endpoint_test(tc, half_made_client_closes_once);
	endpoint_test(tc, half_made_server_closes_once_and_the_client_notices);
	tcase_add_test(tc, null_is_free);
	tcase_add_test(tc, rdma_is_tested_too);
	return tc;
}

Suite *endpoint_suite(void)
{
	Suite *s = suite_create("endpoint");

	suite_add_tcase(s, connecting_case());
	suite_add_tcase(s, half_made_case());
	return s;
}
