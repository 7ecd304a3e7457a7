// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Decodes what the far side says, hands it on, and watches its pulse. See peer.h.
 */
#include "peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ioqueue.h"
#include "log.h"
#include "util.h"

#define LINGER (2 * SEC)
#define STALL_FACTOR 60 /* making a large file durable takes minutes, and nothing moves meanwhile */
#define IDLE_FACTOR 4   /* when there is nothing that could take time any more */
#define WATCHES 8       /* looks a silence period: how exactly a deadline is kept */

static int on_ping(struct peer *p, const struct wire_record *rec);
static int on_pong(struct peer *p, const struct wire_record *rec);
static int on_error(struct peer *p, const struct wire_record *rec);
static int to_owner(struct peer *p, const struct wire_record *rec);

/* Who takes what the engine does not: the session itself, or its owner. A record nobody takes breaks the protocol. */
static int (*const own_records[WIRE_TYPE_END])(struct peer *p, const struct wire_record *rec) = {
	[WIRE_END] = to_owner,   [WIRE_WINDOW] = to_owner,  [WIRE_GET] = to_owner,   [WIRE_FILTER] = to_owner,
	[WIRE_ENTRY] = to_owner, [WIRE_PARTIAL] = to_owner, [WIRE_TOTAL] = to_owner, [WIRE_PING] = on_ping,
	[WIRE_PONG] = on_pong,   [WIRE_ERROR] = on_error,
};

static void on_watch(struct loop_timer *t);

void peer_init(struct peer *p, struct loop *loop, uint64_t silence_ns, const struct peer_events *events, void *owner)
{
	*p = (struct peer){
		.loop = loop,
		.events = events,
		.owner = owner,
		.silence_ns = silence_ns,
		.stall_ns = silence_ns * STALL_FACTOR,
		.idle_ns = silence_ns * IDLE_FACTOR,
		.watch.expired = on_watch,
	};
}

void peer_start(struct peer *p, struct endpoint *ep)
{
	p->ep = ep;
	p->heard_ns = p->moved_ns = p->active_ns = now_ns();
	loop_timer_set(p->loop, &p->watch, p->heard_ns + p->silence_ns / WATCHES);
}

void peer_done(struct peer *p)
{
	loop_timer_cancel(p->loop, &p->watch);
}

void peer_attach(struct peer *p, const struct peer_engine *type, void *engine, const struct ioqueue *io)
{
	p->engine_type = type;
	p->engine = engine;
	p->io = io;
}

void peer_detach(struct peer *p)
{
	p->engine_type = NULL;
	p->engine = NULL;
	p->io = NULL;
}

/* ---- sending ------------------------------------------------------------------------------------------------ */

static bool is_pulse(enum wire_type type)
{
	return type == WIRE_PING || type == WIRE_PONG;
}

int peer_send(struct peer *p, const struct wire_record *rec)
{
	size_t size = wire_size(rec);
	uint8_t *buf = endpoint_reserve(p->ep, size);
	ssize_t n;

	if (!buf)
		return -EAGAIN;
	n = wire_encode(rec, buf, size);
	endpoint_commit(p->ep, n < 0 ? 0 : (size_t)n);
	if (!is_pulse(rec->type))
		p->active_ns = loop_now(p->loop);
	return n < 0 ? fail((int)n, "encoding %s", wire_type_name(rec->type)) : 0;
}

static uint64_t worked(const struct peer *p)
{
	return atomic_load_explicit(&p->worked, memory_order_relaxed);
}

/* Only what is really with a worker counts, and a limit that is waited for: what waits for anything else waits for the peer. */
static bool is_busy(const struct peer *p)
{
	return (p->io && ioqueue_jobs(p->io)) || (p->engine && p->engine_type->waits(p->engine));
}

static int send_pulse(struct peer *p, enum wire_type type, uint64_t token)
{
	struct wire_record rec = { .type = type, .ping = { .token = token, .worked = worked(p) } };

	rec.ping.flags = is_busy(p) ? WIRE_PING_BUSY : 0;
	return peer_send(p, &rec);
}

static void send_pong(struct peer *p)
{
	if (p->pong_due && send_pulse(p, WIRE_PONG, p->pong_token) == 0)
		p->pong_due = false;
}

/* The last word, and then the end of the connection as peer_end() describes it. */
static void send_error(struct peer *p)
{
	struct wire_record rec = { .type = WIRE_ERROR };

	rec.status.status = (uint16_t)p->end.status;
	rec.status.text = wire_text(p->end.text);
	if (p->error_due && peer_send(p, &rec) == 0)
		p->error_due = false;
}

void peer_end(struct peer *p, enum status status, bool linger, const char *fmt, ...)
{
	va_list ap;

	if (p->ending)
		return;
	p->ending = true;
	p->end.status = status;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(p->end.text, sizeof(p->end.text), fmt, ap);
		va_end(ap);
	}
	if (status != STATUS_OK) {
		p->error_due = true;
		send_error(p);
	}
	if (linger || p->error_due)
		loop_timer_set(p->loop, &p->watch, now_ns() + LINGER);
	else
		endpoint_close(p->ep);
}

/* ---- receiving ---------------------------------------------------------------------------------------------- */

/* A look at the count of what moved, here or there; `seen` is what the last one saw. */
static void note_work(struct peer *p, uint64_t count, uint64_t *seen)
{
	if (count != *seen)
		p->moved_ns = p->active_ns = loop_now(p->loop);
	*seen = count;
}

static void hear_pulse(struct peer *p, const struct wire_ping *ping)
{
	note_work(p, ping->worked, &p->peer_worked);
	if (ping->flags & WIRE_PING_BUSY)
		p->active_ns = loop_now(p->loop);
}

static int on_ping(struct peer *p, const struct wire_record *rec)
{
	hear_pulse(p, &rec->ping);
	p->pong_due = true;
	p->pong_token = rec->ping.token;
	send_pong(p);
	return 0;
}

static int on_pong(struct peer *p, const struct wire_record *rec)
{
	hear_pulse(p, &rec->ping);
	p->ping_out = false;
	return 0;
}

static int on_error(struct peer *p, const struct wire_record *rec)
{
	p->ending = true;
	p->end.status = rec->status.status ? (enum status)rec->status.status : STATUS_FAILED;
	p->end.by_peer = true;
	snprintf(p->end.text, sizeof(p->end.text), "%.*s", rec->status.text.len, rec->status.text.data);
	endpoint_close(p->ep);
	return 0;
}

static int to_owner(struct peer *p, const struct wire_record *rec)
{
	return p->events->record(p->owner, rec);
}

static int dispatch(struct peer *p, const struct wire_record *rec)
{
	if (!is_pulse(rec->type))
		p->active_ns = loop_now(p->loop);
	if (p->engine_type && p->engine_type->records[rec->type])
		return p->engine_type->records[rec->type](p->engine, rec);
	return own_records[rec->type] ? own_records[rec->type](p, rec) : -EPROTO;
}

void peer_on_message(struct peer *p, const uint8_t *records, size_t len)
{
	struct wire_record rec;
	int r = 0;

	p->heard_ns = loop_now(p->loop);
	while (len && !p->ending) {
		r = wire_decode(&records, &len, &rec);
		if (r < 0) {
			peer_end(p, STATUS_PROTOCOL, true, "malformed record");
			return;
		}
		r = dispatch(p, &rec);
		if (r < 0)
			peer_end(p, STATUS_PROTOCOL, true, "unexpected or invalid %s record", wire_type_name(rec.type));
	}
}

void peer_on_writable(struct peer *p)
{
	if (p->ending) {
		send_error(p);
		return;
	}
	send_pong(p);
	if (p->engine_type)
		p->engine_type->writable(p->engine);
	if (p->events->writable)
		p->events->writable(p->owner);
}

void peer_on_closed(struct peer *p, const struct endpoint_fault *fault)
{
	loop_timer_cancel(p->loop, &p->watch);
	if (p->ending)
		return;
	p->ending = true;
	p->end.status = STATUS_FAILED;
	p->end.by_connection = true;
	p->end.fault = fault->kind;
	snprintf(p->end.text, sizeof(p->end.text), "%s", fault->text);
}

/* ---- the pulse ---------------------------------------------------------------------------------------------- */

static void send_ping(struct peer *p)
{
	if (!p->ping_out && send_pulse(p, WIRE_PING, loop_now(p->loop)) == 0)
		p->ping_out = true;
}

static void on_watch(struct loop_timer *t)
{
	struct peer *p = container_of(t, struct peer, watch);
	uint64_t now = loop_now(p->loop);

	if (p->ending) { /* lingered long enough */
		endpoint_close(p->ep);
		return;
	}
	loop_timer_set(p->loop, t, now + p->silence_ns / WATCHES);
	note_work(p, worked(p), &p->worked_seen);
	if (is_busy(p))
		p->active_ns = now;
	if (now - p->heard_ns >= p->silence_ns)
		peer_end(p, STATUS_TIMEOUT, false, "nothing heard for %llu s",
			 (unsigned long long)(p->silence_ns / SEC));
	else if (now - p->moved_ns >= p->stall_ns)
		peer_end(p, STATUS_TIMEOUT, true, "no progress for %llu s", (unsigned long long)(p->stall_ns / SEC));
	else if (now - p->active_ns >= p->idle_ns)
		peer_end(p, STATUS_TIMEOUT, true, "no progress for %llu s, and neither side has anything left to do",
			 (unsigned long long)(p->idle_ns / SEC));
	else if (now - p->heard_ns >= p->silence_ns / 3)
		send_ping(p);
}
