/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The stream transport ("tcp"): the endpoint's contract over a connected TCP socket; the life of a connection.
 *
 * Called through the table at the end by endpoint.c. It owns the socket and the queue; slab and send buffers are borrowed.
 * It is the fallback where there is no RDMA device, and what the tests of everything above run on: so it keeps the rules of
 * a device. A message needs a posted receive, a WRITE needs the right key and bounds, a write is reported with the
 * message behind it.
 *
 * How it ends: an orderly close sends what is queued, then CLOSE, shuts our direction and reads on until the peer has closed
 * as well, because closing a socket with unread data would reset it and destroy what is still on its way. A refused WRITE
 * ends in the same manner with a NAK. Everything else just closes, and the peer sees the end of the stream without a CLOSE.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint_stream.h"
#include "error.h"
#include "log.h"
#include "slab.h"
#include "util.h"

#define LINGER_TIMEOUT (3 * SEC) /* for what is in the socket to arrive, and the peer to close */
#define UNACKNOWLEDGED_MS 30000U /* data that the peer's host does not acknowledge for so long ends the connection */

_Static_assert(WIRE_REJ_MAX <= WIRE_REP_MAX && WIRE_REQ_SIZE <= WIRE_REP_MAX, "a blob buffer holds each blob");
_Static_assert(WIRE_REP_MAX <= sizeof(((struct endpoint_fault *)0)->blob), "a fault holds each REJ");
_Static_assert(STREAM_STAGE >= WIRE_REP_MAX + STREAM_HEADER, "the stage holds any set-up frame");

/* ---- the socket --------------------------------------------------------------------------------------------- */

void stream_tune(int fd)
{
	const unsigned int ms = UNACKNOWLEDGED_MS;
	const int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)) < 0)
		log_debug("socket options: %m, ignoring");
}

void stream_watch(struct stream_endpoint *s)
{
	uint32_t events = s->connecting ? EPOLLOUT : s->blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
	int r;

	if (!s->watched)
		return;
	r = loop_modify(s->base.loop, &s->source, events);
	if (r < 0)
		endpoint_fail(&s->base, ENDPOINT_RESOURCES, r, "watching the connection");
}

static void close_socket(struct stream_endpoint *s)
{
	if (s->watched)
		loop_remove(s->base.loop, &s->source);
	s->watched = false;
	if (s->source.fd >= 0)
		close(s->source.fd);
	s->source.fd = -1;
}

static enum endpoint_fault_kind kind_of_connect_error(int r)
{
	switch (r) {
	case -ECONNREFUSED:
		return ENDPOINT_NOBODY;
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -ENETDOWN:
	case -EHOSTDOWN:
		return ENDPOINT_NO_ROUTE;
	case -EADDRNOTAVAIL:
	case -EAFNOSUPPORT:
	case -EINVAL:
		return ENDPOINT_ADDRESS;
	case -ETIMEDOUT:
		return ENDPOINT_UNREACHABLE;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -ENOBUFS:
		return ENDPOINT_RESOURCES;
	default:
		return ENDPOINT_LOST;
	}
}

static void on_dialled(struct stream_endpoint *s)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(s->source.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error) {
		endpoint_fail(&s->base, kind_of_connect_error(-error), -error, "connect");
		return;
	}
	s->connecting = false;
	stream_watch(s);
	stream_push(s);
}

static void on_ready(struct loop_source *source, uint32_t revents)
{
	struct stream_endpoint *s = container_of(source, struct stream_endpoint, source);

	s->base.stats.wakeups++;
	if (s->connecting) {
		on_dialled(s);
		return;
	}
	if (revents & EPOLLOUT)
		stream_push(s);
	if (revents & ~(uint32_t)EPOLLOUT)
		stream_pull(s);
}

/* ---- making ------------------------------------------------------------------------------------------------- */

static void on_resolved_task(struct loop_task *t)
{
	endpoint_on_resolved(&container_of(t, struct stream_endpoint, resolved_task)->base);
}

static void on_push_task(struct loop_task *t)
{
	stream_push(container_of(t, struct stream_endpoint, push_task));
}

static void on_end_task(struct loop_task *t);

/* Takes the socket, unless it returns NULL. */
static struct stream_endpoint *new_endpoint(struct loop *loop, int fd)
{
	struct stream_endpoint *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	endpoint_init(&s->base, &endpoint_stream, loop);
	s->source = (struct loop_source){ .fd = fd, .events = EPOLLIN, .ready = on_ready };
	s->resolved_task.run = on_resolved_task;
	s->push_task.run = on_push_task;
	s->end_task.run = on_end_task;
	s->parked_tail = &s->parked;
	stream_tune(fd);
	return s;
}

static void stream_free(struct endpoint *ep)
{
	struct stream_endpoint *s = stream_endpoint(ep);

	close_socket(s);
	loop_undefer(ep->loop, &s->resolved_task);
	loop_undefer(ep->loop, &s->push_task);
	loop_undefer(ep->loop, &s->end_task);
	free(s->queue);
	endpoint_done(ep);
	free(s);
}

static int start_watching(struct stream_endpoint *s)
{
	int r = loop_add(s->base.loop, &s->source);

	s->watched = r == 0;
	return r;
}

/* A refusal that is known at once is reported like one that comes later. */
static int start_connecting(struct stream_endpoint *s, const struct sockaddr *addr, socklen_t len)
{
	if (connect(s->source.fd, addr, len) < 0) {
		if (errno != EINPROGRESS) {
			endpoint_fail(&s->base, kind_of_connect_error(-errno), -errno, "connect");
			return 0;
		}
		s->connecting = true;
		s->source.events = EPOLLOUT;
	}
	loop_defer(s->base.loop, &s->resolved_task);
	return start_watching(s);
}

static int stream_dial(struct loop *loop, const struct sockaddr *addr, struct endpoint **ret_ep,
		       struct endpoint_fault *ret_fault)
{
	socklen_t len = addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	struct stream_endpoint *s;
	int fd, r;

	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6) {
		endpoint_fault_set(ret_fault, ENDPOINT_ADDRESS, -EAFNOSUPPORT, "address family %u", addr->sa_family);
		return fail(-EAFNOSUPPORT, "address family %u", addr->sa_family);
	}
	fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		r = -errno;
		endpoint_fault_set(ret_fault, kind_of_connect_error(r), r, "socket");
		return fail(r, "socket");
	}
	s = new_endpoint(loop, fd);
	r = s ? start_connecting(s, addr, len) : -ENOMEM;
	if (r < 0) {
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, r, "an endpoint");
		if (s)
			stream_free(&s->base);
		else
			close(fd);
		return fail(r, "dialling");
	}
	*ret_ep = &s->base;
	return 0;
}

static int stream_request_accept(struct endpoint_request *base, struct loop *loop, struct endpoint **ret_ep)
{
	struct stream_request *rq = (struct stream_request *)base;
	struct stream_endpoint *s = new_endpoint(loop, rq->fd);
	int r = s ? start_watching(s) : -ENOMEM;

	if (r < 0) {
		if (s) {
			s->source.fd = -1; /* it stays the request's */
			stream_free(&s->base);
		}
		return fail(r, "taking over a connection request");
	}
	free(rq);
	*ret_ep = &s->base;
	return 0;
}

static void stream_limits(const struct endpoint *ep, struct endpoint_limits *ret_limits)
{
	*ret_limits = (struct endpoint_limits){
		.max_write = 1ULL << SLAB_MAX_SLOT_LOG2,
		.max_slots = 1U << SLAB_MAX_SLOTS_LOG2,
		.max_receives = ENDPOINT_MAX_RECEIVES,
	};
}

static int stream_open(struct endpoint *ep, unsigned int slots, struct endpoint_fault *ret_fault)
{
	struct stream_endpoint *s = stream_endpoint(ep);
	int r = -EINVAL;

	if (slots <= 1U << SLAB_MAX_SLOTS_LOG2 && ep->receives <= ENDPOINT_MAX_RECEIVES)
		r = stream_make_queue(s, slots);
	if (r < 0) {
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, r, "making queues for %u writes and %u receives",
				   slots, ep->receives);
		return r;
	}
	for (unsigned int i = 0; i < ep->receives; i++)
		s->receives[s->receive_count++] = (uint16_t)i;
	return 0;
}

static int stream_register_slab(struct endpoint *ep, const struct slab *slab, bool remote_write, uint64_t *ret_base,
				uint32_t *ret_rkey, struct endpoint_fault *ret_fault)
{
	struct stream_endpoint *s = stream_endpoint(ep);
	uint32_t rkey = 0;

	if (remote_write) {
		if (getrandom(&rkey, sizeof(rkey), 0) != sizeof(rkey)) {
			endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, -EAGAIN, "making a key for the slab");
			return fail(-EAGAIN, "getrandom");
		}
		s->window = slab->base;
		s->window_size = slab_bytes(slab);
		s->window_rkey = rkey;
	}
	*ret_base = remote_write ? STREAM_WINDOW_BASE : 0;
	*ret_rkey = rkey;
	return 0;
}

/* ---- the handshake ------------------------------------------------------------------------------------------ */

static int queue_blob(struct stream_endpoint *s, enum stream_type type, const void *blob, size_t len, size_t max)
{
	struct stream_frame f = { .type = type, .len = (uint32_t)len };

	if (len > max)
		return fail(-EINVAL, "a blob of %zu bytes", len);
	if (len)
		memcpy(s->blob_out, blob, len);
	return stream_queue(s, &f, s->blob_out, NULL, 0);
}

static int stream_connect(struct endpoint *ep, const void *req, size_t len)
{
	return queue_blob(stream_endpoint(ep), STREAM_REQ, req, len, WIRE_REQ_SIZE);
}

static int stream_reply(struct endpoint *ep, const void *rep, size_t len)
{
	struct stream_endpoint *s = stream_endpoint(ep);
	int r = queue_blob(s, STREAM_REP, rep, len, WIRE_REP_MAX);

	s->talking = r == 0;
	return r;
}

static void stream_refuse(struct endpoint *ep, const void *rej, size_t len)
{
	struct stream_endpoint *s = stream_endpoint(ep);

	stream_send_reject(s->source.fd, rej, len);
	s->rejected = s->shut = true;
}

/* ---- posting ------------------------------------------------------------------------------------------------ */

static int stream_post_message(struct endpoint *ep, unsigned int index, size_t len)
{
	struct stream_frame f = { .type = STREAM_SEND, .len = (uint32_t)len };

	return stream_queue(stream_endpoint(ep), &f, endpoint_send_buffer(ep, index), NULL, index);
}

static int stream_post_receive(struct endpoint *ep, unsigned int index)
{
	struct stream_endpoint *s = stream_endpoint(ep);

	if (s->receive_count == ep->receives)
		return -ENOBUFS;
	s->receives[s->receive_count++] = (uint16_t)index;
	return 0;
}

static int stream_post_write(struct endpoint *ep, struct endpoint_work *w, unsigned int slot, size_t off, size_t len)
{
	struct stream_endpoint *s = stream_endpoint(ep);
	size_t at = (size_t)slot * ep->slab->slot_size + off;
	struct stream_frame f = {
		.type = STREAM_WRITE,
		.len = (uint32_t)len,
		.addr = ep->remote_base + at,
		.rkey = ep->remote_rkey,
	};
	int r;

	if (s->writes == s->slots)
		return -ENOBUFS;
	r = stream_queue(s, &f, ep->slab->base + at, w, 0);
	if (r == 0)
		s->writes++;
	return r;
}

/* ---- ending ------------------------------------------------------------------------------------------------- */

void stream_end(struct stream_endpoint *s)
{
	s->phase = STREAM_ENDED;
	loop_defer(s->base.loop, &s->end_task);
}

static void finish(struct stream_endpoint *s)
{
	s->phase = STREAM_ENDED;
	close_socket(s);
	loop_undefer(s->base.loop, &s->push_task);
	loop_undefer(s->base.loop, &s->end_task);
	s->head_sent = 0;
	stream_drop_queue(s);
	endpoint_on_drained(&s->base);
}

static void on_end_task(struct loop_task *t)
{
	finish(container_of(t, struct stream_endpoint, end_task));
}

static void stream_force_drain(struct endpoint *ep)
{
	finish(stream_endpoint(ep));
}

static void stream_shutdown(struct endpoint *ep)
{
	struct stream_endpoint *s = stream_endpoint(ep);
	struct stream_frame last = { .type = s->refused_write ? STREAM_NAK : STREAM_CLOSE };
	bool orderly = ep->fault.kind == ENDPOINT_CLOSED && !s->peer_closed && (s->talking || s->rejected);

	loop_undefer(ep->loop, &s->resolved_task);
	if (s->source.fd < 0 || s->broken || !(orderly || s->refused_write)) {
		stream_end(s);
		return;
	}
	s->phase = STREAM_LINGERING;
	loop_timer_set(ep->loop, &ep->deadline, now_ns() + LINGER_TIMEOUT); /* then stream_force_drain() */
	if (s->refused_write)
		stream_drop_queue(s);
	if (!s->rejected)
		stream_queue(s, &last, NULL, NULL, 0); /* there is room for it, see CONTROL_FRAMES */
}

const struct endpoint_transport endpoint_stream = {
	.name = "tcp",
	.dial = stream_dial,
	.open = stream_open,
	.register_slab = stream_register_slab,
	.connect = stream_connect,
	.reply = stream_reply,
	.refuse = stream_refuse,
	.limits = stream_limits,
	.post_message = stream_post_message,
	.post_receive = stream_post_receive,
	.post_write = stream_post_write,
	.shutdown = stream_shutdown,
	.force_drain = stream_force_drain,
	.free = stream_free,
	.listen = stream_listen,
	.listener_next = stream_listener_next,
	.listener_free = stream_listener_free,
	.request_reject = stream_request_reject,
	.request_accept = stream_request_accept,
};
