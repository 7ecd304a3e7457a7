/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* umask(2) can only be read by changing it, for all threads: /proc tells without. Any thread may ask. */
#ifndef RDCP_UMASK_H
#define RDCP_UMASK_H

#include <sys/types.h>

mode_t process_umask(void); /* as it was when it was asked for first; 022 where there is no /proc */

/*
 * Of what is made in that directory (may be O_PATH): its default ACL says, if it has one, and the umask does not count, acl(5).
 * Negative errno as getxattr(2).
 */
int umask_in(int dir);

#endif
