// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What a run tells. Called by client.c on the loop thread; owns nothing. A standard output that breaks is told once and makes the
 * exit status 1: here as soon as it is noticed that --json broke, else by main. It never keeps a file from being copied.
 */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/error.h"
#include "common/log.h"
#include "common/subtrees.h"
#include "common/util.h"
#include "common/wire.h"
#include "exitcode.h"
#include "hint.h"
#include "interrupt.h"
#include "json.h"

#define SCHEMA 1 /* of the objects; grows when a member changes its meaning, not when one is added */

void output_init(struct output *o, const struct options *options, const char *host)
{
	memset(o, 0, sizeof(*o));
	o->options = options;
	o->host = host;
	o->progress.fd = -1;
	o->objects = options->json ? stdout : NULL;
	o->started_ns = now_ns();
}

/* Where the file itself goes to standard output, its progress cannot; and not to the terminal where it is shown, either. */
void output_start(struct output *o)
{
	const struct options *options = o->options;
	enum progress_mode mode = options->quiet || options->json || options->dry_run || options->action == OPTIONS_LIST
					  ? PROGRESS_NEVER
					  : options->progress;
	int fd = STDOUT_FILENO;

	if (location_is_stream(&options->target)) {
		mode = isatty(fd) ? PROGRESS_NEVER : mode;
		fd = STDERR_FILENO;
	}
	progress_init(&o->progress, fd, mode, now_ns());
}

/* ---- errors ------------------------------------------------------------------------------------------------- */

/* A wrong byte outweighs everything, the end of the session outweighs a single file. */
static void raise_exit_code(struct output *o, int exit_code)
{
	if (o->exit_code != EXITCODE_CORRUPT && (o->exit_code <= EXITCODE_FAILED || exit_code == EXITCODE_CORRUPT))
		o->exit_code = exit_code;
}

static void end_object(struct output *o, struct json *j)
{
	json_end(j);
	if (!ferror(j->f))
		return;
	log_err("standard output: %m");
	o->objects = NULL;
	raise_exit_code(o, EXITCODE_FAILED);
}

void output_complain(struct output *o, int exit_code, const char *fmt, ...)
{
	char text[2 * ESCAPED_PATH_SIZE];
	struct json j;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	progress_clear(&o->progress);
	log_err("%s", text);
	raise_exit_code(o, exit_code);
	if (!o->objects)
		return;
	json_begin(&j, o->objects, "error");
	json_number(&j, "exit", (uint64_t)exit_code);
	json_text(&j, "text", text);
	end_object(o, &j);
}

/* ---- files -------------------------------------------------------------------------------------------------- */

static void put_file(struct output *o, const struct output_file *f, const char *source, const char *destination)
{
	static const char *const results[] = { "copied", "skipped", "failed" };
	struct json j;

	json_begin(&j, o->objects, "file");
	json_text(&j, "result",
		  o->options->dry_run && f->result == OUTPUT_COPIED ? "would be copied" : results[f->result]);
	json_name(&j, "source", source);
	json_name(&j, "destination", destination);
	if (f->result == OUTPUT_COPIED)
		json_number(&j, "bytes", f->bytes);
	if (f->result == OUTPUT_SKIPPED)
		json_text(&j, "text", f->text);
	if (f->result == OUTPUT_FAILED) {
		json_open(&j, "error");
		json_number(&j, "status", f->status);
		json_text(&j, "text", status_text(f->status));
		json_text(&j, "detail", *f->text ? f->text : NULL);
		json_close(&j);
	}
	end_object(o, &j);
}

/* Failures always, the others with -v. */
static void say_file(struct output *o, const struct output_file *f, const char *source, const char *destination)
{
	char why[4 * WIRE_TEXT_MAX + 1], size[16];
	const char *from, *to;

	if (f->result != OUTPUT_FAILED && !o->options->verbose && !(o->options->dry_run && f->result == OUTPUT_COPIED))
		return;
	progress_clear(&o->progress);
	from = escape_name(source, o->from, sizeof(o->from));
	escape_name(f->text, why, sizeof(why));
	switch (f->result) {
	case OUTPUT_COPIED:
		to = escape_name(destination, o->to, sizeof(o->to));
		format_size(f->bytes, size);
		if (!o->options->dry_run)
			log_info("'%s' -> '%s', %s", from, to, size);
		else if (!o->objects)
			printf("'%s' -> '%s', %s\n", from, to, size);
		break;
	case OUTPUT_SKIPPED:
		log_info("'%s' skipped%s%s", from, *why ? ": " : "", why);
		break;
	case OUTPUT_FAILED:
		log_err("'%s': %s%s%s", from, status_text(f->status), *why ? ": " : "", why);
		break;
	}
}

/* The whole path of a file, in o->path. */
static void join(struct output *o, const char *source, const char *below)
{
	snprintf(o->path, sizeof(o->path), "%s%s%s", source, below ? "/" : "", below ? below : "");
}

static void count_file(struct output *o, const struct output_file *f)
{
	if (f->result == OUTPUT_COPIED) {
		interrupt_count(++o->copied);
		o->stored_bytes += f->bytes;
	} else if (f->result == OUTPUT_SKIPPED) {
		o->skipped++;
	} else {
		o->failed++;
		raise_exit_code(o, hint_file_exit(f->status));
	}
}

void output_file(struct output *o, const struct output_file *f)
{
	const char *destination = f->destination ? f->destination : o->options->target.text;

	count_file(o, f);
	if (f->result != OUTPUT_FAILED && !o->options->verbose && !o->objects && !o->options->dry_run)
		return;
	join(o, f->source, f->below);
	if (!f->told)
		say_file(o, f, o->path, destination);
	if (o->objects)
		put_file(o, f, o->path, destination);
}

void output_remark(struct output *o, const char *source, const char *below, const char *text)
{
	char why[4 * WIRE_TEXT_MAX + 1];

	if (o->remarks++)
		return;
	join(o, source, below);
	progress_clear(&o->progress);
	log_warning("'%s': %s", escape_name(o->path, o->from, sizeof(o->from)), escape_name(text, why, sizeof(why)));
}

void output_lost(struct output *o, const char *source, const char *below, uint64_t entries)
{
	char sentence[SUBTREES_SENTENCE_MAX];

	join(o, source, below);
	progress_clear(&o->progress);
	log_err("%s", subtrees_say(sentence, sizeof(sentence), o->path, entries, "copied"));
}

void output_tell(struct output *o)
{
	char line[PROGRESS_TELL_SIZE];

	progress_clear(&o->progress);
	log_write(LOG_ERR, "%s",
		  progress_tell(line, sizeof(line), &o->progress.state)); /* also with -q: it was asked for */
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

struct totals {
	uint64_t failed, took_ns, rate; /* bytes a second */
	uint64_t user_ns, system_ns;
};

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * SEC + (uint64_t)tv->tv_usec * 1000;
}

static struct totals add_up(const struct output *o, const struct output_end *e)
{
	uint64_t now = now_ns();
	struct totals t = { .failed = o->failed + e->unheard, .took_ns = now - o->started_ns };
	uint64_t moving_ms = e->connected_ns ? (now - e->connected_ns) / MSEC : 0;
	struct rusage usage;

	t.rate = (uint64_t)((double)e->sent_bytes * 1000 / (double)(moving_ms ? moving_ms : 1));
	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		t.user_ns = timeval_ns(&usage.ru_utime);
		t.system_ns = timeval_ns(&usage.ru_stime);
	}
	return t;
}

static void print_stats(FILE *f, const struct output *o, const struct output_end *e)
{
	struct totals t = add_up(o, e);
	char size[16];

	fprintf(f, "files: %" PRIu64 " copied, %" PRIu64 " skipped, %" PRIu64 " failed\n", o->copied, o->skipped,
		t.failed);
	fprintf(f, "bytes sent: %" PRIu64 " (%s)\n", e->sent_bytes, format_size(e->sent_bytes, size));
	fprintf(f, "bytes stored: %" PRIu64 " (%s)\n", o->stored_bytes, format_size(o->stored_bytes, size));
	fprintf(f, "time: %.3f s", (double)t.took_ns / (double)SEC);
	if (e->connected_ns)
		fprintf(f, ", %.3f s of it until connected", (double)(e->connected_ns - o->started_ns) / (double)SEC);
	fprintf(f, "\nrate: %s/s\n", format_size(t.rate, size));
	if (e->slots) {
		fprintf(f, "slots: %u of %s", e->slots, format_size(e->slot_size, size));
		if (e->slots_used)
			fprintf(f, ", at most %u in flight", e->slots_used);
		fprintf(f, "\n");
	}
	fprintf(f, "processor time: %.3f s user, %.3f s system\n", (double)t.user_ns / (double)SEC,
		(double)t.system_ns / (double)SEC);
	fprintf(f, "transfer: %s\n", e->transfer ? e->transfer : "none");
}

static void put_summary(struct output *o, const struct output_end *e, int exit_code)
{
	struct totals t = add_up(o, e);
	struct json j;

	json_begin(&j, o->objects, "summary");
	json_number(&j, "schema", SCHEMA);
	json_text(&j, "version", RDCP_VERSION);
	json_text(&j, "direction", o->options->pull ? "pull" : "push");
	json_name(&j, "host", o->host);
	json_text(&j, "transfer", e->transfer);
	json_text(&j, "result", e->signal ? "interrupted" : exit_code == EXITCODE_OK ? "ok" : "failed");
	json_number(&j, "exit", (uint64_t)exit_code);
	json_open(&j, "files");
	json_number(&j, "copied", o->copied);
	json_number(&j, "skipped", o->skipped);
	json_number(&j, "failed", t.failed);
	json_close(&j);
	json_open(&j, "bytes");
	json_number(&j, "sent", e->sent_bytes);
	json_number(&j, "stored", o->stored_bytes);
	json_number(&j, "rate", t.rate);
	json_close(&j);
	json_open(&j, "slots");
	json_number(&j, "count", e->slots);
	json_number(&j, "size", e->slot_size);
	json_number(&j, "used", e->slots_used);
	json_close(&j);
	json_open(&j, "seconds");
	json_seconds(&j, "total", t.took_ns);
	json_seconds(&j, "connecting", e->connected_ns ? e->connected_ns - o->started_ns : t.took_ns);
	json_seconds(&j, "user", t.user_ns);
	json_seconds(&j, "system", t.system_ns);
	json_close(&j);
	end_object(o, &j);
}

static void say_counts(const struct output *o, const struct output_end *e)
{
	unsigned long long copied = o->copied, skipped = o->skipped, failed = o->failed + e->unheard;
	const char *verb = o->options->dry_run ? " would be" : copied == 1 ? " was" : " were";
	char more[40] = "", kept[48] = "";

	if (skipped)
		snprintf(more, sizeof(more), ", %llu skipped", skipped);
	if (o->kept)
		snprintf(kept, sizeof(kept), ", %" PRIu64 " not removed", o->kept);
	log_err("%llu file%s%s copied%s, %llu failed%s", copied, copied == 1 ? "" : "s", verb, more, failed, kept);
}

int output_end(struct output *o, const struct output_end *e)
{
	const struct options *options = o->options;
	bool success = o->exit_code == EXITCODE_OK && !e->signal && e->complete;
	unsigned long long copied = o->copied;
	int code = e->signal                                ? 128 + e->signal
		   : success || o->exit_code != EXITCODE_OK ? o->exit_code
							    : EXITCODE_FAILED;
	FILE *f = location_is_stream(&options->target) ? stderr : stdout;

	progress_finish(&o->progress, success, now_ns());
	if (o->remarks > 1)
		log_warning("the same is true of %" PRIu64 " other file%s", o->remarks - 1, o->remarks == 2 ? "" : "s");
	if (e->signal && interrupt_may_speak())
		log_err("interrupted, %llu file%s copied", copied, copied == 1 ? " was" : "s were");
	else if (!e->signal && !success && code != EXITCODE_USAGE &&
		 (options->source_count > 1 || options->recursive || options->files_from))
		say_counts(o, e);
	if (o->objects)
		put_summary(o, e, code);
	else if (options->stats && !options->json)
		print_stats(f, o, e);
	return code != EXITCODE_OK ? code : o->exit_code;
}
