/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One address the daemon listens on, as a source of its event loop. Requests go to a callback on the same thread. */
#ifndef RDCPD_LISTENER_H
#define RDCPD_LISTENER_H

#include <systemd/sd-event.h>

#include "common/endpoint.h"
#include "config.h"

struct listener;

struct listener_events {
	void (*request)(void *owner, struct endpoint_request *rq); /* given */
	/* It cannot go on (its device is gone); listener_free() may be called inside. */
	void (*failed)(void *owner, struct listener *l, int error);
};

/* As endpoint_listen(). */
int listener_new(sd_event *event, const struct endpoint_transport *transport, const struct config_address *address,
		 const struct listener_events *events, void *owner, struct listener **ret_listener,
		 struct endpoint_fault *ret_fault);
void listener_free(struct listener *l); /* NULL is fine */

const struct config_address *listener_address(const struct listener *l);

/* "192.0.2.1:10121", "[fd00::1]:10121"; returns buf. */
char *listener_format(const struct config_address *address, char *buf, size_t size);

#endif
