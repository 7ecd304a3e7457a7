/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where a file is: a local path, or a path at a host. What an operand of the command line means:
 *
 *   HOST:PATH                 remote: the first ':' that no '/' precedes, as with scp
 *   [IPv6%zone]:PATH          remote
 *   rdcp://HOST[:PORT]/PATH   remote; everything from the '/' on is the path, percent-decoded, '?' and '#' are nothing special
 *   -                         standard input, or output: local, see location_is_stream()
 *   anything else             local; ./a:b is how a local file with a colon is written
 *
 * A remote PATH may be relative (to the first export) or absolute; an empty one is ".".
 */
#ifndef RDCP_LOCATION_H
#define RDCP_LOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct location {
	const char *text; /* the operand, borrowed, unescaped */
	char *host;       /* owned; name or address without brackets, zone included; NULL: local */
	char *path;       /* owned; never empty, at most WIRE_PATH_MAX bytes */
	uint16_t port;    /* 0: none was given */
};

/*
 * -EINVAL: not a location. -ENAMETOOLONG. -ENOMEM.
 * `why` gets a sentence for the user, names escaped, that says what to write instead. Release with location_done().
 */
int location_parse(const char *text, struct location *ret_loc, char *why, size_t why_size);

/* The same for an operand that can only mean a host: a bare name or a bare IPv6 address will do, the path is ".". */
int location_parse_host(const char *text, struct location *ret_loc, char *why, size_t why_size);

void location_done(struct location *loc); /* fine on a zeroed struct */

static inline bool location_is_remote(const struct location *loc)
{
	return loc->host != NULL;
}

/* "-": standard input or output. A file of that name is written ./- */
static inline bool location_is_stream(const struct location *loc)
{
	return !loc->host && loc->text[0] == '-' && loc->text[1] == '\0';
}

/* Is there a local file with the very name of this remote operand? For a hint when the host cannot be reached. */
bool location_shadows_file(const struct location *loc);

#endif
