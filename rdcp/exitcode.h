/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The exit statuses of rdcp, one table; rdcp(1) EXIT STATUS says the same. Scripts depend on the numbers: append. */
#ifndef RDCP_EXITCODE_H
#define RDCP_EXITCODE_H

enum exitcode {
	EXITCODE_OK = 0,            /* every file is complete, verified and as durable as --fsync promises */
	EXITCODE_FAILED = 1,        /* some files were not copied, each has its line */
	EXITCODE_USAGE = 2,         /* the command line makes no sense; nothing was tried */
	EXITCODE_CONNECT = 3,       /* no connection could be made */
	EXITCODE_REFUSED = 4,       /* the daemon said no: key, busy, version, not allowed */
	EXITCODE_LOST = 5,          /* the connection broke, or the daemon broke the protocol */
	EXITCODE_TIMEOUT = 6,       /* silence for longer than --timeout */
	EXITCODE_CORRUPT = 7,       /* bytes arrived that are not the bytes that were read */
	EXITCODE_HANGUP = 129,      /* SIGHUP, as shells count: 128 + 1 */
	EXITCODE_INTERRUPTED = 130, /* SIGINT: 128 + 2 */
	EXITCODE_TERMINATED = 143   /* SIGTERM: 128 + 15 */
};

#endif
