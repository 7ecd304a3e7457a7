/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The memory that data moves through: `slots` slots of `slot_size` bytes in one page-aligned mapping, registered once.
 * The receiver advertises it; the sender holds one of the same geometry, and local slot i only ever goes to remote slot i.
 * Free slots are handed out last-in first-out, so that few slots are touched when few are needed, and those are warm.
 */
#ifndef RDCP_SLAB_H
#define RDCP_SLAB_H

#include <stddef.h>
#include <stdint.h>

#define SLAB_MIN_SLOT_LOG2 12 /* 4 KiB, a page */
#define SLAB_MAX_SLOT_LOG2 26 /* 64 MiB: lengths stay far below 2^31 in every provider */
#define SLAB_MAX_SLOTS_LOG2 12

struct slab {
	uint8_t *base;
	size_t slot_size; /* bytes, a power of two */
	unsigned int slots;
	unsigned int free_count;
	unsigned int least_free; /* so few were free at some time */
	uint16_t *free;          /* stack of free slot numbers */
};

/* Fails with -EINVAL outside the limits above, -ENOMEM. */
int slab_init(struct slab *s, unsigned int slot_log2, unsigned int slots_log2);
void slab_done(struct slab *s); /* fine on a zeroed struct */

int slab_get(struct slab *s);                     /* a slot number, or -1 when none is free */
void slab_put(struct slab *s, unsigned int slot); /* the slot was got and is not free */

static inline uint8_t *slab_slot(const struct slab *s, unsigned int slot)
{
	return s->base + (size_t)slot * s->slot_size;
}

static inline size_t slab_bytes(const struct slab *s)
{
	return s->slot_size * s->slots;
}

#endif
