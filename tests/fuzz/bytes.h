/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The bytes of a fuzzer taken as decisions. When they are used up every decision is 0, so that any input comes to an end. */
#ifndef RDCP_FUZZ_BYTES_H
#define RDCP_FUZZ_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *p;
	size_t left;
};

static inline uint8_t bytes_take(struct bytes *b)
{
	if (!b->left)
		return 0;
	b->left--;
	return *b->p++;
}

/* One of 0 .. n - 1, n <= 256. */
static inline unsigned int bytes_below(struct bytes *b, unsigned int n)
{
	return bytes_take(b) % n;
}

static inline bool bytes_one_in(struct bytes *b, unsigned int n)
{
	return bytes_take(b) % n == n - 1;
}

static inline uint64_t bytes_number(struct bytes *b, unsigned int size)
{
	uint64_t v = 0;

	while (size--)
		v = v << 8 | bytes_take(b);
	return v;
}

#define bytes_pick(b, array) ((array)[bytes_below(b, ARRAY_SIZE(array))])

#endif
