/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session from the inside, for session.c (its life) and session_setup.c (how it gets all that it needs). Nobody else's. */
#ifndef RDCPD_SESSION_IMPL_H
#define RDCPD_SESSION_IMPL_H

#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <uuid/uuid.h>

#include "common/ioqueue.h"
#include "common/loop.h"
#include "common/peer.h"
#include "common/slab.h"
#include "journal.h"
#include "serve.h"
#include "session.h"
#include "store.h"

struct session {
	struct session_args args;
	pthread_t thread;
	atomic_bool finished;
	atomic_int stop_status;        /* enum status, set before stop_fd is written */
	atomic_uint_fast64_t max_rate; /* bytes a second; 0: no limit */
	struct counters counters;      /* published by the thread */
	struct timespec since;         /* CLOCK_REALTIME */
	uint64_t since_ns;             /* CLOCK_MONOTONIC */
	atomic_uint result;            /* see reason.h */
	int stop_fd;                   /* eventfd */
	char id[UUID_STR_LEN];
	char peer_name[NI_MAXHOST];
	char context[UUID_STR_LEN + NI_MAXHOST + 8]; /* in front of its log lines */
	struct journal_session fields;

	/* The thread's own from here on. */
	struct loop loop;
	struct loop_source stop_source;
	struct loop_timer handshake; /* set until the first record */
	struct loop_timer tick;      /* publishes what is not worth a look at each message */
	struct endpoint *ep;
	struct peer peer;
	struct budget memory; /* for what the client makes us remember */
	struct slab slab;
	struct ioqueue *io;
	unsigned int descriptors; /* its share of them */
	struct roots roots;
	struct store store; /* push */
	struct serve serve; /* pull */
	bool engine, closed, idle;
};

/*
 * With `stop_source` filled: makes everything the session needs, and answers the client with REP, or with REJ when it cannot,
 * after it said why. The endpoint's closed() comes in either case. 0, or the negative errno it was refused for.
 */
int session_answer(struct session *s);

/* Tells a client for whom no session could be made, for want of what the negative errno `r` says, that the daemon is busy. */
void session_refuse(struct endpoint_request *rq, int r);

#endif
