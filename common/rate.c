// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* A limit of bytes a second, see rate.h. Called by both engines on the loop's thread. */
#include "rate.h"

#include "util.h"

#define LATENESS (20 * MSEC) /* that is caught up; a loop's timer is late by a few milliseconds */
#define PIECES 20            /* a second */

void rate_set(struct rate *r, uint64_t bytes_per_second)
{
	r->bytes_per_second = bytes_per_second;
}

/* In two steps: seconds and nanoseconds of any number of bytes would not fit one product. */
static uint64_t time_of(uint64_t bytes, uint64_t bytes_per_second)
{
	uint64_t seconds = bytes / bytes_per_second, rest = bytes % bytes_per_second;

	if (seconds > UINT64_MAX / 4 / SEC)
		return UINT64_MAX / 4;
	return seconds * SEC + (uint64_t)((double)rest * (double)SEC / (double)bytes_per_second);
}

void rate_take(struct rate *r, uint64_t bytes, uint64_t now_ns)
{
	uint64_t oldest = now_ns > LATENESS ? now_ns - LATENESS : 0, debt;

	if (!r->bytes_per_second)
		return;
	if (r->ready_ns < oldest)
		r->ready_ns = oldest;
	debt = time_of(bytes, r->bytes_per_second);
	r->ready_ns = r->ready_ns > UINT64_MAX / 2 ? UINT64_MAX / 2 + debt : r->ready_ns + debt;
}

size_t rate_piece(const struct rate *r, size_t max)
{
	uint64_t bytes = r->bytes_per_second / PIECES;

	if (!r->bytes_per_second || bytes >= max)
		return max;
	return bytes ? (size_t)1 << log2_floor(bytes) : 1;
}
