/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See standard.h. Called by main files, by log.c and by whoever reads a list from standard input, from any thread; owns two streams. */
#include "standard.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int output_error; /* errno of the first write that failed */

/* What the other end does is the user's affair: no deadline. An error is for the next call to find. */
static void wait_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	poll(&pfd, 1, -1);
}

int standard_write(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		} else if (n == 0) {
			return -EIO;
		} else if (errno == EAGAIN) {
			wait_for(fd, POLLOUT);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

ssize_t standard_read(int fd, void *buf, size_t len)
{
	for (;;) {
		ssize_t n = read(fd, buf, len);

		if (n >= 0)
			return n;
		if (errno == EAGAIN)
			wait_for(fd, POLLIN);
		else if (errno != EINTR)
			return -errno;
	}
}

/* fopencookie(3): all of it, or 0 for an error. */
static ssize_t put_output(void *cookie, const char *buf, size_t len)
{
	int none = 0, r = standard_write(STDOUT_FILENO, buf, len);

	if (r == 0)
		return (ssize_t)len;
	atomic_compare_exchange_strong(&output_error, &none, -r);
	errno = -r;
	return 0;
}

static ssize_t put_error(void *cookie, const char *buf, size_t len)
{
	return standard_write(STDERR_FILENO, buf, len) == 0 ? (ssize_t)len : 0;
}

void standard_open(void)
{
	FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put_output });
	FILE *err = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put_error });

	if (out) {
		setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
		stdout = out;
	}
	if (err) {
		setvbuf(err, NULL, _IONBF, 0);
		stderr = err;
	}
}

int standard_flush(void)
{
	if (fflush(stdout) != 0 && !atomic_load(&output_error))
		return -errno;
	return -atomic_load(&output_error);
}
