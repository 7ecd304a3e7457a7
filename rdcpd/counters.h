/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a session tells of itself while it runs: written by its loop thread, read by the daemon's whenever somebody asks. The
 * numbers are relaxed atomics, each right by itself; the name of the current file has a lock of its own, taken by the session
 * once per file at most, from a timer and never on the way of the data.
 */
#ifndef RDCPD_COUNTERS_H
#define RDCPD_COUNTERS_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* Files settled; counted by journal_write(), which hears of each. */
struct tally {
	atomic_uint_least64_t files, failed;
	uint64_t lines; /* about files, that are more than debug: see journal_write(); its own thread's */
};

struct counters {
	struct tally tally;
	atomic_uint_least64_t bytes; /* of files, moved */
	atomic_uint_least64_t rate;  /* bytes a second */
	atomic_uint_least64_t file_size;
	pthread_mutex_t lock; /* over `file` */
	char file[PATH_MAX];

	uint64_t rated_ns, rated_bytes; /* the writer's: what `rate` was last made from */
};

void counters_init(struct counters *c, uint64_t now_ns);
void counters_done(struct counters *c);

/* The session's thread. */
void counters_set_bytes(struct counters *c, uint64_t bytes);
void counters_set_file(struct counters *c, const char *file, uint64_t size); /* NULL: none */
void counters_rate(struct counters *c, uint64_t now_ns);                     /* to be called about once a second */

/* Any thread. */
static inline uint64_t counters_get(const atomic_uint_least64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}
uint64_t counters_get_file(struct counters *c, char ret_file[static PATH_MAX]); /* returns its size */

#endif
