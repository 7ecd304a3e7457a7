// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Past the page cache: writing so, and reading again what was written from where it is stored. The contracts are in outfile.h. Where a
 * file system has no O_DIRECT, or not for these offsets, everything goes through the cache as usual, and nobody is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "error.h"
#include "outfile_impl.h"
#include "sys.h"
#include "util.h"

#define BLOCK ((uint64_t)DIRECT_BLOCK)

/*
 * A descriptor of its own: what is not aligned is written through the other one. Not by its name, under which another user of the
 * directory may have put something else.
 */
void outfile_go_direct(struct outfile *f)
{
	char path[FD_PATH_MAX];

	if (f->fd >= 0 && !f->stream && f->direct_fd < 0)
		f->direct_fd = sys_openat(AT_FDCWD, sys_fd_path(f->fd, path), O_WRONLY | O_DIRECT | O_CLOEXEC, 0);
}

ssize_t outfile_write_direct(const struct outfile *f, const void *buf, size_t len, uint64_t offset)
{
	size_t body = len & ~(size_t)(BLOCK - 1), done = 0;

	if (f->direct_fd < 0 || offset % BLOCK || (uintptr_t)buf % BLOCK)
		return 0;
	while (done < body) {
		ssize_t n = sys_pwrite(f->direct_fd, (const char *)buf + done, body - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EINVAL)
			return fail(-errno, "direct write of %zu bytes at %llu", body, (unsigned long long)offset);
		if (n <= 0)
			break;
		done += (size_t)n;
		if (done % BLOCK)
			break;
	}
	return (ssize_t)done;
}

static void set_direct(int fd, bool direct)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT); /* or not */
}

int outfile_begin_reread(const struct outfile *f)
{
	int r = outfile_sync(f);

	if (r < 0)
		return r;
	posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED); /* for file systems that cannot read past it */
	set_direct(f->fd, true);
	return 0;
}

void outfile_end_reread(const struct outfile *f)
{
	if (f->fd >= 0)
		set_direct(f->fd, false);
}

int outfile_reread(const struct outfile *f, void *buf, size_t len, uint64_t offset, const void **ret_bytes)
{
	size_t skip = (size_t)(offset % BLOCK), got = 0;
	size_t want = (size_t)((skip + len + BLOCK - 1) & ~(BLOCK - 1));
	bool direct = true;

	while (got < skip + len) {
		ssize_t n = sys_pread(f->fd, (char *)buf + got, want - got, (off_t)(offset - skip + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && direct) {
			direct = false;
			set_direct(f->fd, false);
			continue;
		}
		if (n < 0)
			return fail(-errno, "reading %zu bytes at %llu again", len, (unsigned long long)offset);
		if (!n)
			return fail(-EILSEQ, "reading %zu bytes at %llu again", len, (unsigned long long)offset);
		got += (size_t)n;
	}
	*ret_bytes = (char *)buf + skip;
	return 0;
}
