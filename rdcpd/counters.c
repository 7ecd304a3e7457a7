/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See counters.h. Embedded in a session, which is the only writer. */
#include "counters.h"

#include <stdio.h>
#include <string.h>

#include "common/util.h"

static void set(atomic_uint_least64_t *n, uint64_t value)
{
	atomic_store_explicit(n, value, memory_order_relaxed);
}

void counters_init(struct counters *c, uint64_t now_ns)
{
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	c->rated_ns = now_ns;
}

void counters_done(struct counters *c)
{
	pthread_mutex_destroy(&c->lock);
}

void counters_set_bytes(struct counters *c, uint64_t bytes)
{
	set(&c->bytes, bytes);
}

/* Only this thread writes the name, so it may look at it without the lock. */
void counters_set_file(struct counters *c, const char *file, uint64_t size)
{
	if (!file)
		file = "";
	set(&c->file_size, size);
	if (!strcmp(c->file, file))
		return;
	pthread_mutex_lock(&c->lock);
	snprintf(c->file, sizeof(c->file), "%s", file);
	pthread_mutex_unlock(&c->lock);
}

void counters_rate(struct counters *c, uint64_t now_ns)
{
	uint64_t bytes = counters_get(&c->bytes), ns = now_ns - c->rated_ns;

	if (!ns)
		return;
	set(&c->rate, (uint64_t)((double)(bytes - c->rated_bytes) * (double)SEC / (double)ns));
	c->rated_ns = now_ns;
	c->rated_bytes = bytes;
}

uint64_t counters_get_file(struct counters *c, char ret_file[static PATH_MAX])
{
	pthread_mutex_lock(&c->lock);
	memcpy(ret_file, c->file, sizeof(c->file));
	pthread_mutex_unlock(&c->lock);
	return counters_get(&c->file_size);
}
