// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Directories that are lost, see subtrees.h. The sender of a tree has one, and so have client and daemon. */
#include "subtrees.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

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

static bool is_at(const struct subtree *t, const char *path)
{
	return strcmp(path, t->path) == 0;
}

static bool is_beneath(const struct subtree *t, const char *path)
{
	size_t len = strlen(t->path);

	return strncmp(path, t->path, len) == 0 && path[len] == '/';
}

struct subtree *subtrees_find(const struct subtrees *s, const char *path)
{
	struct subtree *t = s->newest;

	while (t && !is_beneath(t, path))
		t = t->next;
	return t;
}

bool subtrees_have(const struct subtrees *s, const char *path)
{
	struct subtree *t = s->newest;

	while (t && !is_at(t, path) && !is_beneath(t, path))
		t = t->next;
	return t;
}

bool subtrees_note(struct subtrees *s, const char *path, bool directory)
{
	struct subtree *t = subtrees_find(s, path);

	if (t)
		t->entries++;
	else if (directory)
		subtrees_add(s, path);
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

const char *subtrees_say(char *buf, size_t size, const char *path, uint64_t entries, const char *done)
{
	char shown[ESCAPED_PATH_SIZE];

	snprintf(buf, size, "'%s': %" PRIu64 " %s beneath it %s not %s, either",
		 escape_name(path, shown, sizeof(shown)), entries, entries == 1 ? "entry" : "entries",
		 entries == 1 ? "was" : "were", done);
	return buf;
}
