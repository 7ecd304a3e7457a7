/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Trees for the session fuzzers: made as the bytes decide, looked at, removed. */
#ifndef RDCP_FUZZ_TREE_H
#define RDCP_FUZZ_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "bytes.h"

#define TREE_ENTRIES 128 /* no input makes more */
#define TREE_PATH 120

struct tree_entry {
	char path[TREE_PATH]; /* from the top; "" is the top itself */
	struct stat stat;
	uint64_t content; /* hash of the bytes, or of a symlink's text */
};

struct tree {
	struct tree_entry entries[TREE_ENTRIES];
	unsigned int count;
};

/* What no two inputs of one kind of tree have in common: the contents. */
enum tree_kind { TREE_SOURCE, TREE_DESTINATION };

/* Makes the directory `path` and what is in it: files, directories, symlinks that lead nowhere or to a neighbour, hard links. */
void tree_make(struct bytes *b, enum tree_kind kind, const char *path);
void tree_remove(const char *path);

/* All that there is at `path`; nothing if it is not there. */
void tree_read(const char *path, struct tree *ret_tree);
const struct tree_entry *tree_find(const struct tree *t, const char *path);
bool tree_same_content(const struct tree_entry *a, const struct tree_entry *b); /* and of the same type */

#endif
