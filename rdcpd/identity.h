/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whose rights a session's file calls have. Without `user` of a [client] section they are the daemon's. With it, the threads
 * that touch files (I/O workers, and whatever identity_run() runs) have that user's file-system uid and gid and groups, and no
 * capability, so that the kernel decides about every path as if the user had named it. All of this is per
 * thread and made by raw system calls: the C library's would change the whole process.
 *
 * A session's loop thread keeps the daemon's credentials and therefore must not open, make or remove files. It cannot change
 * them: /dev/infiniband/rdma_cm and uverbs* refuse a write(2) by other credentials than those they were opened with, and the
 * software devices ring their doorbells that way.
 */
#ifndef RDCPD_IDENTITY_H
#define RDCPD_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* all of them, the first included */
	size_t group_count;
};

/* Looks `user` up, a name and not a number, with all its groups. -ENOENT: there is none. -EPERM: it is root. -ENOMEM, -EIO. */
int identity_load(const char *user, struct identity *ret_identity);
void identity_done(struct identity *id); /* fine on a zeroed one */

/*
 * Runs fn(arg) on a thread of its own with these credentials, and returns what it returned. Threads that it starts have
 * them as well, and keep them. NULL: the daemon's own credentials, without the capabilities to change them; that costs
 * no thread where there are none. Fails without calling fn: -EPERM, -EINVAL (not in this user namespace), -EAGAIN.
 */
int identity_run(const struct identity *id, int (*fn)(void *arg), void *arg);

/* Whether identity_run() could. */
int identity_try(const struct identity *id);

#endif
