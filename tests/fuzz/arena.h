/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A daemon within the process, for the fuzz entries that run whole sessions: the sessions and all beneath them are the program's own,
 * over TCP on loopback; only the main thread of rdcpd is not there. Its one export is "top" of a scratch directory, which is on a
 * file system in memory where there is one (RDCP_FUZZ_DIR says another place).
 *
 * arena_begin() and arena_end() go around each input. The end waits until every session is over; one that does not end, a
 * descriptor that stays open, or a change outside of "top" ends the process.
 */
#ifndef RDCP_FUZZ_ARENA_H
#define RDCP_FUZZ_ARENA_H

#include <stdint.h>

#define ARENA_DEADLINE_S 30 /* for whatever has to end by itself; sanitizers and a busy machine included */

struct arena {
	uint16_t port;
	char top[256]; /* absolute path of the export: empty when an input begins */
};

/* Makes it when it is asked for the first time. */
const struct arena *arena_begin(void);
void arena_end(void);

/* Seconds of CLOCK_MONOTONIC. */
double arena_clock(void);

#endif
