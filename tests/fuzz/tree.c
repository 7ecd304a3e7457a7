/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Trees, see tree.h. Names come from a few letters, so that those of two trees meet; sizes and times from what makes a difference. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "common/util.h"
#include "fuzz.h"

#define DEPTH 3
#define MADE_MAX 24
#define TIME 1700000000

struct maker {
	struct bytes *b;
	enum tree_kind kind;
	char files[MADE_MAX][TREE_PATH * 3]; /* for hard links */
	unsigned int count, made;
};

static const char *const names[] = { "a", "b", "c", "d", "A", ".e", "f\n\xff", "g" };
static const mode_t modes[] = { 0644, 0600, 0444, 0755, 0666, 04755, 02755, 0000 };
static const mode_t dir_modes[] = { 0755, 0700, 0775, 02775, 01777, 0555 };
static const unsigned int sizes[] = { 0, 1, 10, 100, 4095, 4096, 4097, 8192, 20000, 70000 };

static void set_time(struct maker *m, const char *path)
{
	/* a few seconds around one, so that they compare in any way */
	struct timespec t = { TIME + (long)bytes_below(m->b, 3), bytes_below(m->b, 2) ? 500 : 0 };
	struct timespec times[2] = { t, t };

	FUZZ_CHECK(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0);
}

static void make_file(struct maker *m, const char *path)
{
	_cleanup_free_ uint8_t *buf = NULL;
	unsigned int size = bytes_pick(m->b, sizes), seed = bytes_below(m->b, 8);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	FUZZ_CHECK(fd >= 0);
	/* two trees have the same file only where a source and a destination want the same seed of 0 */
	seed = seed ? seed + 16 * (unsigned int)m->kind + 64 * m->made : 0;
	buf = malloc(size + 1);
	for (unsigned int i = 0; i < size; i++)
		buf[i] = (uint8_t)((i / 64 + i) * 13 + seed * 101 + (i % 7) * seed);
	if (bytes_one_in(m->b, 6)) /* with a hole in front */
		FUZZ_CHECK(lseek(fd, 65536, SEEK_SET) == 65536);
	FUZZ_CHECK(write(fd, buf, size) == (ssize_t)size);
	if (bytes_one_in(m->b, 6) && fsetxattr(fd, "user.fuzz", &seed, sizeof(seed), 0) < 0)
		FUZZ_CHECK(errno == ENOTSUP || errno == EPERM);
	FUZZ_CHECK(fchmod(fd, bytes_pick(m->b, modes)) == 0);
	set_time(m, path);
	if (m->count < MADE_MAX)
		snprintf(m->files[m->count++], sizeof(m->files[0]), "%s", path);
}

static void make_symlink(struct maker *m, const char *path)
{
	static const char *const texts[] = { "nowhere", "a", "../b", "b/c", "/nowhere" };

	FUZZ_CHECK(symlink(m->kind == TREE_SOURCE ? bytes_pick(m->b, texts) : "nowhere", path) == 0);
}

static void make_directory(struct maker *m, const char *path, unsigned int depth);

static void make_entry(struct maker *m, const char *path, unsigned int depth)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return;
	m->made++;
	switch (bytes_below(m->b, 8)) {
	case 4:
	case 5:
		if (depth < DEPTH)
			make_directory(m, path, depth + 1);
		break;
	case 6:
		make_symlink(m, path);
		break;
	case 7:
		if (m->count)
			FUZZ_CHECK(link(m->files[bytes_below(m->b, m->count)], path) == 0);
		break;
	default:
		make_file(m, path);
	}
}

static void make_directory(struct maker *m, const char *path, unsigned int depth)
{
	unsigned int n = bytes_below(m->b, 6);
	char child[TREE_PATH * 3];

	FUZZ_CHECK(mkdir(path, 0755) == 0);
	for (unsigned int i = 0; i < n && m->made < MADE_MAX; i++) {
		snprintf(child, sizeof(child), "%s/%s", path, bytes_pick(m->b, names));
		make_entry(m, child, depth);
	}
	FUZZ_CHECK(chmod(path, bytes_pick(m->b, dir_modes)) == 0);
	set_time(m, path);
}

void tree_make(struct bytes *b, enum tree_kind kind, const char *path)
{
	struct maker m = { .b = b, .kind = kind };

	make_directory(&m, path, 0);
	FUZZ_CHECK(chmod(path, 0755) == 0);
}

/* ---- removing ----------------------------------------------------------------------------------------------- */

static void remove_at(int parent, const char *name)
{
	struct dirent *e;
	DIR *dir;
	int fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return;
	FUZZ_CHECK(fchmodat(parent, name, 0700, 0) == 0);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	FUZZ_CHECK(dir);
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_at(fd, e->d_name);
	closedir(dir);
	FUZZ_CHECK(unlinkat(parent, name, AT_REMOVEDIR) == 0);
}

void tree_remove(const char *path)
{
	remove_at(AT_FDCWD, path);
}

/* ---- looking ------------------------------------------------------------------------------------------------ */

static uint64_t read_content(int dir, const char *name, const struct stat *st)
{
	_cleanup_free_ uint8_t *buf = NULL;
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
		return 0;
	buf = malloc((size_t)st->st_size + 1);
	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(dir, name, (char *)buf, (size_t)st->st_size + 1);
	} else {
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, buf, (size_t)st->st_size);
		if (fd < 0)
			return 1; /* may not be read, the same each time */
	}
	FUZZ_CHECK(n == st->st_size);
	return digest_chunk(buf, (size_t)n);
}

static void read_below(int parent, const char *name, const char *path, struct tree *t)
{
	struct tree_entry *entry = &t->entries[t->count];
	char below[TREE_PATH];
	struct dirent *e;
	DIR *dir;
	int fd;

	if (fstatat(parent, name, &entry->stat, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	FUZZ_CHECK(t->count < TREE_ENTRIES - 1);
	t->count++;
	snprintf(entry->path, sizeof(entry->path), "%s", path);
	entry->content = read_content(parent, name, &entry->stat);
	if (!S_ISDIR(entry->stat.st_mode))
		return;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	dir = fdopendir(fd);
	FUZZ_CHECK(dir);
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		FUZZ_CHECK((size_t)snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "", e->d_name) <
			   sizeof(below));
		read_below(fd, e->d_name, below, t);
	}
	closedir(dir);
}

void tree_read(const char *path, struct tree *ret_tree)
{
	ret_tree->count = 0;
	read_below(AT_FDCWD, path, "", ret_tree);
}

const struct tree_entry *tree_find(const struct tree *t, const char *path)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (strcmp(t->entries[i].path, path) == 0)
			return &t->entries[i];
	return NULL;
}

bool tree_same_content(const struct tree_entry *a, const struct tree_entry *b)
{
	return (a->stat.st_mode & S_IFMT) == (b->stat.st_mode & S_IFMT) && a->content == b->content;
}
