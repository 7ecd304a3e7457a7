/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two endpoints that are connected to each other, on one loop, for tests: the harness of the endpoint suites. It does what a
 * session would (open, register, set-up blobs, credits, aim), counts every event, and fails the test when nothing came
 * of it within ten seconds. Written against endpoint.h only.
 */
#ifndef TESTS_ENDPOINT_PAIR_H
#define TESTS_ENDPOINT_PAIR_H

#include <check.h>
#include <stdbool.h>

#include "common/endpoint.h"
#include "common/loop.h"
#include "common/slab.h"

/* How far a side is made by itself; the test takes it from there. */
enum stop {
	STOP_NEVER,
	STOP_RESOLVED, /* client: resolved() came; server: the request was accepted */
	STOP_OPENED,
	STOP_REGISTERED,
	STOP_REQUESTED /* server: the request is kept in pair.request */
};

struct pair;

struct side {
	struct pair *pair;
	struct endpoint *ep;
	struct slab slab;
	unsigned int slot_log2, slots_log2, receives;
	bool read_only; /* registered without remote_write */
	enum stop stop;
	uint64_t base; /* of the own slab */
	uint32_t rkey;
	uint64_t peer_base; /* as the peer said in its blob */
	uint32_t peer_rkey;
	/* what happened */
	unsigned int resolved, connected, messages, writables, closed;
	uint8_t blob[256]; /* of connected(), or of the request */
	size_t blob_len;
	struct endpoint_fault fault;
	/* what the test wants done; may be NULL */
	void (*on_resolved)(struct side *s);
	void (*on_connected)(struct side *s);
	void (*on_message)(struct side *s, const uint8_t *records, size_t len);
	void (*on_writable)(struct side *s);
	unsigned int sent, received, wanted; /* the test's own */
};

struct pair {
	const struct endpoint_transport *transport;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	uint64_t timeout_ns; /* of a step */
	struct loop loop;
	struct loop_timer guard;
	struct endpoint_listener *listener;
	struct loop_source listener_source;
	struct endpoint_request *request;
	struct side client, server;
	bool (*done)(struct pair *p);
	unsigned int round; /* the test's own */
};

/* One WRITE and what became of it. */
struct post {
	struct endpoint_work work;
	struct side *side;
	unsigned int calls;
	int status;
	bool after_closed; /* written() came too late */
	void (*on_written)(struct post *post);
};

/* The transports to test: tcp, and rdma when RDCP_TEST_RDMA_ADDR names an address of a device. */
int transports(void);
/* The first of them: rdma where only that is wanted (RDCP_TEST_RDMA_ONLY, in the lab), or tcp. */
int first_transport(void);
bool is_tcp(const struct pair *p);
/* siw tells the writer no more than that the connection ended (RFC 5040 has a TERMINATE for it). The lab says so. */
bool is_iwarp(const struct pair *p);

/* Everything but the connection: loop, guard, a free port. Geometry and stops may be changed until pair_start(). */
void pair_init(struct pair *p, int transport);
void pair_listen(struct pair *p);
void pair_start(struct pair *p); /* dials */
/* All of it, up to a first message of one byte from the client; the counters of messages are 0 then. */
void pair_connect(struct pair *p);
/* Runs the loop until `done`, which is looked at after every event. */
void pair_run(struct pair *p, bool (*done)(struct pair *p));
void pair_check(struct pair *p);
/* Closes and frees what there is; each endpoint was closed exactly once. */
void pair_done(struct pair *p);

bool client_closed(struct pair *p);
bool server_closed(struct pair *p);
bool both_closed(struct pair *p);
bool client_connected(struct pair *p);

/* One record, committed; false: no room now. */
bool side_say(struct side *s, const void *records, size_t len);
int side_write(struct side *s, struct post *post, unsigned int slot, size_t off, size_t len);
void side_accept(struct side *s); /* takes pair.request, and makes as far as `stop` says */
struct endpoint_request *steal_request(struct pair *p);

/* Slot contents that tell rounds and slots apart. */
void fill(struct side *s, unsigned int round, unsigned int slot);
void expect_filled(struct side *s, unsigned int round, unsigned int slot);
bool all_bytes_are(const uint8_t *p, size_t len, uint8_t value);

unsigned int open_descriptors(void);

TCase *endpoint_tcase(const char *name);
/* Adds a test once for each transport; its _i is for pair_init(). */
#define endpoint_test(tc, test) tcase_add_loop_test(tc, test, first_transport(), transports())

#endif
