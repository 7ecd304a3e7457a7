/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Bytes in memory that grows with them, up to a limit. */
#ifndef RDCP_BUFFER_H
#define RDCP_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/* An empty one is all zeros. */
struct buffer {
	uint8_t *data; /* owned */
	size_t len, room;
};

/* Room for `more` bytes behind the `len` that are there, together at most `most`. -E2BIG, -ENOMEM: it stays what it was. */
int buffer_reserve(struct buffer *b, size_t more, size_t most);
int buffer_add(struct buffer *b, const void *data, size_t len, size_t most); /* the same, and puts them there */

void buffer_done(struct buffer *b); /* it is empty then */

#endif
