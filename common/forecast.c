// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Counting what is to be sent. See forecast.h. One job is in flight at a time, and it has the walk. */
#include "forecast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "cleanup.h"
#include "sys.h"
#include "util.h"

#define BATCH 64 /* entries a job: a worker is soon free for others again */

struct forecast_item {
	struct forecast_item *next;
	struct send_item item; /* only `path` is owned */
};

uint64_t forecast_bytes(const struct stat *st, bool dense)
{
	if (!S_ISREG(st->st_mode))
		return 0;
	return dense ? (uint64_t)st->st_size : extents_bytes(st);
}

void forecast_init(struct forecast *t, struct ioqueue *io, void (*rested)(void *owner), void *owner)
{
	*t = (struct forecast){ .io = io, .rested = rested, .owner = owner };
	t->tail = &t->items;
	walk_init(&t->walk);
}

static void pop_item(struct forecast *t)
{
	struct forecast_item *item = t->items;

	t->items = item->next;
	if (!t->items)
		t->tail = &t->items;
	t->waiting--;
	links_done(&t->links);
	walk_close(&t->walk);
	free(item->item.path);
	free(item);
}

void forecast_done(struct forecast *t)
{
	while (t->items)
		pop_item(t);
}

/* ---- worker ------------------------------------------------------------------------------------------------- */

static void count_file(struct forecast *t, const struct stat *st)
{
	t->found_files++;
	t->found_bytes += forecast_bytes(st, t->items->item.dense);
}

/* The sender does not send the bytes of a file twice when it keeps hard links. */
static bool is_further_name(struct forecast *t, const struct walk_entry *e)
{
	struct links_file *first;
	struct links_name name;

	if (!t->items->item.hard_links || !S_ISREG(e->stat.st_mode) || e->stat.st_nlink < 2 ||
	    links_add(&t->links, &e->stat, e->dir, e->name, NULL, &first) != 1)
		return false;
	if (links_take(&t->links, &name)) {
		free(name.dir);
		free(name.name);
	}
	return true;
}

static void count_entry(struct forecast *t, const struct walk_entry *e)
{
	static const struct stat nothing;

	if (S_ISDIR(e->stat.st_mode))
		return;
	count_file(t, e->error || is_further_name(t, e) ? &nothing : &e->stat);
}

static void count_batch(struct forecast *t)
{
	struct walk_entry entries[BATCH];
	int n = walk_read(&t->walk, entries, BATCH);

	for (int i = 0; i < n; i++) {
		count_entry(t, &entries[i]);
		walk_entry_done(&entries[i]);
	}
	t->looks += n > 0 ? (uint64_t)n : 0;
	t->item_failed = n < 0 || t->looks > FORECAST_LOOKS_MAX;
	t->item_over = n <= 0 || t->item_failed;
}

static void count_single(struct forecast *t, const struct send_item *item)
{
	_cleanup_close_ int fd = beneath_open(item->root, item->path, O_PATH, 0);
	struct stat st = { 0 };

	if (fd >= 0 && sys_fstat(fd, &st) < 0)
		st = (struct stat){ 0 };
	count_file(t, &st);
}

static void run_count(struct io_job *job)
{
	struct forecast *t = container_of(job, struct forecast, job);
	const struct send_item *item = &t->items->item;

	t->found_files = t->found_bytes = 0;
	t->item_failed = false;
	if (t->walk.top >= 0) {
		count_batch(t);
		return;
	}
	t->walk.filter = item->filter;
	t->item_over = !item->recurse || walk_open(&t->walk, item->root, item->path, item->follow) < 0;
	if (t->item_over)
		count_single(t, item);
}

/* ---- loop --------------------------------------------------------------------------------------------------- */

static void count_on(struct forecast *t);

static void on_counted(struct io_job *job)
{
	struct forecast *t = container_of(job, struct forecast, job);

	t->busy = false;
	t->files += t->found_files;
	t->bytes += t->found_bytes;
	t->failed |= t->item_failed;
	if (t->item_over)
		pop_item(t);
	if (t->stopped || !t->items)
		t->rested(t->owner);
	else
		count_on(t);
}

static void count_on(struct forecast *t)
{
	t->busy = true;
	t->job.run = run_count;
	t->job.done = on_counted;
	ioqueue_submit(t->io, &t->job);
}

void forecast_add(struct forecast *t, const struct send_item *item)
{
	struct forecast_item *added = calloc(1, sizeof(*added));

	if (added) {
		added->item = *item;
		added->item.path = strdup(item->path);
	}
	if (!added || !added->item.path) {
		free(added);
		t->failed = true;
		return;
	}
	*t->tail = added;
	t->tail = &added->next;
	t->waiting++;
	if (!t->busy)
		count_on(t);
}

void forecast_stop(struct forecast *t)
{
	t->stopped = true;
	walk_cancel(&t->walk);
}
