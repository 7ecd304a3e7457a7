/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Names in an export, for a client that asks: what is in a directory, or what matches a pattern. Confined beneath the root like
 * everything else. Both calls block and belong to an I/O worker.
 */
#ifndef RDCPD_LISTING_H
#define RDCPD_LISTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define LISTING_MAX (1U << 20) /* names */
#define LISTING_BYTES_MAX (64U << 20)
#define LISTING_LOOKS_MAX (8U << 20) /* names that are compared with a pattern */

struct listing_entry {
	char *path;     /* owned */
	bool directory; /* or a symlink that leads to one */
};

struct budget;

/* Zeroed it is empty. */
struct listing {
	struct listing_entry *entries; /* sorted by their bytes */
	size_t count, room;
	size_t bytes, looks;
	struct budget *memory; /* borrowed, NULL: no limit */
	size_t taken;          /* from it, until listing_done() */
	atomic_bool cancelled; /* set by any thread: the call ends soon, with -ECANCELED */
};

/* The names in a directory, hidden ones too; of anything else its own name. -E2BIG, -ENOBUFS: too many. Else as open(2). */
int listing_read(struct listing *l, int root, const char *path);

/*
 * What `pattern` stands for, see glob.h: paths from glob_fixed() on. A path that exists as it is stands for itself. -ENOENT: there
 * is nothing; or why nothing could be looked at.
 */
int listing_glob(struct listing *l, int root, const char *pattern);

void listing_done(struct listing *l);

#endif
