// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Soft-iWARP can have more than a handful of sessions in one process only with some help.
 *
 * Queues are mapped at an offset that the kernel chooses: the lowest pages that no other queue of this process has.
 * libsiw takes one offset, SIW_INVAL_UOBJ_KEY of <rdma/siw-abi.h>, for the word that there is nothing to map. The queue that gets
 * just this offset, the 145th page, fails without an errno, and so does every other until one below it has gone.
 *
 * So the first session on a device makes a completion queue that nobody uses and that lies across this offset, and the last one
 * destroys it. Sessions of several threads share it; the lock is held while it is made or destroyed.
 */
#include <pthread.h>
#include <rdma/siw-abi.h>
#include <stdlib.h>

#include "endpoint_rdma.h"
#include "log.h"

#define SIW_VENDOR_ID 0x626d74 /* drivers/infiniband/sw/siw/siw.h */

struct verbs_siw {
	struct verbs_siw *next;
	struct ibv_context *verbs;
	struct ibv_cq *cq;
	unsigned int sessions;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct verbs_siw *all;

static bool is_siw(struct ibv_context *verbs)
{
	struct ibv_device_attr attr;

	return verbs->device->transport_type == IBV_TRANSPORT_IWARP &&
	       verbs_call(ibv_query_device(verbs, &attr)) == 0 && attr.vendor_id == SIW_VENDOR_ID;
}

static struct verbs_siw *find(struct ibv_context *verbs)
{
	struct verbs_siw *s;

	for (s = all; s && s->verbs != verbs; s = s->next)
		;
	return s;
}

static struct verbs_siw *make(struct ibv_context *verbs)
{
	struct verbs_siw *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (s)
		s->cq = verbs_make(ibv_create_cq(verbs, SIW_INVAL_UOBJ_KEY / sizeof(struct siw_cqe) + 1, NULL, NULL, 0),
				   &r);
	if (!s || !s->cq) {
		verbs_ignore("a queue across the offset that siw cannot use", r);
		free(s);
		return NULL;
	}
	s->verbs = verbs;
	s->next = all;
	all = s;
	return s;
}

struct verbs_siw *verbs_siw_get(struct ibv_context *verbs)
{
	struct verbs_siw *s;

	if (!is_siw(verbs))
		return NULL;
	pthread_mutex_lock(&lock);
	s = find(verbs);
	if (!s)
		s = make(verbs);
	if (s)
		s->sessions++;
	pthread_mutex_unlock(&lock);
	return s;
}

void verbs_siw_put(struct verbs_siw *s)
{
	struct verbs_siw **p;

	if (!s)
		return;
	pthread_mutex_lock(&lock);
	if (--s->sessions == 0) {
		for (p = &all; *p != s; p = &(*p)->next)
			;
		*p = s->next;
		verbs_ignore("ibv_destroy_cq", verbs_end(ibv_destroy_cq(s->cq)));
		free(s);
	}
	pthread_mutex_unlock(&lock);
}
