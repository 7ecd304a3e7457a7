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

#include "common/endpoint_rdma_calls.h"
#include "common/sys.h"
#include "fault.h"

#define DRIP_PAUSE_US 100 /* enough for most of what a worker is asked to do */

static atomic_ulong count, target;
static atomic_int target_error;
static _Atomic(const char *) hit;
static atomic_size_t cut, drip;
static atomic_uint drip_us;
static atomic_ulong verbs_count, verbs_target;
static atomic_int verbs_fault;

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

void fault_drip(size_t max, unsigned int pause_us)
{
	atomic_store(&drip, max);
	atomic_store(&drip_us, pause_us);
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

static void read_fault(void)
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

/* "ENOMEM": -1 or NULL with this errno; "0": with none; "+ENOMEM": this errno as the result. */
static int parse_verbs_fault(const char *text)
{
	if (text[0] == '+')
		return VERBS_FAULT_RESULT(parse_error(text + 1));
	return strcmp(text, "0") ? parse_error(text) : VERBS_FAULT_SILENT;
}

static void read_verbs_fault(void)
{
	const char *text = getenv("RDCP_VERBS_FAULT");
	unsigned long k;
	char *end;

	if (!text || atomic_load(&verbs_target))
		return;
	k = strtoul(text, &end, 10);
	atomic_store(&verbs_fault, *end == ':' ? parse_verbs_fault(end + 1) : VERBS_FAULT_SILENT);
	atomic_store(&verbs_target, k);
}

static void read_drip(void)
{
	const char *text = getenv("RDCP_DRIP");
	char *end;

	if (!text || atomic_load(&drip))
		return;
	atomic_store(&drip, strtoul(text, &end, 10));
	atomic_store(&drip_us, *end == ':' ? (unsigned int)strtoul(end + 1, NULL, 10) : DRIP_PAUSE_US);
}

static void read_environment(void)
{
	read_fault();
	read_verbs_fault();
	read_drip();
}

static void read_environment_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_environment);
}

int sys_fault(const char *call)
{
	read_environment_once();
	if (atomic_fetch_add(&count, 1) + 1 != atomic_load(&target))
		return 0;
	atomic_store(&hit, call);
	return atomic_load(&target_error);
}

/* For whoever sweeps: which call it was, and so that there was one. */
static void note_hit(const char *call)
{
	const char *path = getenv("RDCP_VERBS_FAULT_LOG");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s\n", call);
	close(fd);
}

int sys_verbs_fault(const char *call)
{
	read_environment_once();
	if (atomic_fetch_add(&verbs_count, 1) + 1 != atomic_load(&verbs_target))
		return 0;
	note_hit(call);
	return atomic_load(&verbs_fault);
}

size_t sys_cut(size_t len)
{
	size_t max = atomic_load(&cut);

	return max && len > max ? max : len;
}

size_t sys_drip(void)
{
	read_environment_once();
	return atomic_load(&drip);
}

/* Every other time, on each thread. */
bool sys_drip_pause(void)
{
	static _Thread_local bool paused;

	paused = sys_drip() && !paused;
	if (paused)
		usleep(atomic_load(&drip_us));
	return paused;
}

#endif
