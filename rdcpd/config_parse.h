/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The form of rdcpd.conf, without its meaning: sections of keys, each with the place it came from. Only
 * config.c uses it.
 *
 * Why not a library: rdcpd promises FILE:LINE for everything wrong, and to find everything wrong. Tried
 * with the versions of Debian 12: libeconf 0.5.1 takes a key given twice as the first of them, with its
 * line; gives no trace of an empty section or of one opened twice in a row; appends a line without '=' to
 * the value before it, cuts a value at '#' and splits one at 8186 bytes, all without an error. libinih 55
 * as shipped tells no line numbers and no section starts, and cuts section names at 49 bytes.
 *
 * A file is lines: blank; a comment, '#' or ';' in front; '[KIND]' or '[KIND NAME]'; 'KEY = VALUE', where
 * VALUE is the rest of the line as it stands, without the white space around it. There are no quotes, no
 * escapes, no continuation lines.
 */
#ifndef RDCPD_CONFIG_PARSE_H
#define RDCPD_CONFIG_PARSE_H

#include <stdio.h>

#include "config.h"

struct config_place {
	const char *file; /* the tree's */
	unsigned int line;
};

struct config_entry {
	struct config_place at;
	char *key;
	char *value;
	struct config_entry *replaced; /* what an earlier file said; or NULL */
	struct config_entry *next;
};

struct config_section {
	struct config_place at;   /* where it was first opened */
	struct config_place last; /* where it was opened in the file read last */
	char *kind;
	char *name; /* "" when it has none */
	struct config_entry *entries;
	struct config_section *next;
};

struct config_file {
	char *path;
	struct config_file *next;
};

/* All files, merged; sections and keys in order of first appearance. Zeroed is empty. */
struct config_tree {
	struct config_section *sections;
	struct config_file *files; /* newest first: places point into them */
};

/* Who is told, and how often it was an error. */
struct config_report {
	config_say say; /* may be NULL */
	void *owner;
	unsigned int errors;
};

/* Says "FILE:LINE: text", without ":LINE" when that is 0. */
void config_complain(struct config_report *r, int level, const struct config_place *at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Adds one file to the tree. What is wrong in it is reported and left out, and reading goes on. -EINVAL:
 * not a regular file. -EFBIG: beyond 1 MiB. -ENOMEM. Else as open(2) and read(2). All of them are reported.
 */
int config_tree_read(struct config_tree *t, const char *path, struct config_report *report);

/* Adds PATH.d/NAME.conf, all of them, in byte order of the names; hidden ones not. No such directory is fine. */
int config_tree_read_drop_ins(struct config_tree *t, const char *path, struct config_report *report);
void config_tree_done(struct config_tree *t);

/* The entry, or NULL. */
const struct config_entry *config_section_find(const struct config_section *s, const char *key);

#endif
