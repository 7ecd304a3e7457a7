/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Slots -> files: the half of the copy engine that stores. The daemon of a push and the client of a pull run the same one.
 *
 * FILE opens a temporary on a worker; DATA checks the hash of the bytes in the slot and writes them, on a worker, as soon as
 * the file is open, and acknowledges the slot; CLOSE compares size and digest and gives the file its attributes. Unless told
 * otherwise by the FILE's flags, whole files wait under their temporary names until a batch of them is made durable together
 * (synced, renamed, directories synced), and only then is their RESULT sent: so a RESULT of STATUS_OK is a file on stable
 * storage, and no rename ever precedes its data. Every failure removes the temporary before it is reported.
 */
#ifndef RDCP_RECEIVER_H
#define RDCP_RECEIVER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "ioqueue.h"
#include "wire.h"

struct peer;
struct slab;
struct stream;

#define RECEIVER_MAX_FILES 256 /* between FILE and RESULT in one session, see descriptors.h */

/* Where a file goes, see outfile_create(). */
struct receive_place {
	int root;            /* borrowed until file_done() */
	char path[PATH_MAX]; /* in file_done(): of the file, also when it was a directory */
	char name[NAME_MAX + 1];
	size_t below;          /* of an entry of a tree: where in `path` its path from the top begins; else 0 */
	uint64_t size;         /* in file_done(): what the sender said; a link or a directory has none */
	unsigned int flags;    /* enum place_flags */
	struct stream *stream; /* borrowed: it goes here and `path` is only for messages; or NULL */
	/* Said to the sender of each file that loses mode bits since `wishes` has not got SPECIAL; static storage, NULL: nothing */
	const char *remark;
	uint32_t
		wishes; /* enum wire_file_flags: the sender's; those of WIRE_FILE_WISHES place() may replace by its own */
};

struct receiver_events {
	/*
	 * Decides, for a single file or the top of a tree; what is below a top goes where that went, with the same wishes. Anything
	 * but STATUS_OK refuses the file, with `text` (WIRE_TEXT_MAX + 1 bytes) for the sender.
	 */
	enum status (*place)(void *owner, const struct wire_file *file, struct receive_place *ret_place, char *text);
	/*
	 * Of an entry of a tree, what an attempt before has made of it: STATUS_SKIPPED when it is here already, STATUS_JUST_MADE when
	 * another source's is, else STATUS_OK. May be NULL.
	 */
	enum status (*wanted)(void *owner, const struct receive_place *place, uint32_t request);
	/*
	 * STATUS_SKIPPED: the destination stays, as was wished. In a dry run `bytes` is what it has, and STATUS_OK that it would be stored.
	 * Also for each entry of a tree; receive_place_is_last() says when that was all for a request.
	 */
	void (*file_done)(void *owner, const struct receive_place *place, uint32_t request, uint64_t bytes,
			  enum status status, const char *text);
	/* A GET of ours that never became a file. Pull only, else NULL. Negative errno: not a GET of ours. */
	int (*refused)(void *owner, uint32_t request, enum status status, const char *text);
	/* END was reached and DONE is on its way. */
	void (*done)(void *owner);
	/* After receiver_stop(): no job is in flight any more. */
	void (*idle)(void *owner);
};

struct receiver;

static inline bool receive_place_is_last(const struct receive_place *place, enum status status)
{
	if (place->wishes & WIRE_FILE_BELOW)
		return false;
	return status != STATUS_OK || !(place->wishes & WIRE_FILE_DIRECTORY) || (place->wishes & WIRE_FILE_LEAVE);
}

/* enum wire_file_flags -> enum place_flags */
unsigned int receive_place_flags(uint32_t wishes);

/* Borrows everything. `slab` is the one the peer writes into. -ENOMEM. */
int receiver_new(struct peer *peer, struct slab *slab, struct ioqueue *io, const struct receiver_events *events,
		 void *owner, struct receiver **ret_receiver);

/* Before the first file: no more than that between FILE and RESULT, 1 to RECEIVER_MAX_FILES. The sender has to know. */
void receiver_set_max_files(struct receiver *r, unsigned int max_files);

/* Idle, and the endpoint closed. Removes what is unfinished: blocks. NULL is fine. */
void receiver_free(struct receiver *r);

/*
 * No faster than that from now on, bytes a second: asks the sender, and keeps slots and DONE back from one that does not comply. 0: no limit.
 * Not before the peer may be talked to.
 */
void receiver_limit(struct receiver *r, uint64_t bytes_per_second);

/*
 * Where temporaries that may be gone on with are kept: in this directory beside each destination, made when it is missing and removed when
 * it is empty. -EINVAL: it is not one name. -EALREADY: after the first file, or for the second time.
 */
int receiver_keep_partials_in(struct receiver *r, const struct wire_text *name);

/* Before the first FILE. RESULTs have no texts from then on: where files go at the receiver, and why not, is not the sender's affair. */
void receiver_be_discreet(struct receiver *r);

/* Nothing more is stored; idle() follows, at once when no job is in flight. */
void receiver_stop(struct receiver *r);

/* For a progress display: the newest file, or NULL; bytes stored so far. */
const struct receive_place *receiver_current(const struct receiver *r, uint64_t *ret_size);
uint64_t receiver_stored_bytes(const struct receiver *r);
uint64_t receiver_held_bytes(const struct receiver *r); /* of them, those that were here before */

/* What is no directory and was named so far, and the bytes of it. */
void receiver_found(const struct receiver *r, uint64_t *ret_files, uint64_t *ret_bytes);

#endif
