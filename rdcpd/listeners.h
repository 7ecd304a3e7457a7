/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * All addresses the daemon listens on. One that cannot be served yet, or whose device went away, is tried again every few
 * seconds until it can; nobody has to ask. Belongs to the daemon's thread.
 */
#ifndef RDCPD_LISTENERS_H
#define RDCPD_LISTENERS_H

#include <systemd/sd-event.h>

#include "common/endpoint.h"
#include "config.h"

struct listeners;

/* `request` gets each request, to keep. -ENOMEM. */
int listeners_new(sd_event *event, void (*request)(void *owner, struct endpoint_request *rq), void *owner,
		  struct listeners **ret_listeners);
void listeners_free(struct listeners *l); /* NULL is fine */

/*
 * From now on what `config` (a reference is taken) says. Addresses that stay are not touched: no request is lost there.
 * -ENOMEM: all is as before. An address that does not work is no error.
 */
int listeners_apply(struct listeners *l, struct config *config);

unsigned int listeners_served(const struct listeners *l); /* addresses that work now */

#endif
