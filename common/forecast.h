/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is to be sent comes to: files and bytes, counted ahead of the sender by a walk of its own, for a total to whoever waits.
 * The client of a push and the daemon of a pull use the same one. Items are taken in the order of forecast_add(), a batch of entries a
 * job, so it holds nobody up; what is counted so far can be looked at any time.
 *
 * It goes by the rules of the sender: filters, links, holes. What cannot be looked at counts as a file without bytes, directories
 * do not count. What changes meanwhile, or is refused at the other side, is for the reader to bear.
 *
 * All calls belong to the loop thread.
 */
#ifndef RDCP_FORECAST_H
#define RDCP_FORECAST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "ioqueue.h"
#include "links.h"
#include "sender.h"
#include "walk.h"

#define FORECAST_LOOKS_MAX \
	(16U << 20) /* entries: a peer may ask again and again, and symlinks that are followed never end */

struct forecast_item;

struct forecast {
	uint64_t files, bytes; /* so far */
	unsigned int waiting;  /* items that are not counted, with the one that is being counted */
	bool busy;             /* a job is in flight */
	bool failed;           /* something was not counted, or there is too much of it; also the owner's to set */

	/* The rest is its own. */
	struct ioqueue *io;
	void (*rested)(void *owner);
	void *owner;
	struct forecast_item *items, **tail;
	struct io_job job;
	struct walk walk; /* the worker's while busy, as all below */
	struct links links;
	uint64_t found_files, found_bytes;
	uint64_t looks; /* entries of trees, in sum */
	bool item_over, item_failed;
	bool stopped;
};

/* Borrows everything. `rested` is called when nothing is left to count, and when a job ends behind forecast_stop(). */
void forecast_init(struct forecast *t, struct ioqueue *io, void (*rested)(void *owner), void *owner);
void forecast_done(struct forecast *t); /* not busy; fine on a zeroed struct */

/* A file, or a directory with all in it if it says recurse. Root and filter are borrowed, until it is done. */
void forecast_add(struct forecast *t, const struct send_item *item);

/* Nothing more is counted. */
void forecast_stop(struct forecast *t);

static inline bool forecast_is_known(const struct forecast *t)
{
	return !t->waiting && !t->failed;
}

/* Bytes that are sent of a regular file; 0 of anything else. */
uint64_t forecast_bytes(const struct stat *st, bool dense);

#endif
