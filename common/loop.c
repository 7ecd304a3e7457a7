/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The event loop: epoll for descriptors, a sorted list of timers, a queue of deferred tasks.
 *
 * One per session thread, called by that thread only. Sources, timers and tasks belong to whoever embeds them. A
 * callback may free anything, so nothing that was handed out is looked at after its callback: a source is struck from
 * the running batch when it is removed, timers and tasks leave their list before they are called. What can fail is
 * epoll(7); a failing wait ends loop_run().
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "error.h"
#include "loop.h"
#include "util.h"

#define BATCH 64 /* sources looked at in one round; more are reported by the next wait */

int loop_init(struct loop *l)
{
	memset(l, 0, sizeof(*l));
	l->tasks_tail = &l->tasks;
	l->now_ns = now_ns();
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		return fail(-errno, "epoll_create1");
	return 0;
}

void loop_done(struct loop *l)
{
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	l->epoll_fd = -1;
}

/* ---- sources ------------------------------------------------------------------------------------------------ */

static int control(struct loop *l, int op, struct loop_source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(l->epoll_fd, op, s->fd, &ev) < 0 ? -errno : 0;
}

int loop_add(struct loop *l, struct loop_source *s)
{
	int r = control(l, EPOLL_CTL_ADD, s, s->events);

	return r < 0 ? fail(r, "epoll_ctl add") : 0;
}

int loop_modify(struct loop *l, struct loop_source *s, uint32_t events)
{
	int r;

	if (events == s->events)
		return 0;
	r = control(l, EPOLL_CTL_MOD, s, events);
	if (r < 0)
		return fail(r, "epoll_ctl modify");
	s->events = events;
	return 0;
}

void loop_remove(struct loop *l, struct loop_source *s)
{
	int i;

	control(l, EPOLL_CTL_DEL, s, 0); /* fails when it was not added: what was asked for is true */
	for (i = 0; i < l->batch_len; i++)
		if (l->batch[i].data.ptr == s)
			l->batch[i].data.ptr = NULL;
}

/* ---- timers ------------------------------------------------------------------------------------------------- */

void loop_timer_cancel(struct loop *l, struct loop_timer *t)
{
	struct loop_timer **p;

	if (!t->at_ns)
		return;
	for (p = &l->timers; *p && *p != t; p = &(*p)->next)
		;
	if (*p)
		*p = t->next;
	t->at_ns = 0;
	t->next = NULL;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t at_ns)
{
	struct loop_timer **p;

	loop_timer_cancel(l, t);
	t->at_ns = at_ns > l->now_ns ? at_ns : l->now_ns + 1; /* setting itself again must not hold up the round */
	for (p = &l->timers; *p && (*p)->at_ns <= t->at_ns; p = &(*p)->next)
		;
	t->next = *p;
	*p = t;
}

static void run_timers(struct loop *l)
{
	struct loop_timer *t;

	while ((t = l->timers) && t->at_ns <= l->now_ns) {
		loop_timer_cancel(l, t);
		t->expired(t);
	}
}

/* Milliseconds until the first timer, rounded up: waking early would mean to wait again. -1: there is none. */
static int wait_ms(const struct loop *l)
{
	uint64_t ns, ms;

	if (!l->timers)
		return -1;
	ns = l->timers->at_ns > l->now_ns ? l->timers->at_ns - l->now_ns : 0;
	ms = ns <= 1 ? 0 : ns / MSEC + (ns % MSEC != 0);
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* ---- tasks -------------------------------------------------------------------------------------------------- */

void loop_defer(struct loop *l, struct loop_task *t)
{
	if (t->queued)
		return;
	t->queued = true;
	t->next = NULL;
	*l->tasks_tail = t;
	l->tasks_tail = &t->next;
}

void loop_undefer(struct loop *l, struct loop_task *t)
{
	struct loop_task **p;

	if (!t->queued)
		return;
	for (p = &l->tasks; *p && *p != t; p = &(*p)->next)
		;
	if (*p) {
		*p = t->next;
		if (l->tasks_tail == &t->next)
			l->tasks_tail = p;
	}
	t->queued = false;
	t->next = NULL;
}

static void run_tasks(struct loop *l)
{
	struct loop_task *t;

	while ((t = l->tasks)) {
		loop_undefer(l, t);
		t->run(t);
	}
}

/* ---- rounds ------------------------------------------------------------------------------------------------- */

static void run_ready(struct loop *l)
{
	int i;

	for (i = 0; i < l->batch_len; i++) {
		struct loop_source *s = l->batch[i].data.ptr;

		if (s)
			s->ready(s, l->batch[i].events);
	}
	l->batch_len = 0;
}

int loop_run(struct loop *l)
{
	struct epoll_event batch[BATCH];
	int n, r = 0;

	l->batch = batch;
	l->running = true;
	l->now_ns = now_ns();
	run_tasks(l);
	while (l->running) {
		n = epoll_wait(l->epoll_fd, batch, BATCH, wait_ms(l));
		if (n < 0 && errno != EINTR) {
			r = fail(-errno, "epoll_wait");
			break;
		}
		l->now_ns = now_ns();
		l->batch_len = n > 0 ? n : 0;
		run_ready(l);
		run_timers(l);
		run_tasks(l);
	}
	l->batch = NULL;
	return r;
}

void loop_stop(struct loop *l)
{
	l->running = false;
}
