/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the client of a pull may send as a FILTER or as a GET with GLOB, and the path of a file to compare with: two strings. */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/filter.h"
#include "common/glob.h"
#include "fuzz.h"

static bool excludes(const char *pattern, bool include, const char *path, bool directory)
{
	struct filter f;
	bool result;

	filter_init(&f);
	FUZZ_CHECK(filter_add(&f, pattern, include) == 0);
	result = filter_excludes(&f, path, directory);
	filter_done(&f);
	return result;
}

/* One component, by itself. */
static void compare_component(const char *pattern, const char *name)
{
	struct glob g = { 0 };
	int r = glob_init(&g, pattern, strlen(pattern));

	FUZZ_CHECK(r == 0 || r == -ENAMETOOLONG || r == -EINVAL);
	if (r == 0)
		glob_matches(&g, name);
	glob_done(&g);
}

int fuzz_filter(const uint8_t *data, size_t len)
{
	const uint8_t *nul = memchr(data, 0, len);
	size_t pattern_len = nul ? (size_t)(nul - data) : len;
	_cleanup_free_ char *pattern = strndup((const char *)data, pattern_len);
	_cleanup_free_ char *path = nul ? strndup((const char *)nul + 1, len - pattern_len - 1) : strdup("");
	struct filter f;
	int r;

	FUZZ_CHECK(pattern && path);
	filter_init(&f);
	r = filter_add(&f, pattern, false);
	FUZZ_CHECK(r == 0 || ((r == -EINVAL || r == -ENAMETOOLONG || r == -E2BIG) && f.count == 0));
	filter_done(&f);
	if (r < 0 || !*path || *path == '/')
		return r == 0;
	/* what matches only directories is no file; what is included is not excluded */
	FUZZ_CHECK(!excludes(pattern, true, path, true) && !excludes(pattern, true, path, false));
	FUZZ_CHECK(excludes(pattern, false, path, true) || !excludes(pattern, false, path, false));
	FUZZ_CHECK(glob_matches_path(pattern, pattern));
	glob_matches_path(pattern, path);
	FUZZ_CHECK(!glob_is_pattern(pattern) || glob_fixed(pattern) < pattern_len);
	if (!strchr(pattern, '/') && !strchr(path, '/'))
		compare_component(pattern, path);
	return 1;
}

FUZZ_ENTRY(filter)
