/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See partial.h. Called by walk.c and the daemon's sweep.c. */
#include "partial.h"

#include <string.h>

bool partial_is_name(const char *name)
{
	size_t len = strlen(name), tail = sizeof(PARTIAL_SUFFIX) - 1 + PARTIAL_RANDOM;
	const char *random = name + len - tail;

	/* '.', at least nothing of the name, '.', and the tail */
	if (len < tail + 2 || name[0] != '.' || random[-1] != '.' || strcmp(random + PARTIAL_RANDOM, PARTIAL_SUFFIX))
		return false;
	return strspn(random, PARTIAL_ALPHABET) >= PARTIAL_RANDOM;
}
