/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A buffer that ends where its page ends, with nothing mapped behind it: one byte read or written too far is a fault, with or
 * without a sanitizer.
 */
#ifndef RDCP_TEST_GUARD_H
#define RDCP_TEST_GUARD_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD_SPAN 65536 /* bytes a guard can hold */

struct guard {
	uint8_t *map;
};

static inline void guard_init(struct guard *g)
{
	g->map = mmap(NULL, 2 * GUARD_SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(g->map, MAP_FAILED);
	ck_assert_int_eq(mprotect(g->map + GUARD_SPAN, GUARD_SPAN, PROT_NONE), 0);
}

static inline void guard_done(struct guard *g)
{
	munmap(g->map, 2 * GUARD_SPAN);
}

/* `len` bytes that end at the edge; `data` is copied there, NULL leaves what was there. */
static inline uint8_t *guard_put(struct guard *g, const void *data, size_t len)
{
	uint8_t *p = g->map + GUARD_SPAN - len;

	if (data)
		memcpy(p, data, len);
	return p;
}

#endif
