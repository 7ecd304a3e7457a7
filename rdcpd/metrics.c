/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The text, see metrics.h. Names are a promise to whoever draws them: described in rdcpd(8), added to, never renamed. */
#include <inttypes.h>

#include "metrics.h"
#include "version.h"

static const char *const ways[METRICS_WAYS] = { "push", "pull" };

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(FILE *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "gauge", help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void counter(FILE *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "counter", help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void by_way(FILE *out, const char *name, const char *help, const uint64_t values[static METRICS_WAYS])
{
	head(out, name, "counter", help);
	for (int w = 0; w < METRICS_WAYS; w++)
		fprintf(out, "%s{direction=\"%s\"} %" PRIu64 "\n", name, ways[w], values[w]);
}

/* Those that have happened, and one that is always there: a series that appears with its first event has no increase. */
static void by_reason(FILE *out, const char *name, const char *label, const char *help, unsigned int always,
		      const uint64_t values[static REASON_COUNT])
{
	head(out, name, "counter", help);
	for (unsigned int i = 0; i < REASON_COUNT; i++)
		if (values[i] || i == always)
			fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, reason_name(i), values[i]);
}

static void print_files(const struct metrics *m, FILE *out)
{
	static const char name[] = "rdcpd_files_total";

	head(out, name, "counter", "Files settled.");
	for (int w = 0; w < METRICS_WAYS; w++)
		fprintf(out,
			"%s{direction=\"%s\",result=\"ok\"} %" PRIu64
			"\n%s{direction=\"%s\",result=\"failed\"} %" PRIu64 "\n",
			name, ways[w], m->files[w], name, ways[w], m->failed[w]);
}

void metrics_print(const struct metrics *m, FILE *out)
{
	head(out, "rdcpd_build_info", "gauge", "1, with the version.");
	fprintf(out, "rdcpd_build_info{version=\"%s\"} 1\n", RDCP_VERSION);
	head(out, "rdcpd_start_time_seconds", "gauge", "When the daemon started, in seconds since 1970.");
	fprintf(out, "rdcpd_start_time_seconds %.3f\n", m->start);
	head(out, "rdcpd_sessions", "gauge", "Sessions now.");
	for (int w = 0; w < METRICS_WAYS; w++)
		fprintf(out, "rdcpd_sessions{direction=\"%s\"} %u\n", ways[w], m->sessions[w]);
	gauge(out, "rdcpd_sessions_limit", "Sessions allowed at one time.", m->max_sessions);
	gauge(out, "rdcpd_pinned_bytes", "Memory granted to sessions now.", m->pinned);
	gauge(out, "rdcpd_pinned_limit_bytes", "Memory that may be granted.", m->max_pinned);
	gauge(out, "rdcpd_listening_addresses", "Addresses that work now.", m->listening);
	by_way(out, "rdcpd_sessions_started_total", "Sessions begun.", m->started);
	by_reason(out, "rdcpd_sessions_ended_total", "result", "Sessions over, by how they ended.", STATUS_OK,
		  m->ended);
	by_reason(out, "rdcpd_refusals_total", "reason", "Connections that never became a session, by why.",
		  STATUS_BAD_KEY, m->refused);
	counter(out, "rdcpd_challenges_total", "Connections without a proof, told what to prove.", m->challenged);
	by_way(out, "rdcpd_bytes_total", "Bytes of files moved.", m->bytes);
	print_files(m, out);
	counter(out, "rdcpd_partial_files_removed_total", "Unfinished files that had been left behind, removed.",
		m->partials_removed);
}
