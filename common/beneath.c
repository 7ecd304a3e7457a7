/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Path lookups that the kernel confines: openat2(2). Called on I/O workers by everything that opens a path.
 *
 * A kernel or a sandbox without openat2(2) makes every confined lookup fail; there is no weaker second way. The caller
 * owns the root, and what is returned.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "beneath.h"
#include "cleanup.h"
#include "sys.h"

#define RENAME_RETRIES 16 /* openat2(2), EAGAIN: a rename elsewhere made ".." uncertain */

static int open_confined(int root, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0, /* anything else is EINVAL */
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int fd, tries = 0;

	do {
		fd = sys_openat2(root, path, &how);
	} while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < RENAME_RETRIES)));
	return fd < 0 ? -errno : fd;
}

int beneath_open(int root, const char *path, int flags, mode_t mode)
{
	int fd;

	if (root != AT_FDCWD)
		return open_confined(root, path, flags, mode, 0);
	do {
		fd = sys_openat(AT_FDCWD, path, flags | O_CLOEXEC, mode);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

/* With these links it can be opened, without them it cannot. */
bool beneath_is_descriptor(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int with = beneath_open(AT_FDCWD, path, O_PATH, 0);
	_cleanup_close_ int without = -1;

	if (with < 0)
		return false;
	without = sys_openat2(AT_FDCWD, path, &how);
	return without < 0 && errno == ELOOP;
}

int beneath_open_nofollow(int top, const char *path, int flags, mode_t mode)
{
	return open_confined(top, *path ? path : ".", flags, mode, RESOLVE_NO_SYMLINKS);
}

int beneath_open_here(int dir, const char *name, int flags)
{
	return open_confined(dir, name, flags | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

int beneath_open_parent(int root, const char *path, char ret_name[static NAME_MAX + 1])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t name_len = strlen(name), dir_len = (size_t)(name - path);
	char dir[PATH_MAX];
	int fd;

	if (!name_len || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	if (name_len > NAME_MAX || dir_len >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, path, dir_len); /* with its slash: "/" stays "/" */
	dir[dir_len] = '\0';
	fd = beneath_open(root, dir_len ? dir : ".", O_PATH | O_DIRECTORY, 0);
	if (fd >= 0)
		memcpy(ret_name, name, name_len + 1);
	return fd;
}
