// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * How far a copy is, put together from what the engines count, for the progress line and for the last word. An engine counts one
 * attempt; what was done before it is remembered here (c->before).
 */
#include <stdio.h>

#include "client.h"
#include "common/util.h"

uint64_t measure_bytes(const struct client *c)
{
	if (c->sender)
		return sender_acked_bytes(c->sender);
	return c->receiver ? receiver_stored_bytes(c->receiver) : 0;
}

static uint64_t files_settled(const struct output *o)
{
	return o->copied + o->skipped + o->failed;
}

void measure_begin(struct client *c)
{
	c->before.bytes = c->output.stored_bytes;
	c->before.below_files = c->below_files;
	c->before.below_bytes = c->below_bytes;
	c->before.files = files_settled(&c->output);
	c->before.whole_files = c->before.whole_bytes = 0;
	for (unsigned int i = 0; i < c->source_count; i++) {
		if (c->sources[i].settled) {
			c->before.whole_files += c->sources[i].files;
			c->before.whole_bytes += c->sources[i].bytes;
		}
	}
}

/*
 * What was counted ahead of the copy, if somebody watches: true when it is. Of that, what is skipped or fails will not come any more.
 */
static bool count(const struct client *c, uint64_t *ret_files, uint64_t *ret_bytes)
{
	bool all;

	if (c->options->pull) {
		*ret_files = c->before.whole_files + c->total.files;
		*ret_bytes = c->before.whole_bytes + c->total.bytes;
		all = c->total_heard;
	} else {
		*ret_files = c->plain_sources + c->forecast.files;
		*ret_bytes = c->total_bytes + c->forecast.bytes;
		all = c->sender && client_wants_total(c) && forecast_is_known(&c->forecast);
	}
	*ret_bytes -= *ret_bytes < c->dropped_bytes ? *ret_bytes : c->dropped_bytes;
	return all;
}

/*
 * Files and bytes that were met so far; true: no others will be. A push knows the operands that are files from the
 * beginning, and meets the files of trees; a pull only meets files.
 */
static bool find(const struct client *c, uint64_t *ret_files, uint64_t *ret_bytes)
{
	*ret_files = *ret_bytes = 0;
	if (c->options->pull) {
		if (c->receiver)
			receiver_found(c->receiver, ret_files, ret_bytes);
		*ret_files += c->before.files;
		*ret_bytes += c->before.bytes;
		return !c->options->recursive && *ret_files >= c->source_count;
	}
	*ret_files = c->plain_sources + c->before.below_files;
	*ret_bytes = c->total_bytes + c->before.below_bytes;
	if (c->sender) {
		uint64_t files, bytes;
		bool all = sender_found(c->sender, &files, &bytes);

		*ret_files += files;
		*ret_bytes += bytes;
		return c->sized || (all && c->next_source == c->source_count);
	}
	return c->sized;
}

/* What moves now; with a single source that is always its name. */
static const char *current_name(const struct client *c)
{
	const struct send_item *item = NULL;
	const struct receive_place *place = NULL;
	uint64_t size;

	if (c->source_count == 1)
		return c->sources[0].name;
	if (c->settled == c->source_count)
		return "total";
	if (c->sender)
		item = sender_current(c->sender, &size);
	else if (c->receiver)
		place = receiver_current(c->receiver, &size);
	return item ? item->name : place ? place->name : NULL;
}

void measure(struct client *c)
{
	struct progress *p = &c->output.progress;
	bool over = c->settled == c->source_count;
	uint64_t files, total, done = c->before.bytes + measure_bytes(c);
	bool all = count(c, &files, &total) || find(c, &files, &total) || over;
	const char *name = current_name(c);

	if (name) /* its file may be gone before the next time */
		snprintf(c->moving, sizeof(c->moving), "%s", name);
	progress_name(p, c->moving);
	if (c->source_count > 1 || c->options->recursive)
		progress_files(p, files_settled(&c->output), files, all);
	progress_update(p, done, over ? done : total, all, now_ns());
}

void measure_end(struct client *c)
{
	uint64_t held = 0;

	if (c->sender) {
		held = sender_held_bytes(c->sender);
		c->end.slots_used = c->slab.slots - c->slab.least_free;
	} else if (c->receiver) {
		held = receiver_held_bytes(c->receiver);
	}
	measure(c);
	c->held_bytes += held;
	c->end.sent_bytes += measure_bytes(c) - held;
}
