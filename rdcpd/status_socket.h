/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where a running daemon tells what it does: a unix socket of mode 0600. Who connects sends one line, "text" or "json", and
 * gets the report and then the end of the stream. Served by the daemon's event loop, which never waits for anybody: a few
 * askers at one time, a few seconds for each.
 */
#ifndef RDCPD_STATUS_SOCKET_H
#define RDCPD_STATUS_SOCKET_H

#include <stdbool.h>
#include <stdio.h>
#include <systemd/sd-event.h>

struct status_socket;

/* Writes the report. Called on the loop's thread; must not block. */
typedef void (*status_render)(void *owner, bool json, FILE *out);

/*
 * What a daemon that died left there is replaced. -EADDRINUSE: another daemon answers there. -ENOENT, -EACCES ...: as bind(2).
 * -ENAMETOOLONG: beyond what a socket can be called.
 */
int status_socket_new(sd_event *event, const char *path, status_render render, void *owner,
		      struct status_socket **ret_socket);
void status_socket_free(struct status_socket *s); /* removes the socket's file; NULL is fine */

/* The other end, for rdcpd --status: copies the report to `out`, which remembers its own errors. -ENOENT, -ECONNREFUSED: nobody there. -ETIMEDOUT. */
int status_socket_ask(const char *path, bool json, FILE *out);

#endif
