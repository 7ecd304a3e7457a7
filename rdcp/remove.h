/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * --remove-source-files: what was pushed is remembered as its RESULT comes, and removed when the daemon has promised that all of
 * it is on stable storage, as long as it still is the file that was read.
 */
#ifndef RDCP_REMOVE_H
#define RDCP_REMOVE_H

struct client;
struct send_item;

/* Loop: a file or link arrived. Directories are not remembered. What there is no memory for stays, and that is told at the end. */
void remove_later(struct client *c, const struct send_item *item);

/*
 * Blocks, after the session. What cannot be removed, or is another file by now, is told and counts for the exit status. Returns
 * the signal that ended it early, or 0.
 */
int remove_sources(struct client *c);

void remove_done(struct client *c);

#endif
