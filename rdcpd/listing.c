// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Listing and looking for names. A pattern is followed component by component: all paths that match so far are at hand, and the
 * next component is looked for in each. Symlinks are followed as in any path, so they could multiply without end: all that is
 * found and looked at is counted.
 */
#include "listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/beneath.h"
#include "common/budget.h"
#include "common/cleanup.h"
#include "common/glob.h"
#include "common/util.h"

void listing_done(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->entries[i].path);
	free(l->entries);
	budget_give(l->memory, l->taken);
	l->entries = NULL;
	l->count = l->room = l->bytes = l->taken = 0;
}

static int take(struct listing *l, size_t bytes)
{
	int r = budget_take(l->memory, bytes);

	if (r == 0)
		l->taken += bytes;
	return r;
}

static int make_room(struct listing *l)
{
	size_t room = l->room ? 2 * l->room : 64;
	struct listing_entry *entries;
	int r;

	if (l->count < l->room)
		return 0;
	r = take(l, (room - l->room) * sizeof(*entries));
	if (r < 0)
		return r;
	entries = reallocarray(l->entries, room, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	l->entries = entries;
	l->room = room;
	return 0;
}

/* `dir`/`name`, or `name` alone. */
static int add(struct listing *l, const char *dir, const char *name, size_t name_len)
{
	char *path;
	int len, r = make_room(l);

	if (r < 0)
		return r;
	len = asprintf(&path, "%s%s%.*s", dir, *dir ? "/" : "", (int)name_len, name);
	if (len < 0)
		return -ENOMEM;
	if (l->count == LISTING_MAX || (size_t)len > LISTING_BYTES_MAX - l->bytes) {
		free(path);
		return -E2BIG;
	}
	r = take(l, (size_t)len + 17); /* with what an allocation costs */
	if (r < 0) {
		free(path);
		return r;
	}
	l->bytes += (size_t)len;
	l->entries[l->count++] = (struct listing_entry){ .path = path };
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct listing_entry *)a)->path, ((const struct listing_entry *)b)->path);
}

static bool is_directory(int root, const char *path)
{
	_cleanup_close_ int fd = beneath_open(root, path, O_PATH | O_DIRECTORY, 0);

	return fd >= 0;
}

/* Opens what is at `front` + `path`, or "." when both are empty. */
static int open_at(int root, const char *front, const char *path, int flags)
{
	char whole[PATH_MAX];

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", front, path) >= sizeof(whole))
		return -ENAMETOOLONG;
	return beneath_open(root, *whole ? whole : ".", flags, 0);
}

static int check_cancelled(const struct listing *l)
{
	return atomic_load(&l->cancelled) ? -ECANCELED : 0;
}

/* ---- a directory -------------------------------------------------------------------------------------------- */

static int is_directory_in(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN && d->d_type != DT_LNK)
		return d->d_type == DT_DIR;
	if (d->d_type == DT_UNKNOWN && fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode);
	return -1; /* where a link leads is asked of the root */
}

static int read_directory(struct listing *l, int root, const char *path, DIR *dir)
{
	char whole[PATH_MAX];
	struct dirent *d;
	int r = 0, kind;

	while (r == 0 && (errno = 0, d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		kind = is_directory_in(dirfd(dir), d);
		if (kind < 0)
			kind = (size_t)snprintf(whole, sizeof(whole), "%s/%s", path, d->d_name) < sizeof(whole) &&
			       is_directory(root, whole);
		r = add(l, "", d->d_name, strlen(d->d_name));
		if (r == 0)
			l->entries[l->count - 1].directory = kind;
		if (r == 0)
			r = check_cancelled(l);
	}
	return r < 0 ? r : errno ? -errno : 0;
}

static int add_itself(struct listing *l, int root, const char *path)
{
	_cleanup_close_ int fd = beneath_open(root, path, O_PATH, 0);
	const char *slash = strrchr(path, '/');

	if (fd < 0)
		return fd;
	return add(l, "", slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
}

int listing_read(struct listing *l, int root, const char *path)
{
	int fd = beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0), r;
	DIR *dir;

	if (fd == -ENOTDIR)
		return add_itself(l, root, path);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	r = read_directory(l, root, path, dir);
	closedir(dir);
	if (l->count)
		qsort(l->entries, l->count, sizeof(*l->entries), by_path);
	return r;
}

/* ---- a pattern ---------------------------------------------------------------------------------------------- */

struct search {
	int root;
	char front[PATH_MAX]; /* without wildcards, with its slash; or "" */
	struct listing *result;
	int error; /* the first that kept something from being looked at */
};

/* What matches in front + path. */
static int look_in(struct search *s, const char *path, const struct glob *g)
{
	int fd = open_at(s->root, s->front, path, O_RDONLY | O_DIRECTORY), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		if (!s->error && fd != -ENOTDIR && fd != -ENOENT)
			s->error = fd < 0 ? fd : -ENOMEM;
		return 0;
	}
	while (r == 0 && (d = readdir(dir))) {
		r = ++s->result->looks > LISTING_LOOKS_MAX ? -E2BIG : check_cancelled(s->result);
		if (r == 0 && glob_matches(g, d->d_name))
			r = add(s->result, path, d->d_name, strlen(d->d_name));
	}
	closedir(dir);
	return r;
}

/* From the paths in s->result to those with one component more. */
static int step(struct search *s, const char *component, size_t len)
{
	struct listing *l = s->result;
	struct listing before = { .entries = l->entries, .count = l->count, .memory = l->memory, .taken = l->taken };
	struct glob g;
	int r = glob_init(&g, component, len);

	l->entries = NULL;
	l->count = l->room = l->bytes = l->taken = 0;
	for (size_t i = 0; r == 0 && i < before.count; i++)
		r = g.wild ? look_in(s, before.entries[i].path, &g) : add(l, before.entries[i].path, component, len);
	listing_done(&before);
	glob_done(&g);
	return r;
}

enum kind { NOTHING, DIRECTORY, OTHER };

static enum kind kind_at(const struct search *s, const char *path)
{
	int fd = open_at(s->root, s->front, path, O_PATH | O_NOFOLLOW);

	if (fd < 0)
		return NOTHING;
	close(fd);
	fd = open_at(s->root, s->front, path, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return OTHER;
	close(fd);
	return DIRECTORY;
}

/* Some may not be there: behind the last wildcard nothing was looked at. */
static int keep_what_exists(struct search *s, bool directories)
{
	struct listing *l = s->result;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct listing_entry *e = &l->entries[i];
		enum kind kind = r == 0 ? kind_at(s, e->path) : NOTHING;

		r = check_cancelled(l);
		e->directory = kind == DIRECTORY;
		if (kind == DIRECTORY || (kind == OTHER && !directories))
			l->entries[kept++] = *e;
		else
			free(e->path);
	}
	l->count = kept;
	return r;
}

static int search(struct search *s, const char *rest, bool directories)
{
	int r = add(s->result, "", "", 0);

	while (r == 0 && *rest) {
		size_t len = strcspn(rest, "/");

		r = step(s, rest, len);
		rest += len;
		rest += strspn(rest, "/");
	}
	return r == 0 ? keep_what_exists(s, directories) : r;
}

static int exists(int root, const char *path)
{
	int fd = beneath_open(root, path, O_PATH | O_NOFOLLOW, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int listing_glob(struct listing *l, int root, const char *pattern)
{
	_cleanup_free_ char *plain = strdup(pattern);
	struct search s = { .root = root, .result = l };
	size_t len = strlen(pattern), fixed;
	int r;

	if (!plain)
		return -ENOMEM;
	while (len > 1 && plain[len - 1] == '/')
		plain[--len] = '\0';
	fixed = glob_is_pattern(plain) ? glob_fixed(plain) : 0;
	if (exists(root, plain)) {
		r = add(l, "", plain + fixed, len - fixed);
		if (r == 0)
			l->entries[0].directory = is_directory(root, plain);
		return r;
	}
	if (fixed >= sizeof(s.front))
		return -ENAMETOOLONG;
	memcpy(s.front, plain, fixed);
	r = search(&s, plain + fixed, pattern[len] == '/');
	if (l->count)
		qsort(l->entries, l->count, sizeof(*l->entries), by_path);
	return r < 0 ? r : l->count ? 0 : s.error ? s.error : -ENOENT;
}
