// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * See nesting.h. A directory has two lineages. One is what `..` leads to, by device and inode: it sees through symlinks, and through
 * mounts on the way. The other is the way to it in its own file system, which /proc/self/mountinfo tells: a directory that is
 * bound to another place has no `..` into the directory that it is in, but can still be reached from there.
 */
#include "nesting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#define PARENTS_MAX (PATH_MAX / 2)
#define DEVICE_SIZE 32

/* A mount, as proc(5) has it. */
struct mount {
	char device[DEVICE_SIZE]; /* MAJOR:MINOR of the file system */
	char *root;               /* what of it is mounted */
	char *point;
};

struct directory_id {
	dev_t dev;
	ino_t ino;
};

/* Of an export. */
struct lineage {
	struct directory_id *ids; /* its own, its parent's, ... */
	size_t count;
	char *path;         /* without symlinks; NULL: not known */
	const char *device; /* of its file system, or NULL */
	char *inside;       /* the path in it */
};

struct nesting {
	struct lineage *list;
	size_t count;
	struct mount *mounts;
	size_t mount_count;
};

/* Is `path` the directory `dir` or beneath it? */
static bool path_is_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len && dir[len - 1] == '/') /* the root */
		len--;
	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

/* ---- mounts ----------------------------------------------------------------------------------------------------- */

/* Blanks and the like are three octal digits behind a backslash. */
static void unescape(char *text)
{
	char *to = text;

	for (char *p = text; *p; p++) {
		unsigned int byte;

		if (*p == '\\' && sscanf(p + 1, "%3o", &byte) == 1 && byte) {
			*to++ = (char)byte;
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

static int add_mount(struct nesting *n, char *line)
{
	struct mount *list, m = { .root = NULL };

	if (sscanf(line, "%*s %*s %31s %ms %ms", m.device, &m.root, &m.point) != 3) {
		free(m.root);
		free(m.point);
		return 0;
	}
	unescape(m.root);
	unescape(m.point);
	list = reallocarray(n->mounts, n->mount_count + 1, sizeof(*list));
	if (!list) {
		free(m.root);
		free(m.point);
		return -ENOMEM;
	}
	n->mounts = list;
	n->mounts[n->mount_count++] = m;
	return 0;
}

/* Without /proc there are none, and the other lineage is all there is. */
static int read_mounts(struct nesting *n)
{
	FILE *in = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	int r = 0;

	while (in && r == 0 && getline(&line, &size, in) >= 0)
		r = add_mount(n, line);
	free(line);
	if (in)
		fclose(in);
	return r;
}

/* The one that `path` is in: the innermost, and of several in one place the last. */
static const struct mount *mount_of(const struct nesting *n, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < n->mount_count; i++)
		if (path_is_in(path, n->mounts[i].point) &&
		    (!best || strlen(n->mounts[i].point) >= strlen(best->point)))
			best = &n->mounts[i];
	return best;
}

/* ---- an export -------------------------------------------------------------------------------------------------- */

static int read_parents(struct lineage *l, const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	while (fd >= 0 && l->count < PARENTS_MAX && fstat(fd, &st) == 0) {
		struct directory_id *ids = reallocarray(l->ids, l->count + 1, sizeof(*ids));
		int up;

		if (!ids)
			return -ENOMEM;
		l->ids = ids;
		if (l->count && ids[l->count - 1].dev == st.st_dev && ids[l->count - 1].ino == st.st_ino)
			break; /* the root is its own parent */
		ids[l->count++] = (struct directory_id){ st.st_dev, st.st_ino };
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up; /* what may not be entered ends the lineage */
	}
	return 0;
}

static int find_inside(struct nesting *n, struct lineage *l, const char *path)
{
	const struct mount *m;
	const char *rest;

	l->path = realpath(path, NULL);
	m = l->path ? mount_of(n, l->path) : NULL;
	if (!m)
		return 0;
	rest = l->path + (strcmp(m->point, "/") != 0 ? strlen(m->point) : 0);
	l->device = m->device;
	return asprintf(&l->inside, "%s%s", strcmp(m->root, "/") != 0 ? m->root : "", rest) < 0 ? -ENOMEM : 0;
}

int nesting_new(const struct config *c, struct nesting **ret_nesting)
{
	struct nesting *n = calloc(1, sizeof(*n));
	int r = -ENOMEM;

	if (!n)
		return r;
	n->list = calloc(c->export_count + 1, sizeof(*n->list));
	if (n->list)
		r = read_mounts(n);
	for (size_t i = 0; r == 0 && i < c->export_count; i++) {
		n->count++;
		if (!c->exports[i].path)
			continue;
		r = read_parents(&n->list[i], c->exports[i].path);
		if (r == 0)
			r = find_inside(n, &n->list[i], c->exports[i].path);
	}
	if (r < 0) {
		nesting_free(n);
		return r;
	}
	*ret_nesting = n;
	return 0;
}

void nesting_free(struct nesting *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++) {
		free(n->list[i].ids);
		free(n->list[i].path);
		free(n->list[i].inside);
	}
	for (size_t i = 0; i < n->mount_count; i++) {
		free(n->mounts[i].root);
		free(n->mounts[i].point);
	}
	free(n->list);
	free(n->mounts);
	free(n);
}

/* ---- one in another --------------------------------------------------------------------------------------------- */

static bool is_parent(const struct lineage *outer, const struct lineage *inner)
{
	for (size_t i = 0; outer->count && i < inner->count; i++)
		if (inner->ids[i].dev == outer->ids[0].dev && inner->ids[i].ino == outer->ids[0].ino)
			return true;
	return false;
}

static bool is_inside(const struct lineage *inner, const char *device, const char *path)
{
	return !strcmp(inner->device, device) && path_is_in(inner->inside, path);
}

bool nesting_holds(const struct nesting *n, size_t outer, size_t inner)
{
	const struct lineage *o = &n->list[outer], *i = &n->list[inner];

	if (is_parent(o, i))
		return true;
	if (!i->inside || !o->inside)
		return false;
	if (is_inside(i, o->device, o->inside))
		return true;
	for (size_t k = 0; k < n->mount_count; k++) /* what is mounted in it belongs to it */
		if (is_inside(i, n->mounts[k].device, n->mounts[k].root) && path_is_in(n->mounts[k].point, o->path))
			return true;
	return false;
}
