// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Takes connection requests off one endpoint listener, whenever its descriptor is readable and nothing else is to be done: anybody can
 * send requests faster than they are answered. So it is a few at a time, and the loop looks at all its other sources before the next.
 */
#include "listener.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#define REQUESTS_PER_TURN 16

struct listener {
	struct endpoint_listener *listener;
	sd_event_source *source;
	struct config_address address;
	const struct listener_events *events;
	void *owner;
};

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct listener *l = userdata;
	struct endpoint_request *rq;
	int r = 1;

	for (unsigned int i = 0; i < REQUESTS_PER_TURN && r > 0; i++) {
		r = endpoint_listener_next(l->listener, &rq);
		if (r > 0)
			l->events->request(l->owner, rq);
	}
	if (r < 0) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		l->events->failed(l->owner, l, r);
	}
	return 0;
}

int listener_new(sd_event *event, const struct endpoint_transport *transport, const struct config_address *address,
		 const struct listener_events *events, void *owner, struct listener **ret_listener,
		 struct endpoint_fault *ret_fault)
{
	struct listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->address = *address;
	l->events = events;
	l->owner = owner;
	r = endpoint_listen(transport, (const struct sockaddr *)&address->addr, address->len, &l->listener, ret_fault);
	if (r == 0)
		r = sd_event_add_io(event, &l->source, endpoint_listener_fd(l->listener), EPOLLIN, on_readable, l);
	if (r >= 0)
		r = sd_event_source_set_priority(l->source, SD_EVENT_PRIORITY_IDLE);
	if (r < 0) {
		listener_free(l);
		return r;
	}
	*ret_listener = l;
	return 0;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	sd_event_source_disable_unref(l->source);
	endpoint_listener_free(l->listener);
	free(l);
}

const struct config_address *listener_address(const struct listener *l)
{
	return &l->address;
}

char *listener_format(const struct config_address *address, char *buf, size_t size)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo((const struct sockaddr *)&address->addr, address->len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(buf, size, "?");
	else
		snprintf(buf, size, address->addr.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return buf;
}
