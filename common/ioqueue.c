/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The workers of a session, and the way there and back. Made and fed by the session's loop thread; jobs belong to
 * the caller throughout, the queue only links them. Nothing fails once the workers run.
 *
 * There: submitted jobs wait in `fresh` until the end of the round, then go to `queued` with one lock. Every job that
 * goes there wakes one idle worker while there are any. So either as many workers are on their way as jobs are
 * queued, or none is idle; and since a worker looks at the queue before it goes idle, no job is ever left behind.
 * A worker takes its fair share of what is queued at once.
 *
 * Back: a worker puts its whole share into `finished` with one lock, and writes the eventfd only when nothing was
 * there: whoever put the first one has woken the loop, which takes all there is.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "error.h"
#include "ioqueue.h"
#include "loop.h"
#include "util.h"

#define THREADS_MAX 64

#define MAX_SHARE 4 /* jobs a worker takes at once */

struct job_list {
	struct io_job *head, **tail;
	unsigned int count;
};

struct ioqueue {
	/* the loop's thread only */
	struct loop *loop;
	struct loop_source source; /* the eventfd */
	struct loop_task hand_over;
	struct job_list fresh;
	bool alone; /* one CPU: quick jobs run here */
	struct loop_task run_quick;
	struct job_list quick;
	unsigned int jobs;    /* of both kinds, until their done() */
	unsigned int threads; /* constant once the first worker runs */
	unsigned int started;
	pthread_t workers[THREADS_MAX];

	pthread_mutex_t lock; /* over all below */
	pthread_cond_t wake;
	struct job_list queued;
	struct job_list finished;
	unsigned int idle;  /* workers that wait and were not told to come */
	unsigned int woken; /* workers told to come that have not yet noticed */
	bool stop;
};

static void list_init(struct job_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
	l->count = 0;
}

static void list_append(struct job_list *l, struct io_job *job)
{
	job->next = NULL;
	*l->tail = job;
	l->tail = &job->next;
	l->count++;
}

/* Moves the first `count` jobs of `from` behind those of `to`. Assumes 0 < count <= from->count. */
static void list_move(struct job_list *to, struct job_list *from, unsigned int count)
{
	struct io_job **end = &from->head;
	unsigned int i;

	if (count == from->count) {
		end = from->tail;
	} else {
		for (i = 0; i < count; i++)
			end = &(*end)->next;
	}
	*to->tail = from->head;
	from->head = *end;
	*end = NULL;
	to->tail = end;
	to->count += count;
	from->count -= count;
	if (!from->count)
		list_init(from);
}

/* ---- the workers -------------------------------------------------------------------------------------------- */

/* The lock is held. */
static void wait_for_work(struct ioqueue *q)
{
	while (!q->queued.count && !q->stop) {
		q->idle++;
		while (!q->woken && !q->stop)
			pthread_cond_wait(&q->wake, &q->lock);
		if (q->woken)
			q->woken--; /* who woke us has taken us off `idle` */
		else
			q->idle--;
	}
}

/* Enough to spread the cost of a hand-over, few enough that the first of them is not kept waiting for long. */
static unsigned int share_of(const struct ioqueue *q)
{
	unsigned int share = (q->queued.count + q->threads - 1) / q->threads;

	return share < MAX_SHARE ? share : MAX_SHARE;
}

/* Called and left with the lock held. */
static void run_share(struct ioqueue *q)
{
	struct job_list share;
	struct io_job *job;
	bool first;

	list_init(&share);
	list_move(&share, &q->queued, share_of(q));
	pthread_mutex_unlock(&q->lock);
	for (job = share.head; job; job = job->next)
		job->run(job);
	pthread_mutex_lock(&q->lock);
	first = !q->finished.count;
	list_move(&q->finished, &share, share.count);
	if (!first)
		return;
	pthread_mutex_unlock(&q->lock); /* or the loop would wake up only to wait for it */
	eventfd_write(q->source.fd, 1);
	pthread_mutex_lock(&q->lock);
}

static void *worker_main(void *arg)
{
	struct ioqueue *q = arg;

	pthread_setname_np(pthread_self(), "io");
	pthread_mutex_lock(&q->lock);
	for (;;) {
		wait_for_work(q);
		if (!q->queued.count)
			break;
		run_share(q);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* ---- the loop's side ---------------------------------------------------------------------------------------- */

static void on_finished(struct loop_source *s, uint32_t revents)
{
	struct ioqueue *q = container_of(s, struct ioqueue, source);
	struct job_list finished;
	struct io_job *job, *next;
	eventfd_t value;

	eventfd_read(q->source.fd, &value); /* before the list: what comes in later writes again */
	list_init(&finished);
	pthread_mutex_lock(&q->lock);
	if (q->finished.count)
		list_move(&finished, &q->finished, q->finished.count);
	pthread_mutex_unlock(&q->lock);
	for (job = finished.head; job; job = next) {
		next = job->next;
		q->jobs--;
		job->done(job); /* may free the job, and the last one the queue */
	}
}

static void on_hand_over(struct loop_task *t)
{
	struct ioqueue *q = container_of(t, struct ioqueue, hand_over);
	unsigned int calls;

	pthread_mutex_lock(&q->lock);
	calls = q->fresh.count < q->idle ? q->fresh.count : q->idle;
	q->idle -= calls;
	q->woken += calls;
	list_move(&q->queued, &q->fresh, q->fresh.count);
	pthread_mutex_unlock(&q->lock);
	while (calls--)
		pthread_cond_signal(&q->wake);
}

void ioqueue_submit(struct ioqueue *q, struct io_job *job)
{
	q->jobs++;
	list_append(&q->fresh, job);
	loop_defer(q->loop, &q->hand_over);
}

/* One at a time: what its done() sets off, sending a chunk for instance, comes before the next, while the bytes are warm. */
static void on_run_quick(struct loop_task *t)
{
	struct ioqueue *q = container_of(t, struct ioqueue, run_quick);
	struct job_list one;
	struct io_job *job;
	bool more;

	list_init(&one);
	list_move(&one, &q->quick, 1);
	job = one.head;
	more = q->quick.count > 0;
	job->run(job);
	q->jobs--;
	job->done(job); /* may free the job, and the last one the queue */
	if (more)
		loop_defer(q->loop, &q->run_quick);
}

void ioqueue_submit_quick(struct ioqueue *q, struct io_job *job)
{
	if (!q->alone) {
		ioqueue_submit(q, job);
		return;
	}
	q->jobs++;
	list_append(&q->quick, job);
	loop_defer(q->loop, &q->run_quick);
}

unsigned int ioqueue_jobs(const struct ioqueue *q)
{
	return q->jobs;
}

void ioqueue_workers_only(struct ioqueue *q)
{
	q->alone = false;
}

static bool only_one_cpu(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
}

/* Signals are for the thread that planned for them: a worker starts with all of them blocked. One is enough, where there are no more. */
static int start_workers(struct ioqueue *q)
{
	sigset_t all, saved;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	while (q->started < q->threads && !r) {
		r = pthread_create(&q->workers[q->started], NULL, worker_main, q);
		if (!r)
			q->started++;
	}
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (r)
		fail(-r, "thread %u of %u", q->started + 1, q->threads);
	return q->started ? 0 : -r;
}

int ioqueue_new(struct loop *loop, unsigned int threads, struct ioqueue **ret_queue)
{
	struct ioqueue *q;
	int r;

	if (threads < 1 || threads > THREADS_MAX)
		return -EINVAL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->loop = loop;
	q->threads = threads;
	q->hand_over.run = on_hand_over;
	q->run_quick.run = on_run_quick;
	q->alone = only_one_cpu();
	list_init(&q->fresh);
	list_init(&q->quick);
	list_init(&q->queued);
	list_init(&q->finished);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->wake, NULL);
	q->source.events = EPOLLIN;
	q->source.ready = on_finished;
	q->source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = q->source.fd < 0 ? fail(-errno, "eventfd") : loop_add(loop, &q->source);
	if (r >= 0)
		r = start_workers(q);
	if (r < 0) {
		ioqueue_free(q);
		return r;
	}
	*ret_queue = q;
	return 0;
}

void ioqueue_free(struct ioqueue *q)
{
	unsigned int i;

	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_mutex_unlock(&q->lock);
	pthread_cond_broadcast(&q->wake);
	for (i = 0; i < q->started; i++)
		pthread_join(q->workers[i], NULL);
	loop_undefer(q->loop, &q->hand_over);
	loop_undefer(q->loop, &q->run_quick);
	if (q->source.fd >= 0) {
		loop_remove(q->loop, &q->source);
		close(q->source.fd);
	}
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
