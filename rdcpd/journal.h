/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The daemon's log with fields, where it ends in the journal: TRANSFER_ID, PEER, CLIENT for every line of a session,
 * MESSAGE_ID for what the catalogue (systemd/rdcpd.catalog) explains, FILE and BYTES where they make sense. `journalctl
 * TRANSFER_ID=...` is a session, `journalctl -x` explains. Anywhere else the same lines go to the standard error
 * without fields. Thread-safe; common/log.h does everything that is not about fields.
 */
#ifndef RDCPD_JOURNAL_H
#define RDCPD_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/error.h"
#include "counters.h"

struct subtrees;

enum journal_kind {
	JOURNAL_SESSION_STARTED,
	JOURNAL_SESSION_ENDED,
	JOURNAL_SESSION_FAILED,
	JOURNAL_SESSION_ACCOUNT,
	JOURNAL_FILE_STORED,
	JOURNAL_FILE_SENT,
	JOURNAL_FILE_FAILED,
	JOURNAL_TREE_STORED, /* a directory with what is in it: the files have lines of their own, and it counts as none */
	JOURNAL_TREE_SENT,
	JOURNAL_REFUSED,     /* a connection that never became a session */
	JOURNAL_CONFIG_KEPT, /* a reload found errors */
	JOURNAL_PARTIAL_REMOVED,
	JOURNAL_KINDS
};

/* Lines go to the journal from now on if that is where the standard error goes. Returns whether it is. */
bool journal_open(void);

/* For tests: as if it were, with `send` in the place of sd_journal_sendv(3). */
void journal_open_with(int (*send)(const struct iovec *iov, int n));

/* Whether each file gets a line where it went well: log-files of rdcpd.conf(5). Otherwise only a debugging daemon writes them. */
void journal_log_files(bool yes);

/* Whose lines this thread writes; borrowed until it is called again, NULL: nobody's. */
struct journal_session {
	const char *id, *peer, *client;
	struct tally *tally; /* counts the files that its lines are about; may be NULL */
};
void journal_set_session(const struct journal_session *session);

/* Logs one line of that kind, at the kind's level. */
void journal_write(enum journal_kind kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same about a file, with its path in FILE, and BYTES. `done` is what was done with it, or was not because of `status` and
 * `text`: "stored". Of the lines that have a higher level than debug a session gets JOURNAL_FILES_TOLD; the others are debug lines, too.
 */
#define JOURNAL_FILES_TOLD 100
void journal_write_done(enum journal_kind kind, const char *file, uint64_t bytes, const char *done);
void journal_write_failed(const char *file, uint64_t bytes, const char *done, enum status status, const char *text);

/*
 * What failed in a tree. True: it is beneath a directory that failed before, counted and nothing else: journal_write_lost() says
 * in one line for each directory how many these were, and forgets them. `done` is what could not be done: "sent".
 */
bool journal_is_lost(struct subtrees *lost, const char *path, bool directory);
void journal_write_lost(struct subtrees *lost, const char *done);

/* The sums of a session that is over: one line, whose fields have the same numbers. */
struct journal_account {
	bool pull;
	uint64_t files, failed; /* settled well, badly */
	uint64_t bytes;         /* moved, also of files that came to nothing */
	double seconds;
	const char *result; /* "ok", "partial", or a word of reason.h */
};
void journal_write_account(const struct journal_account *account);

/* 32 hex digits. */
const char *journal_message_id(enum journal_kind kind);

#endif
