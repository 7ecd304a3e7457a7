/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From a host's addresses to a connection that both sides have proved their key on: tries the addresses in turn, answers
 * a challenge with a second request, and checks that the daemon knows the key as well. Belongs to the client's loop.
 */
#ifndef RDCP_CONNECT_H
#define RDCP_CONNECT_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/endpoint.h"
#include "common/error.h"
#include "common/key.h"
#include "common/loop.h"
#include "common/wire.h"
#include "options.h"

struct connect_events {
	/* The daemon granted `rep`; the endpoint is open and has its credits. Registering and aiming are the caller's. */
	void (*connected)(void *owner, const struct wire_rep *rep);
	/* No connection. `refusal` other than STATUS_OK: said by us or by the daemon, with text; else see the fault. */
	void (*failed)(void *owner, const struct endpoint_fault *fault, enum status refusal, const char *text);
	/* After connected: the endpoint's. */
	void (*message)(void *owner, const uint8_t *records, size_t len);
	void (*writable)(void *owner);
	void (*closed)(void *owner, const struct endpoint_fault *fault);
};

struct connect {
	struct loop *loop;
	const struct options *options;
	const struct endpoint_transport *transport;
	const struct connect_events *events;
	void *owner;
	const struct addrinfo *address; /* being tried; the list is borrowed */
	struct endpoint *ep;            /* owned */
	struct loop_task redial;

	const struct key *key; /* borrowed; NULL: none */
	struct wire_req req;   /* what is asked for; its uuid is the transfer id */
	uint8_t challenge[WIRE_MAC_SIZE];
	bool challenged, established;
	enum status refusal;
	char text[WIRE_TEXT_MAX + 1];
	struct endpoint_fault fault;
};

/*
 * Starts; connected or failed follows. `addresses` not empty. `bytes` is how much will be sent, to ask for no more memory
 * than that needs; UINT64_MAX: not known.
 */
void connect_start(struct connect *c, struct loop *loop, const struct options *options,
		   const struct addrinfo *addresses, const struct key *key, uint64_t bytes,
		   const struct connect_events *events, void *owner);

/* Gives up what is under way: failed follows, or closed. */
void connect_abort(struct connect *c);
void connect_done(struct connect *c); /* after failed or closed */

#endif
