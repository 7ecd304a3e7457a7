/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Standard input, output and error. Whoever shares the descriptors may have set O_NONBLOCK on them, which holds for all who share
 * them, and may set it at any time: a write or read that would block waits with poll(2), as long as a blocking one would.
 */
#ifndef RDCP_STANDARD_H
#define RDCP_STANDARD_H

#include <sys/types.h>

/*
 * Once, at the start: what stdio writes to stdout and stderr from then on waits in that way. Without memory they stay as they were.
 * Standard output is buffered by the line where it is a terminal.
 */
void standard_open(void);

/* Writes what is still buffered. -errno of the first write to standard output that failed since standard_open(). */
int standard_flush(void);

/* All of it. 0 or -errno. */
int standard_write(int fd, const char *buf, size_t len);

/* As read(2) of a blocking descriptor that no signal interrupts. */
ssize_t standard_read(int fd, void *buf, size_t len);

#endif
