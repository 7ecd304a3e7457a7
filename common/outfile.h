/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A regular file being written, under a temporary name until it is whole. All calls block and belong to an I/O
 * worker, one at a time per file, except outfile_write(), which several workers may call at once.
 *
 *   outfile_create -> outfile_write ... -> outfile_finish -> [outfile_sync] -> outfile_commit
 *   outfile_discard at any time removes the temporary and closes everything; after commit it only closes.
 *
 * The temporary is '.NAME.XXXXXXXX.rdcp-part' beside the destination (NAME is cut so that it fits NAME_MAX), made
 * with O_EXCL. One that is to be gone on with has a name that can be found again, and may be in a directory beside the destination.
 */
#ifndef RDCP_OUTFILE_H
#define RDCP_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "attributes.h"
#include "place.h"

#define OUTFILE_SPECIAL (S_ISUID | S_ISGID | S_ISVTX) /* mode bits that are only kept with outfile_attrs.special */

struct outfile_attrs {
	mode_t mode;   /* of the source, permission bits */
	bool preserve; /* mtime, and mode exactly (but setuid, setgid, sticky); else now and mode & ~umask */
	struct timespec mtime;
	bool special; /* setuid, setgid and sticky as well, when it has got the owner that `kept` names */
	const struct attributes *kept; /* or NULL */
	unsigned int kept_flags;       /* of these, what is allowed: enum attributes_flags */
	char *why;                     /* ATTRIBUTES_WHY_MAX: one that could not be set, see attributes.h. No failure */
};

struct made;
struct stream;

struct outfile {
	int dir_fd;       /* the directory that holds it, O_PATH; -1: nothing open */
	bool dir_is_lent; /* and is not ours to close */
	int fd;           /* the temporary; -1: none */
	bool entered;     /* the path is a directory, and the file is path/name */
	bool replaces;    /* there was a regular file: without preserve its permission bits are kept */
	mode_t replaced_mode;
	bool has_size;     /* set by who wrote it from the start to the end, once: nothing to truncate */
	bool has_mode;     /* it was made with the mode that it shall have, unless it is to be preserved */
	bool is_hard_link; /* nothing of it is ours but the name */
	dev_t linked_dev;  /* of a hard link: what it leads to */
	ino_t linked_ino;
	const char *link_text; /* of a symlink, borrowed */
	bool named;            /* it has its name: what fails from here on, the destination is not what it was */
	const char *why;       /* more about the failure of outfile_commit(), static storage; or NULL */
	struct made
		*made;   /* set by the caller, borrowed: what must not be replaced, and where this is noted; or NULL */
	struct stat own; /* with `made`, once it is whole */
	int direct_fd;   /* the same file, past the page cache; -1: not so */
	struct stream *stream; /* it is no file but this, borrowed; or NULL */
	uint64_t id;           /* with OUTFILE_RESUME, set by the caller: of the file that it is to become */
	bool is_resumable;     /* its temporary name is that of `id`, and it is locked */
	const char *part_name; /* set with `id`, borrowed: its temporary goes into this directory beside it; or NULL */
	int part_fd;           /* that directory, O_PATH; -1: the temporary is beside the destination */
	bool part_failed;      /* it could not be created because of that directory */
	uint64_t held;         /* bytes that were in it before */
	char name[NAME_MAX + 1];
	char temp[NAME_MAX + 1]; /* "" when there is none on disk */
};

/* Besides enum place_flags */
enum outfile_flags {
	OUTFILE_FRESH = 1 << 8, /* nothing is there: the directory was made for this */
	/* goes on with what is left of the same file, if it was left by the same user and nobody has it */
	OUTFILE_RESUME = 1 << 9,
};

void outfile_init(struct outfile *f);

/*
 * Where it goes is said by place_find(), whose failures and flags (enum place_flags) these are. And
 * -EISDIR: the destination is a directory. -ENOTUNIQ: it is one of `made`. -ENOTSUP: it is a FIFO, socket or device, or a symlink to one. Any other symlink as the last component is
 * replaced, not followed, unless it leads to a directory: `path` is entered, `path`/`name` is -EISDIR. One that leads
 * out of the root is -EXDEV. Else as open(2).
 * On failure nothing is open and nothing was made, but directories on the way. With `part_failed`: -EXDEV: `part_name` is on another
 * file system. -ENOTDIR: it is no directory, or a symlink. Else as mkdir(2), open(2).
 */
int outfile_create(struct outfile *f, int root, const char *path, const char *name, unsigned int flags);

/*
 * The same in the directory `dir` (lent until discard), under `name`; a symlink there is replaced. `mode` is what the file will
 * have (less the umask) unless it replaces one or attributes are preserved: what is whole in a moment has it from the start.
 */
int outfile_create_in(struct outfile *f, int dir, const char *name, mode_t mode, unsigned int flags);

/*
 * Links instead: nothing to write or finish, the next is outfile_commit(). `attrs` may be NULL. A hard link leads to `to`, beneath
 * the directory `top` by a way without symlinks.
 */
int outfile_symlink_in(struct outfile *f, int dir, const char *name, const char *text,
		       const struct outfile_attrs *attrs, unsigned int flags);
int outfile_hard_link_in(struct outfile *f, int dir, const char *name, int top, const char *to, unsigned int flags);

/*
 * What goes into `stream` in its place: has neither a temporary nor a name nor attributes, and has to be written in order by one worker at
 * a time. There is nothing to commit; what was written stays.
 */
void outfile_open_stream(struct outfile *f, struct stream *stream);

/*
 * Whether there is room for `size` bytes, `held` of which are there, as far as the file system can tell: -ENOSPC is mostly known before
 * anything is sent. None of it is reserved: the size is only what a peer says, and costs it nothing.
 */
int outfile_check_room(const struct outfile *f, uint64_t size, uint64_t held);

/* All of it, whatever write(2) interrupts or shortens. -ENOSPC, -EDQUOT, -EFBIG, -EIO ... */
int outfile_write(const struct outfile *f, const void *buf, size_t len, uint64_t offset);

/* Gives an open file what is kept of its source, and says with which mode bits it may have. For outdir.h, too. */
mode_t outfile_keep(int fd, const struct outfile_attrs *attrs);

/*
 * From now on whole blocks of aligned memory at aligned offsets are written past the page cache, and the rest through it. Nothing
 * happens where the file system does not offer that.
 */
void outfile_go_direct(struct outfile *f);

/* For outfile_write(): as much of the start as goes past the page cache, 0 when nothing does. */
ssize_t outfile_write_direct(const struct outfile *f, const void *buf, size_t len, uint64_t offset);

/*
 * Reading again what was written, when nothing is written any more: synced first, then read past the page cache where that is possible,
 * else after that was asked to forget the file. `buf` is aligned to DIRECT_BLOCK (sys.h) and has room for two blocks more than `len`; *ret_bytes is
 * in it. -EILSEQ: the file ends before.
 */
int outfile_begin_reread(const struct outfile *f);
int outfile_reread(const struct outfile *f, void *buf, size_t len, uint64_t offset, const void **ret_bytes);
void outfile_end_reread(const struct outfile *f);

/* Size and attributes, still under the temporary name: ftruncate, what is kept, times, chmod last. -EINVAL: mtime is no time. */
int outfile_finish(struct outfile *f, uint64_t size, const struct outfile_attrs *attrs);

/* What is in it already. -EIO: there is less. */
int outfile_read(const struct outfile *f, void *buf, size_t len, uint64_t offset);
bool outfile_is_hole(const struct outfile *f, size_t len, uint64_t offset); /* and nothing else there */
int outfile_trim(struct outfile *f, uint64_t size); /* of what was held no more than that stays */

void outfile_sync_ahead(const struct outfile *f); /* starts what outfile_sync() will wait for; says nothing of errors */
int outfile_sync(const struct outfile *f);        /* fsync(2) of the file */

/*
 * Gives it its name. With PLACE_NO_CLOBBER a destination that appeared since is -EEXIST, and
 * one of `made` is -ENOTUNIQ. The descriptor is closed, and a failing
 * close(2) is a failure. dir_fd stays for outfile_sync_dir(). After a failure only outfile_discard() is left to do; `named` says
 * whether the destination was replaced before.
 * -ESTALE, with `why`: where others may write to the directory, one of them has put something else in the place of the temporary.
 */
int outfile_commit(struct outfile *f, unsigned int flags);

/*
 * Makes the name durable: fsync(2) of the directory. One that may not be read (0733) cannot be opened for that: then all of the
 * file system is synced.
 */
int outfile_sync_dir(const struct outfile *f);

#define OUTFILE_COARSEST 2 /* seconds between two times of vfat */

/* Every file system can store it, as exactly as it can. */
bool outfile_any_stores(const struct timespec *mtime);

/*
 * Gives it to what is open (may be O_PATH, also of a symlink). One that the file system cannot store is no failure, but said in `why`
 * (NULL, or ATTRIBUTES_WHY_MAX, and "" if nothing was said before). -EINVAL: it is no time. Else as futimens(2).
 */
int outfile_set_time(int fd, const struct timespec *mtime, char *why);

/* What a modification time is when it has been stored in that directory (may be O_PATH). Else as open(2), futimens(2). */
int outfile_stored_time(int dir, const struct timespec *mtime, struct timespec *ret_stored);

void outfile_discard(struct outfile *f);

/* Instead of discard: the temporary stays, to be gone on with, if it is one of OUTFILE_RESUME. */
void outfile_leave(struct outfile *f);

#endif
