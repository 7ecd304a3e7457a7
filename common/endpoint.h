/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * THE SEAM: one connection, seen from above as "write a slot, say a message", whatever carries it.
 * endpoint_rdma*.c carries it over rdma_cm and verbs, endpoint_stream.c over a connected byte stream; endpoint.c is what
 * both share: messages under construction, credits, deadlines of a close. One suite (tests/unit/test_endpoint.c) runs
 * against both.
 *
 * Life of an active endpoint                       and of a passive one
 *   endpoint_dial            -> resolved             endpoint_listener_next   -> a request with its REQ blob
 *   endpoint_open, _connect  -> connected(REP)       endpoint_request_accept (on the session's thread)
 *   endpoint_register, endpoint_aim                  endpoint_open, endpoint_register, endpoint_reply(REP)
 *   the active side sends first (an iWARP rule, rdma_connect(3))  -> connected, at the latest with the first message
 *   reserve/commit, post_write ... message, written, writable
 *   endpoint_close or a failure, from any state      -> closed, exactly once; then endpoint_free
 *
 * Threads: an endpoint belongs to the thread of its loop. A listener belongs to its own thread and shares nothing with
 * the endpoints that came out of it.
 *
 * Ordering: what a message names was written before: a peer that gets the message finds the bytes of every
 * endpoint_post_write() that came before the message's endpoint_commit(). Messages arrive in order.
 *
 * Credits: a message is only sent when the peer is known to have a receive posted for it. Every message carries the
 * number of receives the sender of it has posted anew. The last credit is kept for a message that gives credits back, so
 * two sides can never wait for each other. Nobody above has to know.
 */
#ifndef RDCP_ENDPOINT_H
#define RDCP_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct endpoint;
struct endpoint_listener;
struct loop;
struct slab;

/* Why a connection could not be made, or ended. The client has a hint for each, see rdcp/hint.c. */
enum endpoint_fault_kind {
	ENDPOINT_CLOSED,        /* endpoint_close() here, or an orderly end by the peer */
	ENDPOINT_NO_MODULE,     /* /dev/infiniband/rdma_cm is missing: rdma_ucm is not loaded */
	ENDPOINT_NO_DEVICE,     /* no RDMA device at all */
	ENDPOINT_LOOPBACK,      /* 127.0.0.1 or ::1: no RDMA device has it */
	ENDPOINT_ADDRESS,       /* the address belongs to no RDMA device's network */
	ENDPOINT_NO_ROUTE,      /* no route, or the neighbour does not answer */
	ENDPOINT_NOBODY,        /* nobody listens there */
	ENDPOINT_REJECTED,      /* the peer said no; blob holds its REJ (may be foreign: decide by its magic) */
	ENDPOINT_UNREACHABLE,   /* no answer to the connection request: UDP 4791 filtered, host down */
	ENDPOINT_MEMLOCK,       /* registering memory failed on RLIMIT_MEMLOCK; `need` says how many bytes */
	ENDPOINT_RESOURCES,     /* the device or the system ran out of something */
	ENDPOINT_LOST,          /* the connection broke: cable, peer's death, retries exceeded */
	ENDPOINT_REFUSED_WRITE, /* the peer refused an RDMA WRITE: bad rkey or bounds */
	ENDPOINT_DEVICE_GONE,   /* the local device was removed or its port went down for good */
	ENDPOINT_TIMEOUT,       /* a deadline of ours passed */
	ENDPOINT_PROTOCOL       /* the peer broke the rules of the connection */
};

struct endpoint_fault {
	enum endpoint_fault_kind kind;
	int error;         /* negative errno nearest to it, or 0 */
	uint64_t need;     /* ENDPOINT_MEMLOCK: bytes */
	uint8_t blob[196]; /* ENDPOINT_REJECTED: the private data that came with it */
	size_t blob_len;
	char text[160]; /* what failed, for a log line; "" when kind says it all */
};

/* All are called on the loop's thread, never from inside a call made on the endpoint. */
struct endpoint_events {
	/* Active only: device and route are known, endpoint_limits() counts. */
	void (*resolved)(void *owner);
	/* Active: with the REP blob. Passive: NULL, 0. Before any message(). */
	void (*connected)(void *owner, const void *blob, size_t len);
	/* The records of one message, at least one byte; valid during the call. */
	void (*message)(void *owner, const uint8_t *records, size_t len);
	/* A reserve that failed with -EAGAIN may succeed now. */
	void (*writable)(void *owner);
	/* The end. Every written() was called before it; nothing is called after it. `fault` is valid during the call. */
	void (*closed)(void *owner, const struct endpoint_fault *fault);
};

/* One RDMA WRITE in flight; embedded in what it is about. */
struct endpoint_work {
	void (*written)(struct endpoint_work *w,
			int status); /* 0: the bytes are with the peer; else -errno, not known */
	struct endpoint_work *next;  /* the endpoint's */
};

struct endpoint_limits {
	uint64_t max_write;        /* bytes in one post_write: the port's max_msg_sz */
	unsigned int max_slots;    /* writes that may be outstanding */
	unsigned int max_receives; /* for endpoint_open() */
};

/* How an endpoint comes to be. The two transports there are: */
struct endpoint_transport;
extern const struct endpoint_transport endpoint_rdma;                       /* "rdma" */
extern const struct endpoint_transport endpoint_stream;                     /* "tcp" */
const struct endpoint_transport *endpoint_transport_find(const char *name); /* NULL: unknown */

/* ---- active side -------------------------------------------------------------------------------------------- */

/*
 * Starts to find a way to `addr`. `timeout_ns` bounds each step until connected (resolve, connect). Returns 0 and then calls
 * resolved or closed later; or a negative errno, and no event at all, with *ret_fault filled.
 */
int endpoint_dial(const struct endpoint_transport *transport, struct loop *loop, const struct sockaddr *addr,
		  uint64_t timeout_ns, const struct endpoint_events *events, void *owner, struct endpoint **ret_ep,
		  struct endpoint_fault *ret_fault);

/* Sends the REQ blob (<= WIRE_REQ_SIZE bytes). Assumes endpoint_open(). Failure is reported by closed(). */
void endpoint_connect(struct endpoint *ep, const void *req, size_t len);

/* ---- passive side ------------------------------------------------------------------------------------------- */

/* -EADDRINUSE, -EADDRNOTAVAIL, -ENODEV, -EACCES ...; *ret_fault says why in words. */
int endpoint_listen(const struct endpoint_transport *transport, const struct sockaddr *addr, socklen_t addr_len,
		    struct endpoint_listener **ret_listener, struct endpoint_fault *ret_fault);
int endpoint_listener_fd(const struct endpoint_listener *l); /* readable: call endpoint_listener_next() */
void endpoint_listener_free(struct endpoint_listener *l);    /* NULL is fine; requests taken from it are lost */

/* Somebody who wants to connect; nothing was allocated for it but this. */
struct endpoint_request {
	const struct endpoint_transport *transport;
	struct sockaddr_storage peer; /* as the connection manager reports it */
	uint8_t blob[256];            /* its private data, padding included */
	size_t blob_len;
};

/* 1: a request (given to the caller); 0: none now, or enough for now: then the descriptor is still readable; negative errno: the
 * listener is dead (-ENODEV: its device went). Takes moments, whatever strangers do. */
int endpoint_listener_next(struct endpoint_listener *l, struct endpoint_request **ret_rq);

/* Both consume the request, but for an accept that fails. reject works, silently, when the peer is gone already. */
void endpoint_request_reject(struct endpoint_request *rq, const void *rej, size_t len);
int endpoint_request_accept(struct endpoint_request *rq, struct loop *loop, uint64_t timeout_ns,
			    const struct endpoint_events *events, void *owner, struct endpoint **ret_ep);

/* After open and register: answers with REP (<= WIRE_REP_MAX), or with REJ. Failure is reported by closed(); so is the end
 * of an endpoint that was refused. */
void endpoint_reply(struct endpoint *ep, const void *rep, size_t len);
void endpoint_refuse(struct endpoint *ep, const void *rej, size_t len);

/* ---- both --------------------------------------------------------------------------------------------------- */

void endpoint_limits(const struct endpoint *ep, struct endpoint_limits *ret_limits);

/*
 * Makes the queues: `slots` writes may be outstanding, `receives` are posted before this returns.
 * On failure a negative errno, *ret_fault says why; the endpoint still has to be closed.
 */
int endpoint_open(struct endpoint *ep, unsigned int slots, unsigned int receives, struct endpoint_fault *ret_fault);

/* Registers the slab, borrowed until closed(). With `remote_write` the peer may write into it: *ret_rkey is its key.
 * -ENOMEM with ENDPOINT_MEMLOCK in *ret_fault when the limit is too small. */
int endpoint_register(struct endpoint *ep, const struct slab *slab, bool remote_write, uint64_t *ret_base,
		      uint32_t *ret_rkey, struct endpoint_fault *ret_fault);

/* How many receives the peer has posted (REQ, REP): the first credits. Before the first commit. */
void endpoint_set_credits(struct endpoint *ep, unsigned int peer_receives);

/* Where the peer's slab is: target of every post_write. */
void endpoint_aim(struct endpoint *ep, uint64_t base, uint32_t rkey);

/*
 * Room for `size` bytes of records in the message under construction (a new one when they do not fit), or NULL: no
 * credit or buffer now, writable() will be called. After a reserve comes endpoint_commit() with the bytes used (0: none).
 * The message goes out at the end of the loop's round, or at once with endpoint_flush().
 * Returns NULL on an endpoint that is closing, too; writable() is not called then.
 */
uint8_t *endpoint_reserve(struct endpoint *ep, size_t size);
void endpoint_commit(struct endpoint *ep, size_t used);
void endpoint_flush(struct endpoint *ep);

/*
 * Writes bytes off..off+len of local slot `slot` to the same place at the peer. len > 0, within the slot; at most `slots` outstanding.
 * Returns 0: written() runs exactly once, later, on success only together with or after a message committed behind it
 * (writes are not signalled one by one). The slot must not change until then. Negative errno: it never runs.
 */
int endpoint_post_write(struct endpoint *ep, struct endpoint_work *w, unsigned int slot, size_t off, size_t len);

/* Orderly: what is committed is sent, then the connection ends. closed(ENDPOINT_CLOSED) follows within seconds. */
void endpoint_close(struct endpoint *ep);

/* At once. closed() follows with `kind` and `text`; the first cause wins. */
void endpoint_abort(struct endpoint *ep, enum endpoint_fault_kind kind, const char *text);

void endpoint_free(struct endpoint *ep); /* after closed(), not inside it; NULL is fine */

struct endpoint_stats {
	uint64_t writes, write_bytes, sends, receives, wakeups;
};
void endpoint_stats(const struct endpoint *ep, struct endpoint_stats *ret_stats);

#endif
