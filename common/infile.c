/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reading a source file. Called by the sender's jobs on I/O workers; the sender owns the struct and closes it.
 *
 * What is not a regular file is refused before it is opened for reading: opening a FIFO waits for a writer, opening a
 * device can rewind a tape. What was opened is looked at again, since the name may lead elsewhere by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "cleanup.h"
#include "digest.h"
#include "error.h"
#include "infile.h"
#include "stream.h"
#include "sys.h"
#include "umask.h"
#include "util.h"

#define SUM_STEP (64 * KIB)          /* on the stack of a worker */
#define UNSIZED_MAX (64 * KIB)       /* the largest page: files of sysfs and configfs are told as a page */
#define READAHEAD_WINDOW (128 * KIB) /* the kernel's default: smaller files get no faster by a hint */

void infile_init(struct infile *f)
{
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

static int stat_regular(int fd, struct stat *st)
{
	if (sys_fstat(fd, st) < 0)
		return -errno;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	return S_ISREG(st->st_mode) ? 0 : -ENOTSUP;
}

bool infile_may_be_unsized(const struct stat *st)
{
	return st->st_size == 0 || (st->st_blocks == 0 && (uint64_t)st->st_size <= UNSIZED_MAX);
}

static ssize_t read_byte(int fd, off_t offset)
{
	ssize_t n;
	char c;

	do {
		n = sys_pread(fd, &c, 1, offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* It ends before its size, and not because that became another just now. */
static bool ends_early(int fd, const struct stat *st)
{
	struct stat again;

	return read_byte(fd, st->st_size - 1) == 0 && sys_fstat(fd, &again) >= 0 && again.st_size == st->st_size;
}

/*
 * Says whether there is something else to read than st_size bytes. Unreadable content of a file of size 0 must not pass for an empty
 * file; of any other, who reads it finds out.
 */
static int probe_unsized(int fd, const struct stat *st)
{
	if (!infile_may_be_unsized(st))
		return 0;
	return st->st_size ? ends_early(fd, st) : (int)read_byte(fd, 0);
}

static int open_regular(int root, const char *path, struct stat *st)
{
	_cleanup_close_ int fd = beneath_open(root, path, O_PATH, 0);
	int r;

	if (fd < 0)
		return fd;
	r = stat_regular(fd, st);
	if (r < 0)
		return r;
	close(steal_fd(fd));
	fd = beneath_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	r = stat_regular(fd, st);
	if (r < 0)
		return r;
	return steal_fd(fd);
}

int infile_open(struct infile *f, int root, const char *path)
{
	char shown[512];
	struct stat st;
	_cleanup_close_ int fd = open_regular(root, path, &st);
	int r = fd < 0 ? fd : probe_unsized(fd, &st);

	if (r < 0)
		return fail(r, "open '%s'", escape_name(path, shown, sizeof(shown)));
	if ((uint64_t)st.st_size > READAHEAD_WINDOW)
		posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only a hint */
	f->fd = steal_fd(fd);
	f->unsized = r;
	f->stat = st;
	if (f->unsized)
		f->stat.st_size = 0;
	f->extents.size = (uint64_t)f->stat.st_size;
	return 0;
}

int infile_open_seen(struct infile *f, int top, const char *path, bool follow, const struct stat *seen)
{
	char shown[512];
	int fd = follow ? beneath_open(top, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
			: beneath_open_nofollow(top, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0)
		return fail(fd, "open '%s'", escape_name(path, shown, sizeof(shown)));
	f->fd = fd;
	f->stat = *seen;
	f->extents.size = (uint64_t)seen->st_size;
	return 0;
}

void infile_open_stream(struct infile *f, struct stream *stream)
{
	f->fd = stream->fd;
	f->stream = stream;
	f->unsized = true;
	f->stat = (struct stat){ .st_mode = S_IFREG | (0666 & ~process_umask()) };
	clock_gettime(CLOCK_REALTIME, &f->stat.st_mtim);
}

static int set_direct(int fd, bool direct)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

void infile_go_direct(struct infile *f)
{
	f->direct = f->fd >= 0 && !f->unsized && set_direct(f->fd, true) == 0;
}

int infile_find_holes(struct infile *f)
{
	return f->unsized ? 0 : extents_read(&f->extents, f->fd, &f->stat);
}

/* The last block of a file is asked for as a whole: what is behind the end does not come. */
static size_t whole_blocks(const struct infile *f, size_t len)
{
	return f->direct ? (len + DIRECT_BLOCK - 1) & ~(size_t)(DIRECT_BLOCK - 1) : len;
}

ssize_t infile_read(const struct infile *f, void *buf, size_t len, uint64_t offset)
{
	size_t got = 0, room = whole_blocks(f, len);
	bool direct = f->direct;

	if (f->stream)
		return stream_read(f->stream, buf, len);
	while (got < len) {
		ssize_t n = sys_pread(f->fd, (char *)buf + got, room - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && direct) { /* not here: as usual, for all who read it */
			set_direct(f->fd, false);
			direct = false;
			continue;
		}
		if (n < 0)
			return fail(-errno, "read of %zu bytes at %llu", len, (unsigned long long)offset);
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)min_size(got, len); /* it has grown since */
}

static int too_hollow(const struct infile *f)
{
	struct stat st;

	if (f->stream)
		return 0;
	if (sys_fstat(f->fd, &st) < 0)
		return -errno;
	return (uint64_t)st.st_size - extents_bytes(&st) > INFILE_SUM_HOLES ? -EFBIG : 0;
}

int infile_sum(const struct infile *f, const atomic_bool *cancelled, _Atomic uint64_t *worked,
	       uint8_t ret_sum[static 16])
{
	struct digest digest = { 0 };
	uint8_t buf[SUM_STEP];
	uint64_t offset = 0;
	ssize_t n = too_hollow(f);

	if (n == 0)
		n = digest_init(&digest);
	while (n >= 0 && (n = infile_read(f, buf, sizeof(buf), offset)) > 0) {
		digest_add_bytes(&digest, buf, (size_t)n);
		offset += (uint64_t)n;
		atomic_fetch_add_explicit(worked, 1, memory_order_relaxed);
		if (atomic_load(cancelled))
			n = -ECANCELED;
	}
	if (n == 0)
		digest_value(&digest, ret_sum);
	digest_done(&digest);
	return (int)n;
}

int infile_check(const struct infile *f)
{
	const struct stat *old = &f->stat;
	struct stat st;

	if (f->unsized)
		return 0;
	if (sys_fstat(f->fd, &st) < 0)
		return fail(-errno, "stat of an open file");
	if (st.st_dev != old->st_dev || st.st_ino != old->st_ino || st.st_size != old->st_size ||
	    st.st_mtim.tv_sec != old->st_mtim.tv_sec || st.st_mtim.tv_nsec != old->st_mtim.tv_nsec)
		return -ESTALE;
	return 0;
}

void infile_close(struct infile *f)
{
	if (f->fd >= 0 && !f->stream)
		sys_close(f->fd); /* nothing was written: nothing can be lost */
	f->fd = -1;
}

void infile_done(struct infile *f)
{
	infile_close(f);
	extents_done(&f->extents);
}
