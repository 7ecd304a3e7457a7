/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where a file has bytes: its extents of data, in order, with holes between them that need neither be read nor sent. Blocks, and
 * belongs to an I/O worker, but extent_next() and extents_done().
 */
#ifndef RDCP_EXTENT_H
#define RDCP_EXTENT_H

#include <stdint.h>
#include <sys/stat.h>

#define EXTENTS_MAX 65536 /* of a file; what is behind the last of them is taken for data */

struct extent {
	uint64_t start, end; /* bytes; start < end */
};

struct extents {
	struct extent *list; /* NULL: all of it is data */
	unsigned int count;
	uint64_t size; /* of the file */
};

/* There are blocks for so many bytes of it: its size, or less when it has holes. */
uint64_t extents_bytes(const struct stat *st);

/*
 * Asks the file system (SEEK_DATA, SEEK_HOLE) if the file has fewer blocks than its size needs. One that cannot tell has no holes.
 * Moves the descriptor's offset. -ENOMEM, -EIO.
 */
int extents_read(struct extents *e, int fd, const struct stat *st);
void extents_done(struct extents *e); /* fine on a zeroed one */

/* The first data at or behind `offset`; empty (start == end == size) when there is none. */
struct extent extent_next(const struct extents *e, uint64_t offset);

#endif
