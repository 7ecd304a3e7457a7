/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How much memory a session may take for what its peer makes it remember: lists, names, hashes, whatever grows with what comes in.
 * Whoever keeps such a thing takes its bytes here first and gives them back with it. A budget may be part of a larger one, and then
 * both have to have enough. Any thread.
 */
#ifndef RDCP_BUDGET_H
#define RDCP_BUDGET_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
	atomic_size_t used;  /* bytes */
	atomic_size_t max;   /* bytes; may be lowered below `used`: then nothing more is taken */
	struct budget *part; /* of this one, borrowed; or NULL */
};

static inline void budget_init(struct budget *b, size_t max, struct budget *part)
{
	atomic_init(&b->used, 0);
	atomic_init(&b->max, max);
	b->part = part;
}

/* With NULL there is no limit: what is remembered is somebody's own. */
void budget_give(struct budget *b, size_t bytes);

/* 0, or -ENOBUFS: there is not enough left, and nothing was taken. */
int budget_take(struct budget *b, size_t bytes);

/* The same for what can be done without: as much has to be left for others. */
int budget_take_spare(struct budget *b, size_t bytes);

#endif
