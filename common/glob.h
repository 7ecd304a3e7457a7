/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Patterns of paths, as sh(1) has them: compared component by component; '*', '?' and '[a-z]' do not stand for a '/', nor for a
 * dot in front; "." and ".." are never meant. Bytes, in no encoding. Text only: files are looked for by whoever has them.
 */
#ifndef RDCP_GLOB_H
#define RDCP_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "filter.h"

/* Has it wildcards at all? */
bool glob_is_pattern(const char *text);

/* How many bytes in front of the first component with wildcards, its slash included: "data/" of "data/?/x". Assumes that there is one. */
size_t glob_fixed(const char *pattern);

/* One component, prepared for many comparisons; zeroed it is empty. */
struct glob {
	struct filter rule;
	bool wild, hidden; /* it has wildcards; it begins with a dot */
};

int glob_init(struct glob *g, const char *component, size_t len); /* -ENAMETOOLONG, -EINVAL: it is empty, -ENOMEM */
void glob_done(struct glob *g);
bool glob_matches(const struct glob *g, const char *name); /* a component */

/* Could `path` have been found for `pattern`? It is it, or has as many components, each of which matches. */
bool glob_matches_path(const char *pattern, const char *path);

#endif
