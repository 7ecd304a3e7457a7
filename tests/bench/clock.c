/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A clock for perftest where system calls are slow: preloaded into ib_send_bw and ib_write_bw by tests/bench/guest.
 *
 * perftest counts processor cycles during the transfer, and learns what a cycle is after it, in a loop of gettimeofday().
 * Both ends do that at one time. In User-Mode Linux, with one processor, no vdso and 15 us to a system call, they disturb
 * each other so much that it often gives up ("Correlation coefficient r^2: 0.7 < 0.9", "Can't produce a report"). Here
 * gettimeofday() is the cycle counter, measured against the kernel's clock over the time from the program's start to its
 * first call. What perftest measures stays its own.
 *
 * The first call is also the end of the transfer: the first line of /proc/stat at that moment goes into the file named by
 * BENCH_STAT, so that the loop does not count as work. Failing to write it is silent, and noticed by the script.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double start_cycles, start_us, us_per_cycle;

static double cycles(void)
{
	return (double)__builtin_ia32_rdtsc();
}

/* The kernel's clock in us, and the cycle counter at that moment: of several tries the one that was disturbed least. */
static double pair(double *ret_cycles)
{
	double best = 0, us = 0;
	int i;

	for (i = 0; i < 30; i++) {
		struct timespec ts;
		double a = cycles(), b;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		b = cycles();
		if (i && b - a >= best)
			continue;
		best = b - a;
		*ret_cycles = a + best / 2;
		us = (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
	}
	return us;
}

static void __attribute__((constructor)) start(void)
{
	start_us = pair(&start_cycles);
}

static void note_busy(void)
{
	const char *path = getenv("BENCH_STAT");
	char line[512];
	ssize_t n;
	int fd;

	fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, line, sizeof(line));
	if (fd >= 0)
		close(fd);
	fd = path && n > 0 ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)n) != n)
		unlink(path);
	close(fd);
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	double us;

	if (us_per_cycle == 0) {
		double now_cycles, now_us;

		note_busy();
		do
			now_us = pair(&now_cycles);
		while (now_us - start_us < 100e3); /* long enough for 15 us of error */
		us_per_cycle = (now_us - start_us) / (now_cycles - start_cycles);
	}
	us = start_us + (cycles() - start_cycles) * us_per_cycle;
	tv->tv_sec = (time_t)(us / 1e6);
	tv->tv_usec = (suseconds_t)(us - (double)tv->tv_sec * 1e6);
	return 0;
}
