/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Files -> slots: the half of the copy engine that has the data. The client of a push and the daemon of a pull run the same one.
 *
 * Its owner names files one after the other (events->next); the sender opens them a few ahead, fills free slots from them
 * on the I/O workers, and announces everything in order: FILE, then WRITE + DATA for each chunk, then CLOSE or ABORT. Nothing in
 * a file waits for the peer but a free slot. A slot is free again when its WRITE completed and the peer acknowledged
 * it. Each file ends in one file_done(), after the peer's RESULT, or at once when it never was announced.
 *
 * Small files whose size is known share slots, one WRITE and one message. A directory is walked, and each of its entries is a
 * file of its own here.
 */
#ifndef RDCP_SENDER_H
#define RDCP_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "digest.h"
#include "endpoint.h"
#include "error.h"
#include "infile.h"
#include "ioqueue.h"
#include "wire.h"

struct filter;
struct links_file;
struct peer;
struct slab;
struct stream;

/* What to send. Strings are malloc'ed; the sender takes and frees them. */
struct send_item {
	int root;                    /* see beneath.h; borrowed until file_done() */
	char *path;                  /* the source, beneath root */
	char *target;                /* FILE.path, may be "" */
	char *name;                  /* FILE.name */
	uint32_t request;            /* FILE.request */
	uint32_t flags;              /* FILE.flags, enum wire_file_flags */
	bool recurse;                /* a directory is sent with all that is in it; else it is refused */
	const struct filter *filter; /* for what is in a directory; borrowed until the sender is freed, or NULL */
	bool resume;                 /* the peer may hold a part of it: ask */
	bool ask;                    /* the peer may leave it alone: wait for its word before bytes are sent */
	bool checksum;               /* say SUM, so that the same bytes need not be sent */
	bool dense;                  /* its holes are sent as zeros */
	bool follow;                 /* symlinks in the directory are followed, not sent */
	bool hard_links;             /* and further names of a file in it become hard links */
	bool seen;                   /* a regular file, and `stat` says what it was when it was looked at */
	struct stat stat;
	struct stream *stream;    /* borrowed: the source is this and no file, `path` is only for messages; or NULL */
	char *link;               /* LINK.text, or NULL */
	enum status status;       /* not OK: it cannot be sent, and the peer is to know */
	const char *why;          /* a sentence for `status`, static storage; or NULL */
	struct links_file *first; /* the sender's own: it is the first name of that file, or NULL */
};

struct sender_events {
	/* 1: *ret_item is filled. 0: nothing now, sender_kick() when there is. -ENODATA: that was all. */
	int (*next)(void *owner, struct send_item *ret_item);
	/*
	 * Of a file at `path` of a tree, what an attempt before has made of it: STATUS_SKIPPED when it was copied and need not be sent,
	 * STATUS_JUST_MADE when another source has its place, else STATUS_OK. May be NULL.
	 */
	enum status (*wanted)(void *owner, uint32_t request, const char *path);
	/*
	 * `bytes` arrived, or would in a dry run. text is "" when status says it all; `by_peer` text is the peer's, to be escaped. Of a tree it is
	 * called for the top and each entry, with that one's flags and path (from the top of the tree). Of an item of next() the last
	 * call is the one for which send_item_is_last().
	 */
	void (*file_done)(void *owner, const struct send_item *item, uint64_t bytes, enum status status, bool by_peer,
			  const char *text);
	/* DONE: the peer keeps its promise, or says why not. */
	void (*done)(void *owner, enum status status, const char *text);
	/* After sender_stop(): no job is in flight any more. */
	void (*idle)(void *owner);
};

struct sender;

/* Was this the last that will be heard of what next() named? */
static inline bool send_item_is_last(const struct send_item *item, enum status status)
{
	if (item->flags & WIRE_FILE_BELOW)
		return false;
	return status != STATUS_OK || !(item->flags & WIRE_FILE_DIRECTORY) || (item->flags & WIRE_FILE_LEAVE);
}

/*
 * Borrows everything. The slab has the geometry that both sides agreed on and is registered; the endpoint is aimed.
 * `max_files` is the peer's. -ENOMEM.
 */
int sender_new(struct peer *peer, struct slab *slab, struct ioqueue *io, unsigned int max_files,
	       const struct sender_events *events, void *owner, struct sender **ret_sender);

/* Before the first file: the peer takes only that many at once. 0: any number. */
void sender_set_max_files(struct sender *s, unsigned int max_files);
void sender_free(struct sender *s); /* idle, and the endpoint closed; NULL is fine */

void sender_kick(struct sender *s); /* start, and again whenever next() may have more */

/* No faster than that, bytes a second; 0: no limit of ours. The receiver may ask for less. From the next piece on. */
void sender_limit(struct sender *s, uint64_t bytes_per_second);

/* Nothing more is read or announced; idle() follows, at once when no job is in flight. */
void sender_stop(struct sender *s);

/* For a progress display: the file being announced, or NULL; and bytes acknowledged so far. */
const struct send_item *sender_current(const struct sender *s, uint64_t *ret_size);
uint64_t sender_acked_bytes(const struct sender *s);
uint64_t sender_held_bytes(const struct sender *s); /* of them, those that the peer had before */

/* In trees: what is no directory and was met so far, and the bytes of it. True: of the tree that is being sent no more will be met. */
bool sender_found(const struct sender *s, uint64_t *ret_files, uint64_t *ret_bytes);

#endif
