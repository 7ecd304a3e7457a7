/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A descriptor that was open before us, read or written in order: standard input or output, be it a pipe, a terminal, a socket or a
 * file. Its owner makes it and ends it; the engines borrow it. Reading and writing wait for the other end as long as it takes,
 * so they belong to I/O workers, one at a time; stream_cancel() alone may be called by any thread, and ends that.
 */
#ifndef RDCP_STREAM_H
#define RDCP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stream {
	int fd;          /* borrowed, also by whoever started us: its flags and its offset are not only ours */
	int cancel_fd;   /* eventfd: readable once it was cancelled */
	bool regular;    /* a file: nothing to wait for */
	uint64_t offset; /* bytes written */
};

/* Fails with -EBADF, -EMFILE. */
int stream_init(struct stream *s, int fd);
void stream_done(struct stream *s);

/* A read or write that waits, and every one from now on, is -ECANCELED, within moments. */
void stream_cancel(const struct stream *s);

/* Until `len` bytes or the end. Returns the bytes read. */
ssize_t stream_read(const struct stream *s, void *buf, size_t len);

/*
 * All of it. `offset` is where it belongs, which is the end: -EINVAL otherwise. There are no holes in a stream, or a few bytes from a
 * peer could mean zeros without end. -EPIPE: nobody reads (with SIGPIPE ignored). Else as write(2).
 */
int stream_write(struct stream *s, const void *buf, size_t len, uint64_t offset);

int stream_sync(const struct stream *s); /* fsync(2) of a file, nothing for the others */

#endif
