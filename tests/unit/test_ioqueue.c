/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Jobs: each runs once on a worker and ends once on the loop's thread, in batches, whatever done() does. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/ioqueue.h"
#include "common/loop.h"
#include "common/util.h"
#include "skip.h"

Suite *ioqueue_suite(void);

static struct loop loop;
static struct ioqueue *queue;
static pthread_t loop_thread;
static unsigned int left; /* jobs whose done() is still to come */

static void on_deadline(struct loop_timer *t)
{
	ck_abort_msg("%u jobs never came back", left);
}

static struct loop_timer deadline = { .expired = on_deadline };

static void setup(void)
{
	loop_thread = pthread_self();
	queue = NULL;
	ck_assert_int_eq(loop_init(&loop), 0);
	loop_timer_set(&loop, &deadline, now_ns() + 60 * SEC);
}

static void teardown(void)
{
	ioqueue_free(queue);
	loop_timer_cancel(&loop, &deadline);
	loop_done(&loop);
}

struct job {
	struct io_job io;
	unsigned int number;
	atomic_uint ran;
	unsigned int done;
	unsigned int again; /* submits to come */
	uint64_t done_at;   /* the loop's time */
};

static void job_run(struct io_job *io)
{
	struct job *job = container_of(io, struct job, io);

	ck_assert(!pthread_equal(pthread_self(), loop_thread));
	job->ran++;
}

static void job_done(struct io_job *io)
{
	struct job *job = container_of(io, struct job, io);

	ck_assert(pthread_equal(pthread_self(), loop_thread));
	job->done++;
	job->done_at = loop_now(&loop);
	ck_assert_uint_eq(job->ran, job->done);
	if (job->again) {
		job->again--;
		ioqueue_submit(queue, io);
	} else if (!--left) {
		loop_stop(&loop);
	}
}

static struct job *jobs_new(unsigned int count, void (*run)(struct io_job *io), void (*done)(struct io_job *io))
{
	struct job *jobs = calloc(count, sizeof(*jobs));
	unsigned int i;

	ck_assert_ptr_nonnull(jobs);
	for (i = 0; i < count; i++) {
		jobs[i].io.run = run;
		jobs[i].io.done = done;
		jobs[i].number = i;
	}
	return jobs;
}

static void submit_all(struct job *jobs, unsigned int count)
{
	unsigned int i;

	left = count;
	for (i = 0; i < count; i++)
		ioqueue_submit(queue, &jobs[i].io);
}

static const unsigned int threads[] = { 1, 2, 3, 8, 64 };

START_TEST(every_job_runs_once_and_ends_once)
{
	struct job *jobs = jobs_new(1000, job_run, job_done);
	unsigned int i;

	ck_assert_int_eq(ioqueue_new(&loop, threads[_i], &queue), 0);
	submit_all(jobs, 1000);
	for (i = 0; i < 1000; i++)
		ck_assert_uint_eq(jobs[i].done, 0);
	ck_assert_int_eq(loop_run(&loop), 0);
	for (i = 0; i < 1000; i++) {
		ck_assert_uint_eq(jobs[i].ran, 1);
		ck_assert_uint_eq(jobs[i].done, 1);
	}
	free(jobs);
}
END_TEST

START_TEST(done_may_submit_again)
{
	struct job *jobs = jobs_new(7, job_run, job_done);
	unsigned int i;

	ck_assert_int_eq(ioqueue_new(&loop, threads[_i], &queue), 0);
	for (i = 0; i < 7; i++)
		jobs[i].again = 300;
	submit_all(jobs, 7);
	ck_assert_int_eq(loop_run(&loop), 0);
	for (i = 0; i < 7; i++)
		ck_assert_uint_eq(jobs[i].done, 301);
	free(jobs);
}
END_TEST

static unsigned int next_number;

static void ordered_run(struct io_job *io)
{
	struct job *job = container_of(io, struct job, io);

	job->ran++;
	ck_assert_uint_eq(job->number, next_number++);
}

START_TEST(one_worker_runs_jobs_in_order_and_brings_shares_back_together)
{
	struct job *jobs = jobs_new(100, ordered_run, job_done);
	unsigned int i;

	next_number = 0;
	ck_assert_int_eq(ioqueue_new(&loop, 1, &queue), 0);
	submit_all(jobs, 100);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_uint_eq(next_number, 100);
	for (i = 0; i < 100; i++) /* four jobs a share: each share in one round of the loop */
		ck_assert_uint_eq(jobs[i].done_at, jobs[i - i % 4].done_at);
	free(jobs);
}
END_TEST

static unsigned int on_loop_thread;

static void where_run(struct io_job *io)
{
	struct job *job = container_of(io, struct job, io);

	job->ran++;
	if (pthread_equal(pthread_self(), loop_thread))
		on_loop_thread++; /* nobody else counts */
}

static unsigned int quick_jobs_on_the_loop(unsigned int cpus)
{
	struct job *jobs = jobs_new(8, where_run, job_done);
	cpu_set_t all, some;
	unsigned int i, n = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&some);
	for (i = 0; i < CPU_SETSIZE && n < cpus; i++) {
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &some);
			n++;
		}
	}
	ck_assert_int_eq(sched_setaffinity(0, sizeof(some), &some), 0);
	on_loop_thread = 0;
	left = 8;
	ck_assert_int_eq(ioqueue_new(&loop, 2, &queue), 0);
	for (i = 0; i < 8; i++)
		ioqueue_submit_quick(queue, &jobs[i].io);
	ck_assert_int_eq(loop_run(&loop), 0);
	for (i = 0; i < 8; i++) {
		ck_assert_uint_eq(jobs[i].ran, 1);
		ck_assert_uint_eq(jobs[i].done, 1);
	}
	free(jobs);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
	return on_loop_thread;
}

START_TEST(quick_jobs_stay_on_the_loop_where_there_is_one_cpu)
{
	ck_assert_uint_eq(quick_jobs_on_the_loop(1), 8);
}
END_TEST

START_TEST(quick_jobs_go_to_workers_where_there_are_two_cpus)
{
	cpu_set_t all;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2)
		skip_test("one CPU only");
	ck_assert_uint_eq(quick_jobs_on_the_loop(2), 0);
}
END_TEST

static pthread_barrier_t barrier;

static void barrier_run(struct io_job *io)
{
	struct job *job = container_of(io, struct job, io);

	job->ran++;
	pthread_barrier_wait(&barrier);
}

START_TEST(as_many_jobs_as_workers_run_at_once)
{
	struct job *jobs = jobs_new(4, barrier_run, job_done);
	unsigned int i;

	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 4), 0);
	ck_assert_int_eq(ioqueue_new(&loop, 4, &queue), 0);
	for (i = 0; i < 4; i++)
		jobs[i].again = 50;
	submit_all(jobs, 4);
	ck_assert_int_eq(loop_run(&loop), 0); /* or the deadline */
	pthread_barrier_destroy(&barrier);
	free(jobs);
}
END_TEST

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void gated_run(struct io_job *io)
{
	job_run(io);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

static void open_gate(struct io_job *io)
{
	pthread_mutex_unlock(&gate);
	job_done(io);
}

START_TEST(a_job_that_blocks_holds_up_no_later_round)
{
	struct job *slow = jobs_new(1, gated_run, job_done), *quick = jobs_new(1, job_run, open_gate);

	ck_assert_int_eq(ioqueue_new(&loop, 2, &queue), 0);
	pthread_mutex_lock(&gate);
	left = 2;
	ioqueue_submit(queue, &slow->io);
	ioqueue_submit(queue, &quick->io);
	ck_assert_int_eq(loop_run(&loop), 0); /* the gate opens only when the quick one is done */
	ck_assert_uint_eq(slow->done, 1);
	free(slow);
	free(quick);
}
END_TEST

static void free_queue(struct io_job *io)
{
	ck_assert(pthread_equal(pthread_self(), loop_thread));
	free(container_of(io, struct job, io));
	if (!--left) {
		ioqueue_free(queue);
		queue = NULL;
		loop_stop(&loop);
	}
}

START_TEST(the_last_done_may_free_its_job_and_the_queue)
{
	unsigned int i;

	ck_assert_int_eq(ioqueue_new(&loop, 3, &queue), 0);
	left = 10;
	for (i = 0; i < 10; i++)
		ioqueue_submit(queue, &jobs_new(1, job_run, free_queue)->io);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_ptr_null(queue);
}
END_TEST

static sigset_t worker_mask;
static char worker_name[16];

static void look_around(struct io_job *io)
{
	job_run(io);
	pthread_sigmask(SIG_SETMASK, NULL, &worker_mask);
	pthread_getname_np(pthread_self(), worker_name, sizeof(worker_name));
}

START_TEST(workers_have_a_name_and_take_no_signals)
{
	struct job *job = jobs_new(1, look_around, job_done);
	sigset_t before, after;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	ck_assert_int_eq(ioqueue_new(&loop, 1, &queue), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	submit_all(job, 1);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_int_eq(sigismember(&worker_mask, SIGTERM), 1);
	ck_assert_int_eq(sigismember(&worker_mask, SIGXFSZ), 1);
	ck_assert_int_eq(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
	ck_assert_str_eq(worker_name, "io");
	free(job);
}
END_TEST

START_TEST(numbers_of_workers_out_of_range_are_refused)
{
	ck_assert_int_eq(ioqueue_new(&loop, 0, &queue), -EINVAL);
	ck_assert_int_eq(ioqueue_new(&loop, 65, &queue), -EINVAL);
	ck_assert_ptr_null(queue);
	ioqueue_free(NULL);
}
END_TEST

START_TEST(without_descriptors_there_is_no_queue)
{
	struct rlimit limit, saved;
	int r;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &saved), 0);
	limit = saved;
	limit.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	r = ioqueue_new(&loop, 2, &queue);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &saved), 0);
	ck_assert_int_eq(r, -EMFILE);
	ck_assert_ptr_null(queue);
}
END_TEST

START_TEST(a_queue_that_was_never_used_ends_at_once)
{
	unsigned int i;

	for (i = 0; i < 50; i++) {
		ck_assert_int_eq(ioqueue_new(&loop, 4, &queue), 0);
		ioqueue_free(queue);
	}
	queue = NULL;
}
END_TEST

Suite *ioqueue_suite(void)
{
	Suite *s = suite_create("ioqueue");
	TCase *tc = tcase_create("jobs");

	tcase_set_timeout(tc, 90);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, every_job_runs_once_and_ends_once, 0, ARRAY_SIZE(threads));
	tcase_add_loop_test(tc, done_may_submit_again, 0, ARRAY_SIZE(threads));
	tcase_add_test(tc, one_worker_runs_jobs_in_order_and_brings_shares_back_together);
	tcase_add_test(tc, quick_jobs_stay_on_the_loop_where_there_is_one_cpu);
	tcase_add_test(tc, quick_jobs_go_to_workers_where_there_are_two_cpus);
	tcase_add_test(tc, as_many_jobs_as_workers_run_at_once);
	tcase_add_test(tc, a_job_that_blocks_holds_up_no_later_round);
	tcase_add_test(tc, the_last_done_may_free_its_job_and_the_queue);
	tcase_add_test(tc, workers_have_a_name_and_take_no_signals);
	tcase_add_test(tc, numbers_of_workers_out_of_range_are_refused);
	tcase_add_test(tc, without_descriptors_there_is_no_queue);
	tcase_add_test(tc, a_queue_that_was_never_used_ends_at_once);
	suite_add_tcase(s, tc);
	return s;
}
