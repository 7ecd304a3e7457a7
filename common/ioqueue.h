/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Blocking file work off the loop. A job runs on a worker thread and ends in its done() on the loop thread.
 *
 * Jobs submitted in one round of the loop are handed over together, and finished ones come back together: a thread
 * hand-over costs more than a small job. Jobs start in the order they were submitted; with more than one worker they may
 * finish in any order. The only lock of the data path is in here.
 */
#ifndef RDCP_IOQUEUE_H
#define RDCP_IOQUEUE_H

struct loop;
struct ioqueue;

/* Embedded in whatever the work is about; must stay put until done() was called. */
struct io_job {
	void (*run)(struct io_job *job); /* worker thread as a rule: may block; touches nothing but what the job owns */
	void (*done)(struct io_job *job); /* loop thread: exactly once per submit, never inside ioqueue_submit() */
	struct io_job *next;              /* the queue's */
};

/* Starts `threads` workers (1..64). Signals are blocked in them. Fails with -EAGAIN, -ENOMEM, -EMFILE. */
int ioqueue_new(struct loop *loop, unsigned int threads, struct ioqueue **ret_queue);

/* Ends and joins the workers. Assumes no job is in flight (the owner counts). NULL is fine. */
void ioqueue_free(struct ioqueue *q);

/* Never fails, allocates nothing. */
void ioqueue_submit(struct ioqueue *q, struct io_job *job);

/*
 * The same for a job that runs at the speed of memory as a rule: bytes to or from the page cache, and their hash. Where the
 * process has a single CPU a worker could only take turns with the loop, and the hand-over would be all that is gained: there it
 * runs on the loop thread, at the end of the round, each job followed by its done(). What may wait for a device (open, sync,
 * rename) is for ioqueue_submit().
 */
void ioqueue_submit_quick(struct ioqueue *q, struct io_job *job);

/* Submitted, and done() not called yet: its owner waits for them. */
unsigned int ioqueue_jobs(const struct ioqueue *q);

/* From now on quick jobs are for workers only, too: these have credentials that the loop's thread has not. */
void ioqueue_workers_only(struct ioqueue *q);

#endif
