/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The event loop of one session thread: descriptors, timers, and tasks put off to the end of the round.
 *
 * A round is: wait (epoll) -> ready sources -> expired timers -> deferred tasks. Deferring is how work is batched: SENDs
 * that share a message, jobs handed to the workers, all go out once, after everything that was ready has been looked at.
 * Everything here belongs to the thread that runs the loop; only loop_stop() through a descriptor reaches in from outside.
 * A callback may add or remove any source, timer or task, its own included, and free what holds it.
 */
#ifndef RDCP_LOOP_H
#define RDCP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct epoll_event;

struct loop_source {
	int fd;                                                 /* borrowed */
	uint32_t events;                                        /* EPOLLIN, EPOLLOUT; 0 = off */
	void (*ready)(struct loop_source *s, uint32_t revents); /* EPOLLERR and EPOLLHUP come unasked */
};

struct loop_timer {
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0 = not set */
	void (*expired)(struct loop_timer *t);
	struct loop_timer *next; /* the loop's list of set timers */
};

struct loop_task {
	void (*run)(struct loop_task *t);
	struct loop_task *next; /* the loop's queue */
	bool queued;
};

struct loop {
	int epoll_fd;
	bool running;
	uint64_t now_ns; /* read once a round */
	struct loop_timer *timers;
	struct loop_task *tasks, **tasks_tail;
	struct epoll_event *batch; /* what the last wait reported; loop_remove() strikes its source out */
	int batch_len;
};

/* Fails with -EMFILE or -ENOMEM as epoll_create1(2). */
int loop_init(struct loop *l);
void loop_done(struct loop *l); /* after a loop_init(), also one that failed */

/* `s` is borrowed until loop_remove(); fd and ready are set by the caller. Fails as epoll_ctl(2). */
int loop_add(struct loop *l, struct loop_source *s);
int loop_modify(struct loop *l, struct loop_source *s, uint32_t events);
void loop_remove(struct loop *l, struct loop_source *s);

/* One-shot, and at most once a round: a time that has passed means the next round. Setting a set timer moves it; cancelling
 * one that is not set is fine. */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t at_ns);
void loop_timer_cancel(struct loop *l, struct loop_timer *t);

/* Runs `t` once before the next wait; deferring what is already deferred does nothing. A task deferred by a task
 * runs in the same round. */
void loop_defer(struct loop *l, struct loop_task *t);
void loop_undefer(struct loop *l, struct loop_task *t);

/* The round's time, CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t loop_now(const struct loop *l)
{
	return l->now_ns;
}

/* Runs whole rounds until loop_stop(); returns 0, or a negative errno of epoll_wait(2). */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

#endif
