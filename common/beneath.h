/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Path system calls that cannot leave a root: openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, symlink races
 * included. `root` is an O_PATH directory descriptor and `path` is relative to it ("." is the root); with root =
 * AT_FDCWD nothing is confined and `path` is any path (the client's own files).
 * A path that would leave the root is -EXDEV.
 */
#ifndef RDCP_BENEATH_H
#define RDCP_BENEATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* As openat2(2), O_CLOEXEC added. */
int beneath_open(int root, const char *path, int flags, mode_t mode);

/*
 * Does a path that is not confined lead through one of the links of /proc that stand for descriptors, as that of /dev/stdout does?
 * False as well where nothing is, or where there is no openat2(2).
 */
bool beneath_is_descriptor(const char *path);

/*
 * The same within a tree: `top` is a directory descriptor, and no symlink is followed anywhere in `path` (-ELOOP), however
 * the tree changes meanwhile. "" is the top.
 */
int beneath_open_nofollow(int top, const char *path, int flags, mode_t mode);

/* One component of `dir` that is on the same file system, and no symlink (-ELOOP). -EXDEV: something is mounted there. */
int beneath_open_here(int dir, const char *name, int flags);

/*
 * Opens the directory that holds the last component of `path` (O_PATH) and gives that component.
 * -EINVAL: there is none to speak of ("", ".", "..", "/" or a trailing slash). -ENAMETOOLONG: beyond NAME_MAX.
 */
int beneath_open_parent(int root, const char *path, char ret_name[static NAME_MAX + 1]);

#endif
