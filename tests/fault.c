/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fault injection behind common/sys.h: linked into programs built with -DRDCP_FAULTS only.
 *
 * Called by every file call of common/, from I/O workers, and steered by tests through fault.h or the environment. A
 * sweep runs an operation with k = 1, 2, 3 ... and looks at what is left, until k is past the last call.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/sys.h"
#include "fault.h"

static atomic_ulong count, target;
static atomic_int target_error;
static _Atomic(const char *) hit;
static atomic_size_t cut;

void fault_set(unsigned long k, int error)
{
	atomic_store(&target, 0);
	atomic_store(&target_error, error);
	atomic_store(&hit, NULL);
	atomic_store(&count, 0);
	atomic_store(&target, k);
}

unsigned long fault_count(void)
{
	return atomic_load(&count);
}

const char *fault_hit(void)
{
	return atomic_load(&hit);
}

void fault_cut(size_t max)
{
	atomic_store(&cut, max);
}

#ifdef RDCP_FAULTS

static int parse_error(const char *text)
{
	int e;

	for (e = 1; e < 134; e++) { /* the generic Linux numbers end at EHWPOISON */
		const char *name = strerrorname_np(e);

		if (name && !strcmp(name, text))
			return e;
	}
	e = atoi(text);
	return e > 0 ? e : EIO;
}

static void read_environment(void)
{
	const char *text = getenv("RDCP_FAULT");
	char *end;
	unsigned long k;

	if (!text || atomic_load(&target))
		return;
	k = strtoul(text, &end, 10);
	atomic_store(&target_error, *end == ':' ? parse_error(end + 1) : EIO);
	atomic_store(&target, k);
}

int sys_fault(const char *call)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_environment);
	if (atomic_fetch_add(&count, 1) + 1 != atomic_load(&target))
		return 0;
	atomic_store(&hit, call);
	return atomic_load(&target_error);
}

size_t sys_cut(size_t len)
{
	size_t max = atomic_load(&cut);

	return max && len > max ? max : len;
}

#endif
