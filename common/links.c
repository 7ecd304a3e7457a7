// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Files with several names, see links.h. The sender of a tree (sender_tree.c) asks for each regular file that says it has more
 * than one. A hash table of first names, which doubles when it is full, and a list of the others.
 */
#include "links.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"

#define BUCKETS_FIRST 64

static size_t bucket_of(const struct links *l, dev_t dev, ino_t ino)
{
	uint64_t key = (uint64_t)ino ^ ((uint64_t)dev << 32 | (uint64_t)dev >> 32);

	return (size_t)((key * 0x9e3779b97f4a7c15U) >> 32) & (l->bucket_count - 1);
}

static void put(struct links *l, struct links_file *file)
{
	struct links_file **bucket = &l->buckets[bucket_of(l, file->dev, file->ino)];

	file->next = *bucket;
	*bucket = file;
}

/* A table that cannot grow still works. */
static int grow(struct links *l)
{
	struct links old = *l;

	if (l->files < l->bucket_count)
		return 0;
	l->bucket_count = old.bucket_count ? 2 * old.bucket_count : BUCKETS_FIRST;
	l->buckets = calloc(l->bucket_count, sizeof(struct links_file *));
	if (!l->buckets) {
		*l = old;
		return old.buckets ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < old.bucket_count; i++) {
		struct links_file *file = old.buckets[i], *next;

		for (; file; file = next) {
			next = file->next;
			put(l, file);
		}
	}
	free(old.buckets);
	return 0;
}

static struct links_file *find(const struct links *l, const struct stat *st)
{
	struct links_file *file = l->bucket_count ? l->buckets[bucket_of(l, st->st_dev, st->st_ino)] : NULL;

	while (file && (file->dev != st->st_dev || file->ino != st->st_ino))
		file = file->next;
	return file;
}

static int add_name(struct links *l, struct links_file *file, const char *dir, const char *name)
{
	struct links_name *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	*n = (struct links_name){ .file = file, .dir = strdup(dir), .name = strdup(name) };
	if (!n->dir || !n->name) {
		free(n->dir);
		free(n->name);
		free(n);
		return -ENOMEM;
	}
	if (l->last)
		l->last->next = n;
	else
		l->first = n;
	l->last = n;
	l->names++;
	return 1;
}

static void file_free(struct links_file *file)
{
	free(file->path);
	free(file->text);
	free(file);
}

static struct links_file *add_file(struct links *l, const struct stat *st, const char *dir, const char *name,
				   const char *text)
{
	struct links_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	*file = (struct links_file){ .dev = st->st_dev,
				     .ino = st->st_ino,
				     .mode = st->st_mode,
				     .size = st->st_size,
				     .blocks = st->st_blocks,
				     .mtime = st->st_mtim,
				     .text = text ? strdup(text) : NULL };
	if (asprintf(&file->path, "%s%s%s", dir, *dir ? "/" : "", name) < 0)
		file->path = NULL;
	if (!file->path || (text && !file->text)) {
		file_free(file);
		return NULL;
	}
	put(l, file);
	l->files++;
	return file;
}

int links_add(struct links *l, const struct stat *st, const char *dir, const char *name, const char *text,
	      struct links_file **ret_file)
{
	/* a place in the table and three allocations, at most; a first name that is replaced takes the bytes of the other */
	size_t size = sizeof(struct links_file) + sizeof(struct links_name) + strlen(dir) + strlen(name) +
		      (text ? strlen(text) : 0) + 80;
	struct links_file *file = find(l, st);
	int r;

	if (l->files + l->names >= LINKS_MAX || budget_take(l->memory, size) < 0) {
		*ret_file = NULL;
		return 0;
	}
	l->taken += size;
	if (file)
		return add_name(l, file, dir, name);
	r = grow(l);
	if (r < 0)
		return r;
	file = add_file(l, st, dir, name, text);
	if (!file)
		return -ENOMEM;
	*ret_file = file;
	return 0;
}

const struct links_name *links_next(const struct links *l)
{
	return l->first;
}

struct stat links_stat(const struct links_file *file)
{
	return (struct stat){ .st_dev = file->dev,
			      .st_ino = file->ino,
			      .st_mode = file->mode,
			      .st_size = file->size,
			      .st_blocks = file->blocks,
			      .st_mtim = file->mtime };
}

bool links_take(struct links *l, struct links_name *ret_name)
{
	struct links_name *n = l->first;

	if (!n)
		return false;
	l->first = n->next;
	if (!l->first)
		l->last = NULL;
	*ret_name = *n;
	free(n);
	return true;
}

void links_done(struct links *l)
{
	struct links_name name;

	while (links_take(l, &name)) {
		free(name.dir);
		free(name.name);
	}
	for (size_t i = 0; i < l->bucket_count; i++) {
		struct links_file *file = l->buckets[i], *next;

		for (; file; file = next) {
			next = file->next;
			file_free(file);
		}
	}
	free(l->buckets);
	budget_give(l->memory, l->taken);
	*l = (struct links){ .memory = l->memory };
}
