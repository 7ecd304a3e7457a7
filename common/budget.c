// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* See budget.h. Relaxed atomics: the number is right by itself, and nothing else hangs on it. */
#include "budget.h"

#include <stdint.h>

void budget_give(struct budget *b, size_t bytes)
{
	for (; b; b = b->part)
		atomic_fetch_sub_explicit(&b->used, bytes, memory_order_relaxed);
}

int budget_take(struct budget *b, size_t bytes)
{
	size_t max, used;

	if (!b)
		return 0;
	max = atomic_load_explicit(&b->max, memory_order_relaxed);
	used = atomic_fetch_add_explicit(&b->used, bytes, memory_order_relaxed);
	if (bytes <= max && used <= max - bytes && budget_take(b->part, bytes) == 0)
		return 0;
	atomic_fetch_sub_explicit(&b->used, bytes, memory_order_relaxed);
	return -ENOBUFS;
}

int budget_take_spare(struct budget *b, size_t bytes)
{
	int r = bytes > SIZE_MAX / 2 ? -ENOBUFS : budget_take(b, 2 * bytes);

	if (r == 0)
		budget_give(b, bytes);
	return r;
}
