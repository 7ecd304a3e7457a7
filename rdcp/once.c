// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Sources and places that come once, see once.h. Called by push.c, pull.c and client.c on the loop thread; the set is the client's. */
#include "once.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "common/log.h"
#include "common/names.h"
#include "common/util.h"

static void drop(struct client *c, struct client_source *source)
{
	char shown[512];

	source->settled = source->dropped = true;
	c->settled++;
	if (c->options->files_from) /* lists are put together by programs */
		return;
	progress_clear(&c->output.progress);
	log_warning("'%s' is named more than once, ignoring", escape_name(source->path, shown, sizeof(shown)));
}

#define PATH_ROOM (WIRE_PATH_MAX + 1 + PATH_MAX)

/* Where something goes, NUL, and where it comes from. Large: only made for several sources, a single one is in nobody's way. */
struct way {
	size_t place_len, len;
	char text[2 * PATH_ROOM + NAME_MAX];
};

/* In place: without "." and slashes that say nothing. What links lead to is the receiver's to find. */
static size_t simplify(char *path)
{
	char *to = path + (*path == '/');
	const char *from = path;

	while (*from) {
		size_t len = strcspn(from, "/");

		if (len && !(len == 1 && *from == '.')) {
			if (to > path && to[-1] != '/')
				*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len + (from[len] == '/');
	}
	*to = '\0';
	return (size_t)(to - path);
}

static bool add_path(struct way *way, const char *base, const char *name, const char *below)
{
	char *to = way->text + way->len;
	size_t room = sizeof(way->text) - way->len;
	int n = snprintf(to, room, "%s/%s/%s", base, name, below);

	if (n < 0 || (size_t)n >= room)
		return false;
	way->len += simplify(to);
	return true;
}

static bool find_way(const struct client *c, const struct client_source *source, const char *below, struct way *way)
{
	const struct location *target = &c->options->target;
	const char *base = source->target ? source->target : c->options->pull ? target->text : target->path;

	way->len = 0;
	if (!add_path(way, base, source->exact ? "" : source->name, below ? below : ""))
		return false;
	way->place_len = way->len++;
	return add_path(way, source->path, "", below ? below : "");
}

void once_drop_repeated(struct client *c)
{
	struct names seen;

	if (c->source_count < 2 || names_init(&seen, NAMES_MAX) < 0)
		return;
	for (unsigned int i = 0; i < c->source_count; i++) {
		struct client_source *source = &c->sources[i];
		struct way way;

		if (source->stream || source->dropped || !find_way(c, source, NULL, &way))
			continue;
		if (names_add(&seen, NULL, 0, way.text, way.len) == 0 && !source->settled)
			drop(c, source);
	}
	names_done(&seen);
}

static void note(struct client *c, const struct client_source *source, const char *below)
{
	struct way way;

	if (!find_way(c, source, below, &way) || (!c->places.max && names_init(&c->places, NAMES_MAX) < 0))
		return;
	names_add(&c->places, NULL, 0, way.text, way.place_len);
	names_add(&c->places, NULL, 0, way.text, way.len);
}

void once_note(struct client *c, const struct client_source *source, const char *below)
{
	if (c->source_count > 1)
		note(c, source, below);
}

static bool contains(const struct client *c, const struct client_source *source, const char *below, bool same)
{
	struct way way;

	if (!find_way(c, source, below, &way))
		return false;
	return names_contains(&c->places, NULL, 0, way.text, same ? way.len : way.place_len);
}

bool once_is_taken(const struct client *c, const struct client_source *source, const char *below)
{
	return c->places.count && contains(c, source, below, false);
}

bool once_is_copied(const struct client *c, const struct client_source *source, const char *below)
{
	return c->places.count && contains(c, source, below, true);
}
