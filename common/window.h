/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How many slots to keep in flight: as few as keep the rate. A slot that is used again soon is still in the caches of both
 * ends, and 32 MiB on the way where 4 would do are read from memory twice more. So a sender starts with little, doubles for
 * as long as that makes it faster, and tries the next size up or down now and then.
 *
 * Plain arithmetic on acknowledgements and a clock; the sender's loop thread owns it.
 */
#ifndef RDCP_WINDOW_H
#define RDCP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window {
	unsigned int max;     /* slots there are */
	unsigned int size;    /* slots that may be in flight now */
	unsigned int base;    /* the size the trial compares with */
	double base_rate;     /* slots a second at that size; 0: not measured yet */
	bool trying;          /* `size` is a trial */
	bool down;            /* the next trial is for a smaller size */
	bool limited;         /* somebody was kept waiting for a slot since the measurement began */
	unsigned int settled; /* measurements since the last trial */
	unsigned int acked;   /* in this measurement */
	unsigned int skip;    /* acknowledgements of slots sent under the former size: not counted */
	uint64_t since_ns;    /* when this measurement began; 0: with the next acknowledgement */
};

/* `slots` >= 1 of `slot_size` bytes. */
void window_init(struct window *w, unsigned int slots, size_t slot_size);

/* May one more be in flight, with `in_flight` already? A no is remembered. */
bool window_has_room(struct window *w, unsigned int in_flight);

void window_on_ack(struct window *w, uint64_t now_ns);

#endif
