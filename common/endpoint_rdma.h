/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the halves of the RDMA transport share. endpoint_rdma_cm.c: connections and their events. endpoint_rdma.c: queues,
 * memory, posting and completions. endpoint_rdma_siw.c: a fault of soft-iWARP. endpoint_rdma_devices.c stands alone. Only these include <rdma/...> and
 * <infiniband/...>.
 */
#ifndef RDCP_ENDPOINT_RDMA_H
#define RDCP_ENDPOINT_RDMA_H

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>

#include "endpoint_impl.h"
#include "endpoint_rdma_calls.h"

/* One work request in the send queue, in the order posted. */
struct verbs_posted {
	struct endpoint_work *work; /* a write, or NULL: */
	uint16_t message;           /* the send buffer */
};

#define VERBS_CHAIN 8 /* work requests handed to the device at once */

struct verbs_endpoint {
	struct endpoint base;
	struct rdma_event_channel *channel; /* this endpoint's own */
	struct rdma_cm_id *id;
	struct loop_source cm_source;    /* channel */
	struct loop_source cq_source;    /* cq_channel */
	struct loop_source async_source; /* a dup of id->verbs->async_fd, which all sessions on the device share */
	struct loop_source
		alarm_source; /* eventfd: an async event about this endpoint was read, maybe by another thread */
	atomic_int alarm;     /* its enum ibv_event_type, or -1 */

	struct verbs_siw *siw; /* or NULL */
	struct ibv_pd *pd;     /* one per session: a guessed rkey of another session must not work */
	struct ibv_comp_channel *cq_channel;
	struct ibv_cq *cq;
	struct ibv_mr *messages_mr; /* never remotely accessible */
	struct ibv_mr *slab_mr;

	struct verbs_posted *posted; /* ring of `depth`, a power of two */
	unsigned int depth;
	uint64_t posted_head, posted_tail;     /* oldest outstanding, next to post */
	struct ibv_send_wr chain[VERBS_CHAIN]; /* counted in posted_tail, not yet with the device */
	struct ibv_sge chain_sge[VERBS_CHAIN];
	unsigned int chained;
	unsigned int writes, slots; /* writes outstanding, and how many may be */
	bool established;           /* the CM said so: a disconnect is due */
	struct loop_timer stopped;  /* the queue pair stopped, and the CM did not say why yet */
};

static inline struct verbs_endpoint *verbs_endpoint(struct endpoint *ep)
{
	return (struct verbs_endpoint *)ep;
}

/* endpoint_rdma.c: the operations of the table, see endpoint_impl.h */
int verbs_open(struct endpoint *ep, unsigned int slots, struct endpoint_fault *ret_fault);
int verbs_register_slab(struct endpoint *ep, const struct slab *slab, bool remote_write, uint64_t *ret_base,
			uint32_t *ret_rkey, struct endpoint_fault *ret_fault);
void verbs_limits(const struct endpoint *ep, struct endpoint_limits *ret_limits);
int verbs_post_message(struct endpoint *ep, unsigned int index, size_t len);
int verbs_post_receive(struct endpoint *ep, unsigned int index);
int verbs_post_write(struct endpoint *ep, struct endpoint_work *w, unsigned int slot, size_t off, size_t len);

void verbs_on_stopped(struct loop_timer *t);

/* Takes every completion there is. The messages a peer sent before it disconnected are among them. */
void verbs_drain_cq(struct verbs_endpoint *v);
/* The queue pair stops: everything posted completes, with an error where it must. */
void verbs_stop_queues(struct verbs_endpoint *v);
/* Destroys the queue pair, so that no device touches our memory any more, and completes what is left. */
void verbs_destroy_qp(struct verbs_endpoint *v);
/* Everything else verbs_open() and verbs_register_slab() made, in the one right order; fine on half of it. */
void verbs_destroy_queues(struct verbs_endpoint *v);
/* min_rnr_timer: librdmacm leaves 0, which means 655 ms (ibv_modify_qp(3)). Once connected. */
void verbs_set_rnr_timer(struct verbs_endpoint *v);

/* endpoint_rdma_siw.c: what a session on a siw device holds, from before it makes queues until it has destroyed them. NULL on other
 * devices, and where it cannot be had; put(NULL) is fine. */
struct verbs_siw *verbs_siw_get(struct ibv_context *verbs);
void verbs_siw_put(struct verbs_siw *s);

/* For a failure that nothing can be done about: a debug line when `r` is one. */
void verbs_ignore(const char *what, int r);

static inline int verbs_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? negative_errno() : 0;
}

static inline bool verbs_drained(const struct verbs_endpoint *v)
{
	return v->posted_head == v->posted_tail;
}

#endif
