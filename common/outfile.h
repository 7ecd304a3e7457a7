/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A regular file being written, under a temporary name until it is whole. All calls block and belong to an I/O
 * worker, one at a time per file, except outfile_write(), which several workers may call at once.
 *
 *   outfile_create -> outfile_write ... -> outfile_finish -> [outfile_sync] -> outfile_commit
 *   outfile_discard at any time removes the temporary and closes everything; after commit it only closes.
 *
 * The temporary is '.NAME.XXXXXXXX.rdcp-part' beside the destination (NAME is cut so that it fits NAME_MAX), mode
 * 0600, made with O_EXCL.
 */
#ifndef RDCP_OUTFILE_H
#define RDCP_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct outfile_attrs {
	mode_t mode;   /* of the source, permission bits */
	bool preserve; /* mtime, and mode exactly (but setuid, setgid, sticky); else now and mode & ~umask */
	struct timespec mtime;
};

struct outfile {
	int dir_fd;    /* the directory that holds it, O_PATH; -1: nothing open */
	int fd;        /* the temporary; -1: none */
	bool entered;  /* the path is a directory, and the file is path/name */
	bool replaces; /* there was a regular file: without preserve its permission bits are kept */
	mode_t replaced_mode;
	char name[NAME_MAX + 1];
	char temp[NAME_MAX + 1]; /* "" when there is none on disk */
};

enum outfile_flags {
	OUTFILE_INTO_DIR = 1 << 0,  /* path must be a directory, else -ENOTDIR, or -ENOENT when there is nothing */
	OUTFILE_NO_CLOBBER = 1 << 1 /* -EEXIST when there is a destination */
};

void outfile_init(struct outfile *f);

/*
 * Where it goes: `path` beneath `root`; when that is an existing directory (also by a symlink, or with a trailing
 * slash), `path`/`name`. `name` is one component, -EINVAL else.
 * -EISDIR: the destination is a directory. -ENOTSUP: it is a FIFO, socket or device. -ENOENT: the parent is
 * missing. -ENOTDIR: the parent is no directory, or a trailing slash follows something else. -EXDEV: it would leave
 * the root. A symlink as the last component is replaced, not followed, unless it leads to a directory: `path` is
 * entered, `path`/`name` is -EISDIR. One that leads out of the root is -EXDEV. Else as open(2).
 * On failure nothing is open and nothing was made.
 */
int outfile_create(struct outfile *f, int root, const char *path, const char *name, unsigned int flags);

/* All of it, whatever write(2) interrupts or shortens. -ENOSPC, -EDQUOT, -EFBIG, -EIO ... */
int outfile_write(const struct outfile *f, const void *buf, size_t len, uint64_t offset);

/* Size and attributes, still under the temporary name: ftruncate, times, chmod last. -EINVAL: mtime is no time. */
int outfile_finish(struct outfile *f, uint64_t size, const struct outfile_attrs *attrs);

int outfile_sync(const struct outfile *f); /* fsync(2) of the file */

/* Gives it its name: renameat2(2). With OUTFILE_NO_CLOBBER a destination that appeared since is -EEXIST. The file
 * descriptor is closed first, and a failing close(2) is a failure. dir_fd stays for outfile_sync_dir(). After a
 * failure only outfile_discard() is left to do. */
int outfile_commit(struct outfile *f, unsigned int flags);

int outfile_sync_dir(const struct outfile *f); /* fsync(2) of the directory: makes the rename durable */

void outfile_discard(struct outfile *f);

#endif
