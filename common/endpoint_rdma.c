// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The RDMA transport, data half: queue pair, completion queue, registered memory.
 *
 * Called through the table in endpoint_rdma_cm.c. One completion queue serves both directions. A WRITE is not signalled; the
 * message that names it is, and its completion completes everything posted before it: the ring `posted` is the send
 * queue in order. Queues are sized for all that can be outstanding, so posting never runs out of room.
 *
 * rdma-core fails in several ways, endpoint_rdma_calls.h makes them one: a negative errno.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "endpoint_rdma.h"
#include "error.h"
#include "log.h"
#include "slab.h"
#include "sys.h"
#include "util.h"

#define POLL_BATCH 32
#define RECEIVE_WR (1ULL << 63) /* in wr_id: a receive; without it the position in `posted` */
#define MIN_RNR_TIMER 12        /* 0.64 ms */
#define STOPPED_GRACE (SEC / 2)

/* ---- limits ------------------------------------------------------------------------------------------------- */

static unsigned int clamp_depth(int device_max, unsigned int reserve, unsigned int most)
{
	unsigned int max = device_max > 0 ? (unsigned int)device_max : 0;

	if (max <= reserve)
		return 1;
	return max - reserve < most ? max - reserve : most;
}

void verbs_limits(const struct endpoint *ep, struct endpoint_limits *ret_limits)
{
	const struct verbs_endpoint *v = (const struct verbs_endpoint *)ep;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	unsigned int by_qp, by_cq;

	*ret_limits = (struct endpoint_limits){ .max_write = MIB, .max_slots = 32, .max_receives = 16 };
	if (verbs_call(ibv_query_device(v->id->verbs, &device)) < 0 ||
	    verbs_call(ibv_query_port(v->id->verbs, v->id->port_num, &port)) < 0)
		return;
	by_qp = clamp_depth(device.max_qp_wr, ENDPOINT_SENDS, 1U << SLAB_MAX_SLOTS_LOG2);
	by_cq = clamp_depth(device.max_cqe, ENDPOINT_SENDS + ENDPOINT_MAX_RECEIVES, 1U << SLAB_MAX_SLOTS_LOG2);
	ret_limits->max_write = port.max_msg_sz;
	ret_limits->max_slots = by_qp < by_cq ? by_qp : by_cq;
	ret_limits->max_receives = clamp_depth(device.max_qp_wr, 0, ENDPOINT_MAX_RECEIVES);
}

/* ---- making the queues -------------------------------------------------------------------------------------- */

static uint64_t memlock_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return rl.rlim_cur;
}

static struct ibv_mr *register_memory(struct verbs_endpoint *v, void *addr, size_t len, int access,
				      struct endpoint_fault *ret_fault)
{
	struct ibv_mr *mr;
	int r;

	mr = verbs_make(ibv_reg_mr(v->pd, addr, len, access), &r);
	if (mr)
		return mr;
	if ((r == -ENOMEM || r == -EAGAIN) && memlock_limit() != UINT64_MAX) {
		endpoint_fault_set(ret_fault, ENDPOINT_MEMLOCK, r, "registering %zu bytes with a limit of %llu", len,
				   (unsigned long long)memlock_limit());
		ret_fault->need = len + endpoint_buffers_size(&v->base);
	} else {
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, r, "registering %zu bytes", len);
	}
	fail(r, "ibv_reg_mr of %zu bytes", len);
	return NULL;
}

static void on_cq_event(struct loop_source *s, uint32_t revents);

static int watch(struct verbs_endpoint *v, struct loop_source *s, int fd,
		 void (*ready)(struct loop_source *s, uint32_t revents))
{
	int r;

	*s = (struct loop_source){ .fd = fd, .events = EPOLLIN, .ready = ready };
	r = loop_add(v->base.loop, s);
	if (r < 0)
		s->fd = -1;
	return r;
}

static int make_cq(struct verbs_endpoint *v)
{
	int entries = (int)(v->slots + ENDPOINT_SENDS + v->base.receives);
	int r;

	v->cq_channel = verbs_make(ibv_create_comp_channel(v->id->verbs), &r);
	if (!v->cq_channel)
		return fail(r, "ibv_create_comp_channel");
	r = verbs_set_nonblocking(v->cq_channel->fd);
	if (r < 0)
		return r;
	v->cq = verbs_make(ibv_create_cq(v->id->verbs, entries, v, v->cq_channel, 0), &r);
	if (!v->cq)
		return fail(r, "ibv_create_cq of %d entries", entries);
	r = verbs_call(ibv_req_notify_cq(v->cq, 0));
	if (r < 0)
		return fail(r, "ibv_req_notify_cq");
	return watch(v, &v->cq_source, v->cq_channel->fd, on_cq_event);
}

static int make_qp(struct verbs_endpoint *v)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = v->cq,
		.recv_cq = v->cq,
		.cap = { .max_send_wr = v->slots + ENDPOINT_SENDS,
			 .max_recv_wr = v->base.receives,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	int r = verbs_call(rdma_create_qp(v->id, v->pd, &attr));

	if (r < 0)
		return fail(r, "rdma_create_qp for %u + %u requests", attr.cap.max_send_wr, attr.cap.max_recv_wr);
	return 0;
}

static int post_all_receives(struct verbs_endpoint *v)
{
	for (unsigned int i = 0; i < v->base.receives; i++) {
		int r = verbs_post_receive(&v->base, i);

		if (r < 0)
			return fail(r, "ibv_post_recv");
	}
	return 0;
}

static int make_ring(struct verbs_endpoint *v)
{
	v->depth = 2U << log2_floor(v->slots + ENDPOINT_SENDS);
	v->posted = calloc(v->depth, sizeof(*v->posted));
	return v->posted ? 0 : fail(-ENOMEM, "send ring");
}

int verbs_register_slab(struct endpoint *ep, const struct slab *slab, bool remote_write, uint64_t *ret_base,
			uint32_t *ret_rkey, struct endpoint_fault *ret_fault)
{
	struct verbs_endpoint *v = verbs_endpoint(ep);
	int access = remote_write ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_LOCAL_WRITE;

	v->slab_mr = register_memory(v, slab->base, slab_bytes(slab), access, ret_fault);
	if (!v->slab_mr)
		return ret_fault->error;
	*ret_base = remote_write ? (uint64_t)(uintptr_t)slab->base : 0;
	*ret_rkey = remote_write ? v->slab_mr->rkey : 0;
	return 0;
}

void verbs_set_rnr_timer(struct verbs_endpoint *v)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = MIN_RNR_TIMER };

	/* iWARP has no such thing: TCP flow control does that work. */
	if (v->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		return;
	verbs_ignore("setting min_rnr_timer", verbs_call(ibv_modify_qp(v->id->qp, &attr, IBV_QP_MIN_RNR_TIMER)));
}

/* ---- posting ------------------------------------------------------------------------------------------------ */

int verbs_post_receive(struct endpoint *ep, unsigned int index)
{
	struct verbs_endpoint *v = verbs_endpoint(ep);
	struct ibv_sge sge = {
		.addr = (uintptr_t)endpoint_receive_buffer(ep, index),
		.length = WIRE_MESSAGE_MAX,
		.lkey = v->messages_mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = RECEIVE_WR | index, .sg_list = &sge, .num_sge = 1 }, *bad;

	return verbs_call(ibv_post_recv(v->id->qp, &wr, &bad));
}

/*
 * Hands the chain to the device: one call, one doorbell, for a message and the writes it names. What the device did not
 * take stays in `posted` and ends with the queue pair, each piece once.
 */
static int submit_chain(struct verbs_endpoint *v)
{
	struct ibv_send_wr *bad;
	unsigned int n = v->chained;
	int r;

	v->chained = 0;
	if (!n)
		return 0;
	v->chain[n - 1].next = NULL;
	r = verbs_call(ibv_post_send(v->id->qp, v->chain, &bad));
	if (r < 0)
		endpoint_fail(&v->base, ENDPOINT_LOST, r, "ibv_post_send");
	return r;
}

/* Room was accounted for: the queue is as deep as all that can be outstanding. */
static int chain_wr(struct verbs_endpoint *v, struct ibv_send_wr wr, struct ibv_sge sge, struct verbs_posted posted)
{
	unsigned int i;

	if (v->chained == VERBS_CHAIN && submit_chain(v) < 0)
		return -EIO;
	i = v->chained++;
	v->chain_sge[i] = sge;
	v->chain[i] = wr;
	v->chain[i].wr_id = v->posted_tail;
	v->chain[i].sg_list = &v->chain_sge[i];
	v->chain[i].num_sge = 1;
	v->chain[i].next = &v->chain[(i + 1) % VERBS_CHAIN];
	v->posted[v->posted_tail++ & (v->depth - 1)] = posted;
	return 0;
}

int verbs_post_message(struct endpoint *ep, unsigned int index, size_t len)
{
	struct verbs_endpoint *v = verbs_endpoint(ep);
	struct ibv_sge sge = {
		.addr = (uintptr_t)endpoint_send_buffer(ep, index),
		.length = (uint32_t)len,
		.lkey = v->messages_mr->lkey,
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };

	if (chain_wr(v, wr, sge, (struct verbs_posted){ .message = (uint16_t)index }) == 0)
		submit_chain(v);
	return 0; /* a device that refuses has failed the endpoint */
}

/* Waits in the chain for the message that names it, which the engine commits in the same breath. */
int verbs_post_write(struct endpoint *ep, struct endpoint_work *w, unsigned int slot, size_t off, size_t len)
{
	struct verbs_endpoint *v = verbs_endpoint(ep);
	size_t at = (size_t)slot * ep->slab->slot_size + off;
	struct ibv_sge sge = {
		.addr = (uintptr_t)ep->slab->base + at,
		.length = (uint32_t)len,
		.lkey = v->slab_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = ep->remote_base + at, .rkey = ep->remote_rkey },
	};
	int r;

	if (v->writes == v->slots)
		return -ENOBUFS;
	r = chain_wr(v, wr, sge, (struct verbs_posted){ .work = w });
	if (r == 0)
		v->writes++;
	return r;
}

/* ---- completions -------------------------------------------------------------------------------------------- */

static void complete_one(struct verbs_endpoint *v, int status)
{
	struct verbs_posted p = v->posted[v->posted_head++ & (v->depth - 1)];

	if (p.work) {
		v->writes--;
		endpoint_on_written(p.work, status);
	} else {
		endpoint_on_sent(&v->base, p.message);
	}
}

static void complete_before(struct verbs_endpoint *v, uint64_t end)
{
	while (v->posted_head != v->posted_tail && v->posted_head < end)
		complete_one(v, 0);
}

static enum endpoint_fault_kind fault_of_status(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return ENDPOINT_REFUSED_WRITE;
	case IBV_WC_LOC_LEN_ERR:
		return ENDPOINT_PROTOCOL;
	default:
		return ENDPOINT_LOST;
	}
}

/* iWARP stops the queue pair before the connection manager tells why: rejected, or disconnected. It gets a moment. */
void verbs_on_stopped(struct loop_timer *t)
{
	struct verbs_endpoint *v = container_of(t, struct verbs_endpoint, stopped);

	endpoint_fail(&v->base, ENDPOINT_LOST, -ECONNRESET, "the queue pair stopped");
}

/* On a failed completion only wr_id and status can be trusted (ibv_poll_cq(3)). */
static void on_failed_completion(struct verbs_endpoint *v, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_WR_FLUSH_ERR)
		endpoint_fail(&v->base, fault_of_status(wc->status), -EIO, "work completion: %s (vendor error 0x%x)",
			      ibv_wc_status_str(wc->status), wc->vendor_err);
	else if (v->base.state < ENDPOINT_DRAINING && !v->stopped.at_ns)
		loop_timer_set(v->base.loop, &v->stopped, now_ns() + STOPPED_GRACE);
	if (wc->wr_id & RECEIVE_WR)
		return;
	complete_before(v, wc->wr_id);
	if (v->posted_head == wc->wr_id)
		complete_one(v, -ECANCELED);
}

static void on_completion(struct verbs_endpoint *v, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		on_failed_completion(v, wc);
	else if (wc->wr_id & RECEIVE_WR)
		endpoint_on_received(&v->base, (unsigned int)(wc->wr_id & ~RECEIVE_WR), wc->byte_len);
	else
		complete_before(v, wc->wr_id + 1);
}

/* Takes up to `most` completions; returns how many. */
static int poll_cq(struct verbs_endpoint *v, int most)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = verbs_count(ibv_poll_cq(v->cq, most, wc));

	for (int i = 0; i < n; i++)
		on_completion(v, &wc[i]);
	if (n < 0)
		endpoint_fail(&v->base, ENDPOINT_RESOURCES, n, "ibv_poll_cq");
	return n;
}

void verbs_drain_cq(struct verbs_endpoint *v)
{
	if (!v->cq)
		return;
	while (poll_cq(v, POLL_BATCH) == POLL_BATCH)
		;
}

/* Taking what is there, arming, and taking what came before the arming: nothing is left behind without an event. */
static void on_cq_event(struct loop_source *s, uint32_t revents)
{
	struct verbs_endpoint *v = container_of(s, struct verbs_endpoint, cq_source);
	struct ibv_cq *cq;
	void *context;
	int r;

	/* For tests: one at a time. The event is left where it is, so that the loop wakes up again for the next. */
	if (sys_drip() && v->base.state < ENDPOINT_DRAINING && (sys_drip_pause() || poll_cq(v, 1) > 0))
		return;
	if (verbs_call(ibv_get_cq_event(v->cq_channel, &cq, &context)) < 0)
		return; /* also when there was none; if there is, the loop comes back */
	ibv_ack_cq_events(cq, 1);
	v->base.stats.wakeups++;
	verbs_drain_cq(v);
	r = verbs_call(ibv_req_notify_cq(v->cq, 0));
	if (r < 0)
		endpoint_fail(&v->base, ENDPOINT_RESOURCES, r, "ibv_req_notify_cq");
	verbs_drain_cq(v);
	if (v->base.state == ENDPOINT_DRAINING && verbs_drained(v))
		endpoint_on_drained(&v->base);
}

/* ---- asynchronous events ------------------------------------------------------------------------------------ */

/* Which endpoint an event is about: cq_context and qp->recv_cq lead there. NULL: the device or a port. */
static struct verbs_endpoint *endpoint_of_event(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq->cq_context;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		return event->element.qp->recv_cq->cq_context;
	default:
		return NULL;
	}
}

/*
 * librdmacm opens a device once for the whole process, so any session may read an event that is about another. The other's
 * queue pair cannot be destroyed before its event is acknowledged: until then the endpoint is there to be told.
 */
static void on_async_event(struct loop_source *s, uint32_t revents)
{
	struct verbs_endpoint *v = container_of(s, struct verbs_endpoint, async_source), *about;
	struct ibv_async_event event;
	uint64_t one = 1;

	if (verbs_call(ibv_get_async_event(v->id->verbs, &event)) < 0)
		return;
	log_debug("async event: %s", ibv_event_type_str(event.event_type));
	about = endpoint_of_event(&event);
	if (about) {
		atomic_store(&about->alarm, event.event_type);
		if (write(about->alarm_source.fd, &one, sizeof(one)) < 0)
			log_warning("async event: waking its session: %m, ignoring");
	} else if (event.event_type == IBV_EVENT_DEVICE_FATAL) {
		endpoint_fail(&v->base, ENDPOINT_DEVICE_GONE, -ENODEV, "%s", ibv_event_type_str(event.event_type));
	}
	/* Ports that come and go: the connection manager and the deadlines decide what that means for a session. */
	ibv_ack_async_event(&event);
}

static void on_alarm(struct loop_source *s, uint32_t revents)
{
	struct verbs_endpoint *v = container_of(s, struct verbs_endpoint, alarm_source);
	int type = atomic_load(&v->alarm);

	loop_modify(v->base.loop, s, 0);
	verbs_drain_cq(v); /* a failed completion names the cause better */
	endpoint_fail(&v->base, ENDPOINT_LOST, -EIO, "%s", ibv_event_type_str((enum ibv_event_type)type));
}

static int watch_async(struct verbs_endpoint *v)
{
	int fd, r;

	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return fail(negative_errno(), "eventfd");
	r = watch(v, &v->alarm_source, fd, on_alarm);
	if (r < 0) {
		close(fd);
		return r;
	}
	/* A descriptor of our own: one loop may watch several endpoints of one device. */
	fd = fcntl(v->id->verbs->async_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return fail(negative_errno(), "the device's async_fd");
	r = verbs_set_nonblocking(fd);
	if (r == 0)
		r = watch(v, &v->async_source, fd, on_async_event);
	if (r < 0)
		close(fd);
	return r;
}

/* ---- making it all ------------------------------------------------------------------------------------------ */

int verbs_open(struct endpoint *ep, unsigned int slots, struct endpoint_fault *ret_fault)
{
	struct verbs_endpoint *v = verbs_endpoint(ep);
	int r;

	v->slots = slots;
	v->siw = verbs_siw_get(v->id->verbs);
	v->pd = verbs_make(ibv_alloc_pd(v->id->verbs), &r);
	if (!v->pd) {
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, r, "allocating a protection domain");
		return fail(r, "ibv_alloc_pd");
	}
	v->messages_mr = register_memory(v, ep->buffers, endpoint_buffers_size(ep), IBV_ACCESS_LOCAL_WRITE, ret_fault);
	if (!v->messages_mr)
		return ret_fault->error;
	r = make_ring(v);
	if (r == 0)
		r = make_cq(v);
	if (r == 0)
		r = make_qp(v);
	if (r == 0)
		r = post_all_receives(v);
	if (r == 0)
		r = watch_async(v);
	if (r < 0)
		endpoint_fault_set(ret_fault, ENDPOINT_RESOURCES, r, "making queues for %u writes and %u receives",
				   slots, ep->receives);
	return r;
}

/* ---- teardown ----------------------------------------------------------------------------------------------- */

void verbs_ignore(const char *what, int r)
{
	if (r < 0)
		log_debug("%s: %s, ignoring", what, strerror(-r));
}

void verbs_stop_queues(struct verbs_endpoint *v)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (v->id && v->id->qp)
		verbs_ignore("ibv_modify_qp", verbs_call(ibv_modify_qp(v->id->qp, &attr, IBV_QP_STATE)));
}

void verbs_destroy_qp(struct verbs_endpoint *v)
{
	if (v->id && v->id->qp)
		rdma_destroy_qp(v->id);
	while (!verbs_drained(v))
		complete_one(v, -ECANCELED);
}

static void unwatch(struct verbs_endpoint *v, struct loop_source *s, bool close_fd)
{
	if (s->fd < 0)
		return;
	loop_remove(v->base.loop, s);
	if (close_fd)
		close(s->fd);
	s->fd = -1;
}

void verbs_destroy_queues(struct verbs_endpoint *v)
{
	unwatch(v, &v->async_source, true);
	unwatch(v, &v->alarm_source, true);
	unwatch(v, &v->cq_source, false);
	loop_timer_cancel(v->base.loop, &v->stopped);
	if (v->slab_mr)
		verbs_ignore("ibv_dereg_mr", verbs_end(ibv_dereg_mr(v->slab_mr)));
	if (v->messages_mr)
		verbs_ignore("ibv_dereg_mr", verbs_end(ibv_dereg_mr(v->messages_mr)));
	if (v->cq)
		verbs_ignore("ibv_destroy_cq", verbs_end(ibv_destroy_cq(v->cq)));
	if (v->cq_channel)
		verbs_ignore("ibv_destroy_comp_channel", verbs_end(ibv_destroy_comp_channel(v->cq_channel)));
	if (v->pd)
		verbs_ignore("ibv_dealloc_pd", verbs_end(ibv_dealloc_pd(v->pd)));
	v->slab_mr = v->messages_mr = NULL;
	v->cq = NULL;
	v->cq_channel = NULL;
	v->pd = NULL;
	verbs_siw_put(v->siw);
	v->siw = NULL;
	free(v->posted);
	v->posted = NULL;
}
