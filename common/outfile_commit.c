// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * A whole file gets its name, and that is made durable. The contracts are in outfile.h.
 *
 * The descriptor is what was written; the temporary is only a name, and anyone who may write to the directory can put something
 * else there, another client of the same daemon as well. So the name is compared with the descriptor before it is renamed. Where
 * other users may write, a new name is given to the descriptor itself if that can be done, or compared after the rename as well;
 * elsewhere that would only find copies that replace one another.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "log.h"
#include "made.h"
#include "outfile_impl.h"
#include "place.h"
#include "sys.h"
#include "util.h"

#define EXCHANGED "somebody exchanged the temporary file; the destination is as it was"
#define EXCHANGED_LATE "somebody exchanged the file while it got its name; what is there now was not sent"

/* A process that may not ask, because of a service's system call filter, cannot have set another user either. */
uid_t outfile_user(void)
{
	int uid = setfsuid((uid_t)-1);

	return uid == -1 ? geteuid() : (uid_t)uid;
}

int outfile_is_link_to(int dir, const char *name, const char *text)
{
	char there[PATH_MAX];
	ssize_t n = sys_readlinkat(dir, name, there, sizeof(there));

	if (n < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : -errno; /* EINVAL: it is no link */
	return (size_t)n == strlen(text) && !memcmp(there, text, (size_t)n);
}

/*
 * Others than root, to whom there is no limit: who owns the directory, or may write to it, unless it is sticky. 1: one of them could
 * exchange the temporary.
 */
static int is_shared(int dir)
{
	struct stat st;

	if (sys_fstat(dir, &st) < 0)
		return -errno;
	if (st.st_uid != outfile_user() && st.st_uid != 0)
		return 1;
	return st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX);
}

/* 1, 0, or why nobody can say. */
static int is_it(const struct outfile *f, int dir, const char *name)
{
	struct stat st, named;

	if (f->link_text)
		return outfile_is_link_to(dir, name, f->link_text);
	if (sys_fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (f->is_hard_link)
		return named.st_dev == f->linked_dev && named.st_ino == f->linked_ino;
	if (sys_fstat(f->fd, &st) < 0)
		return -errno;
	return named.st_dev == st.st_dev && named.st_ino == st.st_ino;
}

/* NFS and quotas tell late errors with close(2); the descriptor itself is needed until the file has its name. */
static int check_written(const struct outfile *f)
{
	int fd = dup(f->fd);

	return fd < 0 || sys_close(fd) < 0 ? -errno : 0;
}

static void remove_temp_name(struct outfile *f)
{
	if (sys_unlinkat(outfile_temp_dir(f), f->temp) < 0 && errno != ENOENT)
		log_warning("cannot remove a temporary name: %m, ignoring");
}

/* On a file system without RENAME_NOREPLACE (NFS) a hard link refuses to replace just as well. */
static int rename_no_replace(struct outfile *f)
{
	int from = outfile_temp_dir(f);

	if (sys_renameat2(from, f->temp, f->dir_fd, f->name, RENAME_NOREPLACE) >= 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (sys_linkat(from, f->temp, f->dir_fd, f->name) < 0)
		return -errno;
	remove_temp_name(f);
	return 0;
}

/* Before it has its name: whoever finds it there finds it among those that were made. */
static int note_made(struct outfile *f)
{
	int r;

	if (!f->made)
		return 0;
	r = f->fd >= 0 ? sys_fstat(f->fd, &f->own)
		       : sys_fstatat(outfile_temp_dir(f), f->temp, &f->own, AT_SYMLINK_NOFOLLOW);
	return r < 0 ? -errno : made_add(f->made, &f->own);
}

static int rename_over(struct outfile *f)
{
	int from = outfile_temp_dir(f);

	if (f->made)
		return made_rename(f->made, &f->own, f->replaces, from, f->temp, f->dir_fd, f->name);
	return sys_renameat2(from, f->temp, f->dir_fd, f->name, 0) < 0 ? -errno : 0;
}

static int rename_it(struct outfile *f, unsigned int flags)
{
	int r;

	if (flags & PLACE_NO_CLOBBER)
		return rename_no_replace(f);
	r = rename_over(f);
	if (r < 0)
		return r;
	if (f->is_hard_link) /* between two names of one file rename(2) does nothing at all */
		remove_temp_name(f);
	return 0;
}

/* Where nothing is: a second name for what is open, which nobody can exchange. False: some other way. */
static bool link_it(struct outfile *f)
{
	if (f->fd < 0 || sys_link_fd(f->fd, f->dir_fd, f->name) < 0)
		return false;
	remove_temp_name(f);
	return true;
}

static int give_name(struct outfile *f, unsigned int flags)
{
	int shared = is_shared(outfile_temp_dir(f)), r;

	if (shared < 0)
		return shared;
	if (shared && link_it(f))
		return 0;
	r = is_it(f, outfile_temp_dir(f), f->temp);
	if (r <= 0) {
		f->why = r < 0 ? NULL : EXCHANGED;
		return r < 0 ? r : -ESTALE;
	}
	r = rename_it(f, flags);
	if (r < 0 || !shared || is_it(f, f->dir_fd, f->name) > 0)
		return r;
	f->why = EXCHANGED_LATE;
	f->named = true;
	return -ESTALE;
}

int outfile_commit(struct outfile *f, unsigned int flags)
{
	char shown[512];
	int r;

	if (f->direct_fd >= 0 && sys_close(steal_fd(f->direct_fd)) < 0)
		return fail(-errno, "close");
	r = f->fd >= 0 ? check_written(f) : 0;
	if (r < 0)
		return fail(r, "close");
	r = note_made(f);
	if (r == 0)
		r = give_name(f, flags);
	if (r < 0)
		return fail(r, "rename to '%s'", escape_name(f->name, shown, sizeof(shown)));
	f->named = true;
	f->temp[0] = '\0';
	if (f->fd >= 0)
		close(steal_fd(f->fd)); /* and a lock with it: the temporary name is gone */
	outfile_close_part_dir(f);
	return 0;
}

/* Anything that is open there will do for syncfs(2). */
static int sync_file_system(const struct outfile *f)
{
	_cleanup_close_ int fd = sys_openat(f->dir_fd, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd < 0)
		fd = sys_open_unnamed(f->dir_fd);
	return fd < 0 || sys_syncfs(fd) < 0 ? -errno : 0;
}

/* An O_PATH descriptor cannot be synced; file systems that cannot sync a directory say EINVAL and need not. */
int outfile_sync_dir(const struct outfile *f)
{
	_cleanup_close_ int fd = sys_openat(f->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	int r;

	if (fd < 0) {
		r = errno == EACCES ? sync_file_system(f) : -errno;
		return r < 0 ? fail(r, "open a directory to sync it") : 0;
	}
	do {
		r = sys_fsync(fd) < 0 ? -errno : 0;
	} while (r == -EINTR);
	return r < 0 && r != -EINVAL ? fail(r, "fsync of a directory") : 0;
}
