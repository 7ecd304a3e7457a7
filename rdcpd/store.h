/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A push seen from the daemon: decides where a client's files go, and logs what became of them. */
#ifndef RDCPD_STORE_H
#define RDCPD_STORE_H

#include "common/receiver.h"
#include "common/subtrees.h"
#include "roots.h"

struct peer;

struct store {
	struct peer *peer;
	struct roots *roots;
	struct receiver *receiver;
	struct subtrees lost;      /* directories of the tree that could not be made, for the log */
	void (*idle)(void *owner); /* after store_stop(): nothing is in flight */
	void *owner;
};

/* Borrows everything; `idle` and `owner` are set by the caller before. -ENOMEM. */
int store_start(struct store *st, struct peer *peer, struct slab *slab, struct ioqueue *io, struct roots *roots,
		unsigned int max_files);
int store_on_record(struct store *st, const struct wire_record *rec); /* -EPROTO */
void store_stop(struct store *st);
void store_done(struct store *st);

#endif
