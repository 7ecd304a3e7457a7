/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rdcp --doctor: looks at everything a copy needs, in the order it needs it, and says for each what it found and what
 * would mend it. Written to the standard output, one finding a line; nothing is changed.
 */
#ifndef RDCP_DOCTOR_H
#define RDCP_DOCTOR_H

#include <stdbool.h>

#include "options.h"

/* Looks at this machine, and at the way to options_peer(o) when there is one. Returns EXITCODE_OK when all that is needed works, else EXITCODE_CONNECT. Every
 * step has a deadline, --connect-timeout. */
int doctor_run(const struct options *o);

/* ---- between doctor.c and doctor_host.c ---- */

enum doctor_finding {
	DOCTOR_OK,   /* [ ok ] */
	DOCTOR_WARN, /* [warn] works, but not as well or not for everything */
	DOCTOR_FAIL, /* [fail] a copy will not work */
	DOCTOR_MORE  /* a line that belongs to the one above */
};

/* Returns whether it is no failure. */
bool doctor_say(enum doctor_finding finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The way to `host`: name, route, connection, key, an answer. Returns whether one of its addresses works. */
bool doctor_host(const struct options *o, const struct location *host, const struct options_key *key);

#endif
