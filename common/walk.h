/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A directory and all below it, entry by entry: what the sender of a tree reads. One directory is open at a time besides the
 * top; what remains to be entered is remembered by its path. All calls but walk_init(), walk_cancel() and walk_entry_done() block
 * and belong to an I/O worker, one at a time.
 *
 * A directory is reported before anything in it. The top is not reported, and neither are unfinished files (partial.h). Nothing
 * below the top is reached through a symlink, even if one takes the place of a directory meanwhile. Or, with `follow`, everything
 * is: then an entry is what its symlink leads to, anywhere beneath the root, and what leads nowhere, or back to a directory that it
 * is in (-ELOOP), is an error.
 */
#ifndef RDCP_WALK_H
#define RDCP_WALK_H

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

struct walk_entry {
	char *dir;  /* where it is, as seen from the top: "" or "a/b"; owned by the entry */
	char *name; /* owned */
	char *link; /* the text of a symlink, owned; else NULL */
	struct stat stat;
	int error; /* negative errno: it could not be looked at (stat is zeroed), or, of a directory, read, or of a link, followed */
};

struct budget;
struct filter;
struct walk_pending;
struct wire_here;

#define WALK_ITSELF (-EDEADLK) /* of an entry: a directory that is not entered, since what is read here goes there */

struct walk {
	int top;          /* O_PATH; -1: not open */
	struct stat stat; /* of the top */
	DIR *dir;         /* being read, or NULL */
	char *path;       /* of it */
	bool follow;
	bool narrow; /* modes are those without ACLs, see attributes_mode() */
	int root;    /* of walk_open(), borrowed */
	char *start; /* and its path */
	struct walk_pending *pending;
	struct walk_pending *failed; /* could not be read: to be reported */
	const struct filter *filter; /* what it excludes is neither reported nor entered; borrowed, NULL: none */
	const struct wire_here *destination; /* WALK_ITSELF; borrowed, NULL: not known on this host */
	struct budget *memory;               /* for what remains to be entered; borrowed, NULL: no limit */
	atomic_bool cancelled;
};

void walk_init(struct walk *w);

/* Opens `path` beneath `root` (see beneath.h), symlinks followed. -ENOTDIR: no directory. */
int walk_open(struct walk *w, int root, const char *path, bool follow);

/* Fills at most `max` entries and returns how many; 0: that was all. -ENOMEM, -ENOBUFS (of `memory`), with nothing filled. */
int walk_read(struct walk *w, struct walk_entry *entries, unsigned int max);

/*
 * Opens what is at `path` as seen from the top, "" for the top itself: as the walk looks at it, the last component included if it
 * follows. `flags` as open(2).
 */
int walk_open_below(const struct walk *w, const char *path, int flags);

/* Path from the root instead. -ENAMETOOLONG. */
int walk_whole_path(const struct walk *w, const char *path, char ret_path[static PATH_MAX]);

/* Any thread: a walk_read() under way returns soon, with whatever it has. */
void walk_cancel(struct walk *w);

void walk_close(struct walk *w);
void walk_entry_done(struct walk_entry *e); /* fine on a zeroed one */

#endif
