/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Streams over pipes, sockets and files: what comes through, in which order, and that nothing keeps them waiting for good. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/stream.h"
#include "common/util.h"
#include "tree.h"

Suite *stream_suite(void);

static int ends[2]; /* reading and writing */
static struct stream stream;
static uint8_t bytes[300000], got[sizeof(bytes) + 1];

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	tree_setup();
	ck_assert_int_eq(pipe(ends), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i ^ i >> 8 ^ i >> 16);
}

static void teardown(void)
{
	stream_done(&stream);
	close(ends[0]);
	close(ends[1]);
	tree_teardown();
}

/* ---- the other end ------------------------------------------------------------------------------------------ */

static void *write_in_pieces(void *arg)
{
	size_t done = 0;

	for (size_t piece = 1; done < sizeof(bytes); piece = piece * 3 + 1) {
		ssize_t n = write(ends[1], bytes + done, min_size(piece, sizeof(bytes) - done));

		ck_assert_int_gt(n, 0);
		done += (size_t)n;
	}
	close(ends[1]);
	return NULL;
}

static void *read_all(void *arg)
{
	size_t *total = arg;
	ssize_t n;

	while ((n = read(ends[0], got + *total, sizeof(got) - *total)) > 0)
		*total += (size_t)n;
	return NULL;
}

/* Cancels when somebody waits in poll(2), as far as that can be seen. */
static void *cancel(void *arg)
{
	stream_cancel(&stream);
	return NULL;
}

/* ---- */

START_TEST(short_reads_are_filled_up)
{
	pthread_t writer;

	ck_assert_int_eq(stream_init(&stream, ends[0]), 0);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_in_pieces, NULL), 0);
	ck_assert_int_eq(stream_read(&stream, got, 100000), 100000);
	ck_assert_int_eq(stream_read(&stream, got + 100000, 100000), 100000);
	ck_assert_int_eq(stream_read(&stream, got + 200000, 200000 - 99999), 100000);
	ck_assert_int_eq(stream_read(&stream, got, 1), 0);
	pthread_join(writer, NULL);
	ck_assert_mem_eq(got, bytes, sizeof(bytes));
}
END_TEST

START_TEST(all_is_written_to_a_slow_reader)
{
	size_t total = 0;
	pthread_t reader;

	ck_assert_int_eq(stream_init(&stream, ends[1]), 0);
	ck_assert_int_eq(pthread_create(&reader, NULL, read_all, &total), 0);
	ck_assert_int_eq(stream_write(&stream, bytes, 200000, 0), 0);
	ck_assert_int_eq(stream_write(&stream, bytes + 200000, 100000, 200000), 0);
	close(ends[1]);
	pthread_join(reader, NULL);
	ck_assert_uint_eq(total, sizeof(bytes));
	ck_assert_mem_eq(got, bytes, sizeof(bytes));
}
END_TEST

START_TEST(a_stream_has_no_holes)
{
	ck_assert_int_eq(stream_init(&stream, ends[1]), 0);
	ck_assert_int_eq(stream_write(&stream, "a", 1, (uint64_t)1 << 62), -EINVAL);
	ck_assert_int_eq(stream_write(&stream, "a", 1, 1), -EINVAL);
	ck_assert_int_eq(stream_write(&stream, "a", 1, 0), 0);
	ck_assert_int_eq(stream_write(&stream, NULL, 0, 6), -EINVAL);
	ck_assert_int_eq(stream_write(&stream, NULL, 0, 1), 0);
	ck_assert_int_eq(read(ends[0], got, sizeof(got)), 1);
}
END_TEST

START_TEST(what_belongs_before_the_end_is_refused)
{
	ck_assert_int_eq(stream_init(&stream, ends[1]), 0);
	ck_assert_int_eq(stream_write(&stream, "abc", 3, 0), 0);
	ck_assert_int_eq(stream_write(&stream, "x", 1, 2), -EINVAL);
	ck_assert_int_eq(stream_write(&stream, NULL, 0, 0), -EINVAL);
}
END_TEST

START_TEST(a_reader_that_is_gone_is_an_error)
{
	ck_assert_int_eq(stream_init(&stream, ends[1]), 0);
	close(ends[0]);
	ck_assert_int_eq(stream_write(&stream, "x", 1, 0), -EPIPE);
}
END_TEST

START_TEST(a_read_that_waits_is_cancelled)
{
	pthread_t other;

	ck_assert_int_eq(stream_init(&stream, ends[0]), 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert_int_eq(pthread_create(&other, NULL, cancel, NULL), 0);
	ck_assert_int_eq(stream_read(&stream, got, 2), -ECANCELED);
	pthread_join(other, NULL);
	ck_assert_int_eq(stream_read(&stream, got, 1), -ECANCELED);
}
END_TEST

START_TEST(a_write_that_waits_is_cancelled)
{
	pthread_t other;

	ck_assert_int_eq(stream_init(&stream, ends[1]), 0);
	ck_assert_int_eq(pthread_create(&other, NULL, cancel, NULL), 0);
	ck_assert_int_eq(stream_write(&stream, bytes, sizeof(bytes), 0), -ECANCELED);
	pthread_join(other, NULL);
}
END_TEST

START_TEST(a_socket_is_a_stream)
{
	size_t total = 0;
	pthread_t reader;

	close(ends[0]);
	close(ends[1]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert_int_eq(stream_init(&stream, ends[1]), 0);
	ck_assert_int_eq(pthread_create(&reader, NULL, read_all, &total), 0);
	ck_assert_int_eq(stream_write(&stream, bytes, sizeof(bytes), 0), 0);
	shutdown(ends[1], SHUT_WR);
	pthread_join(reader, NULL);
	ck_assert_uint_eq(total, sizeof(bytes));
}
END_TEST

START_TEST(a_file_goes_on_where_it_stands)
{
	struct stream in;
	int fd;

	tree_write("f", "head,");
	fd = open("f", O_RDWR | O_APPEND | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(stream_init(&stream, fd), 0);
	ck_assert(stream.regular);
	ck_assert_int_eq(stream_write(&stream, "tail", 4, 0), 0);
	ck_assert_int_eq(stream_sync(&stream), 0);
	tree_expect("f", "head,tail");
	ck_assert_int_eq(lseek(fd, 2, SEEK_SET), 2);
	ck_assert_int_eq(stream_init(&in, fd), 0);
	ck_assert_int_eq(stream_read(&in, got, sizeof(got)), 7);
	ck_assert_mem_eq(got, "ad,tail", 7);
	stream_done(&in);
	close(fd);
}
END_TEST

START_TEST(what_would_block_for_others_waits_here)
{
	pthread_t writer;

	ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(stream_init(&stream, ends[0]), 0);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_in_pieces, NULL), 0);
	ck_assert_int_eq(stream_read(&stream, got, sizeof(got)), sizeof(bytes));
	pthread_join(writer, NULL);
}
END_TEST

START_TEST(a_descriptor_that_is_not_open_is_an_error)
{
	ck_assert_int_eq(stream_init(&stream, 999), -EBADF);
}
END_TEST

Suite *stream_suite(void)
{
	Suite *s = suite_create("stream");
	TCase *tc = tcase_create("stream");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, short_reads_are_filled_up);
	tcase_add_test(tc, all_is_written_to_a_slow_reader);
	tcase_add_test(tc, a_stream_has_no_holes);
	tcase_add_test(tc, what_belongs_before_the_end_is_refused);
	tcase_add_test(tc, a_reader_that_is_gone_is_an_error);
	tcase_add_test(tc, a_read_that_waits_is_cancelled);
	tcase_add_test(tc, a_write_that_waits_is_cancelled);
	tcase_add_test(tc, a_socket_is_a_stream);
	tcase_add_test(tc, a_file_goes_on_where_it_stands);
	tcase_add_test(tc, what_would_block_for_others_waits_here);
	tcase_add_test(tc, a_descriptor_that_is_not_open_is_an_error);
	suite_add_tcase(s, tc);
	return s;
}
