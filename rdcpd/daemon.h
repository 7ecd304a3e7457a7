/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The daemon: listeners, the gate every request goes through, the table of sessions, signals. All of it on one thread that
 * never touches a file or waits for a peer.
 */
#ifndef RDCPD_DAEMON_H
#define RDCPD_DAEMON_H

#include "config.h"

/*
 * Runs until SIGTERM or SIGINT, then ends the sessions and returns 0. A negative errno, after it was logged: it could
 * not start. Takes a reference to `config`.
 */
int daemon_run(struct config *config);

#endif
