/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A pattern of GET with GLOB and a path, two strings: glob.c says what fnmatch(3) says wherever both mean the same. */
#include <fnmatch.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/glob.h"
#include "common/wire.h"
#include "fuzz.h"

/*
 * fnmatch(3) has "[:alpha:]" of the locale, "[.x.]", a class that is left open as plain text, and a '/' in a class that ends it; bytes
 * from 0x80 on are characters of the locale there. And empty components, "." and ".." are no names of files.
 */
static bool is_comparable(const char *pattern, const char *path)
{
	for (const char *p = pattern; *p; p++)
		if (*p == '[' || *p == '\\' || (unsigned char)*p >= 0x80)
			return false;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p >= 0x80)
			return false;
	if (strstr(pattern, "//") || strstr(path, "//") || *pattern == '/' || *path == '/')
		return false;
	if (strstr(pattern, "/.") || *pattern == '.' || strstr(path, "/.") || *path == '.')
		return false;
	return *pattern && *path && pattern[strlen(pattern) - 1] != '/' && path[strlen(path) - 1] != '/';
}

int fuzz_glob(const uint8_t *data, size_t len)
{
	const uint8_t *nul = memchr(data, 0, len);
	size_t pattern_len = nul ? (size_t)(nul - data) : len;
	_cleanup_free_ char *pattern = strndup((const char *)data, pattern_len);
	_cleanup_free_ char *path = nul ? strndup((const char *)nul + 1, len - pattern_len - 1) : strdup("");
	bool matches;

	FUZZ_CHECK(pattern && path);
	if (pattern_len > WIRE_PATH_MAX || strlen(path) > WIRE_PATH_MAX)
		return 0;
	matches = glob_matches_path(pattern, path);
	if (glob_is_pattern(pattern)) {
		size_t fixed = glob_fixed(pattern);

		FUZZ_CHECK(fixed < pattern_len && (!fixed || pattern[fixed - 1] == '/'));
	}
	if (is_comparable(pattern, path))
		FUZZ_CHECK(matches == (fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0));
	return matches;
}

FUZZ_ENTRY(glob)
