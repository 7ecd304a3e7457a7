/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Directories of a tree that could not be made: what is beneath them is lost, too, and need neither be sent nor told one by one.
 * A list, since there are few; a tree with more than SUBTREES_MAX of them is told in full.
 */
#ifndef RDCP_SUBTREES_H
#define RDCP_SUBTREES_H

#include <stdint.h>

#define SUBTREES_MAX 256

struct subtree {
	struct subtree *next;
	uint64_t entries; /* the owner's: met beneath it */
	char path[];      /* as seen from the top */
};

/* Zeroed it is empty. */
struct subtrees {
	struct subtree *newest;
	unsigned int count;
};

/* Without memory, or beyond the limit, it is not remembered. */
void subtrees_add(struct subtrees *s, const char *path);

/* The one that `path` is beneath, but not itself; or NULL. */
struct subtree *subtrees_find(const struct subtrees *s, const char *path);

void subtrees_done(struct subtrees *s); /* and empties it */

#endif
