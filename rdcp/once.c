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

	source->settled = true;
	c->settled++;
	progress_clear(&c->output.progress);
	log_warning("'%s' is named more than once, ignoring", escape_name(source->path, shown, sizeof(shown)));
}

void once_drop_repeated(struct client *c)
{
	struct names seen;

	if (c->source_count < 2 || names_init(&seen, NAMES_MAX) < 0)
		return;
	for (unsigned int i = 0; i < c->source_count; i++) {
		struct client_source *source = &c->sources[i];

		if (source->stream || source->dropped)
			continue;
		if (names_add(&seen, NULL, 0, source->path, strlen(source->path)) != 0 || source->settled)
			continue;
		source->dropped = true;
		drop(c, source);
	}
	names_done(&seen);
}

#define PATH_ROOM (WIRE_PATH_MAX + 1 + PATH_MAX)

/* Where something goes, NUL, and where it comes from. */
struct way {
	size_t place_len, len; /* 0: there is one source, nobody can be in its way */
	char text[2 * PATH_ROOM + NAME_MAX];
};

static size_t without_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

static void find_way(const struct client *c, const struct client_source *source, const char *below, struct way *way)
{
	const struct location *target = &c->options->target;
	const char *base = source->target ? source->target : c->options->pull ? target->text : target->path;
	int place, from;

	way->place_len = way->len = 0;
	if (c->source_count < 2)
		return;
	place = snprintf(way->text, sizeof(way->text), "%s%s%s%s%s", base, source->exact ? "" : "/",
			 source->exact ? "" : source->name, below ? "/" : "", below ? below : "");
	if (place < 0 || (size_t)place + 1 >= sizeof(way->text))
		return;
	from = snprintf(way->text + place + 1, sizeof(way->text) - (size_t)place - 1, "%.*s%s%s",
			(int)without_slashes(source->path), source->path, below ? "/" : "", below ? below : "");
	if (from < 0 || (size_t)(place + 1 + from) >= sizeof(way->text))
		return;
	way->place_len = (size_t)place;
	way->len = (size_t)(place + 1 + from);
}

void once_note(struct client *c, const struct client_source *source, const char *below)
{
	struct way way;

	find_way(c, source, below, &way);
	if (!way.len || (!c->places.max && names_init(&c->places, NAMES_MAX) < 0))
		return;
	names_add(&c->places, NULL, 0, way.text, way.place_len);
	names_add(&c->places, NULL, 0, way.text, way.len);
}

static bool contains(const struct client *c, const struct client_source *source, const char *below, bool same)
{
	struct way way;

	if (!c->places.count)
		return false;
	find_way(c, source, below, &way);
	return way.len && names_contains(&c->places, NULL, 0, way.text, same ? way.len : way.place_len);
}

bool once_is_taken(const struct client *c, const struct client_source *source, const char *below)
{
	return contains(c, source, below, false);
}

bool once_is_copied(const struct client *c, const struct client_source *source, const char *below)
{
	return contains(c, source, below, true);
}
