/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* All sessions of the daemon, and what those that are over have left behind: sums. Belongs to the daemon's thread. */
#ifndef RDCPD_SESSIONS_H
#define RDCPD_SESSIONS_H

#include "common/budget.h"
#include "metrics.h"
#include "session.h"

struct sessions {
	struct session **list; /* NULL: a free place */
	unsigned int places;
	unsigned int count;
	uint64_t pinned;      /* by all of them, bytes */
	struct budget memory; /* for what clients make all of them remember */
	int finished_fd;      /* eventfd, owned: readable when sessions_collect() has something to do */

	struct metrics past; /* its counters: sessions that began; files, bytes and ends of those that are over */
};

int sessions_init(struct sessions *s);  /* -EMFILE */
void sessions_done(struct sessions *s); /* what does not end is left to the kernel; finished_fd may be -1 */

/* Room for so many; never less than there was: there may be more than that until they end. -ENOMEM. */
int sessions_reserve(struct sessions *s, unsigned int places);

/* As session_start(); assumes that there is room. Sets args->finished_fd. */
int sessions_start(struct sessions *s, struct session_args *args);
void sessions_collect(struct sessions *s); /* joins and counts what has ended */

/* What `config` allows a client is shared equally by its sessions. Whenever their number or the configuration changed. */
void sessions_share_rates(struct sessions *s, const struct config *config);

void sessions_stop(struct sessions *s, enum status why);
void sessions_end_unwelcome(struct sessions *s, const struct config *config); /* of clients it would not let in */

unsigned int sessions_of(const struct sessions *s, const char *client);
void sessions_report(const struct sessions *s, const struct report_format *format, FILE *out); /* of all that run */
void sessions_measure(const struct sessions *s, struct metrics *m);                 /* adds what it knows to zeros */
void sessions_bytes(const struct sessions *s, uint64_t *ret_in, uint64_t *ret_out); /* since the daemon started */

#endif
