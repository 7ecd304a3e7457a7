/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a transfer has made itself, by device and inode: it is not overwritten by another source of the same transfer, whatever that
 * is called, as cp(1) and mv(1) do. A set of 16 bytes a file, up to 43 with its room to grow; it grows with files that are whole,
 * before they get their names, and with nothing else that a peer may say.
 *
 * Any worker calls any function. What replaces something looks and renames with a lock held: of two that find the same file
 * there, the second finds what the first has made of it.
 */
#ifndef RDCP_MADE_H
#define RDCP_MADE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct budget;

struct made_file {
	uint64_t dev, ino; /* both 0: an empty place */
};

struct made {
	pthread_mutex_t set, renaming; /* taken in the other order: `renaming`, then `set` */
	struct made_file *table;       /* `room` places */
	size_t room;                   /* a power of two, or 0 */
	size_t count;
	struct budget *memory; /* of the table, borrowed; NULL: no limit */
	bool full;             /* there was not enough of it */
};

void made_init(struct made *m, struct budget *memory);
void made_done(struct made *m);

/* -ENOMEM. What the budget has no room for is not remembered, and that is no failure: with 256 MiB, after 6 million files. */
int made_add(struct made *m, const struct stat *st);
bool made_contains(struct made *m, const struct stat *st);

/*
 * renameat2(2) of a file `own` that was added before. -ENOTUNIQ: the transfer has made what is there, and that stays. `expected`:
 * something is there, most likely. What is the same file already may be there.
 */
int made_rename(struct made *m, const struct stat *own, bool expected, int from, const char *temp, int to,
		const char *name);

#endif
