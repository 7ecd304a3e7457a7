/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The exports that one session may touch: where every path of its peer starts. Each is opened when the first path in it is asked
 * for, with the rights of the client's user. Belongs to the session's thread.
 */
#ifndef RDCPD_ROOTS_H
#define RDCPD_ROOTS_H

#include "access.h"

struct roots {
	const struct access_grant *grant; /* borrowed */
	int *fds;                         /* O_PATH, in the order of the grant's exports; -1: not open */
	unsigned int open;
};

int roots_init(struct roots *r, const struct access_grant *grant); /* -ENOMEM */
void roots_close(struct roots *r);                                 /* fine on a zeroed struct */

/*
 * As access_resolve(), with the descriptor to start from, which stays open until roots_close(). STATUS_FAILED: the export could
 * not be opened. STATUS_BUSY: there is no descriptor left for it.
 */
enum status roots_locate(struct roots *r, struct wire_text path, bool need_write, int *ret_root,
			 char ret_relative[static ACCESS_RELATIVE_MAX], char ret_why[static WIRE_TEXT_MAX + 1]);

/* The export that a root of roots_locate() belongs to. */
const struct config_export *roots_export(const struct roots *r, int root);

#endif
