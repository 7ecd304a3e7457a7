// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Standard input and output, see stream.h. infile.c and outfile.c come here for a source or destination that has no name.
 *
 * Nothing but poll(2) may wait, or a cancel would come too late: the descriptor is blocking, as we got it, and O_NONBLOCK would
 * be set for everybody who shares it. What poll(2) promises of a pipe is room for PIPE_BUF bytes, so writes are no longer than
 * that. With O_NONBLOCK set by somebody else it works as well.
 */
#include "stream.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "sys.h"
#include "util.h"

int stream_init(struct stream *s, int fd)
{
	struct stat st;

	*s = (struct stream){ .fd = fd, .cancel_fd = -1 };
	if (sys_fstat(fd, &st) < 0)
		return fail(-errno, "stat of descriptor %d", fd);
	s->regular = S_ISREG(st.st_mode);
	s->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->cancel_fd < 0 ? fail(-errno, "eventfd") : 0;
}

void stream_done(struct stream *s)
{
	if (s->cancel_fd >= 0)
		close(s->cancel_fd);
	s->cancel_fd = -1;
}

void stream_cancel(const struct stream *s)
{
	eventfd_write(s->cancel_fd, 1);
}

/* Until there is something to do: the deadline is stream_cancel(), since how long the other end takes is the user's affair. */
static int wait_for(const struct stream *s, short events)
{
	struct pollfd fds[] = { { .fd = s->cancel_fd, .events = POLLIN }, { .fd = s->fd, .events = events } };
	int n;

	do {
		n = poll(fds, ARRAY_SIZE(fds), s->regular ? 0 : -1);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail(-errno, "poll");
	return fds[0].revents ? -ECANCELED : 0;
}

/* Is it worth another try? */
static bool again(ssize_t n)
{
	return n < 0 && (errno == EINTR || errno == EAGAIN);
}

ssize_t stream_read(const struct stream *s, void *buf, size_t len)
{
	size_t got = 0;

	while (got < len) {
		int r = wait_for(s, POLLIN);
		ssize_t n;

		if (r < 0)
			return r;
		n = sys_read(s->fd, (char *)buf + got, len - got);
		if (again(n))
			continue;
		if (n < 0)
			return fail(-errno, "read of a stream");
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int write_some(struct stream *s, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t part = s->regular ? len - done : min_size(len - done, PIPE_BUF);
		int r = wait_for(s, POLLOUT);
		ssize_t n;

		if (r < 0)
			return r;
		n = sys_write(s->fd, (const char *)buf + done, part);
		if (again(n))
			continue;
		if (n <= 0)
			return fail(n < 0 ? -errno : -EIO, "write of a stream");
		done += (size_t)n;
		s->offset += (uint64_t)n;
	}
	return 0;
}

int stream_write(struct stream *s, const void *buf, size_t len, uint64_t offset)
{
	return offset == s->offset ? write_some(s, buf, len) : -EINVAL;
}

int stream_sync(const struct stream *s)
{
	int r;

	if (!s->regular)
		return 0;
	do {
		r = sys_fsync(s->fd) < 0 ? -errno : 0;
	} while (r == -EINTR);
	return r < 0 ? fail(r, "fsync of a stream") : 0;
}
