/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A raw socket at one end, an endpoint of the stream transport at the other, on the loop of one `pair`: for the suites that
 * look at bytes and misbehave. One raw peer at a time.
 */
#ifndef TESTS_ENDPOINT_RAW_H
#define TESTS_ENDPOINT_RAW_H

#include "endpoint_pair.h"

#define HEADER 20

/* The frames as numbers, on purpose not taken from the code under test. */
enum { REQ = 1, REP, REJ, SEND, WRITE, NAK, CLOSE };

extern struct pair pair;

/* Reads all there is whenever the loop runs. */
extern struct raw {
	struct loop_source source;
	uint8_t buf[1 << 16];
	size_t got;
	bool ended; /* the other side closed or reset */
} raw;

int connect_raw(void); /* to the pair's listener */
int listen_raw(void);  /* where the pair's client dials */
void raw_take(int fd); /* makes it the raw peer */
void raw_client(void); /* listens, connects and goes on up to the REP */
void raw_send(const void *data, size_t len);
void raw_close(void);

/* Each writes a frame and returns its length. */
size_t frame(uint8_t *buf, uint8_t type, uint32_t len, uint64_t addr, uint32_t rkey); /* the header only */
size_t send_frame(uint8_t *buf); /* a message of one byte of records */
size_t req_frame(uint8_t *buf);  /* a request as endpoint_pair.c understands it, of a client with 16 receives */

/* For pair_run(). */
bool raw_ended(struct pair *p);
bool raw_has_header(struct pair *p);
bool raw_has_blob(struct pair *p);
bool request_kept(struct pair *p);

#endif
