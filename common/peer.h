/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The far side of a session, as the engines see it: records instead of messages, and a heart that beats or does not.
 *
 * Both programs embed one beside their endpoint and hand it the endpoint's message, writable and closed events. It decodes
 * records and gives each to the engine it is meant for, answers PING, sends PING when it hears nothing, and ends
 * the session when the peer is silent, stands still, or breaks the protocol: with an ERROR record first, so that the
 * other side can say why.
 */
#ifndef RDCP_PEER_H
#define RDCP_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "budget.h"
#include "endpoint.h"
#include "error.h"
#include "loop.h"
#include "wire.h"

/* How a session came to its end: the first cause. */
struct peer_end {
	enum status status; /* STATUS_OK: orderly */
	bool by_peer;       /* its ERROR said so; text is its text, to be escaped before it is shown */
	bool by_connection; /* the endpoint failed: `fault` says how */
	enum endpoint_fault_kind fault;
	char text[WIRE_TEXT_MAX + 1];
};

/* What the sender and the receiver are to a peer: takers of records. A negative errno ends the session as a breach of protocol. */
struct peer_engine {
	int (*records[WIRE_TYPE_END])(void *engine, const struct wire_record *rec); /* NULL: not for this engine */
	void (*writable)(void *engine); /* there is room for records again */
	bool (*waits)(void *engine);    /* for a limit to let it go on: the next step is its own */
};

struct peer_events {
	/* WINDOW, FILTER, GET, ENTRY, PARTIAL, TOTAL, and END when the engine does not take it. A negative errno ends the session as a breach of protocol. */
	int (*record)(void *owner, const struct wire_record *rec);
	/* There is room for records again, after the engines had their turn. May be NULL. */
	void (*writable)(void *owner);
};

struct peer {
	struct loop *loop;
	struct endpoint *ep;
	const struct peer_events *events;
	void *owner;
	const struct peer_engine *engine_type; /* NULL: none attached */
	void *engine;
	const struct ioqueue *io; /* with peer_attach(): whose jobs are this side's work */

	uint64_t silence_ns; /* nothing heard for so long: it is gone */
	uint64_t stall_ns;   /* heard of, but nothing moved for so long: it is stuck */
	uint64_t idle_ns; /* neither side has work or says anything else than PING and PONG for so long: neither will */
	uint64_t heard_ns, moved_ns, active_ns;
	_Atomic uint64_t worked; /* counts what moves here; PING and PONG tell the peer, who may wait for it */
	uint64_t worked_seen, peer_worked; /* the last looks at it, here and there */
	bool ping_out, pong_due;
	uint64_t pong_token;
	struct loop_timer watch;

	struct budget *memory; /* for what it makes us remember, borrowed; set behind peer_init(), NULL: no limit */

	bool ending; /* records are ignored, nothing is sent but the last word */
	bool error_due;
	struct peer_end end;
};

/*
 * `silence_ns` as above; while either side has work, standing still is allowed sixty times as long, and four times while neither has.
 * The watch starts with peer_start().
 */
void peer_init(struct peer *p, struct loop *loop, uint64_t silence_ns, const struct peer_events *events, void *owner);
void peer_start(struct peer *p, struct endpoint *ep);
void peer_done(struct peer *p);

void peer_attach(struct peer *p, const struct peer_engine *type, void *engine, const struct ioqueue *io);
void peer_detach(struct peer *p);

/* To be called from the endpoint's events. */
void peer_on_message(struct peer *p, const uint8_t *records, size_t len);
void peer_on_writable(struct peer *p);
void peer_on_closed(struct peer *p, const struct endpoint_fault *fault); /* fills p->end when nothing else did */

/* 0; -EINVAL: no record can hold that; or -EAGAIN: no room, peer_events.writable and the engine's come later. */
int peer_send(struct peer *p, const struct wire_record *rec);

/* Bytes or files moved: the session does not stand still. Any thread may say so. */
static inline void peer_moved(struct peer *p)
{
	atomic_fetch_add_explicit(&p->worked, 1, memory_order_relaxed);
}

/*
 * Ends the session: `status` other than STATUS_OK is told to the peer in an ERROR record first. With `linger` the peer gets a
 * moment to hang up itself, so that our last word reaches it whatever the fabric does on a disconnect; else we hang up
 * as soon as it is sent. The first end wins.
 */
void peer_end(struct peer *p, enum status status, bool linger, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
