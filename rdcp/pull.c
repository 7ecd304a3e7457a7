// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Files at a host to here: the receiving engine's owner in the client. The names that the daemon sends are not looked at: a file
 * is what it was asked for as, and goes where the user said.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "common/outfile.h"
#include "once.h"

/* NULL: it was not asked for, or is settled. */
static struct client_source *source_of(struct client *c, uint32_t request)
{
	uint32_t i = request - c->ask.base; /* wraps for those that were not for files */
	struct client_source *source = i < c->asked_count ? &c->sources[c->asked[i]] : NULL;

	return source && !source->settled ? source : NULL;
}

static int list_unsettled(struct client *c)
{
	once_drop_repeated(c);
	c->asked = calloc((size_t)c->source_count + 1, sizeof(*c->asked));
	c->asked_count = c->next_source = 0;
	if (!c->asked)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->source_count; i++)
		if (!c->sources[i].settled)
			c->asked[c->asked_count++] = i;
	return 0;
}

int pull_choose_sources(struct client *c)
{
	int r = ask_start(c);

	free(c->asked);
	c->asked = NULL;
	c->asked_count = 0;
	return r == 0 && !c->ask.count ? list_unsettled(c) : r;
}

/* Standard output: bytes as they come, nothing of what a file has. */
static enum status place_stream(struct client *c, const struct wire_file *file, struct receive_place *ret_place)
{
	if (file->flags & (WIRE_FILE_DIRECTORY | WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK))
		return STATUS_PROTOCOL;
	ret_place->root = AT_FDCWD;
	snprintf(ret_place->path, sizeof(ret_place->path), "standard output");
	ret_place->stream = &c->stream;
	ret_place->wishes = client_file_flags(c, source_of(c, file->request));
	return STATUS_OK;
}

static enum status on_place(void *owner, const struct wire_file *file, struct receive_place *ret_place, char *text)
{
	struct client *c = owner;
	const struct client_source *source = source_of(c, file->request);
	unsigned int flags;

	if (!source)
		return STATUS_PROTOCOL;
	if ((file->flags & WIRE_FILE_DIRECTORY) && !c->options->recursive)
		return STATUS_PROTOCOL;
	if (location_is_stream(&c->options->target))
		return place_stream(c, file, ret_place);
	if (!(file->flags & WIRE_FILE_DIRECTORY) && once_is_taken(c, source, NULL))
		return STATUS_JUST_MADE;
	flags = client_file_flags(c, source);
	ret_place->root = AT_FDCWD;
	snprintf(ret_place->path, sizeof(ret_place->path), "%s", client_target(c, source));
	snprintf(ret_place->name, sizeof(ret_place->name), "%s", source->exact ? "-" : source->name);
	ret_place->flags = receive_place_flags(flags);
	/* How it is stored is for the user to say, not for the daemon. */
	ret_place->wishes = flags;
	return STATUS_OK;
}

static enum status is_wanted(void *owner, const struct receive_place *place, uint32_t request)
{
	struct client *c = owner;
	uint32_t i = request - c->ask.base;

	return i < c->asked_count ? client_wants(c, c->asked[i], place->path + place->below) : STATUS_OK;
}

/* A pipe, a terminal or a device that was named itself. */
static const char *explain(const struct receive_place *place, enum status status, const char *text,
			   char out[static 2 * WIRE_TEXT_MAX])
{
	if (status != STATUS_NOT_REGULAR || place->below || strncmp(text, "destination ", 12) != 0)
		return text;
	snprintf(out, 2 * WIRE_TEXT_MAX, "%s; '-' is standard output", text);
	return out;
}

static void on_file_done(void *owner, const struct receive_place *place, uint32_t request, uint64_t bytes,
			 enum status status, const char *text)
{
	struct client *c = owner;
	struct client_source *source = source_of(c, request);
	char more[2 * WIRE_TEXT_MAX];

	if (source)
		client_settle(c, source,
			      &(struct client_outcome){ .below = place->below ? place->path + place->below : NULL,
							.destination = place->path,
							.top = !place->below && !(place->wishes & WIRE_FILE_LEAVE) &&
							       (place->wishes & WIRE_FILE_DIRECTORY),
							.directory = place->wishes & WIRE_FILE_DIRECTORY,
							.last = receive_place_is_last(place, status),
							.bytes = bytes,
							.size = status == STATUS_OK ? bytes : place->size,
							.status = status,
							.text = explain(place, status, text, more) });
	pull_on_writable(c);
}

static int on_refused(void *owner, uint32_t request, enum status status, const char *text)
{
	struct client *c = owner;

	struct client_source *source = source_of(c, request);
	int r = 0;

	if ((!source && request >= c->ask.base) || status == STATUS_OK)
		return -EPROTO;
	if (request < c->ask.base)
		r = ask_on_refused(c, request, status, text);
	else
		client_settle(c, source, &(struct client_outcome){ .last = true, .status = status, .text = text });
	pull_on_writable(c);
	return r;
}

/* Our DONE is on its way. The daemon hangs up when it has read it. */
static void on_done(void *owner)
{
	struct client *c = owner;

	c->promised = true;
	peer_end(&c->peer, STATUS_OK, true, NULL);
}

static const struct receiver_events events = {
	.place = on_place,
	.wanted = is_wanted,
	.file_done = on_file_done,
	.refused = on_refused,
	.done = on_done,
	.idle = client_on_idle,
};

static bool say_window(struct client *c)
{
	struct wire_record rec = { .type = WIRE_WINDOW, .window = { c->base, c->rkey, (uint16_t)c->max_files } };

	if (c->window_sent)
		return true;
	if (peer_send(&c->peer, &rec) < 0)
		return false;
	c->window_sent = true;
	receiver_limit(c->receiver, c->options->limit_rate); /* nothing may be said before WINDOW */
	return true;
}

static uint32_t get_flags(const struct options *o)
{
	uint32_t flags = (o->recursive ? WIRE_GET_TREE : 0) | (o->dense ? WIRE_GET_DENSE : 0) |
			 (o->no_resume ? 0 : WIRE_GET_RESUME) | (o->preserve ? WIRE_GET_PRESERVE : 0) |
			 (o->follow ? WIRE_GET_FOLLOW : 0);

	if (location_is_stream(&o->target)) /* holes would have to become zeros, as many as the daemon says */
		flags |= WIRE_GET_DENSE;
	if (client_may_skip(o))
		flags |= WIRE_GET_ASK;
	if (o->checksum)
		flags |= WIRE_GET_CHECKSUM;
	if (o->direct)
		flags |= WIRE_GET_DIRECT;
	if (o->dry_run)
		flags |= WIRE_GET_DRY_RUN;
	if (o->archive)
		flags |= WIRE_GET_OWNER | WIRE_GET_XATTRS | WIRE_GET_HARD_LINKS;
	return o->archive && o->numeric_ids ? flags | WIRE_GET_NUMERIC_IDS : flags;
}

/* Before the first GET. */
static bool say_rules(struct client *c)
{
	struct wire_record rec = { .type = WIRE_FILTER };

	for (; c->next_rule < c->filter.count; c->next_rule++) {
		const struct filter_rule *rule = &c->filter.rules[c->next_rule];

		rec.filter.flags = rule->include ? WIRE_FILTER_INCLUDE : 0;
		rec.filter.pattern = wire_text(rule->pattern);
		if (peer_send(&c->peer, &rec) < 0)
			return false;
	}
	return true;
}

static bool say_get(struct client *c, uint32_t i)
{
	struct wire_record rec = { .type = WIRE_GET };

	rec.get.request = c->ask.base + i;
	rec.get.flags = get_flags(c->options) | (client_wants_total(c) ? WIRE_GET_TOTAL : 0);
	rec.get.path = wire_text(c->sources[c->asked[i]].path);
	return peer_send(&c->peer, &rec) == 0;
}

/* Of this attempt's requests. */
static unsigned int answered(const struct client *c)
{
	return c->settled - (c->source_count - c->asked_count);
}

/* The answers to all that was asked came: now it is known which files there are. */
static bool names_are_known(struct client *c)
{
	if (!c->asked && c->options->action != OPTIONS_LIST && list_unsettled(c) < 0) {
		peer_end(&c->peer, STATUS_ABORTED, false, "the client is out of memory");
		return false;
	}
	return true;
}

static int on_total(struct client *c, const struct wire_total *said)
{
	if (c->total_heard)
		return -EPROTO;
	c->total_heard = true;
	c->total = *said;
	return 0;
}

int pull_on_record(struct client *c, const struct wire_record *rec)
{
	int r = -EPROTO;

	if (rec->type == WIRE_TOTAL)
		return on_total(c, &rec->total);
	if (rec->type == WIRE_ENTRY)
		r = ask_on_entry(c, &rec->entry);
	if (r == 0)
		pull_on_writable(c);
	return r;
}

/* Says all that there is room for, here and in the daemon's queue; the next room or answer continues. */
void pull_on_writable(struct client *c)
{
	struct wire_record rec = { .type = WIRE_END };

	if (!say_window(c) || !say_rules(c) || !ask_is_over(c) || !names_are_known(c))
		return;
	rec.end.files = c->ask.base + c->asked_count;
	while (c->next_source < c->asked_count && c->next_source - answered(c) < WIRE_GETS_MAX &&
	       say_get(c, c->next_source))
		c->next_source++;
	if (c->next_source == c->asked_count && !c->gets_ended)
		c->gets_ended = peer_send(&c->peer, &rec) == 0;
}

int pull_start(struct client *c)
{
	const struct wire_text partials = wire_text(c->options->partial_dir ? c->options->partial_dir : "");
	int r = 0;

	if (location_is_stream(&c->options->target))
		r = stream_init(&c->stream, STDOUT_FILENO);
	if (r == 0)
		r = receiver_new(&c->peer, &c->slab, c->io, &events, c, &c->receiver);
	if (r == 0) {
		receiver_be_discreet(c->receiver);
		receiver_set_max_files(c->receiver, c->max_files);
	}
	if (r == 0 && partials.len)
		r = receiver_keep_partials_in(c->receiver, &partials);
	if (r == 0)
		pull_on_writable(c);
	return r;
}
