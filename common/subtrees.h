/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Directories of a tree that could not be made: what is beneath them is lost, too, and need neither be sent nor told one by one.
 * A list, since there are few; a tree with more than SUBTREES_MAX of them is told in full.
 */
#ifndef RDCP_SUBTREES_H
#define RDCP_SUBTREES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUBTREES_MAX 256
#define SUBTREES_SENTENCE_MAX (4 * 4096 + 128) /* holds the longest path */

struct subtree {
	struct subtree *next;
	uint64_t entries; /* that subtrees_note() met beneath it */
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
bool subtrees_have(const struct subtrees *s, const char *path); /* it is one, or beneath one */

/* What failed. True: it is beneath one, and counted there. Else, if it is a directory, it is one from now on. */
bool subtrees_note(struct subtrees *s, const char *path, bool directory);

void subtrees_done(struct subtrees *s); /* and empties it */

/* The sentence for a person, in buf, which is returned: "'path': 3 entries beneath it were not copied, either" */
const char *subtrees_say(char *buf, size_t size, const char *path, uint64_t entries, const char *done);

#endif
