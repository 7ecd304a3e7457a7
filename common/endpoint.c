// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What both transports share: the order of an endpoint's life, messages under construction, credits, deadlines.
 *
 * Called by the peer layer from above and by a transport from below (endpoint_impl.h). A failure anywhere only marks the
 * endpoint; the end of the round starts the transport's shutdown, the drained transport leads to closed(), and only then may the
 * owner free. So no call into this file ever frees or calls back under its caller's feet.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "endpoint_impl.h"
#include "error.h"
#include "log.h"
#include "sys.h"
#include "util.h"

#define FLUSH_TIMEOUT (3 * SEC) /* endpoint_close(): for the peer to take what was committed */
#define DRAIN_TIMEOUT \
	(SEC / 4) /* for posted work to come home; siw loses some, and destroying the queue pair ends it anyway */

static void on_fail_task(struct loop_task *t);
static void on_flush_task(struct loop_task *t);
static void on_deadline(struct loop_timer *t);

/* ---- making and ending -------------------------------------------------------------------------------------- */

void endpoint_init(struct endpoint *ep, const struct endpoint_transport *transport, struct loop *loop)
{
	ep->transport = transport;
	ep->loop = loop;
	ep->building = -1;
	ep->fail_task.run = on_fail_task;
	ep->flush_task.run = on_flush_task;
	ep->deadline.expired = on_deadline;
}

void endpoint_done(struct endpoint *ep)
{
	loop_timer_cancel(ep->loop, &ep->deadline);
	loop_undefer(ep->loop, &ep->fail_task);
	loop_undefer(ep->loop, &ep->flush_task);
	if (ep->buffers)
		munmap(ep->buffers, endpoint_buffers_size(ep));
	ep->buffers = NULL;
}

static void start_deadline(struct endpoint *ep, uint64_t timeout_ns)
{
	loop_timer_set(ep->loop, &ep->deadline, now_ns() + timeout_ns);
}

int endpoint_dial(const struct endpoint_transport *transport, struct loop *loop, const struct sockaddr *addr,
		  uint64_t timeout_ns, const struct endpoint_events *events, void *owner, struct endpoint **ret_ep,
		  struct endpoint_fault *ret_fault)
{
	struct endpoint *ep;
	int r;

	r = transport->dial(loop, addr, &ep, ret_fault);
	if (r < 0)
		return r;
	ep->events = events;
	ep->owner = owner;
	ep->active = true;
	ep->timeout_ns = timeout_ns;
	ep->state = ENDPOINT_RESOLVING;
	start_deadline(ep, timeout_ns);
	*ret_ep = ep;
	return 0;
}

int endpoint_request_accept(struct endpoint_request *rq, struct loop *loop, uint64_t timeout_ns,
			    const struct endpoint_events *events, void *owner, struct endpoint **ret_ep)
{
	struct endpoint *ep;
	int r;

	r = rq->transport->request_accept(rq, loop, &ep);
	if (r < 0)
		return r;
	ep->events = events;
	ep->owner = owner;
	ep->timeout_ns = timeout_ns;
	ep->state = ENDPOINT_RESOLVED;
	start_deadline(ep, timeout_ns);
	*ret_ep = ep;
	return 0;
}

void endpoint_on_resolved(struct endpoint *ep)
{
	if (ep->failed || ep->state != ENDPOINT_RESOLVING)
		return;
	ep->state = ENDPOINT_RESOLVED;
	start_deadline(ep, ep->timeout_ns);
	ep->events->resolved(ep->owner);
}

int endpoint_open(struct endpoint *ep, unsigned int slots, unsigned int receives, struct endpoint_fault *ret_fault)
{
	void *buffers;

	ep->receives = receives;
	buffers = mmap(NULL, endpoint_buffers_size(ep), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffers == MAP_FAILED) {
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, -ENOMEM, "message buffers");
		return fail(-ENOMEM, "message buffers of %zu bytes", endpoint_buffers_size(ep));
	}
	ep->buffers = buffers;
	for (unsigned int i = 0; i < ENDPOINT_SENDS; i++)
		ep->free_sends[i] = (uint16_t)(ENDPOINT_SENDS - 1 - i);
	ep->free_send_count = ENDPOINT_SENDS;
	return ep->transport->open(ep, slots, ret_fault);
}

int endpoint_register(struct endpoint *ep, const struct slab *slab, bool remote_write, uint64_t *ret_base,
		      uint32_t *ret_rkey, struct endpoint_fault *ret_fault)
{
	int r;

	r = ep->transport->register_slab(ep, slab, remote_write, ret_base, ret_rkey, ret_fault);
	if (r == 0)
		ep->slab = slab;
	return r;
}

static void enter_connecting(struct endpoint *ep, int r, const char *step)
{
	if (r < 0) {
		/* iWARP connects TCP first, and may know at once that nobody is there. */
		endpoint_fail(ep, r == -ECONNREFUSED ? ENDPOINT_NOBODY : ENDPOINT_RESOURCES, r, "%s", step);
		return;
	}
	ep->state = ENDPOINT_CONNECTING;
	start_deadline(ep, ep->timeout_ns);
}

void endpoint_connect(struct endpoint *ep, const void *req, size_t len)
{
	if (!ep->failed && ep->state == ENDPOINT_RESOLVED)
		enter_connecting(ep, ep->transport->connect(ep, req, len), "sending the connection request");
}

void endpoint_reply(struct endpoint *ep, const void *rep, size_t len)
{
	if (!ep->failed && ep->state == ENDPOINT_RESOLVED)
		enter_connecting(ep, ep->transport->reply(ep, rep, len), "accepting the connection");
}

void endpoint_refuse(struct endpoint *ep, const void *rej, size_t len)
{
	if (ep->failed || ep->state != ENDPOINT_RESOLVED)
		return;
	ep->transport->refuse(ep, rej, len);
	endpoint_fail(ep, ENDPOINT_CLOSED, 0, "refused");
}

void endpoint_on_connected(struct endpoint *ep, const void *blob, size_t len)
{
	if (ep->failed || ep->state != ENDPOINT_CONNECTING)
		return;
	ep->state = ENDPOINT_CONNECTED;
	loop_timer_cancel(ep->loop, &ep->deadline);
	ep->events->connected(ep->owner, blob, len);
}

void endpoint_fault_set(struct endpoint_fault *f, enum endpoint_fault_kind kind, int error, const char *fmt, ...)
{
	va_list ap;

	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->error = error;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(f->text, sizeof(f->text), fmt, ap);
		va_end(ap);
	}
}

void endpoint_fail(struct endpoint *ep, enum endpoint_fault_kind kind, int error, const char *fmt, ...)
{
	va_list ap;

	if (ep->failed)
		return;
	ep->failed = true;
	ep->fault.kind = kind;
	ep->fault.error = error;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(ep->fault.text, sizeof(ep->fault.text), fmt, ap);
		va_end(ap);
	}
	log_debug("%s endpoint: ends: kind %d, %s (%s)", ep->transport->name, kind, ep->fault.text, strerror(-error));
	loop_defer(ep->loop, &ep->fail_task);
}

void endpoint_abort(struct endpoint *ep, enum endpoint_fault_kind kind, const char *text)
{
	endpoint_fail(ep, kind, 0, text ? "%s" : NULL, text);
}

static void on_fail_task(struct loop_task *t)
{
	struct endpoint *ep = container_of(t, struct endpoint, fail_task);

	if (ep->state >= ENDPOINT_DRAINING)
		return;
	ep->state = ENDPOINT_DRAINING;
	loop_undefer(ep->loop, &ep->flush_task);
	start_deadline(ep, DRAIN_TIMEOUT);
	ep->transport->shutdown(ep);
}

void endpoint_on_drained(struct endpoint *ep)
{
	if (ep->state != ENDPOINT_DRAINING)
		return;
	ep->state = ENDPOINT_DEAD;
	loop_timer_cancel(ep->loop, &ep->deadline);
	ep->events->closed(ep->owner, &ep->fault);
}

static void on_deadline(struct loop_timer *t)
{
	struct endpoint *ep = container_of(t, struct endpoint, deadline);

	switch (ep->state) {
	case ENDPOINT_RESOLVING:
	case ENDPOINT_RESOLVED:
		endpoint_fail(ep, ENDPOINT_NO_ROUTE, -ETIMEDOUT, "no answer while the address was resolved");
		break;
	case ENDPOINT_CONNECTING:
		endpoint_fail(ep, ENDPOINT_UNREACHABLE, -ETIMEDOUT, "no answer to the connection request");
		break;
	case ENDPOINT_FLUSHING:
		endpoint_fail(ep, ENDPOINT_TIMEOUT, -ETIMEDOUT, "the peer took no more messages");
		break;
	case ENDPOINT_DRAINING:
		log_debug("%s endpoint: posted work did not come home in time, forcing it", ep->transport->name);
		ep->transport->force_drain(ep);
		break;
	case ENDPOINT_CONNECTED:
	case ENDPOINT_DEAD:
		break;
	}
}

/* An orderly close is done when nothing is under construction and every send came back. */
static void close_when_flushed(struct endpoint *ep)
{
	if (ep->state == ENDPOINT_FLUSHING && ep->building < 0 && ep->free_send_count == ENDPOINT_SENDS)
		endpoint_fail(ep, ENDPOINT_CLOSED, 0, NULL);
}

void endpoint_close(struct endpoint *ep)
{
	if (ep->failed || ep->state >= ENDPOINT_FLUSHING)
		return;
	if (ep->state != ENDPOINT_CONNECTED) {
		endpoint_fail(ep, ENDPOINT_CLOSED, 0, NULL);
		return;
	}
	endpoint_flush(ep);
	ep->state = ENDPOINT_FLUSHING;
	start_deadline(ep, FLUSH_TIMEOUT);
	close_when_flushed(ep);
}

void endpoint_free(struct endpoint *ep)
{
	if (ep)
		ep->transport->free(ep);
}

/* ---- messages and credits ----------------------------------------------------------------------------------- */

void endpoint_set_credits(struct endpoint *ep, unsigned int peer_receives)
{
	ep->credits = peer_receives < ENDPOINT_MAX_RECEIVES ? peer_receives : ENDPOINT_MAX_RECEIVES;
}

void endpoint_aim(struct endpoint *ep, uint64_t base, uint32_t rkey)
{
	ep->remote_base = base;
	ep->remote_rkey = rkey;
}

/*
 * The last credit is for a message that gives credits back: then the peer can always answer. With two receives on both sides
 * that would be all they ever say, so the least is four (wire.h).
 */
static bool may_send(const struct endpoint *ep)
{
	return ep->credits > 1 || (ep->credits == 1 && ep->owed > 0);
}

static void send_built(struct endpoint *ep)
{
	unsigned int index = (unsigned int)ep->building;
	uint16_t owed = (uint16_t)ep->owed;
	int r;

	wire_encode_message_header(endpoint_send_buffer(ep, index), (uint16_t)(ep->built - WIRE_MESSAGE_HEADER), owed);
	ep->building = -1;
	r = -sys_fault("post_message");
	if (r == 0)
		r = ep->transport->post_message(ep, index, ep->built);
	if (r < 0) {
		ep->free_sends[ep->free_send_count++] = (uint16_t)index;
		endpoint_fail(ep, ENDPOINT_LOST, r, "posting a message");
		return;
	}
	ep->credits--;
	ep->owed -= owed;
	ep->stats.sends++;
}

static bool begin_message(struct endpoint *ep)
{
	if (!ep->free_send_count)
		return false;
	ep->building = ep->free_sends[--ep->free_send_count];
	ep->built = WIRE_MESSAGE_HEADER;
	return true;
}

static bool fits(const struct endpoint *ep, size_t size)
{
	if (sys_drip() && ep->built > WIRE_MESSAGE_HEADER)
		return false;
	return ep->built + size <= WIRE_MESSAGE_MAX;
}

uint8_t *endpoint_reserve(struct endpoint *ep, size_t size)
{
	if (ep->failed || ep->state != ENDPOINT_CONNECTED)
		return NULL;
	if (ep->building >= 0 && !fits(ep, size))
		endpoint_flush(ep);
	if (ep->building < 0 && !(may_send(ep) && begin_message(ep))) {
		ep->want_writable = true;
		return NULL;
	}
	if (!fits(ep, size)) { /* flush could not send it: no credit left */
		ep->want_writable = true;
		return NULL;
	}
	return endpoint_send_buffer(ep, (unsigned int)ep->building) + ep->built;
}

void endpoint_commit(struct endpoint *ep, size_t used)
{
	ep->built += used;
	if (ep->built == WIRE_MESSAGE_HEADER) { /* reserved for nothing: a close must not wait for it */
		ep->free_sends[ep->free_send_count++] = (uint16_t)ep->building;
		ep->building = -1;
	}
	loop_defer(ep->loop, &ep->flush_task);
}

void endpoint_flush(struct endpoint *ep)
{
	if (ep->failed || ep->building < 0 || !may_send(ep))
		return;
	if (ep->built > WIRE_MESSAGE_HEADER)
		send_built(ep);
}

/* Gives credits back by themselves when half of them are gone and no message is there to carry them. */
static void return_credits(struct endpoint *ep)
{
	if (ep->failed || ep->owed * 2 < ep->receives || !ep->credits)
		return;
	if (ep->building >= 0 || begin_message(ep))
		send_built(ep);
}

static void on_flush_task(struct loop_task *t)
{
	struct endpoint *ep = container_of(t, struct endpoint, flush_task);

	endpoint_flush(ep);
	return_credits(ep);
	close_when_flushed(ep);
	if (!ep->failed && ep->want_writable && may_send(ep) && ep->free_send_count) {
		ep->want_writable = false;
		ep->events->writable(ep->owner);
	}
}

void endpoint_on_sent(struct endpoint *ep, unsigned int index)
{
	ep->free_sends[ep->free_send_count++] = (uint16_t)index;
	if (ep->want_writable || ep->state == ENDPOINT_FLUSHING)
		loop_defer(ep->loop, &ep->flush_task);
}

void endpoint_on_received(struct endpoint *ep, unsigned int index, size_t len)
{
	const uint8_t *buf = endpoint_receive_buffer(ep, index);
	uint16_t records, credits;
	int r;

	if (ep->failed)
		return;
	ep->stats.receives++;
	endpoint_on_connected(ep, NULL, 0);
	if (wire_decode_message_header(buf, len, &records, &credits) < 0 ||
	    ep->credits + credits > ENDPOINT_MAX_RECEIVES) {
		endpoint_fail(ep, ENDPOINT_PROTOCOL, -EBADMSG, "malformed message of %zu bytes", len);
		return;
	}
	ep->credits += credits;
	if (records && ep->state == ENDPOINT_CONNECTED)
		ep->events->message(ep->owner, buf + WIRE_MESSAGE_HEADER, records);
	if (ep->failed)
		return;
	r = -sys_fault("post_receive");
	if (r == 0)
		r = ep->transport->post_receive(ep, index);
	if (r < 0) {
		endpoint_fail(ep, ENDPOINT_LOST, r, "posting a receive");
		return;
	}
	ep->owed++;
	loop_defer(ep->loop, &ep->flush_task);
}

/* ---- writes ------------------------------------------------------------------------------------------------- */

int endpoint_post_write(struct endpoint *ep, struct endpoint_work *w, unsigned int slot, size_t off, size_t len)
{
	int r;

	if (ep->failed || ep->state != ENDPOINT_CONNECTED)
		return -ENOTCONN;
	r = -sys_fault("post_write");
	if (r == 0)
		r = ep->transport->post_write(ep, w, slot, off, len);
	if (r < 0)
		return r;
	ep->stats.writes++;
	ep->stats.write_bytes += len;
	return 0;
}

void endpoint_on_written(struct endpoint_work *w, int status)
{
	w->written(w, status);
}

/* ---- the rest ----------------------------------------------------------------------------------------------- */

void endpoint_limits(const struct endpoint *ep, struct endpoint_limits *ret_limits)
{
	ep->transport->limits(ep, ret_limits);
}

void endpoint_stats(const struct endpoint *ep, struct endpoint_stats *ret_stats)
{
	*ret_stats = ep->stats;
}

int endpoint_listen(const struct endpoint_transport *transport, const struct sockaddr *addr, socklen_t addr_len,
		    struct endpoint_listener **ret_listener, struct endpoint_fault *ret_fault)
{
	return transport->listen(addr, addr_len, ret_listener, ret_fault);
}

int endpoint_listener_fd(const struct endpoint_listener *l)
{
	return l->fd;
}

int endpoint_listener_next(struct endpoint_listener *l, struct endpoint_request **ret_rq)
{
	return l->transport->listener_next(l, ret_rq);
}

void endpoint_listener_free(struct endpoint_listener *l)
{
	if (l)
		l->transport->listener_free(l);
}

void endpoint_request_reject(struct endpoint_request *rq, const void *rej, size_t len)
{
	rq->transport->request_reject(rq, rej, len);
}

const struct endpoint_transport *endpoint_transport_find(const char *name)
{
	if (!strcmp(name, endpoint_rdma.name))
		return &endpoint_rdma;
	return strcmp(name, endpoint_stream.name) ? NULL : &endpoint_stream;
}
