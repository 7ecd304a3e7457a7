/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See report.h. Names come from peers: they are escaped as in the journal (escape_utf8) in both formats, which also makes valid
 * UTF-8 of them; JSON escapes the result once more, as JSON wants it. What the locale of who asked cannot show is for their end.
 */
#include "report.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/util.h"
#include "version.h"

/* ---- for people ------------------------------------------------------------------------------------------------- */

static char *format_age(double seconds, char out[static 24])
{
	uint64_t s = seconds > 0 ? (uint64_t)seconds : 0;

	if (s >= 86400)
		snprintf(out, 24, "%" PRIu64 "d %02u:%02u", s / 86400, (unsigned int)(s / 3600 % 24),
			 (unsigned int)(s / 60 % 60));
	else
		snprintf(out, 24, "%u:%02u:%02u", (unsigned int)(s / 3600), (unsigned int)(s / 60 % 60),
			 (unsigned int)(s % 60));
	return out;
}

static void text_begin(FILE *out, const struct report_daemon *d)
{
	char age[24], pinned[16], most[16], in[16], bytes_out[16];

	fprintf(out,
		"rdcpd %s, up %s%s\n%u of %u sessions, %s of %s pinned, %u address%s, %s in and %s out since the "
		"start\n",
		RDCP_VERSION, format_age(d->seconds, age), d->stopping ? ", stopping" : "", d->sessions,
		d->max_sessions, format_size(d->pinned, pinned), format_size(d->max_pinned, most), d->listening,
		d->listening == 1 ? "" : "es", format_size(d->in, in), format_size(d->out, bytes_out));
	if (d->refused)
		fprintf(out, "%" PRIu64 " connection%s refused since the start\n", d->refused,
			d->refused == 1 ? "" : "s");
}

static void text_session(FILE *out, const struct report_session *s, bool first)
{
	char age[24], bytes[16], rate[16], file[ESCAPED_PATH_SIZE];

	if (first)
		fprintf(out, "\n%-8s  %-12s  %-15s  %-4s  %9s  %9s  %10s  %11s  %s\n", "ID", "CLIENT", "PEER", "WAY",
			"AGE", "FILES", "BYTES", "RATE", "FILE");
	fprintf(out, "%.8s  %-12s  %-15s  %-4s  %9s  %6" PRIu64 "/%-2" PRIu64 "  %10s  %9s/s  %s\n", s->id, s->client,
		s->peer, s->pull ? "pull" : "push", format_age(s->seconds, age), s->files, s->failed,
		format_size(s->bytes, bytes), format_size(s->rate, rate),
		*s->file ? escape_utf8(s->file, file, sizeof(file)) : "-");
}

static void text_end(FILE *out)
{
}

const struct report_format report_text = { text_begin, text_session, text_end };

/* ---- for programs ----------------------------------------------------------------------------------------------- */

/* Valid UTF-8 without control bytes, as escape_utf8() leaves it. */
static void put_string(FILE *out, const char *name)
{
	char text[ESCAPED_PATH_SIZE];

	fputc('"', out);
	for (const char *p = escape_utf8(name, text, sizeof(text)); *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

static void put_time(FILE *out, const struct timespec *when)
{
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&when->tv_sec, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	fprintf(out, "\"%s.%03ldZ\"", text, when->tv_nsec / 1000000);
}

static void json_begin(FILE *out, const struct report_daemon *d)
{
	fprintf(out, "{\n  \"version\": \"%s\",\n  \"pid\": %d,\n  \"since\": ", RDCP_VERSION, (int)getpid());
	put_time(out, &d->since);
	fprintf(out,
		",\n  \"seconds\": %.3f,\n  \"stopping\": %s,\n  \"listening\": %u,\n  \"max_sessions\": %u,\n"
		"  \"pinned\": %" PRIu64 ",\n  \"max_pinned\": %" PRIu64 ",\n  \"bytes_in\": %" PRIu64
		",\n  \"bytes_out\": %" PRIu64 ",\n  \"refused\": %" PRIu64 ",\n  \"challenged\": %" PRIu64
		",\n  \"sessions\": [",
		d->seconds, d->stopping ? "true" : "false", d->listening, d->max_sessions, d->pinned, d->max_pinned,
		d->in, d->out, d->refused, d->challenged);
}

static void json_session(FILE *out, const struct report_session *s, bool first)
{
	fprintf(out, "%s\n    {\n      \"id\": \"%s\",\n      \"client\": ", first ? "" : ",", s->id);
	put_string(out, s->client);
	fputs(",\n      \"user\": ", out);
	if (*s->user)
		put_string(out, s->user);
	else
		fputs("null", out);
	fputs(",\n      \"peer\": ", out);
	put_string(out, s->peer);
	fprintf(out, ",\n      \"direction\": \"%s\",\n      \"since\": ", s->pull ? "pull" : "push");
	put_time(out, &s->since);
	fprintf(out,
		",\n      \"seconds\": %.3f,\n      \"bytes\": %" PRIu64 ",\n      \"rate\": %" PRIu64
		",\n      \"files\": %" PRIu64 ",\n      \"failed\": %" PRIu64 ",\n      \"file\": ",
		s->seconds, s->bytes, s->rate, s->files, s->failed);
	if (*s->file) {
		put_string(out, s->file);
		fprintf(out, ",\n      \"file_size\": %" PRIu64, s->file_size);
	} else {
		fputs("null,\n      \"file_size\": null", out);
	}
	fputs("\n    }", out);
}

static void json_end(FILE *out)
{
	fputs("\n  ]\n}\n", out);
}

const struct report_format report_json = { json_begin, json_session, json_end };
