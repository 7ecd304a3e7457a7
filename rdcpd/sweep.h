/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Finds what crashes left behind: files with names as in common/partial.h, regular files beneath a directory that nobody has changed for
 * long and nobody holds a lock on. Blocks; for a thread that has time.
 */
#ifndef RDCPD_SWEEP_H
#define RDCPD_SWEEP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SWEEP_STEP 256     /* names between two calls of pause() */
#define SWEEP_DEPTH_MAX 64 /* directories in each other: a descriptor each */

struct sweep {
	/* set by the caller */
	struct timespec before; /* CLOCK_REALTIME: only what was last written to, and changed in any way, before that */
	bool (*pause)(void *owner);                                     /* true: stop now */
	void (*removed)(void *owner, const char *path, uint64_t bytes); /* `path` begins with the directory's; raw */
	void *owner;

	/* sums over all calls; zeros in the beginning */
	uint64_t seen, removed_count, removed_bytes;
	uint64_t failed; /* could not be looked at or removed */
	int error;       /* of the first of these, and which */
	char error_path[PATH_MAX];

	/* its own */
	char path[PATH_MAX];
	unsigned int depth;
};

/*
 * Looks at everything beneath `root` on its file system, following no symbolic link and entering no mount. What cannot be read
 * is counted as failed. Returns false when pause() ended it.
 */
bool sweep_directory(struct sweep *s, const char *root);

#endif
