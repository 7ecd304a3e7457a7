/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptors on which somebody has set O_NONBLOCK: nothing is lost, and what cannot be written is told. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/standard.h"

Suite *standard_suite(void);

#define BYTES 300000

static int fds[2];
static char written[BYTES], got[BYTES];

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	for (size_t i = 0; i < BYTES; i++)
		written[i] = (char)(i * 7 + i / 251);
}

static void teardown(void)
{
	close(fds[0]);
	close(fds[1]);
}

static void *write_all(void *arg)
{
	*(int *)arg = standard_write(fds[1], written, BYTES);
	close(fds[1]);
	fds[1] = -1;
	return NULL;
}

/* Either side finds the pipe full or empty again and again. */
START_TEST(a_full_and_an_empty_pipe_are_waited_for)
{
	pthread_t writer;
	size_t used = 0;
	ssize_t n;
	int r = 1;

	ck_assert_int_eq(pthread_create(&writer, NULL, write_all, &r), 0);
	while ((n = standard_read(fds[0], got + used, BYTES - used)) > 0)
		used += (size_t)n;
	pthread_join(writer, NULL);
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(n, 0);
	ck_assert_uint_eq(used, BYTES);
	ck_assert(memcmp(got, written, BYTES) == 0);
}
END_TEST

START_TEST(what_cannot_be_written_or_read_is_an_error)
{
	char byte = 'x';

	close(fds[0]);
	fds[0] = -1;
	ck_assert_int_eq(standard_write(fds[1], &byte, 1), -EPIPE);
	ck_assert_int_eq(standard_write(-1, &byte, 1), -EBADF);
	ck_assert_int_eq((int)standard_read(-1, &byte, 1), -EBADF);
}
END_TEST

/* In a process of its own, whose standard output can be replaced. Returns what standard_flush() said of `text`. */
static int flush_into(const char *file, const char *text)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int fd = open(file, O_WRONLY | O_CLOEXEC);

		dup2(fd, STDOUT_FILENO);
		standard_open();
		printf("%s", text);
		fflush(stdout);
		_exit(-standard_flush());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(the_first_error_of_standard_output_is_remembered)
{
	ck_assert_int_eq(flush_into("/dev/full", "text"), ENOSPC);
	ck_assert_int_eq(flush_into("/dev/full", ""), 0);
	ck_assert_int_eq(flush_into("/dev/null", "text"), 0);
}
END_TEST

Suite *standard_suite(void)
{
	Suite *s = suite_create("standard");
	TCase *tc = tcase_create("nonblocking");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_full_and_an_empty_pipe_are_waited_for);
	tcase_add_test(tc, what_cannot_be_written_or_read_is_an_error);
	tcase_add_test(tc, the_first_error_of_standard_output_is_remembered);
	suite_add_tcase(s, tc);
	return s;
}
