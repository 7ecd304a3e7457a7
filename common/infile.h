/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A regular file being read. All calls block and belong to an I/O worker (infile_init excepted).
 */
#ifndef RDCP_INFILE_H
#define RDCP_INFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "extent.h"

#define INFILE_SUM_HOLES (1ULL << 40) /* bytes; some minutes of hashing zeros */

struct stream;

struct infile {
	int fd;      /* -1: not open */
	bool direct; /* read past the page cache */
	bool unsized; /* there is something to read, but st_size does not say how much (/proc, /sys), and is 0 in `stat` */
	struct stat stat;       /* when it was opened */
	struct extents extents; /* its data */
	struct stream *stream;  /* it is no file but this, borrowed; or NULL */
};

void infile_init(struct infile *f);

/* Some file systems tell a size that is no more than a bound: nothing is allocated, and it takes a read to know. */
bool infile_may_be_unsized(const struct stat *st);

/*
 * Opens `path` beneath `root` (see beneath.h) without blocking on a FIFO or touching a device.
 * -EISDIR: a directory. -ENOTSUP: neither (FIFO, socket, device). Else as open(2). Symlinks are followed.
 */
int infile_open(struct infile *f, int root, const char *path);

/*
 * What comes out of `stream` in its place: unsized, and has to be read in order by one worker at a time. As files of no name have them,
 * its permission bits are those that the umask leaves, its time is now.
 */
void infile_open_stream(struct infile *f, struct stream *stream);

/*
 * From now on read past the page cache, where the file system can: then buffers are aligned to DIRECT_BLOCK and have room up to the next
 * multiple of that, and where something is read at another offset, the page cache is used again.
 */
void infile_go_direct(struct infile *f);

/* Finds its holes, so that only `extents` need be read; without, all of it is data. */
int infile_find_holes(struct infile *f);

/*
 * The same for what was looked at before: `path` beneath the directory `top`, symlinks followed, or none (-ELOOP).
 * `seen` takes the place of the stat: infile_check() tells whether the file opened is the one that was seen, and is what it was.
 */
int infile_open_seen(struct infile *f, int top, const char *path, bool follow, const struct stat *seen);

/* Reads until `len` bytes or the end of the file, whatever read(2) interrupts or shortens. Returns the bytes read. */
ssize_t infile_read(const struct infile *f, void *buf, size_t len, uint64_t offset);

/*
 * Of all its bytes: XXH3_128bits, canonical. That takes its time: `worked` counts up meanwhile, and it is -ECANCELED as soon as
 * it is not wanted any more. -EFBIG: it has more than INFILE_SUM_HOLES bytes of holes, which cost nothing to make and as much to read as data.
 */
int infile_sum(const struct infile *f, const atomic_bool *cancelled, _Atomic uint64_t *worked,
	       uint8_t ret_sum[static 16]);

/*
 * Is it still the file that was opened? -ESTALE: another file, or its size or mtime changed. For an unsized file always 0. Call after the
 * last read.
 */
int infile_check(const struct infile *f);

void infile_close(struct infile *f); /* the extents stay for infile_done() */
void infile_done(struct infile *f);  /* the same, and frees */

#endif
