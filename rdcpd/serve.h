/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A pull seen from the daemon: takes a client's GETs, finds the files in its exports and has them sent in that order. */
#ifndef RDCPD_SERVE_H
#define RDCPD_SERVE_H

#include <stdbool.h>

#include "common/filter.h"
#include "common/ioqueue.h"
#include "common/sender.h"
#include "common/forecast.h"
#include "common/subtrees.h"
#include "listing.h"
#include "roots.h"

struct peer;
struct serve_get;

struct serve {
	struct peer *peer;
	struct ioqueue *io;
	struct roots *roots;
	struct sender *sender;
	bool aimed;           /* WINDOW was heard */
	bool ended;           /* END: no more GETs */
	struct filter filter; /* for what is in directories */
	struct serve_get *gets, **gets_tail;
	uint32_t get_count; /* heard */
	unsigned int waiting;
	/* The GET in front asks for names: */
	struct listing listing;
	struct io_job listing_job;
	int listing_error;
	bool listing_busy, listed; /* a worker reads it; it was read */
	size_t listing_said;       /* names of it */
	struct forecast forecast;  /* of what is to be part of TOTAL */
	bool total_wanted, total_said;
	bool stopped, sender_idle;
	char *top;                 /* of the tree being sent, for the log; or NULL */
	struct subtrees lost;      /* directories of it that are not sent, for the log */
	void (*idle)(void *owner); /* after serve_stop(): nothing is in flight */
	void *owner;
};

/* Borrows everything; `idle` and `owner` are set by the caller before. -ENOMEM. */
int serve_start(struct serve *sv, struct peer *peer, struct slab *slab, struct ioqueue *io, struct roots *roots,
		unsigned int max_files);
void serve_stop(struct serve *sv);
void serve_done(struct serve *sv);

void serve_on_writable(struct serve *sv); /* there is room again for what is to be said */

/* WINDOW, FILTER, GET and END of the client; a negative errno means it broke the protocol. */
int serve_on_record(struct serve *sv, const struct wire_record *rec);

#endif
