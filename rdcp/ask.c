// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Asking for names. Called by pull.c on the loop thread; the client owns all of it. The daemon answers in the order of the GETs. What
 * it says is found for a pattern is held against the pattern: a daemon cannot choose what files here are called.
 */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choose.h"
#include "client.h"
#include "common/glob.h"
#include "common/util.h"

static bool is_list(const struct client *c)
{
	return c->options->action == OPTIONS_LIST;
}

static bool is_asked_for(const struct client *c, const struct client_source *source)
{
	if (source->settled || c->ask.expanded)
		return false;
	return is_list(c) ||
	       (!source->own && !location_is_stream(&c->options->target) && glob_is_pattern(source->path));
}

static void forget_found(struct ask *a)
{
	for (unsigned int i = 0; i < a->found_count; i++)
		choose_source_done(&a->found[i]);
	a->found_count = 0;
}

void ask_done(struct client *c)
{
	forget_found(&c->ask);
	free(c->ask.sources);
	free(c->ask.found);
	free(c->ask.found_for);
	c->ask = (struct ask){ .expanded = c->ask.expanded };
}

int ask_start(struct client *c)
{
	struct ask *a = &c->ask;

	ask_done(c);
	a->sources = calloc(c->source_count, sizeof(*a->sources));
	if (!a->sources)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->source_count; i++)
		if (is_asked_for(c, &c->sources[i]))
			a->sources[a->count++] = i;
	a->base = a->count;
	return 0;
}

static bool say_get(struct client *c, unsigned int request)
{
	const char *path = c->sources[c->ask.sources[request]].path;
	struct wire_record rec = { .type = WIRE_GET };

	rec.get.request = request;
	rec.get.flags = WIRE_GET_LIST | (glob_is_pattern(path) ? WIRE_GET_GLOB : 0);
	rec.get.path = wire_text(path);
	return peer_send(&c->peer, &rec) == 0;
}

bool ask_is_over(struct client *c)
{
	struct ask *a = &c->ask;

	while (a->said < a->count && a->said - a->answered < WIRE_GETS_MAX && say_get(c, a->said))
		a->said++;
	return a->answered == a->count;
}

/* ---- answers ------------------------------------------------------------------------------------------------ */

static int make_room(struct ask *a)
{
	unsigned int room = a->room ? 2 * a->room : 64;
	void *grown;

	if (a->found_count < a->room)
		return 0;
	if (a->found_count >= ASK_NAMES_MAX)
		return -EPROTO;
	grown = reallocarray(a->found, room, sizeof(*a->found));
	if (!grown)
		return -ENOMEM;
	a->found = grown;
	grown = reallocarray(a->found_for, room, sizeof(*a->found_for));
	if (!grown)
		return -ENOMEM;
	a->found_for = grown;
	a->room = room;
	return 0;
}

static int add_found(struct client *c, const char *pattern, const char *path)
{
	size_t fixed = glob_fixed(pattern);
	struct ask *a = &c->ask;
	struct client_source source = { 0 };
	int r;

	if (!glob_matches_path(pattern + fixed, path) || fixed + strlen(path) > WIRE_PATH_MAX)
		return -EPROTO;
	a->bytes += fixed + strlen(path);
	if (a->bytes > ASK_BYTES_MAX)
		return -EPROTO;
	r = make_room(a);
	if (r < 0)
		return r;
	r = choose_source(&source, pattern, fixed, path);
	if (r < 0) {
		choose_source_done(&source);
		return r;
	}
	a->found_for[a->found_count] = a->answered;
	a->found[a->found_count++] = source;
	return 0;
}

/* The sources are now the names that were found in their place. */
static int expand(struct client *c)
{
	struct ask *a = &c->ask;
	struct client_source *sources = calloc((size_t)c->source_count + a->found_count, sizeof(*sources));
	unsigned int count = 0, next = 0, asked = 0;

	if (!sources)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->source_count; i++) {
		bool was_asked = asked < a->count && a->sources[asked] == i;
		unsigned int before = count;

		while (was_asked && next < a->found_count && a->found_for[next] == asked)
			sources[count++] = a->found[next++];
		asked += was_asked;
		if (count == before) /* no pattern, or refused */
			sources[count++] = c->sources[i];
		else
			choose_source_done(&c->sources[i]);
	}
	free(c->sources);
	c->sources = sources;
	c->source_count = count;
	a->found_count = 0;
	a->expanded = true;
	return 0;
}

static int answered(struct client *c)
{
	struct ask *a = &c->ask;

	if (++a->answered < a->count)
		return 0;
	return is_list(c) ? 0 : expand(c);
}

static void print_name(const struct client *c, const char *name, bool directory)
{
	char shown[4 * WIRE_PATH_MAX + 1];

	if (isatty(STDOUT_FILENO))
		name = escape_name(name, shown, sizeof(shown));
	fputs(name, stdout);
	if (directory)
		putchar('/');
	putchar(c->options->from0 ? '\0' : '\n');
}

static void settle(struct client *c, struct client_source *source, enum status status, const char *text)
{
	if (status == STATUS_OK && is_list(c)) {
		source->settled = true;
		c->settled++;
	} else {
		client_settle(c, source, &(struct client_outcome){ .last = true, .status = status, .text = text });
	}
}

int ask_on_entry(struct client *c, const struct wire_entry *e)
{
	struct ask *a = &c->ask;
	char path[WIRE_PATH_MAX + 1];
	struct client_source *source;

	if (e->request != a->answered || a->answered >= a->said)
		return -EPROTO;
	source = &c->sources[a->sources[a->answered]];
	peer_moved(&c->peer);
	if (e->flags & WIRE_ENTRY_LAST) {
		if (is_list(c))
			settle(c, source, STATUS_OK, "");
		else if (!a->found_count || a->found_for[a->found_count - 1] != a->answered)
			settle(c, source, STATUS_NOT_FOUND, "");
		return answered(c);
	}
	snprintf(path, sizeof(path), "%.*s", e->path.len, e->path.data);
	if (!is_list(c))
		return add_found(c, source->path, path);
	print_name(c, path, e->flags & WIRE_ENTRY_DIRECTORY);
	return 0;
}

int ask_on_refused(struct client *c, uint32_t request, enum status status, const char *text)
{
	struct ask *a = &c->ask;

	if (request != a->answered || a->answered >= a->said)
		return -EPROTO;
	settle(c, &c->sources[a->sources[a->answered]], status, text);
	return answered(c);
}
