/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Everything once: a source that is named again is left out, and what one source has made is not overwritten by another. Of that the
 * receiver takes care within a session, see common/made.h; from one attempt to the next the client remembers it, by the path.
 */
#ifndef RDCP_ONCE_H
#define RDCP_ONCE_H

#include <stdbool.h>

struct client;
struct client_source;

/* When all names are known, and again before each attempt: the second and further sources of one name are settled, with a warning unless they are from a list. */
void once_drop_repeated(struct client *c);

/* The source, or what is at `below` in it, was copied. */
void once_note(struct client *c, const struct client_source *source, const char *below);

/* Was anything copied to where that goes, from whatever source? */
bool once_is_taken(const struct client *c, const struct client_source *source, const char *below);

/* Was the same file, as a directory and a file in it may both be named? */
bool once_is_copied(const struct client *c, const struct client_source *source, const char *below);

#endif
