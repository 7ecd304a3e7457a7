// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Removing sources. Called by push.c while it runs and by client.c after it. Below a directory no symlink is followed: what is
 * removed is in the tree that was copied, whatever became of it meanwhile.
 */
#include "remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "common/beneath.h"
#include "common/cleanup.h"
#include "common/util.h"
#include "exitcode.h"
#include "interrupt.h"

struct removal {
	unsigned int source;
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	bool is_link; /* a further name: what is in it went, or did not, with the first */
	char *below;  /* its path from the source, or NULL: the source itself; owned */
};

struct remove_list {
	struct removal *all;
	size_t count, room;
	bool lost; /* something could not be remembered */
};

static bool make_room(struct remove_list *l)
{
	size_t room = l->room ? 2 * l->room : 64;
	struct removal *all;

	if (l->count < l->room)
		return true;
	all = reallocarray(l->all, room, sizeof(*all));
	if (!all)
		return false;
	l->all = all;
	l->room = room;
	return true;
}

void remove_later(struct client *c, const struct send_item *item)
{
	bool below = item->flags & WIRE_FILE_BELOW;
	struct remove_list *l = c->removed;
	struct removal *r;

	if ((item->flags & WIRE_FILE_DIRECTORY) || item->stream)
		return;
	if (!l)
		l = c->removed = calloc(1, sizeof(*l));
	if (!l || !make_room(l)) {
		if (l)
			l->lost = true;
		return;
	}
	r = &l->all[l->count];
	*r = (struct removal){
		.source = item->request,
		.dev = item->stat.st_dev,
		.ino = item->stat.st_ino,
		.size = item->stat.st_size,
		.mtime = item->stat.st_mtim,
		.is_link = item->flags & WIRE_FILE_HARD_LINK,
		.below = below ? strdup(item->path) : NULL,
	};
	if (below && !r->below)
		l->lost = true;
	else
		l->count++;
}

static bool is_same(const struct removal *r, const struct stat *st)
{
	if (r->dev != st->st_dev || r->ino != st->st_ino)
		return false;
	return r->is_link || (r->size == st->st_size && r->mtime.tv_sec == st->st_mtim.tv_sec &&
			      r->mtime.tv_nsec == st->st_mtim.tv_nsec);
}

static int remove_at(const struct removal *r, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode) && !r->below)
		return -ELOOP;
	if (!is_same(r, &st))
		return -ESTALE;
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

static int remove_below(const struct client *c, const struct removal *r)
{
	_cleanup_close_ int top = open(c->sources[r->source].path, O_PATH | O_DIRECTORY | O_CLOEXEC), dir = -1;
	char *slash = strrchr(r->below, '/');
	const char *name = slash ? slash + 1 : r->below;
	int result;

	if (top < 0)
		return -errno;
	if (slash)
		*slash = '\0';
	dir = beneath_open_nofollow(top, slash ? r->below : "", O_PATH | O_DIRECTORY, 0);
	if (slash)
		*slash = '/';
	result = dir < 0 ? dir : remove_at(r, dir, name);
	return result;
}

static const char *why_not(int result)
{
	if (result == -ELOOP)
		return "it is a symbolic link, and what it leads to was copied";
	return result == -ESTALE ? "it is not the file that was read, any more" : strerror(-result);
}

static void remove_one(struct client *c, const struct removal *r)
{
	const char *path = c->sources[r->source].path;
	int result = r->below ? remove_below(c, r) : remove_at(r, AT_FDCWD, path);
	char whole[PATH_MAX + NAME_MAX], name[2 * ESCAPED_PATH_SIZE];

	if (result == 0 || result == -ENOENT) /* a source that was named twice, or by another name, is gone already */
		return;
	snprintf(whole, sizeof(whole), "%s%s%s", path, r->below ? "/" : "", r->below ? r->below : "");
	c->output.kept++;
	output_complain(&c->output, EXITCODE_FAILED, "'%s': copied, but not removed: %s",
			escape_name(whole, name, sizeof(name)), why_not(result));
}

int remove_sources(struct client *c)
{
	struct remove_list *l = c->removed;

	if (!l)
		return 0;
	for (size_t i = 0; i < l->count; i++) {
		if (interrupt_signal())
			return interrupt_signal();
		remove_one(c, &l->all[i]);
	}
	if (l->lost)
		output_complain(&c->output, EXITCODE_FAILED, "out of memory: not all that was copied was removed");
	return 0;
}

void remove_done(struct client *c)
{
	for (size_t i = 0; c->removed && i < c->removed->count; i++)
		free(c->removed->all[i].below);
	if (c->removed)
		free(c->removed->all);
	free(c->removed);
	c->removed = NULL;
}
