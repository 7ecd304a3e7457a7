// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The RDMA transport, connection half: librdmacm ids, their events, listeners; and the transport's table.
 *
 * Each endpoint has an event channel of its own, so that its thread hears of nothing else. A listener's channel carries requests
 * and what happens to them until they are taken over. One table says what each of librdmacm's events means
 * (rdma_get_cm_event(3)); each is acknowledged in one place, dispatch_events() or next_request(), after everything wanted
 * was copied out of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cleanup.h"
#include "endpoint_rdma.h"
#include "error.h"
#include "log.h"
#include "util.h"

#define RESOLVE_TIMEOUT_MS 5000 /* librdmacm's own, per step; the endpoint's deadline comes on top */
#define REJECT_CONSUMER 28      /* ib_cm.h: the application said no (InfiniBand CM) */
#define RETRY_COUNT 7
#define RNR_RETRY_COUNT 7 /* for ever: our credits never let it happen, and our deadlines end what does */
#define BACKLOG 128
#define EVENTS_PER_CALL 16 /* of a listener */

/* ---- the event table ---------------------------------------------------------------------------------------- */

enum cm_action {
	CM_IGNORE,
	CM_RESOLVE_ROUTE,
	CM_RESOLVED,
	CM_ESTABLISHED,
	CM_REJECTED,
	CM_DISCONNECTED,
	CM_FAIL,   /* with `kind` */
	CM_REQUEST /* listeners only */
};

static const struct cm_meaning {
	enum cm_action action;
	enum endpoint_fault_kind kind;
} cm_meanings[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = { CM_RESOLVE_ROUTE, 0 },
	[RDMA_CM_EVENT_ADDR_ERROR] = { CM_FAIL, ENDPOINT_NO_ROUTE },
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = { CM_RESOLVED, 0 },
	[RDMA_CM_EVENT_ROUTE_ERROR] = { CM_FAIL, ENDPOINT_NO_ROUTE },
	[RDMA_CM_EVENT_CONNECT_REQUEST] = { CM_REQUEST, 0 },
	/* Only ids without a queue pair see it, and ours have one. */
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = { CM_FAIL, ENDPOINT_PROTOCOL },
	[RDMA_CM_EVENT_CONNECT_ERROR] = { CM_FAIL, ENDPOINT_LOST },
	/* Also comes to established ids when a neighbour changes its MAC address (Linux 6.0 and later, cma.c). */
	[RDMA_CM_EVENT_UNREACHABLE] = { CM_FAIL, ENDPOINT_UNREACHABLE },
	[RDMA_CM_EVENT_REJECTED] = { CM_REJECTED, 0 },
	[RDMA_CM_EVENT_ESTABLISHED] = { CM_ESTABLISHED, 0 },
	[RDMA_CM_EVENT_DISCONNECTED] = { CM_DISCONNECTED, 0 },
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = { CM_FAIL, ENDPOINT_DEVICE_GONE },
	/* We join no group. */
	[RDMA_CM_EVENT_MULTICAST_JOIN] = { CM_IGNORE, 0 },
	[RDMA_CM_EVENT_MULTICAST_ERROR] = { CM_IGNORE, 0 },
	/* A bond failed over: the connection may live on; if not, the deadlines notice. */
	[RDMA_CM_EVENT_ADDR_CHANGE] = { CM_IGNORE, 0 },
	/* The queue pair's number may be used again: we never do. */
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = { CM_IGNORE, 0 },
};

static struct cm_meaning meaning_of(enum rdma_cm_event_type type)
{
	if ((unsigned int)type >= ARRAY_SIZE(cm_meanings))
		return (struct cm_meaning){ CM_IGNORE, 0 };
	return cm_meanings[type];
}

static bool is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* ---- an endpoint's events ----------------------------------------------------------------------------------- */

static void resolve_route(struct verbs_endpoint *v)
{
	int r;

	/* "Resolved" to no device happens with a port that is down. */
	if (!v->id->verbs) {
		endpoint_fail(&v->base, ENDPOINT_ADDRESS, -ENODEV, "the address belongs to no usable RDMA port");
		return;
	}
	r = verbs_call(rdma_resolve_route(v->id, RESOLVE_TIMEOUT_MS));
	if (r < 0)
		endpoint_fail(&v->base, is_loopback(rdma_get_peer_addr(v->id)) ? ENDPOINT_LOOPBACK : ENDPOINT_NO_ROUTE,
			      r, "rdma_resolve_route");
}

/* Status means different things per fabric (28 on InfiniBand, -ECONNRESET on iWARP): our blob's magic decides. */
static void on_rejected(struct verbs_endpoint *v, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct wire_rej rej;
	unsigned int version;
	int r;

	r = param->private_data ? wire_decode_rej(param->private_data, param->private_data_len, &rej, &version)
				: -EBADMSG;
	if (r == 0 || r == -EPROTONOSUPPORT) {
		v->base.fault.blob_len = min_size(param->private_data_len, sizeof(v->base.fault.blob));
		memcpy(v->base.fault.blob, param->private_data, v->base.fault.blob_len);
		endpoint_fail(&v->base, ENDPOINT_REJECTED, -ECONNREFUSED, "the peer rejected the connection");
	} else if (event->status == REJECT_CONSUMER) {
		endpoint_fail(&v->base, ENDPOINT_REJECTED, -ECONNREFUSED, "something that is not rdcpd said no");
	} else {
		endpoint_fail(&v->base, ENDPOINT_NOBODY, -ECONNREFUSED, "rejected with status %d", event->status);
	}
}

static void on_established(struct verbs_endpoint *v, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	v->established = true;
	verbs_set_rnr_timer(v);
	if (v->base.active)
		endpoint_on_connected(&v->base, param->private_data, param->private_data ? param->private_data_len : 0);
	else
		endpoint_on_connected(&v->base, NULL, 0);
}

static void on_disconnected(struct verbs_endpoint *v)
{
	verbs_drain_cq(v); /* the peer's last words came before */
	endpoint_fail(&v->base, ENDPOINT_CLOSED, -ECONNRESET, "the peer disconnected");
}

static void on_cm_failure(struct verbs_endpoint *v, const struct rdma_cm_event *event, enum endpoint_fault_kind kind)
{
	const struct sockaddr *peer = rdma_get_peer_addr(v->id);

	if (kind == ENDPOINT_NO_ROUTE && is_loopback(peer))
		kind = ENDPOINT_LOOPBACK;
	else if (event->event == RDMA_CM_EVENT_ADDR_ERROR && event->status == -ENODEV)
		kind = ENDPOINT_ADDRESS;
	if (kind == ENDPOINT_UNREACHABLE && v->base.state >= ENDPOINT_CONNECTED)
		kind = ENDPOINT_LOST;
	endpoint_fail(&v->base, kind, event->status < 0 ? event->status : -EIO, "%s, status %d",
		      rdma_event_str(event->event), event->status);
}

static void handle_event(struct verbs_endpoint *v, const struct rdma_cm_event *event)
{
	struct cm_meaning m = meaning_of(event->event);

	log_debug("cm event: %s, status %d", rdma_event_str(event->event), event->status);
	switch (m.action) {
	case CM_RESOLVE_ROUTE:
		resolve_route(v);
		break;
	case CM_RESOLVED:
		endpoint_on_resolved(&v->base);
		break;
	case CM_ESTABLISHED:
		on_established(v, event);
		break;
	case CM_REJECTED:
		on_rejected(v, event);
		break;
	case CM_DISCONNECTED:
		on_disconnected(v);
		break;
	case CM_FAIL:
		on_cm_failure(v, event, m.kind);
		break;
	case CM_IGNORE:
	case CM_REQUEST:
		break;
	}
}

static void on_cm_ready(struct loop_source *s, uint32_t revents)
{
	struct verbs_endpoint *v = container_of(s, struct verbs_endpoint, cm_source);
	struct rdma_cm_event *event;

	while (verbs_call(rdma_get_cm_event(v->channel, &event)) == 0) {
		handle_event(v, event);
		verbs_ignore("rdma_ack_cm_event", verbs_end(rdma_ack_cm_event(event)));
	}
}

/* ---- making and ending -------------------------------------------------------------------------------------- */

static bool any_device(void)
{
	struct ibv_device **list;
	int n = 0, r;

	list = verbs_make(ibv_get_device_list(&n), &r);
	if (list)
		ibv_free_device_list(list);
	return n > 0;
}

/* What an early "no such device" means. */
static enum endpoint_fault_kind kind_of_missing(const struct sockaddr *addr)
{
	if (!any_device())
		return ENDPOINT_NO_DEVICE;
	if (access("/dev/infiniband/rdma_cm", F_OK) < 0)
		return ENDPOINT_NO_MODULE;
	return is_loopback(addr) ? ENDPOINT_LOOPBACK : ENDPOINT_ADDRESS;
}

static void set_fault(struct endpoint_fault *f, const struct sockaddr *addr, int r, const char *what)
{
	enum endpoint_fault_kind kind = ENDPOINT_RESOURCES;

	/* of a loopback address rxe says that no device has it, and siw that it is invalid */
	if (r == -ENODEV || r == -ENOENT || r == -ENXIO || (r == -EINVAL && is_loopback(addr)))
		kind = kind_of_missing(addr);
	else if (r == -ENETUNREACH || r == -EHOSTUNREACH)
		kind = ENDPOINT_NO_ROUTE;
	endpoint_fault_set(f, kind, r, "%s", what);
}

static void destroy_id(struct rdma_cm_id *id)
{
	if (id)
		verbs_ignore("rdma_destroy_id", verbs_end(rdma_destroy_id(id)));
}

static struct rdma_event_channel *make_channel(int *ret_error)
{
	struct rdma_event_channel *channel = verbs_make(rdma_create_event_channel(), ret_error);

	if (channel)
		*ret_error = verbs_set_nonblocking(channel->fd);
	return channel;
}

static int watch_channel(struct verbs_endpoint *v)
{
	int r;

	v->cm_source = (struct loop_source){ .fd = v->channel->fd, .events = EPOLLIN, .ready = on_cm_ready };
	r = loop_add(v->base.loop, &v->cm_source);
	if (r < 0)
		v->cm_source.fd = -1;
	return r;
}

static struct verbs_endpoint *new_endpoint(struct loop *loop)
{
	struct verbs_endpoint *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	endpoint_init(&v->base, &endpoint_rdma, loop);
	v->cm_source.fd = v->cq_source.fd = v->async_source.fd = v->alarm_source.fd = -1;
	v->stopped.expired = verbs_on_stopped;
	return v;
}

static void verbs_free(struct endpoint *ep)
{
	struct verbs_endpoint *v = verbs_endpoint(ep);

	verbs_destroy_qp(v);
	verbs_destroy_queues(v);
	if (v->cm_source.fd >= 0)
		loop_remove(ep->loop, &v->cm_source);
	destroy_id(v->id);
	if (v->channel)
		rdma_destroy_event_channel(v->channel);
	endpoint_done(ep);
	free(v);
}

static int start_resolving(struct verbs_endpoint *v, const struct sockaddr *addr, const char **ret_step)
{
	int r;

	*ret_step = "rdma_create_event_channel";
	v->channel = make_channel(&r);
	if (r < 0)
		return r;
	*ret_step = "watching the event channel";
	r = watch_channel(v);
	if (r < 0)
		return r;
	*ret_step = "rdma_create_id";
	r = verbs_call(rdma_create_id(v->channel, &v->id, v, RDMA_PS_TCP));
	if (r < 0)
		return r;
	*ret_step = "rdma_resolve_addr";
	return verbs_call(rdma_resolve_addr(v->id, NULL, (struct sockaddr *)addr, RESOLVE_TIMEOUT_MS));
}

static int verbs_dial(struct loop *loop, const struct sockaddr *addr, struct endpoint **ret_ep,
		      struct endpoint_fault *ret_fault)
{
	struct verbs_endpoint *v = new_endpoint(loop);
	const char *step;
	int r;

	if (!v) {
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, -ENOMEM, "an endpoint");
		return -ENOMEM;
	}
	r = start_resolving(v, addr, &step);
	if (r < 0) {
		set_fault(ret_fault, addr, r, step);
		verbs_free(&v->base);
		return fail(r, "%s", step);
	}
	*ret_ep = &v->base;
	return 0;
}

static struct rdma_conn_param conn_param(const void *blob, size_t len)
{
	return (struct rdma_conn_param){
		.private_data = blob,
		.private_data_len = (uint8_t)len,
		.responder_resources = 1,
		.initiator_depth = 1,
		.flow_control = 1,
		.retry_count = RETRY_COUNT,
		.rnr_retry_count = RNR_RETRY_COUNT,
	};
}

static int verbs_connect(struct endpoint *ep, const void *req, size_t len)
{
	struct rdma_conn_param param = conn_param(req, len);

	return verbs_call(rdma_connect(verbs_endpoint(ep)->id, &param));
}

static int verbs_reply(struct endpoint *ep, const void *rep, size_t len)
{
	struct rdma_conn_param param = conn_param(rep, len);

	return verbs_call(rdma_accept(verbs_endpoint(ep)->id, &param));
}

/* A peer that is gone already makes this fail: nothing is lost then. */
static void reject_id(struct rdma_cm_id *id, const void *rej, size_t len)
{
	verbs_ignore("rdma_reject", verbs_call(rdma_reject(id, rej, (uint8_t)len)));
}

static void verbs_refuse(struct endpoint *ep, const void *rej, size_t len)
{
	reject_id(verbs_endpoint(ep)->id, rej, len);
}

static void force_drain(struct endpoint *ep)
{
	verbs_destroy_qp(verbs_endpoint(ep));
	endpoint_on_drained(ep);
}

/*
 * THE ORDER OF TEARDOWN: disconnect -> queue pair to error -> drain (shutdown, here) -> queue pair -> memory regions ->
 * completion queue -> its channel -> protection domain -> id -> event channel (verbs_free()).
 */
static void verbs_shutdown(struct endpoint *ep)
{
	struct verbs_endpoint *v = verbs_endpoint(ep);

	if (v->id && v->id->qp && v->base.fault.kind != ENDPOINT_DEVICE_GONE) {
		if (v->established)
			verbs_ignore("rdma_disconnect", verbs_call(rdma_disconnect(v->id)));
		verbs_stop_queues(v);
		verbs_drain_cq(v);
		if (!verbs_drained(v))
			return; /* on_cq_event() sees the rest come home */
	}
	loop_timer_set(ep->loop, &ep->deadline, now_ns()); /* not inside this call: force_drain() finds nothing left */
}

/* ---- listeners ---------------------------------------------------------------------------------------------- */

struct verbs_listener {
	struct endpoint_listener base;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

struct verbs_request {
	struct endpoint_request base;
	struct rdma_cm_id *id;
};

static void verbs_listener_free(struct endpoint_listener *base)
{
	struct verbs_listener *l = (struct verbs_listener *)base;

	destroy_id(l->id);
	if (l->channel)
		rdma_destroy_event_channel(l->channel);
	free(l);
}

static int start_listening(struct verbs_listener *l, const struct sockaddr *addr, const char **ret_step)
{
	int on = 1, r;

	*ret_step = "rdma_create_event_channel";
	l->channel = make_channel(&r);
	if (r < 0)
		return r;
	l->base.fd = l->channel->fd;
	*ret_step = "rdma_create_id";
	r = verbs_call(rdma_create_id(l->channel, &l->id, l, RDMA_PS_TCP));
	if (r < 0)
		return r;
	/* Each family has a listener of its own: iWARP does not serve IPv4 from an IPv6 wildcard. */
	*ret_step = "rdma_set_option AFONLY";
	if (addr->sa_family == AF_INET6)
		r = verbs_call(rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)));
	if (r < 0)
		return r;
	*ret_step = "rdma_set_option REUSEADDR";
	r = verbs_call(rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	if (r < 0)
		return r;
	*ret_step = "rdma_bind_addr";
	r = verbs_call(rdma_bind_addr(l->id, (struct sockaddr *)addr));
	if (r < 0)
		return r;
	*ret_step = "rdma_listen";
	return verbs_call(rdma_listen(l->id, BACKLOG));
}

static int verbs_listen(const struct sockaddr *addr, socklen_t addr_len, struct endpoint_listener **ret_l,
			struct endpoint_fault *ret_fault)
{
	struct verbs_listener *l = calloc(1, sizeof(*l));
	const char *step;
	int r;

	if (!l) {
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, -ENOMEM, "a listener");
		return -ENOMEM;
	}
	l->base.transport = &endpoint_rdma;
	r = start_listening(l, addr, &step);
	if (r < 0) {
		set_fault(ret_fault, addr, r, step);
		verbs_listener_free(&l->base);
		return fail(r, "%s", step);
	}
	*ret_l = &l->base;
	return 0;
}

static struct verbs_request *new_request(const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct verbs_request *rq = calloc(1, sizeof(*rq));

	if (!rq)
		return NULL;
	rq->base.transport = &endpoint_rdma;
	rq->id = event->id;
	rq->id->context = NULL;
	memcpy(&rq->base.peer, rdma_get_peer_addr(rq->id),
	       rdma_get_peer_addr(rq->id)->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								 : sizeof(struct sockaddr_in));
	if (param->private_data) {
		rq->base.blob_len = min_size(param->private_data_len, sizeof(rq->base.blob));
		memcpy(rq->base.blob, param->private_data, rq->base.blob_len);
	}
	return rq;
}

/* Takes one event off the listener's channel; 1 when it is a request. The id of a request may not be touched before its
 * event is acknowledged (rdma_destroy_id(3) and rdma_migrate_id(3) wait for that). */
static int next_request(struct verbs_listener *l, struct endpoint_request **ret_rq)
{
	struct verbs_request *rq = NULL;
	struct rdma_cm_id *lost = NULL;
	struct rdma_cm_event *event;
	int r;

	r = verbs_call(rdma_get_cm_event(l->channel, &event));
	if (r < 0)
		return r == -EINTR ? -EAGAIN : r;
	log_debug("listener: cm event: %s, status %d", rdma_event_str(event->event), event->status);
	switch (meaning_of(event->event).action) {
	case CM_REQUEST:
		rq = new_request(event);
		if (!rq)
			lost = event->id;
		break;
	case CM_FAIL:
		/* About the listener itself: its device is gone. About a request: whoever has it will notice. */
		if (event->id == l->id)
			r = -ENODEV;
		break;
	default:
		break;
	}
	verbs_ignore("rdma_ack_cm_event", verbs_end(rdma_ack_cm_event(event)));
	destroy_id(lost);
	if (rq)
		*ret_rq = &rq->base;
	return rq ? 1 : r;
}

static int verbs_listener_next(struct endpoint_listener *base, struct endpoint_request **ret_rq)
{
	int r = 0;

	/* Events that are no requests do not keep us for ever: the channel stays readable. */
	for (unsigned int i = 0; i < EVENTS_PER_CALL && r == 0; i++)
		r = next_request((struct verbs_listener *)base, ret_rq);
	return r == -EAGAIN ? 0 : r;
}

static void free_request(struct verbs_request *rq)
{
	destroy_id(rq->id);
	free(rq);
}

static void verbs_request_reject(struct endpoint_request *base, const void *rej, size_t len)
{
	struct verbs_request *rq = (struct verbs_request *)base;

	reject_id(rq->id, rej, len);
	free_request(rq);
}

/* The id moves from the listener's channel to one of the session's own: from here on the listener hears no more of it. That
 * is the last step, so a failure leaves the request as it was. */
static int take_over(struct verbs_endpoint *v, struct verbs_request *rq)
{
	int r;

	if (!rq->id->verbs)
		return -ENODEV;
	v->channel = make_channel(&r);
	if (r < 0)
		return r;
	r = watch_channel(v);
	if (r < 0)
		return r;
	r = verbs_call(rdma_migrate_id(rq->id, v->channel));
	if (r < 0)
		return r;
	v->id = steal_ptr(rq->id);
	v->id->context = v;
	return 0;
}

static int verbs_request_accept(struct endpoint_request *base, struct loop *loop, struct endpoint **ret_ep)
{
	struct verbs_request *rq = (struct verbs_request *)base;
	struct verbs_endpoint *v = new_endpoint(loop);
	int r = v ? take_over(v, rq) : -ENOMEM;

	if (r < 0) {
		if (v)
			verbs_free(&v->base);
		return fail(r, "taking over a connection request");
	}
	free_request(rq);
	*ret_ep = &v->base;
	return 0;
}

const struct endpoint_transport endpoint_rdma = {
	.name = "rdma",
	.dial = verbs_dial,
	.open = verbs_open,
	.register_slab = verbs_register_slab,
	.connect = verbs_connect,
	.reply = verbs_reply,
	.refuse = verbs_refuse,
	.limits = verbs_limits,
	.post_message = verbs_post_message,
	.post_receive = verbs_post_receive,
	.post_write = verbs_post_write,
	.shutdown = verbs_shutdown,
	.force_drain = force_drain,
	.free = verbs_free,
	.listen = verbs_listen,
	.listener_next = verbs_listener_next,
	.listener_free = verbs_listener_free,
	.request_reject = verbs_request_reject,
	.request_accept = verbs_request_accept,
};
