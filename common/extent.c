// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Finding holes, see extent.h. Called by infile.c, which owns the list. */
#include "extent.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "error.h"
#include "sys.h"

#define BLOCK 512 /* of st_blocks, stat(2) */
#define FIRST_ROOM 16

static int append(struct extents *e, unsigned int *room, uint64_t start, uint64_t end)
{
	if (e->count == *room) {
		unsigned int more = *room ? 2 * *room : FIRST_ROOM;
		struct extent *list = reallocarray(e->list, more, sizeof(*list));

		if (!list)
			return -ENOMEM;
		e->list = list;
		*room = more;
	}
	e->list[e->count++] = (struct extent){ start, end };
	return 0;
}

static int read_list(struct extents *e, int fd)
{
	unsigned int room = 0;
	off_t start, end = 0, size = (off_t)e->size;
	int r = 0;

	while (r == 0 && end < size) {
		start = sys_lseek(fd, end, SEEK_DATA);
		if (start < 0)
			return errno == ENXIO ? 0 : -errno; /* nothing but a hole from here on */
		end = e->count == EXTENTS_MAX - 1 ? size : sys_lseek(fd, start, SEEK_HOLE);
		if (end < 0)
			return -errno;
		if (start >= size)
			break; /* it grew; whoever checks it at the end will see */
		r = append(e, &room, (uint64_t)start, end < size ? (uint64_t)end : e->size);
	}
	return r;
}

uint64_t extents_bytes(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, blocks = (uint64_t)st->st_blocks * BLOCK;

	return size < blocks ? size : blocks;
}

int extents_read(struct extents *e, int fd, const struct stat *st)
{
	int r;

	*e = (struct extents){ .size = (uint64_t)st->st_size };
	if (extents_bytes(st) == e->size)
		return 0;
	e->list = calloc(1, sizeof(*e->list)); /* all of it a hole: a list, but empty */
	if (!e->list)
		return -ENOMEM;
	r = read_list(e, fd);
	if (r == 0)
		return 0;
	extents_done(e);
	e->size = (uint64_t)st->st_size;
	return r == -EINVAL || r == -EOPNOTSUPP ? 0 : fail(r, "look for holes");
}

void extents_done(struct extents *e)
{
	free(e->list);
	*e = (struct extents){ 0 };
}

struct extent extent_next(const struct extents *e, uint64_t offset)
{
	unsigned int low = 0, high = e->count;

	if (!e->list)
		return (struct extent){ offset, e->size };
	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (e->list[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == e->count)
		return (struct extent){ e->size, e->size };
	return (struct extent){ e->list[low].start > offset ? e->list[low].start : offset, e->list[low].end };
}
