// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* The pieces of a file, see layout.h. The receiver adds to it on the loop's thread and walks it in a job. */
#include "layout.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM 4

static bool continues(const struct layout_run *run, uint64_t offset, uint32_t len)
{
	return run->len == len && run->count < UINT32_MAX && offset == run->offset + (uint64_t)run->len * run->count;
}

int layout_add(struct layout *l, uint64_t offset, uint32_t len)
{
	if (l->count && continues(&l->runs[l->count - 1], offset, len)) {
		l->runs[l->count - 1].count++;
		return 0;
	}
	if (l->count == l->room) {
		unsigned int room = l->room ? 2 * l->room : FIRST_ROOM;
		struct layout_run *runs = reallocarray(l->runs, room, sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		l->runs = runs;
		l->room = room;
	}
	l->runs[l->count++] = (struct layout_run){ .offset = offset, .len = len, .count = 1 };
	if (len > l->longest)
		l->longest = len;
	return 1;
}

bool layout_next(const struct layout *l, struct layout_walk *w, uint64_t *ret_offset, uint32_t *ret_len)
{
	const struct layout_run *run;

	if (w->run < l->count && w->piece == l->runs[w->run].count) {
		w->run++;
		w->piece = 0;
	}
	if (w->run == l->count)
		return false;
	run = &l->runs[w->run];
	*ret_offset = run->offset + (uint64_t)run->len * w->piece++;
	*ret_len = run->len;
	return true;
}

void layout_done(struct layout *l)
{
	free(l->runs);
	*l = (struct layout){ 0 };
}
