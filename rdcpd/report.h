/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What rdcpd --status shows: the daemon and its live sessions, for people or as JSON (schema: rdcpd(8)). Pure formatting. */
#ifndef RDCPD_REPORT_H
#define RDCPD_REPORT_H

#include <limits.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define REPORT_ID_SIZE 37      /* a UUID */
#define REPORT_CLIENT_SIZE 256 /* a client's name */

/* One session at one moment. */
struct report_session {
	char id[REPORT_ID_SIZE];
	char client[REPORT_CLIENT_SIZE];
	char user[REPORT_CLIENT_SIZE]; /* "": the daemon's own */
	char peer[NI_MAXHOST];
	bool pull;
	struct timespec since; /* CLOCK_REALTIME */
	double seconds;        /* since then, by a clock that does not jump */
	uint64_t bytes;        /* of files, moved so far */
	uint64_t rate;         /* bytes a second, just now */
	uint64_t files;        /* settled well */
	uint64_t failed;       /* settled badly */
	char file[PATH_MAX];   /* in its export, as the peer named it, raw; "": none now */
	uint64_t file_size;
};

struct report_daemon {
	struct timespec since;
	double seconds;
	unsigned int listening; /* addresses */
	unsigned int sessions, max_sessions;
	uint64_t pinned, max_pinned;
	uint64_t in, out;    /* bytes of files since the start */
	uint64_t refused;    /* connections that never became a session */
	uint64_t challenged; /* connections without a proof: with that everybody begins */
	bool stopping;
};

/* begin, then each session, then end; `first` says which one is the first. */
struct report_format {
	void (*begin)(FILE *out, const struct report_daemon *d);
	void (*session)(FILE *out, const struct report_session *s, bool first);
	void (*end)(FILE *out);
};
extern const struct report_format report_text, report_json;

#endif
