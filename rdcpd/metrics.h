/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The daemon's numbers in the text format of Prometheus, for the textfile collector of node_exporter. The text is made by the
 * daemon's thread, which must not wait for a disk; a thread of its own replaces the file, in one step each time.
 */
#ifndef RDCPD_METRICS_H
#define RDCPD_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "reason.h"

enum metrics_way { METRICS_PUSH, METRICS_PULL, METRICS_WAYS };

/* All but the gauges count from the start of the daemon. */
struct metrics {
	double start;                                                 /* seconds since 1970 */
	unsigned int sessions[METRICS_WAYS], max_sessions, listening; /* gauges */
	uint64_t pinned, max_pinned;                                  /* gauges, bytes */
	uint64_t started[METRICS_WAYS];                               /* sessions */
	uint64_t ended[REASON_COUNT];                                 /* sessions, by how */
	uint64_t refused[REASON_COUNT];                               /* connections, by why */
	uint64_t challenged;                                          /* connections without a proof */
	uint64_t bytes[METRICS_WAYS], files[METRICS_WAYS], failed[METRICS_WAYS];
	uint64_t partials_removed;
};

void metrics_print(const struct metrics *m, FILE *out);

struct metrics_file;

/* Starts the thread. `path` is copied. -ENOMEM, -EAGAIN. */
int metrics_file_new(const char *path, struct metrics_file **ret_file);

/* Takes `text` (malloc'ed) to be written next, in the place of what still waits. Never blocks. */
void metrics_file_write(struct metrics_file *f, char *text, size_t len);

/* Removes the file, so that nobody takes old numbers for new ones; waits for a write under way. NULL is fine. */
void metrics_file_free(struct metrics_file *f);

#endif
