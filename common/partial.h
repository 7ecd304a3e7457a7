/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Names of unfinished files, '.NAME.XXXXXXXX.rdcp-part': outfile.c makes them, a walk leaves them out, the daemon's sweeper removes
 * those that a crash left.
 */
#ifndef RDCP_PARTIAL_H
#define RDCP_PARTIAL_H

#include <stdbool.h>

#define PARTIAL_SUFFIX ".rdcp-part"
#define PARTIAL_RANDOM 8 /* characters of five bits between the name and the suffix */
#define PARTIAL_ALPHABET "abcdefghijklmnopqrstuvwxyz234567"

/* Whether a file of this name, without directories, can be a temporary of outfile.c. */
bool partial_is_name(const char *name);

/*
 * Removes it, and gives its directory the modification time back that it had, as if the file had never been there: a session may end
 * after another one has already set that time. A negative errno, also -ENOENT.
 */
int partial_remove(int dir, const char *name);

#endif
