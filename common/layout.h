/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * In which pieces a file came, in order: what is needed to hash it again the same way. Pieces of one length that follow each other are one
 * run, so that the layout of a large file is small; only one with many holes, or a sender of bad intent, makes many runs.
 */
#ifndef RDCP_LAYOUT_H
#define RDCP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layout_run {
	uint64_t offset;
	uint32_t len; /* of each piece, not 0 */
	uint32_t count;
};

struct layout {
	struct layout_run *runs;
	unsigned int count, room;
	uint32_t longest; /* piece */
};

/* Where a walk over the pieces is; zeroed: before the first. */
struct layout_walk {
	unsigned int run;
	uint32_t piece;
};

/* 1: it needed a run of its own. 0: it did not. -ENOMEM. */
int layout_add(struct layout *l, uint64_t offset, uint32_t len);

/* The next piece; false: there is none. */
bool layout_next(const struct layout *l, struct layout_walk *w, uint64_t *ret_offset, uint32_t *ret_len);

void layout_done(struct layout *l); /* fine on a zeroed one, which it is then */

#endif
