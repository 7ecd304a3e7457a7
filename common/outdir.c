// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Directories at the destination, see outdir.h. Called by the receiver's jobs, which own the descriptors. */
#include "outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "cleanup.h"
#include "error.h"
#include "sys.h"
#include "util.h"

#define MODE_BITS 0777
#define ALL_BITS 07777

/* 1: made. 0: it was there. */
static int make(int parent, const char *name, mode_t mode)
{
	struct stat st;

	if (sys_mkdirat(parent, name, (mode & MODE_BITS) | OWNER_MAY) == 0)
		return 1;
	if (errno != EEXIST)
		return -errno;
	if (sys_fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int outdir_make_in(int parent, const char *name, mode_t mode)
{
	char shown[512];
	int r = place_check_name(name);

	if (r == 0)
		r = make(parent, name, mode);
	return r < 0 ? fail(r, "make directory '%s'", escape_name(name, shown, sizeof(shown))) : r;
}

/* With a slash behind it as without: it is going to be a directory. */
static int drop_slashes(const char *path, char out[static PATH_MAX])
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, path, len);
	out[len] = '\0';
	return 0;
}

int outdir_make(int root, const char *path, const char *name, mode_t mode, unsigned int flags, int *ret_parent,
		bool *ret_made, bool *ret_entered)
{
	_cleanup_close_ int parent = -1;
	char shown[512], plain[PATH_MAX], found[NAME_MAX + 1];
	int r = drop_slashes(path, plain), fd;

	*ret_parent = -1;
	*ret_made = *ret_entered = false;
	if (r == 0 && (flags & PLACE_EXACT)) { /* what is there, also by a symlink or as ".", needs no parent */
		fd = beneath_open(root, plain, O_PATH | O_DIRECTORY, 0);
		if (fd >= 0)
			return fd;
	}
	if (r == 0)
		r = place_find(root, plain, name, flags, &parent, found);
	if (r >= 0) {
		*ret_entered = r == 1;
		r = make(parent, found, mode);
	}
	if (r < 0)
		return fail(r, "make directory '%s'", escape_name(path, shown, sizeof(shown)));
	*ret_made = r == 1;
	fd = beneath_open_nofollow(parent, found, O_PATH | O_DIRECTORY, 0);
	if (fd >= 0)
		*ret_parent = steal_fd(parent);
	return fd;
}

int outdir_look(int root, const char *path, const char *name, unsigned int flags, int *ret_fd, bool *ret_entered)
{
	_cleanup_close_ int parent = -1;
	char plain[PATH_MAX], found[NAME_MAX + 1];
	int r = drop_slashes(path, plain), fd = -ENOENT;

	*ret_fd = -1;
	*ret_entered = false;
	if (r < 0)
		return r;
	if (flags & PLACE_EXACT)
		fd = beneath_open(root, plain, O_PATH | O_DIRECTORY, 0);
	if (fd < 0) {
		r = place_find(root, plain, name, flags & ~(unsigned int)PLACE_MAKE_PATH, &parent, found);
		if (r == -ENOENT && (flags & PLACE_MAKE_PATH))
			return 0;
		if (r < 0)
			return r;
		*ret_entered = r == 1;
		fd = beneath_open_nofollow(parent, found, O_PATH | O_DIRECTORY, 0);
	}
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	*ret_fd = fd;
	return 0;
}

/*
 * Without preserve it has what mkdir(2) gave it, which knows the umask, the ACL and the set-group-ID bit of the directory around it; only
 * what was added for its owner is taken back.
 */
static mode_t mode_for(const struct stat *st, const struct outfile_attrs *attrs, mode_t mode)
{
	if (!attrs->preserve)
		return st->st_mode & ALL_BITS & ~(OWNER_MAY & ~mode);
	return attrs->special ? mode : mode | (st->st_mode & OUTFILE_SPECIAL);
}

static void complain(const struct outfile_attrs *attrs, int r, const char *what)
{
	fail(r, "set %s of a directory", what);
	if (attrs->why && !*attrs->why)
		snprintf(attrs->why, ATTRIBUTES_WHY_MAX, "cannot set %s: %s", what, strerror(-r));
}

/* As in outfile_set_time(). */
static int set_mode(int fd, mode_t mode)
{
	char path[FD_PATH_MAX];

	if (sys_fchmod(fd, mode) >= 0)
		return 0;
	return errno == EBADF ? sys_chmod(sys_fd_path(fd, path), mode) : -1;
}

/* It is there with all that is in it: what it cannot be given is no failure. */
static void set_attributes(int fd, const struct outfile_attrs *attrs)
{
	mode_t mode = outfile_keep(fd, attrs);
	struct stat st;
	int r = attrs->preserve ? outfile_set_time(fd, &attrs->mtime, attrs->why) : 0;

	if (r < 0)
		complain(attrs, r, "the modification time");
	if (!attrs->preserve && (mode & OWNER_MAY) == OWNER_MAY)
		return; /* it has it since it was made, or keeps what it had before */
	if (sys_fstat(fd, &st) < 0 || set_mode(fd, mode_for(&st, attrs, mode)) < 0)
		complain(attrs, -errno, "the mode");
}

/* Anything of the file system will do where the directory itself may not be read. */
static int sync_it(int fd)
{
	_cleanup_close_ int any = -1;

	if (!(fcntl(fd, F_GETFL) & O_PATH))
		return sys_fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
	any = sys_open_unnamed(fd);
	return any < 0 || sys_syncfs(any) < 0 ? -errno : 0;
}

int outdir_finish(int top, const char *path, const struct outfile_attrs *attrs, bool sync, bool *ret_unsynced)
{
	_cleanup_close_ int fd = beneath_open_nofollow(top, path, O_RDONLY | O_DIRECTORY, 0);
	char shown[512];
	int r;

	*ret_unsynced = false;
	if (fd == -EACCES)
		fd = beneath_open_nofollow(top, path, O_PATH | O_DIRECTORY, 0);
	r = fd < 0 ? fd : 0;
	if (r == 0) {
		set_attributes(fd, attrs);
		r = sync ? sync_it(fd) : 0;
		*ret_unsynced = r < 0;
	}
	return r < 0 ? fail(r, "finish directory '%s'", escape_name(path, shown, sizeof(shown))) : 0;
}
