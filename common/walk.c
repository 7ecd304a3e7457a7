// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Walking a tree. See walk.h. Called by the sender's jobs; the sender owns the struct and closes it.
 *
 * Directories wait on a stack, so the walk goes deep before it goes on: the stack holds the brothers of the directories on the
 * way down and no more. Each is opened from the top by its whole path, without following links, which holds what was
 * looked at and what is entered together however the tree changes meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attributes.h"
#include "beneath.h"
#include "budget.h"
#include "cleanup.h"
#include "error.h"
#include "filter.h"
#include "here.h"
#include "partial.h"
#include "sys.h"
#include "util.h"
#include "walk.h"

struct walk_pending {
	struct walk_pending *next;
	struct stat stat;
	size_t size; /* of all this, taken from the walk's memory */
	int error;
	char path[];
};

void walk_init(struct walk *w)
{
	*w = (struct walk){ .top = -1, .root = -1 };
}

int walk_open(struct walk *w, int root, const char *path, bool follow)
{
	int fd = beneath_open(root, path, O_PATH | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	w->top = fd;
	w->root = root;
	w->follow = follow;
	w->start = strdup(path);
	w->path = strdup("");
	if (!w->path || !w->start)
		return -ENOMEM;
	if (sys_fstat(fd, &w->stat) < 0)
		return fail(-errno, "stat of a directory");
	if (w->narrow)
		w->stat.st_mode = attributes_mode(w->top, w->stat.st_mode);
	fd = sys_openat(w->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	w->dir = fdopendir(fd);
	if (w->dir)
		return 0;
	close(fd);
	return -ENOMEM;
}

static int new_pending(struct walk *w, const char *dir, const char *name, const struct stat *st,
		       struct walk_pending **ret_p)
{
	size_t len = strlen(dir) + 1 + strlen(name) + 1, size = sizeof(struct walk_pending) + len;
	struct walk_pending *p;
	int r = budget_take(w->memory, size);

	if (r < 0)
		return r;
	p = malloc(size);
	if (!p) {
		budget_give(w->memory, size);
		return -ENOMEM;
	}
	*p = (struct walk_pending){ .stat = *st, .size = size };
	snprintf(p->path, len, "%s%s%s", dir, *dir ? "/" : "", name);
	*ret_p = p;
	return 0;
}

static void free_pending(struct walk *w, struct walk_pending *p)
{
	budget_give(w->memory, p->size);
	free(p);
}

static void push(struct walk_pending **stack, struct walk_pending *p)
{
	p->next = *stack;
	*stack = p;
}

static struct walk_pending *pop(struct walk_pending **stack)
{
	struct walk_pending *p = *stack;

	if (p)
		*stack = p->next;
	return p;
}

/* st_size is a hint only: /proc says 0. */
static int read_link(int dir_fd, const char *name, char **ret_text)
{
	char text[PATH_MAX];
	ssize_t n = sys_readlinkat(dir_fd, name, text, sizeof(text));

	if (n < 0)
		return -errno;
	if (n == sizeof(text))
		return -ENAMETOOLONG;
	*ret_text = strndup(text, (size_t)n);
	return *ret_text ? 0 : -ENOMEM;
}

int walk_whole_path(const struct walk *w, const char *path, char ret_path[static PATH_MAX])
{
	int len = snprintf(ret_path, PATH_MAX, "%s%s%s", w->start, *path ? "/" : "", path);

	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int walk_open_below(const struct walk *w, const char *path, int flags)
{
	char whole[PATH_MAX];
	int r;

	if (!w->follow)
		return beneath_open_nofollow(w->top, path, flags, 0);
	r = walk_whole_path(w, path, whole);
	return r < 0 ? r : beneath_open(w->root, whole, flags & ~O_NOFOLLOW, 0);
}

static int stat_below(const struct walk *w, const char *path, struct stat *ret_stat)
{
	_cleanup_close_ int fd = walk_open_below(w, path, O_PATH);

	if (fd < 0)
		return fd;
	return sys_fstat(fd, ret_stat) < 0 ? -errno : 0;
}

/* Is it one of the directories that lead to where the walk is? */
static int leads_back(const struct walk *w, const struct stat *st)
{
	_cleanup_free_ char *path = strdup(w->path);
	struct stat above;
	char *slash;
	int r;

	if (!path)
		return -ENOMEM;
	while (*path) {
		r = stat_below(w, path, &above);
		if (r < 0)
			return r;
		if (above.st_dev == st->st_dev && above.st_ino == st->st_ino)
			return -ELOOP;
		slash = strrchr(path, '/');
		*(slash ? slash : path) = '\0';
	}
	return w->stat.st_dev == st->st_dev && w->stat.st_ino == st->st_ino ? -ELOOP : 0;
}

/* The entry becomes what it leads to. */
static int follow_link(const struct walk *w, const char *name, struct walk_entry *e)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int r;

	if (asprintf(&path, "%s%s%s", w->path, *w->path ? "/" : "", name) < 0)
		return -ENOMEM;
	r = stat_below(w, path, &st);
	if (r == 0 && S_ISDIR(st.st_mode))
		r = leads_back(w, &st);
	if (r == 0)
		e->stat = st;
	return r;
}

/* A path that is too long is not: it fails later, where somebody hears of it. */
static bool is_excluded(const struct walk *w, const char *name, const struct stat *st)
{
	char path[PATH_MAX];

	if (!w->filter ||
	    (size_t)snprintf(path, sizeof(path), "%s%s%s", w->path, *w->path ? "/" : "", name) >= sizeof(path))
		return false;
	return filter_excludes(w->filter, path, S_ISDIR(st->st_mode));
}

/* Renamed meanwhile, or a piece of a file that is still on its way here. A directory of such a name is somebody's own. */
static bool is_unfinished(const struct walk_entry *e)
{
	return partial_is_name(e->name) && !S_ISDIR(e->stat.st_mode);
}

/* 1: *e is filled. 0: it is excluded, or an unfinished file. */
static int fill_entry(struct walk *w, const char *name, struct walk_entry *e)
{
	struct walk_pending *p;
	int r;

	*e = (struct walk_entry){ .dir = strdup(w->path), .name = strdup(name) };
	if (!e->dir || !e->name)
		return -ENOMEM;
	if (sys_fstatat(dirfd(w->dir), name, &e->stat, AT_SYMLINK_NOFOLLOW) < 0) {
		e->error = -errno;
		e->stat = (struct stat){ 0 };
	}
	if (is_unfinished(e))
		return 0;
	if (!e->error && S_ISLNK(e->stat.st_mode))
		e->error = w->follow ? follow_link(w, name, e) : read_link(dirfd(w->dir), name, &e->link);
	if (e->error == -ENOMEM)
		return -ENOMEM;
	if (is_excluded(w, name, &e->stat))
		return 0;
	if (w->narrow && !e->error)
		e->stat.st_mode = attributes_mode_in(dirfd(w->dir), name, e->stat.st_mode);
	if (!S_ISDIR(e->stat.st_mode))
		return 1;
	if (w->destination && here_is(w->destination, &e->stat)) {
		e->error = WALK_ITSELF;
		return 1;
	}
	r = new_pending(w, w->path, name, &e->stat, &p);
	if (r < 0)
		return r;
	push(&w->pending, p);
	return 1;
}

/* The directory itself, once more: with what kept it from being read. */
static int report_failed(struct walk *w, struct walk_entry *e)
{
	struct walk_pending *p = pop(&w->failed);
	char *slash = strrchr(p->path, '/');

	*e = (struct walk_entry){ .stat = p->stat, .error = p->error };
	e->dir = slash ? strndup(p->path, (size_t)(slash - p->path)) : strdup("");
	e->name = strdup(slash ? slash + 1 : p->path);
	free_pending(w, p);
	return e->dir && e->name ? 0 : -ENOMEM;
}

static void leave_dir(struct walk *w)
{
	if (w->dir)
		closedir(w->dir);
	w->dir = NULL;
	free(steal_ptr(w->path));
}

/* False: there is none left. One that cannot be opened is put aside. */
static bool enter_next(struct walk *w)
{
	struct walk_pending *p = pop(&w->pending);
	int fd;

	if (!p)
		return false;
	fd = walk_open_below(w, p->path, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		w->path = strdup(p->path);
	if (fd >= 0 && w->path)
		w->dir = fdopendir(fd);
	if (w->dir) {
		free_pending(w, p);
		return true;
	}
	if (fd >= 0)
		close(fd);
	free(steal_ptr(w->path));
	p->error = fd < 0 ? fd : -ENOMEM;
	push(&w->failed, p);
	return true;
}

/* 1: *e is filled. 0: not this time. */
static int read_one(struct walk *w, struct walk_entry *e)
{
	struct dirent *d;
	int r;

	do {
		errno = 0;
		d = readdir(w->dir);
	} while (d && (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..")));
	if (d) {
		r = fill_entry(w, d->d_name, e);
		if (r <= 0)
			walk_entry_done(e);
		return r;
	}
	if (errno) {
		int error = -errno;
		struct walk_pending *p;

		r = new_pending(w, "", *w->path ? w->path : ".", &w->stat, &p);
		if (r < 0)
			return r;
		p->error = error;
		push(&w->failed, p);
	}
	leave_dir(w);
	return 0;
}

int walk_read(struct walk *w, struct walk_entry *entries, unsigned int max)
{
	unsigned int count = 0;
	int r = 0;

	while (count < max && r >= 0 && !atomic_load(&w->cancelled)) {
		if (w->failed) {
			r = report_failed(w, &entries[count]);
			if (r < 0)
				walk_entry_done(&entries[count]);
			else
				count++;
		} else if (w->dir) {
			r = read_one(w, &entries[count]);
			if (r > 0)
				count++;
		} else if (!enter_next(w)) {
			break;
		}
	}
	if (r >= 0)
		return (int)count;
	while (count)
		walk_entry_done(&entries[--count]);
	return r;
}

void walk_cancel(struct walk *w)
{
	atomic_store(&w->cancelled, true);
}

void walk_close(struct walk *w)
{
	struct walk_pending *p;

	leave_dir(w);
	while ((p = pop(&w->pending)) || (p = pop(&w->failed)))
		free_pending(w, p);
	if (w->top >= 0)
		close(w->top);
	free(w->start);
	*w = (struct walk){ .top = -1, .root = -1, .memory = w->memory };
}

void walk_entry_done(struct walk_entry *e)
{
	free(e->dir);
	free(e->name);
	free(e->link);
	*e = (struct walk_entry){ 0 };
}
