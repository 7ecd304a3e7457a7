// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Whether a file is stored at all, and what would become of it in a dry run: a look at the destination by the worker that would
 * else make something there. Called by the jobs of receiver_create.c, nothing is changed here.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cleanup.h"
#include "outdir.h"
#include "receiver_impl.h"
#include "sys.h"

#define LOOKED_AT (WIRE_FILE_UPDATE | WIRE_FILE_DRY_RUN)

/* What is there now. st_mode is 0 when nothing is, and when it is the way there that is missing and would be made. */
static int look(struct receive_file *f, struct stat *ret_stat)
{
	_cleanup_close_ int opened = -1;
	char found[NAME_MAX + 1];
	const char *name = f->place.name;
	int dir = f->dir ? f->dir->fd : -1, r;

	*ret_stat = (struct stat){ 0 };
	if (!f->dir) {
		r = place_find(f->place.root, f->place.path, f->place.name,
			       f->place.flags & ~(unsigned int)PLACE_MAKE_PATH, &opened, found);
		if (r == -ENOENT && (f->place.flags & PLACE_MAKE_PATH))
			return 0;
		if (r < 0)
			return r;
		f->out.entered = r == 1;
		dir = opened;
		name = found;
	}
	if (dir < 0 || sys_fstatat(dir, name, ret_stat, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	ret_stat->st_mode = 0;
	return errno == ENOENT ? 0 : -errno;
}

static bool is_older(const struct stat *st, const struct wire_file *said)
{
	if (st->st_mtim.tv_sec != said->mtime_sec)
		return st->st_mtim.tv_sec < said->mtime_sec;
	return st->st_mtim.tv_nsec < (long)said->mtime_nsec;
}

/* Only like is compared with like: a link is no newer version of a file. */
static bool is_up_to_date(const struct receive_file *f, const struct stat *st)
{
	uint32_t kind = receive_file_kind(f);

	if (!(f->said.flags & WIRE_FILE_UPDATE) || is_older(st, &f->said))
		return false;
	return kind == WIRE_FILE_SYMLINK ? S_ISLNK(st->st_mode) : S_ISREG(st->st_mode);
}

/* How making it would fail, in the order of outfile.c. */
static int would_fail(const struct receive_file *f, const struct stat *st)
{
	if (!st->st_mode)
		return 0;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (f->place.flags & PLACE_NO_CLOBBER)
		return -EEXIST;
	return S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) ? 0 : -ENOTSUP;
}

bool receive_file_choose(struct receive_file *f)
{
	bool dry = f->said.flags & WIRE_FILE_DRY_RUN;
	struct stat st;
	int r;

	if (!(f->said.flags & LOOKED_AT) || f->place.stream || (f->place.flags & OUTFILE_FRESH))
		return !dry;
	r = look(f, &st);
	if (r == 0 && is_up_to_date(f, &st))
		f->skip = "the one there is as new, or newer";
	if (dry && !f->skip)
		f->job_error = r < 0 ? r : would_fail(f, &st);
	if (!dry && !f->skip)
		f->out.entered = false; /* whoever makes it finds out for himself */
	return !dry && !f->skip;
}

/* The top may be missing, then all that is in it is; else it is needed for a look at that. */
static int look_at_top(struct receive_file *f)
{
	f->job_error =
		outdir_look(f->place.root, f->place.path, f->place.name, f->place.flags, &f->top, &f->out.entered);
	f->top_made = f->top < 0;
	return f->job_error;
}

void receive_file_look_at_dir(struct receive_file *f)
{
	struct stat st;

	if (f->said.flags & WIRE_FILE_LEAVE)
		return;
	f->job_error = f->dir ? look(f, &st) : look_at_top(f);
	if (f->dir && f->job_error == 0 && st.st_mode && !S_ISDIR(st.st_mode))
		f->job_error = -ENOTDIR;
}
