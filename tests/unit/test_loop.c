/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loop: order within a round, and everything a callback may do to its neighbours and to itself. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/util.h"

Suite *loop_suite(void);

static struct loop loop;
static char order[64]; /* what ran, one letter each */
static size_t order_len;

static void note(char what)
{
	ck_assert_uint_lt(order_len, sizeof(order) - 1);
	order[order_len++] = what;
	order[order_len] = '\0';
}

static void on_deadline(struct loop_timer *t)
{
	ck_abort_msg("the loop did not stop; so far: '%s'", order);
}

static struct loop_timer deadline = { .expired = on_deadline };

static void setup(void)
{
	order[0] = '\0';
	order_len = 0;
	ck_assert_int_eq(loop_init(&loop), 0);
	loop_timer_set(&loop, &deadline, now_ns() + 20 * SEC);
}

static void teardown(void)
{
	loop_timer_cancel(&loop, &deadline);
	loop_done(&loop);
}

static int ready_fd(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* ---- sources ------------------------------------------------------------------------------------------------ */

struct neighbour {
	struct loop_source source;
	struct neighbour *other;
};

static struct neighbour *neighbour_new(void (*ready)(struct loop_source *s, uint32_t revents))
{
	struct neighbour *n = calloc(1, sizeof(*n));

	ck_assert_ptr_nonnull(n);
	n->source.fd = ready_fd();
	n->source.events = EPOLLIN;
	n->source.ready = ready;
	ck_assert_int_eq(loop_add(&loop, &n->source), 0);
	return n;
}

static void neighbour_free(struct neighbour *n)
{
	loop_remove(&loop, &n->source);
	close(n->source.fd);
	free(n);
}

static void free_other_and_self(struct loop_source *s, uint32_t revents)
{
	struct neighbour *n = container_of(s, struct neighbour, source);

	note('r');
	neighbour_free(n->other);
	neighbour_free(n);
	loop_stop(&loop);
}

START_TEST(a_source_removed_in_its_batch_is_not_called)
{
	struct neighbour *a = neighbour_new(free_other_and_self), *b = neighbour_new(free_other_and_self);

	a->other = b;
	b->other = a;
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "r");
}
END_TEST

static void replace_other(struct loop_source *s, uint32_t revents)
{
	struct neighbour *n = container_of(s, struct neighbour, source);
	eventfd_t value;

	note('a');
	if (!n->other) {
		loop_stop(&loop);
		return;
	}
	eventfd_read(n->source.fd, &value);
	eventfd_read(n->other->source.fd, &value);
	loop_remove(&loop, &n->other->source);
	ck_assert_int_eq(loop_add(&loop, &n->other->source), 0); /* new, and not readable */
	n->other->other = NULL;
	n->other = NULL;
	eventfd_write(n->source.fd, 1);
}

START_TEST(a_source_added_again_in_its_batch_waits_for_the_next_round)
{
	struct neighbour *a = neighbour_new(replace_other), *b = neighbour_new(replace_other);

	a->other = b;
	b->other = a;
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "aa"); /* the first one twice, the second never */
	neighbour_free(a);
	neighbour_free(b);
}
END_TEST

static void count_and_drain(struct loop_source *s, uint32_t revents)
{
	struct neighbour *n = container_of(s, struct neighbour, source);
	eventfd_t value;

	ck_assert_uint_eq(revents, EPOLLIN);
	ck_assert_int_eq(eventfd_read(n->source.fd, &value), 0);
	if (++order_len == 200)
		loop_stop(&loop);
}

START_TEST(more_sources_than_one_wait_reports_are_all_called)
{
	struct neighbour *all[200];
	size_t i;

	for (i = 0; i < 200; i++)
		all[i] = neighbour_new(count_and_drain);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_uint_eq(order_len, 200);
	for (i = 0; i < 200; i++)
		neighbour_free(all[i]);
	order_len = 0;
}
END_TEST

static struct neighbour *switched;

static void on_switched(struct loop_source *s, uint32_t revents)
{
	note('r');
	loop_stop(&loop);
}

static void switch_on(struct loop_timer *t)
{
	note('t');
	ck_assert_int_eq(loop_modify(&loop, &switched->source, EPOLLIN), 0);
}

START_TEST(a_source_without_events_is_not_called_until_it_has_some)
{
	struct loop_timer t = { .expired = switch_on };

	switched = neighbour_new(on_switched);
	ck_assert_int_eq(loop_modify(&loop, &switched->source, 0), 0);
	loop_timer_set(&loop, &t, now_ns() + MSEC);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "tr");
	neighbour_free(switched);
}
END_TEST

START_TEST(adding_what_cannot_be_watched_is_refused)
{
	struct neighbour *n = neighbour_new(on_switched);
	struct loop_source bad = { .fd = -1, .events = EPOLLIN, .ready = on_switched };

	ck_assert_int_eq(loop_add(&loop, &n->source), -EEXIST);
	ck_assert_int_eq(loop_add(&loop, &bad), -EBADF);
	loop_remove(&loop, &n->source);
	ck_assert_int_eq(loop_modify(&loop, &n->source, EPOLLOUT), -ENOENT);
	ck_assert_uint_eq(n->source.events, EPOLLIN);
	loop_remove(&loop, &n->source); /* once more is fine */
	close(n->source.fd);
	free(n);
}
END_TEST

/* ---- timers ------------------------------------------------------------------------------------------------- */

struct letter_timer {
	struct loop_timer timer;
	char letter;
	uint64_t at, ran;
	struct letter_timer *cancels;
	bool stops, again;
};

static void on_letter(struct loop_timer *timer)
{
	struct letter_timer *t = container_of(timer, struct letter_timer, timer);

	note(t->letter);
	t->ran = loop_now(&loop);
	if (t->cancels)
		loop_timer_cancel(&loop, &t->cancels->timer);
	if (t->again) {
		t->again = false;
		loop_timer_set(&loop, timer, 0);
	}
	if (t->stops)
		loop_stop(&loop);
}

static void set(struct letter_timer *t, char letter, uint64_t at)
{
	t->timer.expired = on_letter;
	t->letter = letter;
	t->at = at;
	loop_timer_set(&loop, &t->timer, at);
}

START_TEST(timers_run_in_order_of_time_and_never_early)
{
	struct letter_timer t[4] = { 0 };
	uint64_t base = now_ns();
	int i;

	set(&t[0], 'c', base + 5 * MSEC);
	set(&t[1], 'a', base + MSEC);
	set(&t[2], 'b', base + 3 * MSEC + 1);
	set(&t[3], 'd', base + 5 * MSEC); /* the same time: as they were set */
	t[3].stops = true;
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "abcd");
	for (i = 0; i < 4; i++) {
		ck_assert_uint_ge(t[i].ran, t[i].at);
		ck_assert_uint_eq(t[i].timer.at_ns, 0);
	}
}
END_TEST

START_TEST(a_timer_set_again_moves)
{
	struct letter_timer a = { 0 }, b = { .stops = true };
	uint64_t base = now_ns();

	set(&a, 'a', base + MSEC);
	set(&b, 'b', base + 2 * MSEC);
	set(&a, 'a', base + 10 * SEC);
	set(&a, 'a', base + 10 * SEC);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "b");
	loop_timer_cancel(&loop, &a.timer);
	loop_timer_cancel(&loop, &a.timer);
	ck_assert_ptr_eq(loop.timers, &deadline);
}
END_TEST

START_TEST(a_timer_cancelled_by_one_that_expired_with_it_does_not_run)
{
	struct letter_timer a = { 0 }, b = { 0 }, c = { .stops = true };
	uint64_t base = now_ns();

	a.cancels = &b;
	set(&a, 'a', base + MSEC);
	set(&b, 'b', base + MSEC);
	set(&c, 'c', base + MSEC);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "ac");
}
END_TEST

static struct loop_task round_task;

static void on_round(struct loop_task *t)
{
	note('.');
}

static void on_timer_with_task(struct loop_timer *timer)
{
	loop_defer(&loop, &round_task);
	on_letter(timer);
}

START_TEST(a_timer_that_sets_itself_to_the_past_waits_for_the_next_round)
{
	struct letter_timer a = { .again = true }, b = { .stops = true };

	round_task.run = on_round;
	set(&b, 'b', now_ns() + 2 * MSEC);
	set(&a, 'a', 0);
	a.timer.expired = on_timer_with_task;
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "a.a.b");
}
END_TEST

/* ---- tasks -------------------------------------------------------------------------------------------------- */

struct letter_task {
	struct loop_task task;
	char letter;
	struct loop_task *defers, *undefers;
	bool stops;
};

static void on_task(struct loop_task *task)
{
	struct letter_task *t = container_of(task, struct letter_task, task);

	note(t->letter);
	if (t->defers)
		loop_defer(&loop, t->defers);
	if (t->undefers)
		loop_undefer(&loop, t->undefers);
	if (t->stops)
		loop_stop(&loop);
}

#define TASK(l, ...)                                            \
	{                                                       \
		.task.run = on_task, .letter = (l), __VA_ARGS__ \
	}

START_TEST(tasks_run_once_in_order_before_the_first_wait)
{
	struct letter_task a = TASK('a'), b = TASK('b'), c = TASK('c', .stops = true);

	loop_defer(&loop, &a.task);
	loop_defer(&loop, &b.task);
	loop_defer(&loop, &a.task);
	loop_defer(&loop, &c.task);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "abc");
	ck_assert(!a.task.queued);
}
END_TEST

START_TEST(a_task_deferred_by_a_task_runs_in_the_same_round)
{
	struct letter_task b = TASK('b'), a = TASK('a', .defers = &b.task, .stops = true);

	loop_defer(&loop, &a.task);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "ab");
}
END_TEST

START_TEST(an_undeferred_task_does_not_run_and_the_queue_stays_whole)
{
	struct letter_task a = TASK('a'), b = TASK('b'), c = TASK('c'), d = TASK('d', .stops = true);

	loop_defer(&loop, &a.task);
	loop_defer(&loop, &b.task);
	loop_defer(&loop, &c.task);
	loop_undefer(&loop, &b.task); /* in the middle */
	loop_undefer(&loop, &c.task); /* the last: the tail moves back */
	loop_undefer(&loop, &c.task); /* not there any more */
	loop_defer(&loop, &d.task);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "ad");
	loop_defer(&loop, &a.task);
	loop_undefer(&loop, &a.task); /* the only one */
	loop_defer(&loop, &d.task);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "add");
}
END_TEST

START_TEST(a_task_undeferred_by_another_does_not_run)
{
	struct letter_task b = TASK('b'), a = TASK('a', .undefers = &b.task, .stops = true);

	loop_defer(&loop, &a.task);
	loop_defer(&loop, &b.task);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "a");
}
END_TEST

static struct letter_task last_task = TASK('k');

static void on_source_of_round(struct loop_source *s, uint32_t revents)
{
	note('s');
	loop_defer(&loop, &last_task.task);
	loop_stop(&loop);
}

START_TEST(a_round_is_finished_after_stop)
{
	struct neighbour *n = neighbour_new(on_source_of_round);
	struct letter_timer t = { 0 };

	set(&t, 't', 0);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_str_eq(order, "stk");
	neighbour_free(n);
}
END_TEST

/* ---- the rest ----------------------------------------------------------------------------------------------- */

static void on_signal(int sig)
{
}

static void *send_signals(void *arg)
{
	pthread_t target = *(pthread_t *)arg;
	int i;

	for (i = 0; i < 50; i++) {
		ck_assert_int_eq(pthread_kill(target, SIGUSR1), 0);
		sched_yield();
	}
	return NULL;
}

START_TEST(a_signal_does_not_end_the_loop)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct letter_timer t = { .stops = true };
	pthread_t self = pthread_self(), thread;

	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	set(&t, 't', now_ns() + 20 * MSEC);
	ck_assert_int_eq(pthread_create(&thread, NULL, send_signals, &self), 0);
	ck_assert_int_eq(loop_run(&loop), 0);
	pthread_join(thread, NULL);
	ck_assert_str_eq(order, "t");
}
END_TEST

START_TEST(without_descriptors_there_is_no_loop)
{
	struct rlimit limit, saved;
	struct loop other;
	int r;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &saved), 0);
	limit = saved;
	limit.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	r = loop_init(&other);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &saved), 0);
	ck_assert_int_eq(r, -EMFILE);
	loop_done(&other);
}
END_TEST

START_TEST(a_broken_epoll_descriptor_ends_the_loop_with_its_error)
{
	int fd = loop.epoll_fd;

	loop.epoll_fd = -1;
	ck_assert_int_eq(loop_run(&loop), -EBADF);
	loop.epoll_fd = fd;
}
END_TEST

Suite *loop_suite(void)
{
	Suite *s = suite_create("loop");
	TCase *tc = tcase_create("rounds");

	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_source_removed_in_its_batch_is_not_called);
	tcase_add_test(tc, a_source_added_again_in_its_batch_waits_for_the_next_round);
	tcase_add_test(tc, more_sources_than_one_wait_reports_are_all_called);
	tcase_add_test(tc, a_source_without_events_is_not_called_until_it_has_some);
	tcase_add_test(tc, adding_what_cannot_be_watched_is_refused);
	tcase_add_test(tc, timers_run_in_order_of_time_and_never_early);
	tcase_add_test(tc, a_timer_set_again_moves);
	tcase_add_test(tc, a_timer_cancelled_by_one_that_expired_with_it_does_not_run);
	tcase_add_test(tc, a_timer_that_sets_itself_to_the_past_waits_for_the_next_round);
	tcase_add_test(tc, tasks_run_once_in_order_before_the_first_wait);
	tcase_add_test(tc, a_task_deferred_by_a_task_runs_in_the_same_round);
	tcase_add_test(tc, an_undeferred_task_does_not_run_and_the_queue_stays_whole);
	tcase_add_test(tc, a_task_undeferred_by_another_does_not_run);
	tcase_add_test(tc, a_round_is_finished_after_stop);
	tcase_add_test(tc, a_signal_does_not_end_the_loop);
	tcase_add_test(tc, without_descriptors_there_is_no_loop);
	tcase_add_test(tc, a_broken_epoll_descriptor_ends_the_loop_with_its_error);
	suite_add_tcase(s, tc);
	return s;
}
