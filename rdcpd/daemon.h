/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The daemon: listeners, the gate every request goes through, the table of sessions, signals. All of it on one thread that
 * never waits for a peer, and touches no file but those of the configuration.
 */
#ifndef RDCPD_DAEMON_H
#define RDCPD_DAEMON_H

#include "config.h"

/*
 * Runs until SIGTERM or SIGINT, then ends the sessions and returns 0. A negative errno, after it was logged: it could
 * not start. Takes a reference to `config`. SIGHUP reads `config_path` again; what is wrong then changes nothing.
 */
int daemon_run(struct config *config, const char *config_path);

#endif
