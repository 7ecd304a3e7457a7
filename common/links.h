/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Files with several names, as a walk comes across them: which was the first name, and which are the further ones. Memory
 * grows with the names that were found, up to a limit. Knows nothing of file systems or peers; one thread at a time.
 */
#ifndef RDCP_LINKS_H
#define RDCP_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define LINKS_MAX (1U << 20) /* names that are remembered; what is beyond counts as a file of its own */

struct budget;

/* What became of a first name; the owner's. */
enum links_state {
	LINKS_UNDER_WAY, /* not known yet */
	LINKS_THERE,     /* further names may lead to it */
	LINKS_NOT_THERE /* it could not be made, or something else was left in its place: the next name becomes the first */
};

/* A file, by its first name. */
struct links_file {
	struct links_file *next; /* in its bucket */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	off_t size;
	blkcnt_t blocks;
	struct timespec mtime;
	enum links_state state;
	char *path; /* owned, as is `text` */
	char *text; /* of a symlink; else NULL */
};

/* A further name of it. */
struct links_name {
	struct links_name *next;
	struct links_file *file;
	char *dir, *name; /* owned, until links_take() */
};

/* Zeroed it is empty. */
struct links {
	struct links_file **buckets;
	size_t bucket_count, files, names;
	struct links_name *first, *last; /* in the order they came */
	struct budget *memory;           /* of the names, borrowed; NULL: no limit */
	size_t taken;                    /* from it, until links_done() */
};

/*
 * 1: the file has come before, and `dir`/`name` is remembered as a further name. 0: it has not; *ret_file is its entry, or NULL
 * when no more can be remembered. -ENOMEM. Strings are copied; `text` is a symlink's, or NULL.
 */
int links_add(struct links *l, const struct stat *st, const char *dir, const char *name, const char *text,
	      struct links_file **ret_file);

/* The next further name, not taken yet; NULL: none is left. */
const struct links_name *links_next(const struct links *l);

/* Takes the next further name off, strings included (free(3)). False: none is left. The file stays until links_done(). */
bool links_take(struct links *l, struct links_name *ret_name);

/* What fstatat(2) would say of it, as far as it is remembered. */
struct stat links_stat(const struct links_file *file);

void links_done(struct links *l); /* and zeroes it but for `memory` */

#endif
