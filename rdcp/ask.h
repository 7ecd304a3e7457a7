/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Names at the host, asked for before any file: what the patterns among the sources stand for, and --list. Requests count on
 * from here to the files, see ask.base.
 */
#ifndef RDCP_ASK_H
#define RDCP_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* More than a daemon should find is a breach of protocol. */
#define ASK_NAMES_MAX (1U << 20)
#define ASK_BYTES_MAX (256U << 20)

struct client;
struct client_source;
struct wire_entry;

struct ask {
	unsigned int *sources;          /* those that are asked for, owned */
	unsigned int count;             /* of them */
	unsigned int said, answered;    /* of their GETs */
	struct client_source *found;    /* in the order of the sources, owned */
	unsigned int *found_for;        /* which of `sources` each is for */
	unsigned int found_count, room; /* of both */
	size_t bytes;                   /* of their paths */
	uint32_t base;                  /* requests of this session that were not for files */
	bool expanded;                  /* the sources are those that were found: their names mean themselves */
};

/* Before each attempt: what there is to ask. -ENOMEM. */
int ask_start(struct client *c);
void ask_done(struct client *c);

/* True: everything is answered, the files may be asked for. Else says what there is room for; the next answer continues. */
bool ask_is_over(struct client *c);

/* Negative errno: the daemon broke the protocol, or there is no memory. */
int ask_on_entry(struct client *c, const struct wire_entry *e);

/* The same for an ABORT of a request that is not for a file. */
int ask_on_refused(struct client *c, uint32_t request, enum status status, const char *text);

#endif
