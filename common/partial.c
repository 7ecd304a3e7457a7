/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See partial.h. Called by walk.c, outfile.c and the daemon's sweep.c. */
#include "partial.h"

#include <string.h>

#include "error.h"
#include "log.h"
#include "sys.h"

bool partial_is_name(const char *name)
{
	size_t len = strlen(name), tail = sizeof(PARTIAL_SUFFIX) - 1 + PARTIAL_RANDOM;
	const char *random = name + len - tail;

	/* '.', at least nothing of the name, '.', and the tail */
	if (len < tail + 2 || name[0] != '.' || random[-1] != '.' || strcmp(random + PARTIAL_RANDOM, PARTIAL_SUFFIX))
		return false;
	return strspn(random, PARTIAL_ALPHABET) >= PARTIAL_RANDOM;
}

int partial_remove(int dir, const char *name)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
	struct stat before;

	if (sys_fstat(dir, &before) == 0)
		times[1] = before.st_mtim;
	if (sys_unlinkat(dir, name) < 0)
		return negative_errno();
	if (times[1].tv_nsec != UTIME_OMIT && sys_utimensat(dir, ".", times, 0) < 0)
		log_debug("the modification time of a directory: %m, ignoring");
	return 0;
}
