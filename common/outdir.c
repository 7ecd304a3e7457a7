// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Directories at the destination, see outdir.h. Called by the receiver's jobs, which own the descriptors. */
#include "outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "cleanup.h"
#include "error.h"
#include "sys.h"
#include "umask.h"
#include "util.h"

#define MODE_BITS 0777

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

static int set_attributes(int fd, const struct outfile_attrs *attrs)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, attrs->mtime };
	mode_t mode = outfile_keep(fd, attrs);

	if (attrs->preserve && sys_futimens(fd, times) < 0)
		return -errno;
	if (!attrs->preserve && (mode & OWNER_MAY) == OWNER_MAY)
		return 0; /* it has it since it was made, or keeps what it had before */
	return sys_fchmod(fd, attrs->preserve ? mode : mode & MODE_BITS & ~process_umask()) < 0 ? -errno : 0;
}

int outdir_finish(int top, const char *path, const struct outfile_attrs *attrs, bool sync)
{
	_cleanup_close_ int fd = beneath_open_nofollow(top, path, O_RDONLY | O_DIRECTORY, 0);
	char shown[512];
	int r = fd < 0 ? fd : 0;

	if (r == 0)
		r = set_attributes(fd, attrs);
	if (r == 0 && sync && sys_fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	return r < 0 ? fail(r, "finish directory '%s'", escape_name(path, shown, sizeof(shown))) : 0;
}
