/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A whole session in one process: two ends over the connected endpoints of endpoint_pair.h, on one loop, with real files in the
 * temporary directory of tree.h. Each end is a sending engine, a receiving engine, or an actor: the test itself, which says and
 * hears single records, right or wrong.
 *
 *   session_init -> files, options -> session_run -> look at verdicts and ends -> session_done
 *
 * Sources are paths relative to the current directory, destinations are beneath `root`. Whatever comes of it, session_run()
 * returns when both endpoints are closed and both engines idle, or fails the test after ten seconds.
 */
#ifndef TESTS_ENGINE_PAIR_H
#define TESTS_ENGINE_PAIR_H

#include "common/peer.h"
#include "common/receiver.h"
#include "common/sender.h"
#include "common/util.h"
#include "endpoint_pair.h"

#define SESSION_FILES 256

enum end_role { END_ACTOR, END_SENDER, END_RECEIVER };

/* What became of a file, as one end was told. An actor fills in the RESULTs that it heard. */
struct verdict {
	unsigned int calls;
	enum status status;
	uint64_t bytes;
	bool by_peer;
	char text[WIRE_TEXT_MAX + 1];
};

struct session_end {
	struct session *session;
	struct side *side;
	enum end_role role;
	struct peer peer;
	struct ioqueue *io;
	struct sender *sender;
	struct receiver *receiver;
	bool told_closed, idle;
	unsigned int done; /* how often the engine said that all is done */
	enum status done_status;
	struct verdict verdicts[SESSION_FILES]; /* by the index of the file; of a tree the last word */
	unsigned int entries, failed_entries;   /* of trees, their tops' first words included */
	enum status entry_status;               /* of the last that failed, and which it was */
	char entry_path[256], entry_text[WIRE_TEXT_MAX + 1];
	/* An actor: */
	unsigned int heard[WIRE_TYPE_END];
	enum status error; /* of the ERROR that it heard */
	char error_text[WIRE_TEXT_MAX + 1];
	bool stays; /* does not hang up after ERROR and DONE */
	void (*begin)(struct session_end *e);
	void (*react)(struct session_end *e, const struct wire_record *rec);
	struct post posts[8]; /* its WRITEs */
};

struct session_file {
	char from[128], to[128];
	const char *target, *name; /* said instead of `to` and the last component of `from`; may be NULL */
	uint32_t flags;
	bool recurse, follow, hard_links, resume, ask, dense;
	const struct stat *seen; /* what it was when it was looked at, or NULL */
};

struct session {
	struct pair pair;
	struct session_end client, server;
	struct session_end *from, *to; /* the sender's end and the other */
	int root;
	unsigned int threads, max_files;
	uint64_t silence_ns;
	uint64_t sender_limit, receiver_limit; /* bytes a second; 0: none */
	struct budget *memory;                 /* of the engine, or NULL */
	unsigned long
		fault; /* with RDCP_FAULTS: the call that is to fail once the engines run, see tests/fault.h; 0: none */
	int fault_error;
	struct session_file files[SESSION_FILES];
	unsigned int count, next;
	struct stream *stream; /* where all files go instead, or NULL */
	/* Asked for every file before it is placed; may be NULL. */
	enum status (*place)(struct session *s, const struct wire_file *file, char *text);
};

/* `server_sends`: a pull. The roles of the ends: a sender or an actor in its place, a receiver or an actor in its place. */
void session_init(struct session *s, int transport, int root, bool server_sends, enum end_role from, enum end_role to);
void session_add(struct session *s, const char *from, const char *to, uint32_t flags);
void session_add_tree(struct session *s, const char *from, const char *to, uint32_t flags);
void session_run(struct session *s);
void session_done(struct session *s);

/* Both engines came to a good end, every file has its one verdict at both ends, and no slot is missing. */
void session_expect_orderly(const struct session *s);
/* Both ends say so of this file. */
void session_expect(const struct session *s, unsigned int i, enum status status);
/* The end's session ended for this reason, as it found itself (not by the peer's word). */
void end_expect(const struct session_end *e, enum status status);

/* For actors. */
void actor_say(struct session_end *e, const struct wire_record *rec);
void actor_say_bytes(struct session_end *e, const void *bytes, size_t len);
/* FILE `number` to `to`; DATA of all `len` bytes of `bytes` in slot `slot`, written there first; CLOSE that fits it. */
void actor_say_file(struct session_end *e, uint32_t number, const char *to, uint32_t flags);
struct wire_record actor_data(struct session_end *e, uint32_t file, unsigned int slot, const void *bytes, size_t len);
struct wire_record actor_close(uint32_t file, const struct wire_record *data);
void actor_say_end(struct session_end *e, uint64_t files);

/* Files: `size` bytes that no other seed has. Temporaries in root, and in one level of directories beneath it. */
void make_file(const char *path, size_t size, unsigned int seed);
void expect_same_file(const char *a, const char *b);
bool same_file(const char *a, const char *b);
unsigned int count_temps(const char *path);

#endif
