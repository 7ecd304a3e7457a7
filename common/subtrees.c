// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Directories that are lost, see subtrees.h. The sender of a tree and the client have one each. */
#include "subtrees.h"

#include <stdlib.h>
#include <string.h>

void subtrees_add(struct subtrees *s, const char *path)
{
	size_t size = strlen(path) + 1;
	struct subtree *t = s->count < SUBTREES_MAX ? malloc(sizeof(*t) + size) : NULL;

	if (!t)
		return;
	t->entries = 0;
	memcpy(t->path, path, size);
	t->next = s->newest;
	s->newest = t;
	s->count++;
}

struct subtree *subtrees_find(const struct subtrees *s, const char *path)
{
	struct subtree *t = s->newest;

	for (; t; t = t->next) {
		size_t len = strlen(t->path);

		if (strncmp(path, t->path, len) == 0 && path[len] == '/')
			break;
	}
	return t;
}

void subtrees_done(struct subtrees *s)
{
	struct subtree *t;

	while ((t = s->newest)) {
		s->newest = t->next;
		free(t);
	}
	s->count = 0;
}
