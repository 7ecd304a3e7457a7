// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The thread that takes the signals. main starts it, client.c listens to it; what they share is atomic. It lives as long as the
 * process.
 */
#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/util.h"

#define GRACE_NS 1900000000ULL /* from the signal to the end of it all */

static int wake_fd = -1;
static sigset_t ending, all;
static atomic_int caught;
static atomic_bool asked, spoken, listening;
static atomic_uint_fast64_t copied;

static void wake(void)
{
	if (eventfd_write(wake_fd, 1) < 0)
		return; /* it is readable already */
}

/* Until the user asks again, or time is up. */
static void wait_for_another(void)
{
	uint64_t now = now_ns(), until = now + GRACE_NS;
	struct timespec left;

	do {
		left = (struct timespec){ .tv_sec = (time_t)((until - now) / SEC),
					  .tv_nsec = (long)((until - now) % SEC) };
		if (sigtimedwait(&ending, NULL, &left) > 0)
			return;
		now = now_ns();
	} while (errno == EINTR && now < until);
}

/* A terminal that takes nothing (^S) must not keep us. */
static void say_last_word(void)
{
	struct pollfd pfd = { .fd = STDERR_FILENO, .events = POLLOUT };
	unsigned long long n = atomic_load(&copied);

	if (interrupt_may_speak() && poll(&pfd, 1, 0) == 1)
		log_err("interrupted, %llu file%s copied", n, n == 1 ? " was" : "s were");
}

static void *watch(void *arg)
{
	sigset_t one;
	int n;

	for (;;) {
		if (sigwait(&all, &n) != 0)
			continue;
		if (sigismember(&ending, n))
			break;
		atomic_store(&asked, true);
		wake();
	}
	atomic_store(&caught, n);
	wake();
	if (atomic_load(&listening))
		wait_for_another();
	say_last_word();
	signal(n, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, n);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(n);
	return arg;
}

/* What was ignored when we were started is for somebody else: nohup(1), trap '', a job that a script put into the background. */
static void choose_signals(void)
{
	static const int candidates[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction before;

	sigemptyset(&ending);
	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++)
		if (sigaction(candidates[i], NULL, &before) < 0 || before.sa_handler != SIG_IGN)
			sigaddset(&ending, candidates[i]);
	all = ending;
	sigaddset(&all, SIGUSR1);
#ifdef SIGINFO
	sigaddset(&all, SIGINFO);
#endif
}

int interrupt_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0)
		return -errno;
	choose_signals();
	/* For good: later threads inherit it. */
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, watch, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

int interrupt_fd(void)
{
	atomic_store(&listening, true);
	return wake_fd;
}

int interrupt_signal(void)
{
	return atomic_load(&caught);
}

bool interrupt_is_asked(void)
{
	return atomic_exchange(&asked, false);
}

void interrupt_count(uint64_t files)
{
	atomic_store(&copied, files);
}

bool interrupt_may_speak(void)
{
	return !atomic_exchange(&spoken, true);
}
