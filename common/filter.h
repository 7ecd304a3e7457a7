/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which names of a tree are copied: an ordered list of include and exclude rules, with the meaning that rsync(1)
 * gives them under "PATTERN MATCHING RULES". The first rule that matches decides; a name that none matches is included.
 * What is below an excluded directory is not asked for: the caller does not enter it.
 *
 *   a '/' in front      anchors the pattern at the top of the tree
 *   a '/' at the end    only directories match; it does not count in what follows
 *   without '**'        compared with the end of the path, with as many components as the pattern has
 *   with '**'           compared with the whole path, and with what follows any '/' of it
 *   '?', '*'            one byte, any bytes, within a component; '**' also across '/', and in front also at the top
 *   '[a-z]', '[!a]'     one byte of these, or none of these and no '/'; '[[:alpha:]]' and its kin
 *   '/' and three '*'   at the end: the directory and all that is below it
 *   a backslash         makes what follows a plain byte; itself one in a pattern without wildcards
 *
 * Names and patterns are bytes, in no encoding; classes like [:alpha:] are those of ASCII. Patterns may come from a
 * peer: a comparison takes about (bytes of pattern) x (bytes of path) steps at worst, no memory and no recursion. With
 * all limits reached that is a second for a path of the greatest length, a few hundredths for a usual one.
 */
#ifndef RDCP_FILTER_H
#define RDCP_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#define FILTER_RULES_MAX 1024
#define FILTER_BYTES_MAX (128 * 1024) /* of all patterns: what bounds the time for one path */

struct filter_rule {
	char *pattern; /* owned, as it was given */
	bool include;  /* false: what matches is excluded */

	/* What filter_add() found out about the pattern. */
	bool directory;       /* for directories only */
	bool anchored;        /* at the top */
	unsigned int slashes; /* in `body` */
	bool deep;            /* there is a '**' */
	bool wild;            /* there is a wildcard; without, a plain comparison */
	bool deep_front;      /* '**' in front: the path is taken with a '/' before it */
	bool deep_end;        /* three '*' at the end: a directory's path is taken with a '/' behind it */
	const char *body;     /* the pattern without the slashes in front and at the end */
	size_t body_len;
};

struct filter {
	struct filter_rule *rules; /* in the order in which they are asked; for i < count */
	unsigned int count;
	unsigned int room;
	size_t bytes; /* of all patterns */
};

void filter_init(struct filter *f);
void filter_done(struct filter *f); /* fine on a zeroed struct; leaves an empty one */

/*
 * Appends a rule. -EINVAL: an empty pattern. -ENAMETOOLONG: beyond WIRE_PATH_MAX bytes. -E2BIG: beyond FILTER_RULES_MAX
 * or FILTER_BYTES_MAX. -ENOMEM. A failure leaves the list as it was.
 */
int filter_add(struct filter *f, const char *pattern, bool include);

/*
 * A rule as rsync takes it from --exclude, --include and the lines of their files: "- PATTERN" excludes and "+ PATTERN"
 * includes whatever `include` says, and a lone "!" drops all rules so far. Errors as filter_add().
 */
int filter_add_line(struct filter *f, const char *line, bool include);

/*
 * `path` is relative to the top of the tree, without a slash in front or at the end; the top itself ("." or "") is
 * never excluded, nor is a path beyond WIRE_PATH_MAX bytes: it has to fail where somebody hears of it.
 */
bool filter_excludes(const struct filter *f, const char *path, bool directory);

#endif
