// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The sink of common/log.c that knows the journal. log_write() ends in the sink on the thread it was called on, so what the
 * line is about waits in thread-local variables. Nothing is allocated; a journal that does not answer is nobody's problem.
 *
 * Lines about single files can be many, and journald drops what a service writes beyond RateLimitBurst= of journald.conf(5). It
 * counts debug, notice and info, warning, and err each for itself. So a line about a file is debug to the journal, and however many
 * there are, the account of a session and the next session's lines are not dropped with them.
 */
/* The place in the source says less than MESSAGE_ID, and would always be this file. */
#define SD_JOURNAL_SUPPRESS_LOCATION

#include "journal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "common/log.h"
#include "common/subtrees.h"
#include "common/util.h"
#include "common/wire.h"

#define MAX_FIELDS 16

static const struct kind {
	const char *message_id;
	int level;
} kinds[JOURNAL_KINDS] = {
	[JOURNAL_SESSION_STARTED] = { "c93bff89c958423bb2f2afd7d6006608", LOG_NOTICE },
	[JOURNAL_SESSION_ENDED] = { "d53e0fda49194b7391593940add79402", LOG_NOTICE },
	[JOURNAL_SESSION_FAILED] = { "d37e243d4efa4cac990c649faaf2346d", LOG_ERR },
	[JOURNAL_SESSION_ACCOUNT] = { "2498150db86141d89a0f2ba06697d31d", LOG_NOTICE },
	[JOURNAL_FILE_STORED] = { "7b3c54aebb5647ea89f8289844b82d5f", LOG_DEBUG },
	[JOURNAL_FILE_SENT] = { "99e523c7ef374969b3e39859a61cc837", LOG_DEBUG },
	[JOURNAL_TREE_STORED] = { "1cb65604d17d48c59676e0400fb54dff", LOG_DEBUG },
	[JOURNAL_TREE_SENT] = { "e5b2404cd47c45bc93a08fd4efc6fa17", LOG_DEBUG },
	[JOURNAL_FILE_FAILED] = { "ded155d9ac784960bc0f1d68b0659d18", LOG_ERR },
	[JOURNAL_REFUSED] = { "38592b3ab497481e9690477ffc1b810e", LOG_WARNING },
	[JOURNAL_PARTIAL_REMOVED] = { "03f20bc4f7d64bd09dfbbf4d72f4fe01", LOG_NOTICE },
	[JOURNAL_CONFIG_KEPT] = { "b806fd1a296442e58e24c93014471298", LOG_ERR },
};

static int (*send_fields)(const struct iovec *iov, int n);
static atomic_bool log_files;

static _Thread_local const struct journal_session *session;
/* what the line under way is about */
static _Thread_local struct {
	const char *message_id, *file;
	uint64_t bytes;
	bool one_of_many; /* a line about a file that went well, or the like */
	const struct journal_account *account;
} subject;

const char *journal_message_id(enum journal_kind kind)
{
	return kinds[kind].message_id;
}

void journal_log_files(bool yes)
{
	atomic_store(&log_files, yes);
}

void journal_set_session(const struct journal_session *new_session)
{
	session = new_session;
}

/* A record under construction. Its texts are in one buffer, with room for a line about the longest path, and the path. */
struct fields {
	struct iovec iov[MAX_FIELDS];
	int count;
	size_t used;
	char text[3 * ESCAPED_PATH_SIZE];
};

static void add(struct fields *f, const char *name, const char *value)
{
	size_t room = sizeof(f->text) - f->used;
	int n;

	if (!value || f->count == MAX_FIELDS)
		return;
	n = snprintf(f->text + f->used, room, "%s=%s", name, value);
	if (n < 0 || room < 2)
		return;
	n = (int)min_size((size_t)n, room - 1);
	f->iov[f->count].iov_base = f->text + f->used;
	f->iov[f->count++].iov_len = (size_t)n;
	f->used += (size_t)n + 1;
}

static void add_number(struct fields *f, const char *name, uint64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRIu64, value);
	add(f, name, number);
}

static void add_account(struct fields *f, const struct journal_account *a)
{
	char seconds[32];

	add(f, "DIRECTION", a->pull ? "pull" : "push");
	add_number(f, "FILES", a->files);
	add_number(f, "FAILED", a->failed);
	add_number(f, "BYTES", a->bytes);
	snprintf(seconds, sizeof(seconds), "%.3f", a->seconds);
	add(f, "SECONDS", seconds);
	add(f, "RESULT", a->result);
}

static void sink(int level, const char *line)
{
	struct fields f = { .count = 0 };

	add(&f, "MESSAGE", line);
	add_number(&f, "PRIORITY", (uint64_t)(subject.one_of_many ? LOG_DEBUG : level));
	add(&f, "SYSLOG_IDENTIFIER", "rdcpd");
	add(&f, "MESSAGE_ID", subject.message_id);
	if (session) {
		add(&f, "TRANSFER_ID", session->id);
		add(&f, "PEER", session->peer);
		add(&f, "CLIENT", session->client);
	}
	if (subject.file) {
		add(&f, "FILE", subject.file);
		add_number(&f, "BYTES", subject.bytes);
	}
	if (subject.account)
		add_account(&f, subject.account);
	send_fields(f.iov, f.count);
}

static void count(enum journal_kind kind)
{
	if (!session || !session->tally)
		return;
	if (kind == JOURNAL_FILE_STORED || kind == JOURNAL_FILE_SENT)
		atomic_fetch_add_explicit(&session->tally->files, 1, memory_order_relaxed);
	else if (kind == JOURNAL_FILE_FAILED)
		atomic_fetch_add_explicit(&session->tally->failed, 1, memory_order_relaxed);
}

/* One of many lines about files, as long as a session has not told enough of them: at `level`, then at the level of debug. */
static int level_of_file(int level)
{
	if (level == LOG_DEBUG || !session || !session->tally)
		return level;
	return session->tally->lines++ < JOURNAL_FILES_TOLD ? level : LOG_DEBUG;
}

/* A line at debug level may still be wanted. */
static int begin_line(int level)
{
	subject.one_of_many = level == LOG_DEBUG;
	return subject.one_of_many && atomic_load_explicit(&log_files, memory_order_relaxed) ? LOG_INFO : level;
}

void journal_write(enum journal_kind kind, const char *fmt, ...)
{
	va_list ap;

	count(kind);
	subject.message_id = kinds[kind].message_id;
	va_start(ap, fmt);
	log_writev(begin_line(kinds[kind].level), fmt, ap);
	va_end(ap);
	memset(&subject, 0, sizeof(subject));
}

/* Counts it. Whether it gets a line, and at what level; the largest buffers are only made when it does. */
static bool begin_file_line(enum journal_kind kind, uint64_t bytes, int *ret_level)
{
	count(kind);
	*ret_level = begin_line(level_of_file(kinds[kind].level));
	if (*ret_level > log_level())
		return false;
	subject.message_id = kinds[kind].message_id;
	subject.bytes = bytes;
	return true;
}

__attribute__((noinline)) static void write_done(int level, const char *file, uint64_t bytes, const char *done)
{
	char shown[ESCAPED_PATH_SIZE];

	subject.file = escape_name(file, shown, sizeof(shown));
	log_write(level, "%s '%s', %" PRIu64 " bytes", done, shown, bytes);
	memset(&subject, 0, sizeof(subject));
}

void journal_write_done(enum journal_kind kind, const char *file, uint64_t bytes, const char *done)
{
	int level;

	if (begin_file_line(kind, bytes, &level))
		write_done(level, file, bytes, done);
}

void journal_write_failed(const char *file, uint64_t bytes, const char *done, enum status status, const char *text)
{
	char shown[ESCAPED_PATH_SIZE], why[4 * WIRE_TEXT_MAX + 1];
	int level;

	if (!begin_file_line(JOURNAL_FILE_FAILED, bytes, &level))
		return;
	subject.file = escape_name(file, shown, sizeof(shown));
	log_write(level, "'%s' was %s%s: %s%s%s", shown, status_is_stored(status) ? "" : "not ", done,
		  status_text(status), *text ? ": " : "", escape_name(text, why, sizeof(why)));
	memset(&subject, 0, sizeof(subject));
}

bool journal_is_lost(struct subtrees *lost, const char *path, bool directory)
{
	bool known = subtrees_note(lost, path, directory);

	if (known)
		count(JOURNAL_FILE_FAILED);
	return known;
}

void journal_write_lost(struct subtrees *lost, const char *done)
{
	char sentence[SUBTREES_SENTENCE_MAX];

	for (const struct subtree *t = lost->newest; t; t = t->next)
		if (t->entries)
			log_write(begin_line(level_of_file(LOG_ERR)), "%s",
				  subtrees_say(sentence, sizeof(sentence), t->path, t->entries, done));
	memset(&subject, 0, sizeof(subject));
	subtrees_done(lost);
}

static void write_rest(void)
{
	uint64_t lines = session && session->tally ? session->tally->lines : 0;

	if (lines > JOURNAL_FILES_TOLD && !atomic_load(&log_files))
		log_err("%" PRIu64 " more lines about files that failed were left out, 'log-files = yes' keeps them",
			lines - JOURNAL_FILES_TOLD);
}

void journal_write_account(const struct journal_account *a)
{
	write_rest();
	subject.account = a;
	journal_write(JOURNAL_SESSION_ACCOUNT,
		      "account: %s, %" PRIu64 " files, %" PRIu64 " failed, %" PRIu64 " bytes, %.3f s, %s",
		      a->pull ? "pull" : "push", a->files, a->failed, a->bytes, a->seconds, a->result);
}

void journal_open_with(int (*send)(const struct iovec *iov, int n))
{
	send_fields = send;
	log_set_sink(send ? sink : NULL);
}

/* systemd.exec(5): JOURNAL_STREAM is the device and inode of the stream that systemd gave us; it may have been redirected. */
bool journal_open(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	if (!stream || sscanf(stream, "%llu:%llu", &device, &inode) != 2)
		return false;
	if (fstat(STDERR_FILENO, &st) < 0 || st.st_dev != device || st.st_ino != inode)
		return false;
	journal_open_with(sd_journal_sendv);
	return true;
}
