// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Whether a file is stored at all, and what would become of it in a dry run: a look at the destination by the worker that would
 * else make something there. Called by the jobs of receiver_create.c, nothing is changed here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "here.h"
#include "infile.h"
#include "peer.h"
#include "outdir.h"
#include "receiver_impl.h"
#include "sys.h"
#include "util.h"

#define LOOKED_AT (WIRE_FILE_UPDATE | WIRE_FILE_SKIP_HELD | WIRE_FILE_CHECKSUM | WIRE_FILE_DRY_RUN)

/* What is there now, and where that is. */
struct there {
	int dir, opened; /* `opened`: to be closed, or -1 */
	char name[NAME_MAX + 1];
	struct stat
		stat; /* st_mode is 0 when nothing is there, and when it is the way there that is missing and would be made */
};

static int look(struct receive_file *f, struct there *t)
{
	int r;

	*t = (struct there){ .dir = f->dir ? f->dir->fd : -1, .opened = -1 };
	if (f->dir) {
		snprintf(t->name, sizeof(t->name), "%s", f->place.name);
	} else {
		r = place_find(f->place.root, f->place.path, f->place.name,
			       f->place.flags & ~(unsigned int)PLACE_MAKE_PATH, &t->opened, t->name);
		if (r == -ENOENT && (f->place.flags & PLACE_MAKE_PATH))
			return 0;
		if (r < 0)
			return r;
		f->out.entered = r == 1;
		t->dir = t->opened;
	}
	if (t->dir < 0 || sys_fstatat(t->dir, t->name, &t->stat, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	t->stat.st_mode = 0;
	return errno == ENOENT ? 0 : -errno;
}

static void look_away(struct there *t)
{
	if (t->opened >= 0)
		close(t->opened);
}

/* Of the same size and with the same bytes. What cannot be read is not. */
static bool is_the_same(const struct receive_file *f, const struct there *t)
{
	struct receiver *r = f->receiver;
	uint8_t sum[WIRE_DIGEST_SIZE];
	struct infile in;
	bool same;

	if (!f->has_sum || !S_ISREG(t->stat.st_mode) || (uint64_t)t->stat.st_size != f->said.size)
		return false;
	infile_init(&in);
	in.fd = sys_openat(t->dir, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	same = in.fd >= 0 && infile_sum(&in, &r->stopped, &r->peer->worked, sum) == 0 &&
	       !memcmp(sum, f->sum, sizeof(sum));
	infile_done(&in);
	return same;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* A copy with the time of its source is no older than that, however coarse the times of the file system are, and however few. */
static bool is_older(const struct there *t, const struct wire_file *said)
{
	const struct timespec *have = &t->stat.st_mtim, want = { said->mtime_sec, said->mtime_nsec };
	struct timespec stored;

	if (!is_before(have, &want))
		return false;
	if (want.tv_nsec >= (long)SEC)
		return true;
	if (outfile_any_stores(&want) && (uint64_t)want.tv_sec - (uint64_t)have->tv_sec > OUTFILE_COARSEST)
		return true;
	return outfile_stored_time(t->dir, &want, &stored) < 0 || is_before(have, &stored);
}

/* Only like is compared with like: a link is no newer version of a file. */
static bool is_up_to_date(const struct receive_file *f, const struct there *t)
{
	bool is_link = receive_file_kind(f) == WIRE_FILE_SYMLINK;

	if (!(f->said.flags & WIRE_FILE_UPDATE) || !(is_link ? S_ISLNK(t->stat.st_mode) : S_ISREG(t->stat.st_mode)))
		return false;
	return !is_older(t, &f->said);
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

/* As large and as old as the source: taken for that, as -u takes it. */
static bool is_that_version(const struct receive_file *f, const struct stat *st)
{
	return S_ISREG(st->st_mode) && !receive_file_kind(f) && (uint64_t)st->st_size == f->said.size &&
	       st->st_mtim.tv_sec == f->said.mtime_sec && st->st_mtim.tv_nsec == (long)f->said.mtime_nsec;
}

bool receive_file_choose(struct receive_file *f)
{
	bool dry = f->said.flags & WIRE_FILE_DRY_RUN;
	struct there there;
	int r;

	if (!(f->said.flags & LOOKED_AT) || f->place.stream || (f->place.flags & OUTFILE_FRESH))
		return !dry;
	r = look(f, &there);
	if (r == 0 && (f->said.flags & WIRE_FILE_SKIP_HELD) && there.stat.st_mode && !S_ISDIR(there.stat.st_mode))
		f->skip = "it is there already";
	else if (r == 0 && is_up_to_date(f, &there))
		f->skip = "the one there is as new, or newer";
	else if (r == 0 && (f->same = is_the_same(f, &there)))
		f->skip = "the one there has the same bytes";
	if (f->skip && !f->same)
		f->same = is_that_version(f, &there.stat);
	look_away(&there);
	if (dry && !f->skip)
		f->job_error = r < 0 ? r : would_fail(f, &there.stat);
	if (!dry && !f->skip)
		f->out.entered = false; /* whoever makes it finds out for himself */
	return !dry && !f->skip;
}

/* The top may be missing, then all that is in it is; else it is needed for a look at that. */
static int look_at_top(struct receive_file *f)
{
	f->job_error =
		outdir_look(f->place.root, f->place.path, f->place.name, f->place.flags, &f->top, &f->out.entered);
	f->dir_made = f->top < 0;
	f->here_due = f->top >= 0 && here_of(f->top, &f->here) == 0;
	return f->job_error;
}

void receive_file_look_at_dir(struct receive_file *f)
{
	struct there there;

	if (f->said.flags & WIRE_FILE_LEAVE)
		return;
	if (!f->dir) {
		f->job_error = look_at_top(f);
		return;
	}
	f->job_error = look(f, &there);
	if (f->job_error == 0 && there.stat.st_mode && !S_ISDIR(there.stat.st_mode))
		f->job_error = -ENOTDIR;
}
