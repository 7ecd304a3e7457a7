/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside the seam: what endpoint.c (messages, credits, deadlines, order of a close) and a transport (how bytes move) owe
 * each other. Only endpoint*.c include this.
 *
 * A transport embeds struct endpoint first in its own struct. It calls the endpoint_on_*() functions from its loop callbacks
 * only, never from inside an operation; endpoint_fail() alone may be called anywhere, it takes effect at the end of the
 * round. Operations of the table are called on the loop's thread.
 */
#ifndef RDCP_ENDPOINT_IMPL_H
#define RDCP_ENDPOINT_IMPL_H

#include "endpoint.h"
#include "loop.h"
#include "wire.h"

#define ENDPOINT_SENDS 32 /* messages that may be in flight or under construction */
#define ENDPOINT_MAX_RECEIVES \
	64 /* posted receives; 2 x 64 x 8 KiB stays below the 2 MiB a side may pin beside its slab */

enum endpoint_state {
	ENDPOINT_RESOLVING,  /* dialled; passive endpoints start at RESOLVED */
	ENDPOINT_RESOLVED,   /* device known */
	ENDPOINT_CONNECTING, /* REQ or REP is out */
	ENDPOINT_CONNECTED,
	ENDPOINT_FLUSHING, /* endpoint_close(): committed messages still go out */
	ENDPOINT_DRAINING, /* transport is shutting down: nothing new is posted, everything posted comes home */
	ENDPOINT_DEAD      /* closed() was called */
};

struct endpoint_transport {
	const char *name;

	/* Starts resolving; sets *ret_ep to a struct that went through endpoint_init(). Errors as endpoint_dial(). */
	int (*dial)(struct loop *loop, const struct sockaddr *addr, struct endpoint **ret_ep,
		    struct endpoint_fault *ret_fault);
	/* Makes the queues for `slots` writes, ENDPOINT_SENDS sends and ep->receives receives, all posted; the buffers
	 * (endpoint_send_buffer(), endpoint_receive_buffer()) exist. Errors as endpoint_open(). */
	int (*open)(struct endpoint *ep, unsigned int slots, struct endpoint_fault *ret_fault);
	int (*register_slab)(struct endpoint *ep, const struct slab *slab, bool remote_write, uint64_t *ret_base,
			     uint32_t *ret_rkey, struct endpoint_fault *ret_fault);
	/* Negative errno: endpoint.c fails the endpoint. */
	int (*connect)(struct endpoint *ep, const void *req, size_t len);
	int (*reply)(struct endpoint *ep, const void *rep, size_t len);
	void (*refuse)(struct endpoint *ep, const void *rej, size_t len);
	void (*limits)(const struct endpoint *ep, struct endpoint_limits *ret_limits);

	/* Sends `len` bytes of send buffer `index`; 0: endpoint_on_sent() follows once, unless draining comes first. */
	int (*post_message)(struct endpoint *ep, unsigned int index, size_t len);
	/* Posts receive buffer `index` again. */
	int (*post_receive)(struct endpoint *ep, unsigned int index);
	int (*post_write)(struct endpoint *ep, struct endpoint_work *w, unsigned int slot, size_t off, size_t len);

	/*
	 * Ends the connection: nothing more is taken from the peer, each work outstanding gets its written(), then
	 * endpoint_on_drained() is called (later, never inside). Called once, from any state, also half-made.
	 */
	void (*shutdown)(struct endpoint *ep);
	/* The drain took too long: make it so by force, and call endpoint_on_drained() (may be inside). */
	void (*force_drain)(struct endpoint *ep);
	void (*free)(struct endpoint *ep); /* everything the transport made, the struct included */

	int (*listen)(const struct sockaddr *addr, socklen_t addr_len, struct endpoint_listener **ret_l,
		      struct endpoint_fault *ret_fault);
	int (*listener_next)(struct endpoint_listener *l, struct endpoint_request **ret_rq);
	void (*listener_free)(struct endpoint_listener *l);
	void (*request_reject)(struct endpoint_request *rq, const void *rej, size_t len);
	/* Takes the request onto this thread and loop; RESOLVED. A failure leaves it as it was, to be rejected. */
	int (*request_accept)(struct endpoint_request *rq, struct loop *loop, struct endpoint **ret_ep);
};

/* First member of a transport's listener. */
struct endpoint_listener {
	const struct endpoint_transport *transport;
	int fd;
};

struct endpoint {
	const struct endpoint_transport *transport;
	struct loop *loop;
	const struct endpoint_events *events;
	void *owner;
	enum endpoint_state state;
	struct endpoint_fault fault; /* the first cause */
	bool failed;                 /* fault is set; the round's end starts the shutdown */
	bool active;                 /* dialled here */

	uint64_t timeout_ns; /* of each step of setting up */
	struct loop_timer deadline;
	struct loop_task fail_task, flush_task;

	uint8_t *buffers; /* ENDPOINT_SENDS, then `receives` buffers of WIRE_MESSAGE_MAX; page-aligned */
	unsigned int receives;
	uint16_t free_sends[ENDPOINT_SENDS]; /* stack */
	unsigned int free_send_count;
	int building;         /* send buffer under construction, or -1 */
	size_t built;         /* bytes in it, header included */
	unsigned int credits; /* receives known to be posted at the peer */
	unsigned int owed;    /* receives posted here that the peer does not know of */
	bool want_writable;

	uint64_t remote_base;
	uint32_t remote_rkey;
	const struct slab *slab;

	struct endpoint_stats stats;
};

/* For a transport's dial and request_accept. */
void endpoint_init(struct endpoint *ep, const struct endpoint_transport *transport, struct loop *loop);
void endpoint_done(struct endpoint *ep); /* for its free */

static inline size_t endpoint_buffers_size(const struct endpoint *ep)
{
	return (size_t)(ENDPOINT_SENDS + ep->receives) * WIRE_MESSAGE_MAX;
}

static inline uint8_t *endpoint_send_buffer(const struct endpoint *ep, unsigned int index)
{
	return ep->buffers + (size_t)index * WIRE_MESSAGE_MAX;
}

static inline uint8_t *endpoint_receive_buffer(const struct endpoint *ep, unsigned int index)
{
	return ep->buffers + (size_t)(ENDPOINT_SENDS + index) * WIRE_MESSAGE_MAX;
}

/* ---- the transport reports ---- */

void endpoint_on_resolved(struct endpoint *ep);
void endpoint_on_connected(struct endpoint *ep, const void *blob, size_t len); /* the second call does nothing */
void endpoint_on_sent(struct endpoint *ep, unsigned int index);
/* A message of `len` bytes arrived in receive buffer `index`; delivers it and posts the buffer again. A passive endpoint that
 * did not see the end of the handshake yet is connected by it. */
void endpoint_on_received(struct endpoint *ep, unsigned int index, size_t len);
/* Works complete in the order they were posted. */
void endpoint_on_written(struct endpoint_work *w, int status);
void endpoint_on_drained(struct endpoint *ep);

/* The connection is over because of `kind`; the first cause wins; text may be NULL. Safe anywhere. */
void endpoint_fail(struct endpoint *ep, enum endpoint_fault_kind kind, int error, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

void endpoint_fault_set(struct endpoint_fault *f, enum endpoint_fault_kind kind, int error, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
