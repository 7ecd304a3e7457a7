/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside the sending engine. sender.c: a file's life, what comes back from the peer, making and ending. sender_open.c: opening
 * it. sender_tree.c: a directory's entries, one after the other. sender_fill.c: bytes from files into slots.
 * sender_attributes.c: owner and extended attributes. sender_announce.c: what is said to the peer, in order. Only these
 * include this.
 */
#ifndef RDCP_SENDER_IMPL_H
#define RDCP_SENDER_IMPL_H

#include <limits.h>
#include <stdatomic.h>

#include "attributes.h"
#include "digest.h"
#include "endpoint.h"
#include "infile.h"
#include "ioqueue.h"
#include "links.h"
#include "loop.h"
#include "rate.h"
#include "sender.h"
#include "slab.h"
#include "window.h"

#define OPEN_AHEAD 16 /* files opened before their turn; those that will share a slot are opened when they are read */
#define PACK_FILES 64 /* that share a slot at most */
#define PACK_ALIGN 64 /* where each begins in it: a cache line */

enum file_state {
	FILE_FREE,
	FILE_OPENING,   /* a worker opens it */
	FILE_READY,     /* open (or failed to), waiting for its turn or being sent */
	FILE_CHECKING,  /* everything was read; a worker looks whether it is still the same file */
	FILE_CHECKED,   /* closed here; CLOSE or ABORT can be said */
	FILE_ANNOUNCED, /* CLOSE or ABORT was said: waits for the RESULT */
};

struct send_file {
	struct sender *sender;
	struct send_file *next; /* in the queue, or among the free */
	struct send_item item;
	enum file_state state;
	struct infile in;
	struct io_job job; /* open, then check and close: one at a time */
	int job_result;    /* the worker's, for its done() */
	struct digest digest;
	uint32_t id; /* of FILE, once begun */
	bool begun;  /* FILE was said */
	bool has_sum, sum_said;
	uint8_t sum[WIRE_DIGEST_SIZE];
	bool link_said;               /* and LINK, if there is one */
	bool all_filled;              /* no further fill will be started */
	bool whole;                   /* it fits one slot: read, checked and closed in one job */
	bool packed;                  /* and shares it, and is opened in that job, too */
	bool ahead;                   /* counts in opened_ahead */
	unsigned int filling;         /* chunks a worker has */
	unsigned int unsent;          /* chunks filling, or filled and not announced */
	uint64_t next_offset;         /* first byte not being filled */
	uint64_t announced;           /* bytes named by DATA */
	struct attributes attributes; /* read with it; gone when they are said */
	size_t attributes_len, attributes_said, attributes_counted; /* counted: in the sender's sum */
	char why[ATTRIBUTES_WHY_MAX];                               /* they could not be read, or "" */
	enum status status;                                         /* first failure on this side */
	bool asks;                                                  /* HAVE is waited for */
	bool resume;                                                /* and tells what of it need not be sent */
	bool have_all;                                              /* the last HAVE was heard */
	uint64_t *have, have_count, have_room;                      /* hashes of pieces that the receiver holds */
	uint64_t have_heard; /* pieces it told of; more than have_count: the rest was too much to remember */
	char text[WIRE_TEXT_MAX + 1];
	bool have_result;
	enum status result;
	bool result_same; /* it was skipped for what has the same content */
	char result_text[WIRE_TEXT_MAX + 1];
};

/* A piece of a file, from the start of reading it until it is announced. */
struct send_chunk {
	struct send_file *file;
	struct send_slot *slot;
	struct send_chunk *next; /* in the slot, or among the free */
	size_t slot_off;
	uint64_t offset;
	size_t want;
	ssize_t got; /* bytes read, or negative errno; 0 when they are not worth sending */
	uint64_t hash;
	int check; /* infile_check() of a whole file */
};

/* What is in slot i of the slab: one chunk, or those of several small files. */
struct send_slot {
	struct sender *sender;
	struct io_job job;
	struct endpoint_work work;
	struct send_chunk *chunks, **chunks_tail;
	unsigned int count;  /* chunks in it */
	unsigned int unsaid; /* of them, neither announced nor dropped yet */
	unsigned int good;   /* of those, how many hold what their file is */
	size_t used;
	uint64_t bytes; /* announced */
	bool filled, posted, written, acked;
};

struct tree;

struct sender {
	struct peer *peer;
	struct slab *slab;
	struct ioqueue *io;
	const struct sender_events *events;
	void *owner;
	struct loop_task pump_task;

	unsigned int max_files;  /* that there is room for */
	unsigned int id_span;    /* that may be between FILE and RESULT */
	struct send_file *files; /* max_files of them */
	struct send_file *free_files;
	struct send_file **by_id;              /* by FILE id modulo id_span */
	struct send_file *queue, **queue_tail; /* not wholly announced yet, in order */
	struct send_file *filling;             /* whose bytes are read next; within the queue, NULL at its end */
	unsigned int opened_ahead;             /* files in the queue */
	unsigned int busy_files;

	struct tree *tree;         /* being sent, or NULL */
	struct send_file *opening; /* might be a directory: nothing else is taken before that is known */

	struct rate rate; /* the lower of the two limits, 0: none */
	uint64_t own_limit, peer_limit;
	struct loop_timer pace; /* fills go on then */
	struct window window;
	struct send_slot *slots;   /* slab->slots of them */
	struct send_slot *pack;    /* being filled up with small files, not with a worker yet; or NULL */
	struct send_chunk *chunks; /* one for each slot and one for each file */
	struct send_chunk *free_chunks;
	struct send_chunk **order; /* ring of chunks in order of filling, as long as there are chunks */
	unsigned int order_size, order_head, order_count;

	size_t attributes_len; /* of the files that were begun */
	uint32_t next_id;
	unsigned int jobs;
	bool no_more, end_sent;
	atomic_bool stopped;               /* workers look at it, too */
	uint64_t acked_bytes, held_bytes;  /* held: of the acked ones, those that the peer had before */
	uint64_t found_files, found_bytes; /* below tops */
};

/* sender.c */
void sender_schedule(struct sender *s); /* the pump runs at the end of the round */
void sender_submit(struct sender *s, struct io_job *job, void (*run)(struct io_job *), void (*done)(struct io_job *));
bool sender_job_ended(struct sender *s);     /* first in every done(); false: stopped, only the counting matters */
void send_item_done(struct send_item *item); /* frees its strings */
void send_file_fail(struct send_file *f, enum status status, const char *text);
void send_file_fail_errno(struct send_file *f, int error);
bool send_file_has_more(const struct send_file *f); /* to read, from next_offset on */
void send_file_maybe_check(struct send_file *f);    /* all was read, or nothing more will be */
void send_file_finish(struct send_file *f); /* CLOSE or ABORT was said and RESULT heard, or the peer never knew of it */
void send_slot_maybe_free(struct send_slot *slot); /* if nobody needs it any more */
void send_slot_on_written(struct endpoint_work *w, int status);

/* sender_tree.c: s->tree, from before its top is opened until its last RESULT. */
int sender_tree_new(struct sender *s, const struct send_item *top);
int sender_tree_open(struct sender *s, struct send_file *f);        /* worker; -ENOTDIR: the top is no directory */
void sender_tree_begin(struct sender *s, struct send_file *f);      /* f becomes the entry of the top itself */
int sender_tree_next(struct sender *s, struct send_item *ret_item); /* as events->next; -ENODATA: over, and freed */
void sender_tree_top_done(struct sender *s, bool good); /* RESULT of the top: the rest may follow, or will not */
int sender_on_here(void *engine, const struct wire_record *rec);
void sender_tree_lost(struct sender *s, enum status status); /* something that cannot even be named was not sent */
void sender_tree_lost_for(struct sender *s, int error);      /* the same, for want of memory or whatever it was */
void sender_tree_first_done(const struct send_item *item, enum status status,
			    bool same);                  /* item->first was copied, or not */
void sender_tree_dir_refused(const struct send_file *f); /* what is in it need not be sent */
void sender_tree_cancel(struct sender *s);               /* a job that reads shall end soon */
bool sender_tree_is_walked(const struct sender *s);      /* all entries were named; or there is no tree */
void sender_tree_free(struct sender *s);

/* What is read at once: a slot, or less so that a limit is kept smoothly. */
static inline size_t sender_piece(const struct sender *s)
{
	return rate_piece(&s->rate, s->slab->slot_size);
}

/* How entries are opened: by their path from the top; what it leads through depends on item.follow. Worker. */
int sender_tree_whole_path(struct sender *s, const char *path, int *ret_root, char ret_path[static PATH_MAX]);
int sender_tree_open_below(struct sender *s, const char *path, int flags);

/* sender_attributes.c */
int send_file_read_attributes(struct send_file *f, int fd, const struct stat *st); /* worker; fills f->why on failure */
bool send_file_start_attributes(struct send_file *f); /* of what has no bytes; false: there are none to be read */
bool send_file_has_attributes_room(const struct send_file *f); /* at the peer */
void send_file_count_attributes(struct send_file *f);          /* they take that room from now on */
bool send_file_say_attributes(struct send_file *f);            /* false: it has to wait */

/* sender_open.c: FILE_READY when that is done. */
void send_file_open(struct send_file *f);

static inline bool send_file_is_dry(const struct send_file *f)
{
	return f->item.flags & WIRE_FILE_DRY_RUN;
}

/* sender_fill.c: starts reading into every slot that may be filled. */
void sender_fill(struct sender *s);

/* sender_resume.c */
void send_file_ask(struct send_file *f);             /* it is open now: decides whether HAVE is to be waited for */
bool send_file_must_wait(const struct send_file *f); /* for HAVE, before more of it is read */
/* A piece from next_offset to `last` of which the receiver has anything. */
bool send_file_next_held(const struct send_file *f, uint64_t last, uint64_t *ret_offset);
int sender_on_have(void *engine, const struct wire_record *rec);
bool send_file_may_be_held(const struct send_file *f, uint64_t offset); /* a whole piece that begins there */
bool send_chunk_is_held(const struct send_chunk *c);
void send_file_forget_have(struct send_file *f);

/* sender_announce.c: says everything that is ready. */
void sender_announce(struct sender *s);

#endif
