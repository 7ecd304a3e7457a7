/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside the receiving engine. receiver.c: records, a file's entry, making and ending. receiver_place.c: where files go.
 * receiver_create.c: what is made, and in which order. receiver_choose.c: whether at all. receiver_attributes.c: what ATTRIBUTES
 * say. receiver_store.c: bytes from slots into files. receiver_pace.c: how fast. receiver_commit.c: whole files made durable,
 * failed ones removed. Only these include this.
 */
#ifndef RDCP_RECEIVER_IMPL_H
#define RDCP_RECEIVER_IMPL_H

#include <stdatomic.h>

#include "attributes.h"
#include "buffer.h"
#include "digest.h"
#include "ioqueue.h"
#include "layout.h"
#include "loop.h"
#include "made.h"
#include "names.h"
#include "outfile.h"
#include "rate.h"
#include "receiver.h"

#define FLUSH_WAIT (SEC / 2) /* how long whole files wait for others before they are made durable together, ns */

enum file_state {
	FILE_FREE,
	FILE_QUEUED,     /* waits for its turn to be made; chunks wait */
	FILE_OPENING,    /* a worker makes the temporary; chunks wait */
	FILE_OPEN,       /* chunks are stored as they come */
	FILE_VERIFYING,  /* a worker reads it again */
	FILE_FINISHING,  /* a worker gives it size and attributes */
	FILE_STAGED,     /* whole, under its temporary name */
	FILE_FLUSHING,   /* a worker syncs and renames it, with others */
	FILE_DISCARDING, /* a worker removes the temporary */
	FILE_REPORTING,  /* RESULT is to be sent */
	FILE_REPORTED    /* RESULT was sent; CLOSE or ABORT is yet to come */
};

/* A top, or a directory below one that files are made in: opened once for all that come one after the other. */
struct receive_dir {
	struct receive_dir *top; /* it is below, one of its users; NULL: it is one */
	bool made;               /* a top: it was not there before */
	unsigned int users;      /* files, and the receiver while it is the newest */
	int fd;                  /* O_PATH; -1: not open */
	bool opened;             /* or failed to */
	int error;               /* why not, negative errno */
	uint64_t synced;         /* the flush that synced it last; the flush job's */
	int sync_error;
	char path[]; /* as seen from the top, "" for the top itself */
};

struct receive_held;

struct receive_chunk {
	struct receiver *receiver;
	struct receive_file *file;
	struct receive_chunk *next; /* waiting for the file to open, or free */
	struct io_job job;
	struct wire_data data;
	enum status result;
	int error; /* negative errno behind `result`, or 0 */
};

struct receive_file {
	struct receiver *receiver;
	enum file_state state;
	struct receive_place place;
	struct wire_file said; /* its texts are not kept */
	struct outfile out;
	struct io_job job;
	int job_error;
	bool looked_at;               /* and not to be left alone: the sender that asked was told */
	bool parked;                  /* queued, but in no queue before more is heard of it */
	const char *skip;             /* why it is not to be stored, or NULL; static storage, the worker's */
	bool sync_failed;             /* the job did, but only at that: STATUS_UNSYNCED */
	bool same;                    /* and what is there is that; the worker's, too */
	bool at_destination;          /* the job failed before there was anything of it */
	struct receive_file *next;    /* queued, staged, in a flush, or to be reported */
	struct receive_dir *dir;      /* below a top: where it is made; of a top that is left: that */
	int top;                      /* of a top that was made: its descriptor, for the receiver */
	struct wire_here here;        /* which directory that is */
	bool here_due;                /* and it is to be said, before RESULT */
	bool dir_made;                /* a directory: it was not there before */
	bool sets_mode;               /* a directory that is left: it gets the mode that was said */
	char *link;                   /* what LINK said, or NULL */
	struct buffer blob;           /* what ATTRIBUTES have said so far */
	struct attributes attributes; /* the same from CLOSE on, borrows blob */
	char why[ATTRIBUTES_WHY_MAX]; /* what of them could not be given to it, or "" */
	bool has_sum;                 /* SUM was heard */
	uint8_t sum[WIRE_DIGEST_SIZE];
	struct receive_held *held; /* while HAVEs are due, or NULL */
	uint64_t held_pieces;      /* that a DATA_HELD may name */
	struct digest digest;
	struct receive_chunk *waiting, **waiting_tail;
	struct layout layout; /* WIRE_FILE_VERIFY: in which pieces it came */
	struct layout_walk verify_at;
	bool verified;        /* read again to its end, with whatever result */
	bool storing;         /* of a stream: a worker has a chunk, the others wait */
	unsigned int pending; /* chunks with a worker or waiting; and the job below */
	struct io_job ahead;  /* sends to the device what will have to be synced */
	bool ahead_busy;
	uint64_t unsynced;  /* bytes stored since it began */
	uint64_t received;  /* bytes announced by DATA */
	uint64_t end;       /* where the last of them ends in the file */
	bool closed, ended; /* CLOSE was heard; CLOSE or ABORT was */
	struct wire_close close;
	enum status status; /* first failure */
	char text[WIRE_TEXT_MAX + 1];
};

struct receive_slot {
	uint16_t pending; /* chunks in it not stored yet */
	size_t used;      /* where the last of them ends: no byte of it is stored twice before it was acknowledged */
	bool last;        /* the peer said that no more will be named */
	bool due;         /* among `acks`: not the peer's yet */
};

struct receiver {
	struct peer *peer;
	struct slab *slab;
	struct ioqueue *io;
	const struct receiver_events *events;
	void *owner;
	struct loop_task step_task;

	struct receive_file files[RECEIVER_MAX_FILES]; /* by number modulo this */
	uint64_t
		places[RECEIVER_MAX_FILES]; /* hashes of where those go that were begun; 0: nobody else can want that */
	unsigned int busy_files, max_files;
	uint32_t next_file; /* FILE numbers count up */
	struct receive_file *newest;
	struct receive_file *queue, **queue_tail; /* to be made */
	bool barrier;                             /* nothing else is made until what is being made is there */
	struct io_job dir_job;
	struct receive_dir *dir; /* the newest, or NULL */
	/* The top of the tree that is being received */
	struct receive_dir *top; /* or NULL */
	uint32_t top_request;
	struct receive_place top_place;
	struct made made; /* by this session */
	struct names
		narrow; /* directories made here that could not be filled with the mode they are to have; by mode and path */
	size_t narrow_taken; /* of the session's memory, for them */
	struct receive_file *staged, **staged_tail;
	unsigned int staged_count;
	bool flush_wanted;  /* the next in the queue wants the place of one of them */
	uint64_t staged_ns; /* when the first of them was */
	struct loop_timer flush_timer;
	uint64_t flushes;
	struct receive_file *flushing;
	struct io_job flush_job;
	struct receive_file *reports, **reports_tail; /* whose RESULT is due */

	struct receive_chunk *chunks, *free_chunks;
	struct receive_slot *slots;
	uint16_t *acks; /* slots to acknowledge */
	unsigned int ack_count;
	struct receive_held *held_due; /* whose HAVE is due */
	unsigned int layout_runs;      /* of all files */
	struct rate rate;              /* what the sender was asked to keep */
	bool limit_due;                /* and is to be told */
	struct loop_timer pace;        /* acknowledgements go on then */

	size_t attributes_len; /* of all files */
	unsigned int jobs;
	bool end_heard, done_sent;
	atomic_bool stopped;               /* workers look at it, too */
	bool discreet;                     /* the sender hears statuses, and no texts */
	char partial_dir[NAME_MAX + 1];    /* "": temporaries are beside their destinations */
	uint64_t stored_bytes, held_bytes; /* held: of the stored ones, those that were here before */
	uint64_t found_files, found_bytes;
};

/* receiver.c */
void receiver_schedule(struct receiver *r); /* a step at the end of the round: what is due to the peer */
void receiver_submit(struct receiver *r, struct io_job *job, void (*run)(struct io_job *),
		     void (*done)(struct io_job *));
void receiver_submit_quick(struct receiver *r, struct io_job *job, void (*run)(struct io_job *),
			   void (*done)(struct io_job *)); /* see ioqueue_submit_quick() */
bool receiver_job_ended(struct receiver *r); /* first in every done(); false: stopped, only the counting matters */
void receive_file_fail(struct receive_file *f, enum status status, const char *text);
void receive_file_fail_errno(struct receive_file *f, int error);
void receive_file_fail_at_destination(struct receive_file *f, int error); /* not the source's fault */
void receive_file_fail_unsynced(struct receive_file *f, int error);       /* it is there and has its name */
void receive_file_report(struct receive_file *f);                         /* RESULT is due */

/* receiver_pace.c */
bool receiver_must_wait(struct receiver *r);  /* its sender was too fast; it is scheduled when that is over */
bool receiver_keeps_back(struct receiver *r); /* the same, as long as it may send more */
void receiver_say_limit(struct receiver *r);  /* if it is due and there is room */
void receiver_on_pace(struct loop_timer *t);

/* receiver_place.c */
int receiver_place(struct receiver *r, struct receive_file *f, const struct wire_file *said); /* -EPROTO, -ENOMEM */
void receive_place_append(struct receive_place *place, const char *name);
bool receiver_take_place(struct receiver *r, struct receive_file *f); /* false: another one is on its way there */
struct receive_dir *receive_dir_new(const struct wire_text *path);    /* not opened; or NULL */
void receive_dir_release(struct receive_dir *dir);                    /* NULL is fine */

/* receiver_create.c */
void receiver_queue(struct receiver *r, struct receive_file *f);
void receiver_forget_narrow(struct receiver *r);
void receive_file_unpark(struct receive_file *f); /* more is heard of it */
void receiver_create_queued(struct receiver *r);  /* as far as what is before is there */

static inline uint32_t receive_file_kind(const struct receive_file *f)
{
	return f->said.flags & (WIRE_FILE_DIRECTORY | WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK);
}

static inline bool receive_file_is_link(const struct receive_file *f)
{
	return f->said.flags & (WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK);
}

/* receiver_attributes.c */
bool receive_file_keeps(const struct receive_file *f); /* more than mode and times */
int receive_file_add_attributes(struct receive_file *f, const struct wire_attributes *said); /* -EPROTO, -ENOMEM */
int receive_file_close_attributes(struct receive_file *f); /* -EBADMSG: they are none */
void receive_file_drop_attributes(struct receive_file *f);
struct outfile_attrs receive_file_attrs(struct receive_file *f); /* borrows f */
/* receiver_resume.c */
uint64_t receive_file_id(const struct wire_file *said);     /* what makes two FILEs the same file, as far as they say */
uint64_t receive_file_pieces(const struct receive_file *f); /* whole ones in what is left of it */
void receive_file_look_for_held(struct receive_file *f);
int receive_file_take_held(struct receive_file *f, const struct wire_data *data); /* -EPROTO */
void receiver_say_held(struct receiver *r);
void receive_file_forget_held(struct receive_file *f);

static inline bool receive_file_is_dry(const struct receive_file *f)
{
	return f->said.flags & WIRE_FILE_DRY_RUN;
}

/* receiver_choose.c, for workers */
bool receive_file_choose(struct receive_file *f);      /* true: make it; else `skip` says why not, or it is a dry run */
void receive_file_look_at_dir(struct receive_file *f); /* in a dry run, instead of making it */

/* receiver_store.c */
void receive_chunk_store(struct receive_chunk *c);       /* or drops it, when its file is lost */
void receive_file_store_waiting(struct receive_file *f); /* the file is open now */
void receive_file_write_waiting(struct receive_file *f); /* worker: all of them, for receive_file_drop_waiting() */
void receive_file_drop_waiting(struct receive_file *f);  /* they were dealt with: their slots are free */
void receiver_send_acks(struct receiver *r);

/* receiver_verify.c */
static inline bool receive_file_is_to_verify(const struct receive_file *f)
{
	return (f->said.flags & WIRE_FILE_VERIFY) && !receive_file_kind(f) && !f->place.stream;
}
void receive_file_note_piece(struct receive_file *f, uint64_t offset, uint32_t len); /* in the order of the digest */
void receive_file_drop_layout(struct receive_file *f);
void receive_file_verify(struct receive_file *f); /* it is whole; FILE_OPEN again when that is done */

/* receiver_commit.c */
void receive_file_maybe_leave_open(struct receive_file *f); /* to the next station, if no chunk is with a worker */
bool receive_file_adds_up(const struct receive_file *f);    /* CLOSE was heard: the chunks are those that were read */
void receive_file_finish(struct receive_file *f);           /* worker: attributes, and its name if it is not to wait */
void receive_file_finished(struct receive_file *f);         /* staged, or reported */
void receiver_maybe_flush(struct receiver *r);

#endif
