// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Directories of the same host, see here.h. Called by the receiver's jobs and by the sender of a tree. */
#include "here.h"

#include <errno.h>
#include <time.h>

#include "sys.h"
#include "util.h"

#define TRIES 10                      /* one of them is hardly interrupted */
#define SAME_NS ((int64_t)(1 * MSEC)) /* what two readings may differ */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * (int64_t)SEC + now.tv_nsec;
}

/* When this kernel was started: both clocks at the same moment, as near as it gets. */
static int64_t started_ns(void)
{
	int64_t started = 0, nearest = INT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		int64_t before = clock_ns(CLOCK_BOOTTIME), now = clock_ns(CLOCK_REALTIME);
		int64_t between = clock_ns(CLOCK_BOOTTIME) - before;

		if (between < nearest) {
			nearest = between;
			started = now - before - between / 2;
		}
	}
	return started;
}

int here_of(int fd, struct wire_here *ret_here)
{
	struct stat st;

	if (sys_fstat(fd, &st) < 0)
		return -errno;
	*ret_here = (struct wire_here){ .dev = st.st_dev, .ino = st.st_ino, .started_ns = started_ns() };
	return 0;
}

bool here_is_this_host(const struct wire_here *here)
{
	int64_t started = started_ns(), difference;

	if (__builtin_sub_overflow(here->started_ns, started, &difference))
		return false;
	return difference >= -SAME_NS && difference <= SAME_NS;
}
