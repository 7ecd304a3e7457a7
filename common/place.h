/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where something goes, by cp's rule: `path` beneath `root` (see beneath.h); when that is an existing directory (also by a symlink,
 * or with a trailing slash), `path`/`name`. All calls block and belong to an I/O worker.
 */
#ifndef RDCP_PLACE_H
#define RDCP_PLACE_H

#include <limits.h>

enum place_flags {
	PLACE_INTO_DIR = 1 << 0,   /* path must be a directory, else -ENOTDIR, or -ENOENT when there is nothing */
	PLACE_NO_CLOBBER = 1 << 1, /* -EEXIST when there is a destination; for outfile.h */
	PLACE_EXACT = 1 << 2,      /* path itself, even if it is a directory */
	PLACE_MAKE_PATH = 1 << 3   /* missing directories on the way are made */
};

/*
 * Opens the directory it goes to (O_PATH) and says under which name. 1: `path` is that directory and was entered; 0: it is the
 * parent of `path`. -EINVAL: `name` is no name. -ENOENT: the parent is missing. -ENOTDIR: the parent is no directory, or a
 * trailing slash follows something else. -EXDEV: it would leave the root. Else as open(2).
 */
int place_find(int root, const char *path, const char *name, unsigned int flags, int *ret_dir,
	       char ret_name[static NAME_MAX + 1]);

/* 0: one component that can be a name. -EINVAL, -ENAMETOOLONG. */
int place_check_name(const char *name);

#endif
