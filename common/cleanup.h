/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Scope-bound cleanup: a local that owns something releases it where the scope ends. */
#ifndef RDCP_CLEANUP_H
#define RDCP_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))

/* Hands the value of an owning local to the caller and disarms its cleanup. */
#define steal_fd(fd)            \
	({                      \
		int _fd = (fd); \
		(fd) = -1;      \
		_fd;            \
	})
#define steal_ptr(p)                    \
	({                              \
		__typeof__(p) _p = (p); \
		(p) = NULL;             \
		_p;                     \
	})

#endif
