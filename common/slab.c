/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The slots: one anonymous mapping and a stack of those that are free.
 *
 * A session owns one; its loop thread alone gets and puts. The endpoint registers the mapping and is done with it
 * before slab_done(). Making it fails when memory is short; getting fails with "none free" and in no other way.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "error.h"
#include "slab.h"

/* A slot number fits uint16_t, and the bytes of the largest slab fit size_t. */
static_assert(SLAB_MAX_SLOTS_LOG2 <= 16, "slot numbers are uint16_t");
static_assert(SLAB_MAX_SLOT_LOG2 + SLAB_MAX_SLOTS_LOG2 < sizeof(size_t) * 8 - 1, "slab_bytes() must not wrap");

/*
 * All pages at once, instead of one fault after the other when data comes: registering would do the first half of that.
 * Changing the protection there and back makes kernels that map pages late (User-Mode Linux: 50 us a page) do it in one go.
 */
static void populate(struct slab *s)
{
	if (madvise(s->base, slab_bytes(s), MADV_POPULATE_WRITE) < 0)
		return; /* Linux before 5.14: pages come when they are touched */
	if (mprotect(s->base, slab_bytes(s), PROT_READ) == 0)
		mprotect(s->base, slab_bytes(s), PROT_READ | PROT_WRITE);
}

int slab_init(struct slab *s, unsigned int slot_log2, unsigned int slots_log2)
{
	unsigned int i;
	void *p;

	memset(s, 0, sizeof(*s));
	if (slot_log2 < SLAB_MIN_SLOT_LOG2 || slot_log2 > SLAB_MAX_SLOT_LOG2 || slots_log2 > SLAB_MAX_SLOTS_LOG2)
		return -EINVAL;
	s->slot_size = (size_t)1 << slot_log2;
	s->slots = 1u << slots_log2;
	s->free = malloc(s->slots * sizeof(*s->free));
	p = mmap(NULL, slab_bytes(s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		s->base = p;
	if (!s->base || !s->free) {
		size_t bytes = slab_bytes(s);

		slab_done(s);
		return fail(-ENOMEM, "a slab of %zu bytes", bytes);
	}
	for (i = 0; i < s->slots; i++) /* slot 0 on top */
		s->free[i] = (uint16_t)(s->slots - 1 - i);
	s->free_count = s->least_free = s->slots;
	populate(s);
	return 0;
}

void slab_done(struct slab *s)
{
	if (s->base)
		munmap(s->base, slab_bytes(s));
	free(s->free);
	memset(s, 0, sizeof(*s));
}

int slab_get(struct slab *s)
{
	if (!s->free_count)
		return -1;
	if (--s->free_count < s->least_free)
		s->least_free = s->free_count;
	return s->free[s->free_count];
}

void slab_put(struct slab *s, unsigned int slot)
{
	assert(slot < s->slots && s->free_count < s->slots);
	s->free[s->free_count++] = (uint16_t)slot;
}
