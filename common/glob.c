// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Patterns of paths. A component is compared by a rule of filter.h, which takes time in proportion to both lengths whatever the
 * pattern: patterns may come from a peer. The daemon looks for files with it, and the client holds what it is told against it.
 */
#include "glob.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

#define WILDCARDS "*?["

bool glob_is_pattern(const char *text)
{
	return strpbrk(text, WILDCARDS);
}

size_t glob_fixed(const char *pattern)
{
	size_t first = strcspn(pattern, WILDCARDS);

	while (first && pattern[first - 1] != '/')
		first--;
	return first;
}

int glob_init(struct glob *g, const char *component, size_t len)
{
	char text[NAME_MAX + 1];

	*g = (struct glob){ 0 };
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(text, component, len);
	text[len] = '\0';
	g->wild = glob_is_pattern(text);
	g->hidden = text[0] == '.' || (g->wild && text[0] == '\\' && text[1] == '.');
	return filter_add(&g->rule, text, false);
}

void glob_done(struct glob *g)
{
	filter_done(&g->rule);
}

bool glob_matches(const struct glob *g, const char *name)
{
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") || strchr(name, '/'))
		return false;
	return (name[0] != '.' || g->hidden) && filter_excludes(&g->rule, name, false);
}

static bool component_matches(const char *pattern, size_t pattern_len, const char *name, size_t len)
{
	char text[NAME_MAX + 1];
	struct glob g;
	bool matches;

	if (len > NAME_MAX)
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	matches = glob_init(&g, pattern, pattern_len) == 0 && glob_matches(&g, text);
	glob_done(&g);
	return matches;
}

bool glob_matches_path(const char *pattern, const char *path)
{
	if (strcmp(pattern, path) == 0)
		return true;
	for (;;) {
		size_t pattern_len = strcspn(pattern, "/"), len = strcspn(path, "/");

		if (!component_matches(pattern, pattern_len, path, len))
			return false;
		pattern += pattern_len;
		path += len;
		pattern += strspn(pattern, "/");
		if (!*path || !*pattern)
			return !*path && !*pattern;
		path++;
	}
}
