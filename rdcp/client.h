/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One run of rdcp: a session with one host, in one direction. client.c is its life; push.c and pull.c are what the two directions do
 * differently: name the files, decide where they go, tell what became of them.
 */
#ifndef RDCP_CLIENT_H
#define RDCP_CLIENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <uuid/uuid.h>

#include "common/filter.h"
#include "common/ioqueue.h"
#include "common/key.h"
#include "common/loop.h"
#include "common/peer.h"
#include "common/receiver.h"
#include "common/sender.h"
#include "common/slab.h"
#include "common/stream.h"
#include "common/subtrees.h"
#include "common/forecast.h"
#include "ask.h"
#include "connect.h"
#include "hint.h"
#include "retry.h"
#include "options.h"
#include "output.h"

/* One operand that is a source. */
struct client_source {
	const char *path; /* local, or at the host; borrowed from the options, or `own` */
	char *own;        /* a path that is no operand, or NULL */
	char *target;     /* the directory it goes into, made if it is missing; NULL: where the options say */
	char *name;       /* its last component, owned */
	bool stream;      /* push: standard input, and `path` is what that is called */
	bool exact;       /* it has none ("..", "/"): what is in it goes into the destination itself */
	struct stat stat; /* push: when it was looked at */
	char *top;        /* of a tree that was begun: where it is, owned; or NULL */
	bool settled;     /* copied, or failed and told */
	bool copied;
	bool dropped;          /* it is named more than once, see once.h */
	uint64_t files, bytes; /* settled, of it or in it; bytes: to be copied */
	struct subtrees lost;  /* directories in it that could not be made, in this attempt */
};

struct client {
	const struct options *options;
	struct hint_peer hint;
	struct key key;
	bool have_key;

	struct ask ask; /* pull */
	struct filter filter;
	struct remove_list *removed; /* push: sources to be removed at the end, see remove.h; or NULL */
	struct client_source *sources;
	unsigned int source_count, next_source;
	unsigned int *asked;      /* pull: the source that request i of this attempt is for */
	unsigned int asked_count; /* of those that were not settled when it began */
	unsigned int settled;
	bool sized;                        /* total_bytes is of all that there is to copy */
	uint64_t total_bytes;              /* of sources that are files, in a push */
	unsigned int plain_sources;        /* push: which are so many, with those that cannot be sent */
	uint64_t below_files, below_bytes; /* settled, of trees */
	uint64_t dropped_bytes;            /* that were to be copied, and are not going to be */
	struct {
		uint64_t files, bytes, below_files, below_bytes;
		uint64_t whole_files, whole_bytes; /* of sources that are settled as a whole, and were to be copied */
	} before;                                  /* this attempt: settled, and copied */
	struct wire_total total;                   /* pull: what the daemon says of this attempt */
	bool total_heard;
	uint64_t held_bytes; /* were at the receiver before, from a copy that was interrupted */
	int signal;          /* that ended us, or 0 */
	struct retry retry;
	struct names places; /* where something was copied to, see once.h */
	struct output output;
	struct output_end end;
	char moving[NAME_MAX + 1]; /* the name that is shown */
	char transfer[UUID_STR_LEN];

	struct loop loop;
	struct loop_source signal_source;
	struct loop_timer redraw, give_up, begin;
	const struct addrinfo *addresses; /* of the host, while an attempt runs */
	struct connect connect;
	struct peer peer;
	struct slab slab;
	struct ioqueue *io;
	struct stream stream;         /* standard input or output, when it is copied */
	struct sender *sender;        /* push */
	struct forecast forecast;     /* push: what its directories come to, if that is shown */
	struct receiver *receiver;    /* pull */
	bool window_sent, gets_ended; /* pull */
	bool partial_said;            /* push */
	unsigned int next_rule;       /* pull: of the filter, to be said */
	unsigned int max_files;       /* that may be open at once, as both sides say */
	unsigned int descriptors;     /* taken for that */
	uint64_t base;                /* of our slab, for the daemon to write to */
	uint32_t rkey;
	bool waiting; /* for the next attempt */
	bool connected, closed, idle;
	bool abandoned; /* interrupted, and some worker does not come back: nothing may be freed */
	bool promised;  /* DONE: all that RESULTs said is on stable storage */
	bool told;      /* why the session ends early was told already */
};

/* Copies; returns an enum exitcode. Everything that went wrong was told. */
int client_run(const struct options *o);

/* For push.c and pull.c. */

/* What became of a source, or of something in it: `below` is then its path from there, else NULL. */
struct client_outcome {
	const char *below;
	const char *destination; /* NULL: what the user said */
	bool top;                /* a tree's, which is at `destination`: the entries follow */
	bool directory;
	bool last;      /* and nothing more will be heard of the source */
	uint64_t bytes; /* that were copied */
	uint64_t size;  /* that were to be */
	unsigned int status;
	const char *text;
};

/* What an attempt before has made of what is at `below` of a tree, or of its place: as sender_events.wanted. */
enum status client_wants(const struct client *c, uint32_t source, const char *below);
void client_settle(struct client *c, struct client_source *source, const struct client_outcome *o);
void client_on_idle(void *owner);
void client_on_counted(void *owner); /* the forecast rests */
/* Somebody watches: it is worth while to know how much there is. */
bool client_wants_total(const struct client *c);
/* Where it goes, as the receiver is to take it: FILE.path, or a local path. */
const char *client_target(const struct client *c, const struct client_source *source);
/* What is there may be left alone, file by file: better ask before sending. */
static inline bool client_may_skip(const struct options *o)
{
	return o->update || o->skip_held || o->checksum;
}

/* What was beneath directories that could not be made, when nothing more is heard of the source. */
void client_tell_lost(struct client *c, struct client_source *source);

/* enum wire_file_flags that the options ask for */
unsigned int client_file_flags(const struct client *c, const struct client_source *source);

/* push.c: looks at the sources before anything else; those that cannot be sent are settled. */
void push_check_sources(struct client *c);
int push_start(struct client *c);

/* measure.c: how far it is */
void measure_begin(struct client *c);           /* an attempt begins */
void measure(struct client *c);                 /* brings the progress up to date */
uint64_t measure_bytes(const struct client *c); /* that this attempt has brought */
void measure_end(struct client *c);             /* it ends; the engines are still there */

/* pull.c */
int pull_choose_sources(struct client *c); /* before each attempt; -ENOMEM */
int pull_start(struct client *c);
void pull_on_writable(struct client *c);
int pull_on_record(struct client *c, const struct wire_record *rec); /* -EPROTO */

#endif
