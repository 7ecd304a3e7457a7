/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which directory a tree goes to, in words that its reader understands if it is on the same host: so that a tree that is copied into
 * itself does not meet its own copy without end. The host is told by the time when it was started, to a millisecond; that can be had
 * from everywhere, also without /proc. Two hosts of the same moment do no harm unless device and inode are the same, too.
 */
#ifndef RDCP_HERE_H
#define RDCP_HERE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "wire.h"

/* Of an open directory; `ret_here->file` is not set. Negative errno of fstat(2). */
int here_of(int fd, struct wire_here *ret_here);

/* Was that said on this host? Then device and inode mean the same here. Soon after it was said: clocks may be set. */
bool here_is_this_host(const struct wire_here *here);

static inline bool here_is(const struct wire_here *here, const struct stat *st)
{
	return here->dev == st->st_dev && here->ino == st->st_ino;
}

#endif
