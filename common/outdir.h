/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Directories at the destination of a tree. All calls block and belong to an I/O worker. What is there already is entered, not
 * made. There is nothing temporary about a directory: it is there, writable for its owner, until the tree is complete
 * and outdir_finish() gives it its attributes.
 */
#ifndef RDCP_OUTDIR_H
#define RDCP_OUTDIR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "outfile.h"

#define OWNER_MAY 0700 /* make files in it: a directory is made with that, until it is finished */

/*
 * The top of a tree, where place_find() says; with PLACE_EXACT also the root itself ("."). Returns its descriptor (O_PATH).
 * *ret_parent is that of the directory it is in, to be synced, or -1; `ret_made`: it was not there before; `ret_entered`: it is
 * path/name. -ENOTDIR: something else is there. Else as place_find() and mkdir(2).
 */
int outdir_make(int root, const char *path, const char *name, mode_t mode, unsigned int flags, int *ret_parent,
		bool *ret_made, bool *ret_entered);

/*
 * What outdir_make() would come to, with nothing made: 0, and the directory that is there (O_PATH), or -1 when it would be made;
 * or the error.
 */
int outdir_look(int root, const char *path, const char *name, unsigned int flags, int *ret_fd, bool *ret_entered);

/* One below. 1: made, 0: it was there; or -ENOTDIR, or as mkdir(2). */
int outdir_make_in(int parent, const char *name, mode_t mode);

/*
 * What is kept, mode and time, and on stable storage if `sync`. `path` as seen from `top` by a way without symlinks, "" for the top.
 * What it cannot be given is said in attrs->why and no failure. With `ret_unsynced` the failure is only that of making it durable.
 */
int outdir_finish(int top, const char *path, const struct outfile_attrs *attrs, bool sync, bool *ret_unsynced);

#endif
