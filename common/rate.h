/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A limit of bytes a second, kept smoothly: pure arithmetic, the caller brings the time. What was taken has a time at which it is
 * paid for, and nothing more may be taken before that; who comes late may catch up a little, no more than timers are late.
 */
#ifndef RDCP_RATE_H
#define RDCP_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rate {
	uint64_t bytes_per_second; /* 0: no limit */
	uint64_t ready_ns;         /* all that was taken is paid for then; of the caller's clock */
};

/* From now on. What was taken before is paid for at the old rate. */
void rate_set(struct rate *r, uint64_t bytes_per_second);

static inline bool rate_is_ready(const struct rate *r, uint64_t now_ns)
{
	return !r->bytes_per_second || r->ready_ns <= now_ns;
}

/* Whether it is ready or not: the debt grows. */
void rate_take(struct rate *r, uint64_t bytes, uint64_t now_ns);

/* What to take at once so that it flows: a power of two from 1 to `max` (a power of two), at most a twentieth of a second's worth. */
size_t rate_piece(const struct rate *r, size_t max);

#endif
