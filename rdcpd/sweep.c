/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See sweep.h. Every directory is opened from the descriptor of the one above, by a name of one component and with openat2(2)
 * refusing links and mounts: so whatever is renamed meanwhile, nothing outside of the root is ever touched. A file is removed
 * by name from the directory it was found in, after it was opened, locked and seen to be the same.
 */
#include "sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/beneath.h"
#include "common/cleanup.h"
#include "common/partial.h"
#include "common/sys.h"

/* ---- notes ------------------------------------------------------------------------------------------------------ */

static void note_failure(struct sweep *s, int error)
{
	if (!s->failed++) {
		s->error = error;
		snprintf(s->error_path, sizeof(s->error_path), "%s", s->path);
	}
}

/* Adds a component to the path that is told. Returns the length it had, for leave(). */
static size_t enter(struct sweep *s, const char *name)
{
	size_t len = strlen(s->path);

	snprintf(s->path + len, sizeof(s->path) - len, "%s%s", len && s->path[len - 1] == '/' ? "" : "/", name);
	return len;
}

static void leave(struct sweep *s, size_t len)
{
	s->path[len] = '\0';
}

/* ---- one file --------------------------------------------------------------------------------------------------- */

static int open_in(int dir, const char *name, int flags)
{
	return beneath_open_here(dir, name, flags | O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static bool earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Not only the time of writing: a file whose times are to be preserved gets an old one while it is still a temporary. */
static bool is_old(const struct sweep *s, const struct stat *st)
{
	return S_ISREG(st->st_mode) && earlier(&st->st_mtim, &s->before) && earlier(&st->st_ctim, &s->before);
}

/* A shared lock is refused while somebody has the exclusive one, and can be had on a file opened for reading. */
static bool is_free(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return false;
	return fcntl(fd, F_OFD_GETLK, &lock) >= 0 && lock.l_type == F_UNLCK;
}

/* 1: it is gone; 0: it is not for us. `dir` is where it was found. */
static int remove_if_old(struct sweep *s, int dir, const char *name, uint64_t *ret_bytes)
{
	_cleanup_close_ int fd = -1;
	struct stat found, st;
	int r;

	if (sys_fstatat(dir, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!is_old(s, &found))
		return 0;
	fd = open_in(dir, name, 0);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (sys_fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != found.st_ino || st.st_dev != found.st_dev || !is_free(fd))
		return 0;
	if (sys_fstat(fd, &st) < 0 || !is_old(s, &st)) /* now that it is locked */
		return 0;
	r = partial_remove(dir, name);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*ret_bytes = (uint64_t)st.st_size;
	return 1;
}

static void sweep_file(struct sweep *s, int dir, const char *name)
{
	size_t len = enter(s, name);
	uint64_t bytes = 0;
	int r = remove_if_old(s, dir, name, &bytes);

	if (r < 0) {
		note_failure(s, r);
	} else if (r > 0) {
		s->removed_count++;
		s->removed_bytes += bytes;
		s->removed(s->owner, s->path, bytes);
	}
	leave(s, len);
}

/* ---- directories ------------------------------------------------------------------------------------------------ */

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static bool sweep_opened(struct sweep *s, int fd);

static bool sweep_subdirectory(struct sweep *s, int dir, const char *name)
{
	size_t len = enter(s, name);
	bool go_on = true;
	int fd = s->depth < SWEEP_DEPTH_MAX ? open_in(dir, name, O_DIRECTORY) : -ELOOP;

	/* another file system, no directory any more, or gone: nothing of ours */
	if (fd >= 0)
		go_on = sweep_opened(s, fd);
	else if (fd != -EXDEV && fd != -ENOTDIR && fd != -ENOENT && (fd != -ELOOP || s->depth == SWEEP_DEPTH_MAX))
		note_failure(s, fd);
	leave(s, len);
	return go_on;
}

static bool is_directory(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return sys_fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISDIR(st.st_mode);
}

/* Takes `fd`. */
static bool sweep_opened(struct sweep *s, int fd)
{
	__attribute__((cleanup(cleanup_dir))) DIR *dir = fdopendir(fd);
	const struct dirent *d;
	bool go_on = true;

	if (!dir) {
		note_failure(s, -errno);
		close(fd);
		return true;
	}
	s->depth++;
	while (go_on && (errno = 0, d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (!(++s->seen % SWEEP_STEP) && s->pause(s->owner))
			go_on = false;
		else if (is_directory(fd, d))
			go_on = sweep_subdirectory(s, fd, d->d_name);
		else if (partial_is_name(d->d_name))
			sweep_file(s, fd, d->d_name);
	}
	if (go_on && errno)
		note_failure(s, -errno);
	s->depth--;
	return go_on;
}

bool sweep_directory(struct sweep *s, const char *root)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	snprintf(s->path, sizeof(s->path), "%s", root);
	s->depth = 0;
	if (fd >= 0)
		return sweep_opened(s, fd);
	note_failure(s, -errno);
	return true;
}
