// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * How many descriptors are left, see descriptors.h. Only a number: who takes some opens no more than that. What no session owns
 * (listeners, logs, clients that have not proved anything yet) lives on a reserve.
 */
#include "descriptors.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#include "log.h"

#define RESERVE 16
#define RESERVE_PART 8 /* of a large limit the reserve is this part */

static unsigned int limit = 1024;
static atomic_int left = 1024 - 1024 / RESERVE_PART;

void descriptors_init(void)
{
	struct rlimit rl;
	rlim_t soft;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return;
	soft = rl.rlim_cur;
	rl.rlim_cur = rl.rlim_max;
	if (rl.rlim_cur != soft && setrlimit(RLIMIT_NOFILE, &rl) < 0) {
		log_debug("cannot raise the limit of open files: %m, ignoring");
		rl.rlim_cur = soft;
	}
	limit = rl.rlim_cur > INT_MAX ? INT_MAX : (unsigned int)rl.rlim_cur;
	atomic_store(&left, (int)(limit < RESERVE                  ? 0
				  : limit / RESERVE_PART > RESERVE ? limit - limit / RESERVE_PART
								   : limit - RESERVE));
}

unsigned int descriptors_limit(void)
{
	return limit;
}

unsigned int descriptors_take(unsigned int want, unsigned int least, unsigned int parts)
{
	int now = atomic_load(&left), take;

	do {
		if (now < (int)least)
			return 0;
		take = now / (int)parts;
		if (take > (int)want)
			take = (int)want;
		if (take < (int)least)
			take = (int)least;
	} while (!atomic_compare_exchange_weak(&left, &now, now - take));
	return (unsigned int)take;
}

void descriptors_give(unsigned int count)
{
	atomic_fetch_add(&left, (int)count);
}

unsigned int descriptors_files(unsigned int count, unsigned int most)
{
	unsigned int files = count > DESCRIPTORS_LEAST ? (count - DESCRIPTORS_OF_SESSION) / DESCRIPTORS_OF_FILE : 1;

	return files < most ? files : most;
}
