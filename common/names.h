/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A set of names, each remembered as a hash of 128 bits: which files of a tree are done, for the next attempt at a
 * transfer that broke. Names can be added and found, not listed and not taken out; a name costs 22 to 43 bytes.
 *
 * The hash is XXH3 with a secret of the set's own, drawn when it is set up: whoever chooses the names of the files cannot
 * choose two that pass for one. Two of 10 million names do so by chance once in 10^24 transfers.
 */
#ifndef RDCP_NAMES_H
#define RDCP_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_MAX (12U << 20) /* 256 MiB, and 128 more while it grows to that */
#define NAMES_ID_MAX 64       /* bytes */
#define NAMES_SECRET_SIZE 192

struct name_hash {
	uint64_t low, high; /* both 0: an empty place */
};

struct names {
	struct name_hash *table; /* `room` places; a name is at its place or behind it, before any that is empty */
	size_t room;             /* a power of two, or 0 before the first name */
	size_t count;
	size_t max; /* names there may be */
	uint8_t secret[NAMES_SECRET_SIZE];
};

/* For at most `max` names, and never more than NAMES_MAX. Takes no memory yet. -EIO: there are no random numbers. */
int names_init(struct names *n, size_t max);
void names_done(struct names *n); /* fine on a zeroed struct */

/*
 * `id` (at most NAMES_ID_MAX bytes, may be NULL with 0) is what makes the path this file and no other: its place in the
 * command line, its size and time. No structs with padding. `path` is bytes.
 * 1: added. 0: it was there. -ENOSPC: the set is full, -ENOMEM: nothing is lost but this name, which is not remembered.
 */
int names_add(struct names *n, const void *id, size_t id_len, const void *path, size_t path_len);

bool names_contains(const struct names *n, const void *id, size_t id_len, const void *path, size_t path_len);

#endif
