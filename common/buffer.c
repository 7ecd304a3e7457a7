// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* See buffer.h. Any thread may call; each buffer has one owner at a time. */
#include "buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 256

int buffer_reserve(struct buffer *b, size_t more, size_t most)
{
	size_t room = b->room ? b->room : ROOM_FIRST;
	uint8_t *data;

	if (b->len > most || more > most - b->len)
		return -E2BIG;
	while (room < b->len + more)
		room *= 2;
	if (room == b->room)
		return 0;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

int buffer_add(struct buffer *b, const void *data, size_t len, size_t most)
{
	int r = buffer_reserve(b, len, most);

	if (r < 0 || !len)
		return r;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

void buffer_done(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ 0 };
}
