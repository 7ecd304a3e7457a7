// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Finding the place of a destination, see place.h. The caller owns the descriptor; after a failure nothing is open. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "cleanup.h"
#include "place.h"
#include "sys.h"

#define MADE_MODE 0777 /* of directories on the way; less the umask */

int place_check_name(const char *name)
{
	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	return strlen(name) > NAME_MAX ? -ENAMETOOLONG : 0;
}

/* The first `len` bytes of `path` as a directory, made if it is missing; its parent is there. */
static int make_one(int root, const char *path, size_t len)
{
	_cleanup_close_ int parent = -1;
	char part[PATH_MAX], name[NAME_MAX + 1];

	memcpy(part, path, len);
	part[len] = '\0';
	parent = beneath_open_parent(root, part, name);
	if (parent < 0)
		return parent == -EINVAL ? 0 : parent; /* "." or "..": there, or an error for whoever opens it */
	return sys_mkdirat(parent, name, MADE_MODE) < 0 && errno != EEXIST ? -errno : 0;
}

/* Makes what is missing in front of the last component. */
static int make_path(int root, const char *path)
{
	int r = 0;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	for (const char *p = path + strspn(path, "/"); r == 0 && (p = strchr(p, '/')); p += strspn(p, "/"))
		r = make_one(root, path, (size_t)(p - path));
	return r;
}

static int enter(int fd, const char *name, int *ret_dir, char ret_name[static NAME_MAX + 1])
{
	int r = place_check_name(name);

	if (r < 0) {
		close(fd);
		return r;
	}
	memcpy(ret_name, name, strlen(name) + 1);
	*ret_dir = fd;
	return 1;
}

/* `path` as a directory, made with all that leads to it if that is wanted. */
static int open_directory(int root, const char *path, unsigned int flags)
{
	int fd = beneath_open(root, path, O_PATH | O_DIRECTORY, 0), r;

	if (fd != -ENOENT || !(flags & PLACE_MAKE_PATH))
		return fd;
	r = make_path(root, path);
	if (r == 0 && (flags & PLACE_INTO_DIR))
		r = make_one(root, path, strlen(path));
	return r < 0 ? r : beneath_open(root, path, O_PATH | O_DIRECTORY, 0);
}

int place_find(int root, const char *path, const char *name, unsigned int flags, int *ret_dir,
	       char ret_name[static NAME_MAX + 1])
{
	int fd = open_directory(root, path, flags), r;

	if (fd >= 0 && !(flags & PLACE_EXACT))
		return enter(fd, name, ret_dir, ret_name);
	if (fd >= 0)
		close(fd);
	/* A path that is not a directory is told from one that cannot be looked up by its parent, whose errors are then the
	 * precise ones. */
	else if (flags & PLACE_INTO_DIR || (fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP))
		return fd;
	r = beneath_open_parent(root, path, ret_name);
	if (r ==
	    -EINVAL) /* nothing behind the last slash: what is before is not a directory; or ".", which cannot be replaced */
		return fd < 0 ? fd : -EISDIR;
	if (r < 0)
		return r;
	*ret_dir = r;
	return 0;
}
