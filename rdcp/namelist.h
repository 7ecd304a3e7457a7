/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Files with one name or rule a line: --files-from, --exclude-from, --include-from. A line ends in LF, the last one may lack
 * it; empty lines are skipped; blanks count, also at both ends. With `nul` (--from0) a NUL byte ends an entry and nothing else does.
 *
 * Names are taken as they are, unlike in rsync(1): no line is a comment, and CR is a byte of the name. Such a list was made by a
 * program, and a file '#x' is not silently left out. Rules are people's: lines that begin with '#' or ';' are comments and CR LF
 * ends a line, as in rsync(1), but with `nul`.
 *
 * `file` is read to its end in one go, "-" is standard input; a pipe takes as long as its writer does, so call this
 * while signals still end the program. `why` gets a sentence for the user that names the file and the line.
 *
 * -EFBIG: more than NAMELIST_BYTES_MAX. -ENAMETOOLONG: an entry is too long. -EINVAL: a NUL byte in a line, or no rule.
 * -ENOMEM. What open(2) and read(2) return.
 */
#ifndef RDCP_NAMELIST_H
#define RDCP_NAMELIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/filter.h"

#define NAMELIST_BYTES_MAX (64U << 20)

struct namelist_entry {
	uint32_t offset; /* in `text` */
	uint32_t line;   /* from 1; the number of the entry when NUL bytes end them */
};

struct namelist {
	char *text; /* owned; the whole file, each name in its place and terminated */
	struct namelist_entry *entries;
	size_t count;
	size_t room;
};

/*
 * Names of files beneath a directory, in the order of the list, doublets included. As in rsync they cannot lead out of
 * it: slashes in front, "." and doubled slashes go, and ".." takes the component before it away, if there is one. A
 * slash at the end stays, and takes the place of a "." or ".." there: not only the directory is meant but also what is
 * in it. "." is the directory itself, and what is in it. An entry has at most PATH_MAX - 1 bytes.
 * Unlike in rsync, a "/./" within a name has no meaning of its own.
 */
int namelist_read(const char *file, bool nul, struct namelist *ret_list, char *why, size_t why_size);

/*
 * Appends the rules in `file` to a filter, by filter_add_line(): `include` is for lines without a sign. Errors of
 * filter_add() too; rules before the one that failed stay.
 */
int namelist_read_rules(const char *file, bool nul, bool include, struct filter *f, char *why, size_t why_size);

void namelist_done(struct namelist *list); /* fine on a zeroed struct */

static inline const char *namelist_name(const struct namelist *list, size_t i)
{
	return list->text + list->entries[i].offset;
}

#endif
