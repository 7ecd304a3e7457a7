/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Clients that mean no good, for tests: many connections to one daemon, over any transport, a few at a time, each doing what its
 * `attack` says. caller.c is the life of a connection, stream.c makes and spoils records, attack_*.c are the attacks, main.c
 * reads the options and counts.
 */
#ifndef TESTS_HOSTILE_CALLER_H
#define TESTS_HOSTILE_CALLER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/endpoint.h"
#include "common/key.h"
#include "common/loop.h"
#include "common/slab.h"
#include "common/wire.h"

#define WRITES 16 /* WRITEs of one caller that are followed up */

struct caller;

/* What a caller does at each station; NULL: nothing. */
struct attack {
	const char *name;
	bool proves; /* answers a challenge with the key */
	/* The REQ that is about to be sent, made well; returns its length now. */
	size_t (*request)(struct caller *c, uint8_t blob[static WIRE_REQ_SIZE], size_t len);
	void (*requested)(struct caller *c);
	void (*connected)(struct caller *c);
	void (*record)(struct caller *c, const struct wire_record *rec);
	void (*writable)(struct caller *c);
	void (*tired)(struct caller *c); /* caller_wait() is over */
};

/* What became of all of them. */
struct tally {
	unsigned long begun, ended, connected, refused, challenged, lost;
	unsigned long heard[WIRE_TYPE_END];
	unsigned long malformed; /* what the daemon sent */
};

struct crowd {
	struct loop loop;
	const struct endpoint_transport *transport;
	struct sockaddr_storage addr;
	const struct attack *attack;
	struct key key;
	const char *dir; /* at the daemon */
	unsigned long count;
	unsigned int width; /* at a time */
	uint64_t random;
	struct tally tally;
	struct loop_timer guard; /* nothing ended for too long */
	bool stuck;
	struct loop_task refill;
};

struct hostile_write {
	struct endpoint_work work;
	bool busy;
};

struct caller {
	struct crowd *crowd;
	struct endpoint *ep;
	struct loop_task again; /* frees the endpoint that closed; dials again when challenged */
	struct loop_timer timer;
	struct slab slab;
	struct wire_req req;
	struct wire_rep rep;
	uint8_t challenge[WIRE_MAC_SIZE];
	bool challenged, over, saying;
	uint64_t base; /* of our slab */
	uint32_t rkey;
	struct hostile_write writes[WRITES];
	/* the attack's */
	uint8_t *stream;
	size_t stream_len, stream_at;
};

/* Runs the whole crowd; 0, or a negative errno. */
int crowd_run(struct crowd *crowd);

/* The attack's way to wait: `tired` follows, unless the connection ends before. */
void caller_wait(struct caller *c, unsigned int ms);
/* Writes to the daemon if there is a free WRITE to do it with. */
void caller_write(struct caller *c, unsigned int slot, size_t off, size_t len);

uint64_t crowd_random(struct crowd *crowd);
static inline unsigned int below(struct crowd *crowd, unsigned int n)
{
	return (unsigned int)(crowd_random(crowd) % n);
}
static inline bool one_in(struct crowd *crowd, unsigned int n)
{
	return below(crowd, n) == 0;
}

/* stream.c: records of a good client as bytes, in c->stream; then spoilt, more or less. */
void stream_make(struct caller *c);
void stream_spoil(struct caller *c);
/* One record, right or spoilt; returns its length. */
size_t stream_record(struct crowd *crowd, const struct wire_record *rec, uint8_t buf[static WIRE_RECORDS_MAX]);

/* attacks.c, strangers.c */
const struct attack *attack_find(const char *name);
extern const char attack_names[];
int strangers_run(struct crowd *crowd);

#endif
