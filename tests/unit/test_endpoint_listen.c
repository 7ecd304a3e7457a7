/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The stream transport's listener: strangers who send nothing, or nonsense, or come when descriptors have run out. What
 * both transports promise of a listener is in test_endpoint.c.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/util.h"
#include "endpoint_raw.h"
#include "skip.h"

Suite *endpoint_listen_suite(void);

static void stranger_is_hung_up_on(const void *data, size_t len)
{
	pair_init(&pair, 0);
	pair_listen(&pair);
	raw_take(connect_raw());
	raw_send(data, len);
	pair_run(&pair, raw_ended);
	raw_close();
	ck_assert_ptr_null(pair.request);
	ck_assert_ptr_null(pair.server.ep);
	pair_connect(&pair); /* and nobody else minds */
	pair_done(&pair);
}

START_TEST(stranger_without_a_request_is_hung_up_on)
{
	static const char http[] = "GET /index.html HTTP/1.1\r\n\r\n";
	uint8_t buf[HEADER];

	_Static_assert(sizeof(http) > HEADER, "less would be waited for");
	stranger_is_hung_up_on(http, sizeof(http) - 1);
	stranger_is_hung_up_on(buf, frame(buf, REQ, 257, 0, 0));
	stranger_is_hung_up_on(buf, frame(buf, REQ, UINT32_MAX, 0, 0));
	stranger_is_hung_up_on(buf, frame(buf, SEND, 5, 0, 0));
}
END_TEST

static unsigned int ended(const int *fds, unsigned int n)
{
	unsigned int count = 0;
	char c;

	for (unsigned int i = 0; i < n; i++)
		count += recv(fds[i], &c, 1, MSG_DONTWAIT) == 0;
	return count;
}

START_TEST(silent_strangers_keep_nobody_out)
{
	int fds[80];

	pair_init(&pair, 0);
	pair_listen(&pair);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_raw();
	pair_connect(&pair);
	/* 64 places, one of which the client took: the first have gone, the last are still waited for */
	ck_assert_uint_eq(ended(fds, 17), 17);
	ck_assert_uint_eq(ended(fds + 17, 63), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	pair_done(&pair);
}
END_TEST

START_TEST(silent_stranger_has_five_seconds)
{
	uint64_t start;

	pair_init(&pair, 0);
	pair_listen(&pair);
	start = now_ns();
	raw_take(connect_raw());
	raw_send("r", 1);
	pair_run(&pair, raw_ended);
	ck_assert_uint_ge(now_ns() - start, 4 * SEC);
	ck_assert_uint_lt(now_ns() - start, 8 * SEC);
	raw_close();
	pair_done(&pair);
}
END_TEST

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void set_descriptor_limit(rlim_t n)
{
	struct rlimit rl;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = n;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
}

static rlim_t descriptor_limit(void)
{
	struct rlimit rl;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	return rl.rlim_cur;
}

START_TEST(caller_is_hung_up_on_when_descriptors_run_out)
{
	rlim_t limit = descriptor_limit();
	int fds[64];
	unsigned int n = 0;

	pair_init(&pair, 0);
	pair_listen(&pair);
	raw_take(connect_raw());
	set_descriptor_limit(64);
	while (n < ARRAY_SIZE(fds) && (fds[n] = dup(raw.source.fd)) >= 0)
		n++;
	ck_assert_int_eq(errno, EMFILE);
	pair_run(&pair, raw_ended);
	while (n)
		close(fds[--n]);
	set_descriptor_limit(limit);
	raw_close();
	pair_connect(&pair);
	pair_done(&pair);
}
END_TEST

START_TEST(listener_without_any_descriptor_does_not_spin_and_recovers)
{
	rlim_t limit = descriptor_limit();
	struct endpoint_request *rq;
	unsigned int calls = 0;

	pair_init(&pair, 0);
	pair_listen(&pair);
	raw_take(connect_raw());
	set_descriptor_limit(0);
	while (readable(endpoint_listener_fd(pair.listener))) {
		ck_assert_int_eq(endpoint_listener_next(pair.listener, &rq), 0);
		ck_assert_uint_lt(++calls, 10);
	}
	set_descriptor_limit(limit);
	raw_close();
	pair_connect(&pair); /* within a tick */
	pair_done(&pair);
}
END_TEST

START_TEST(wildcards_of_both_families_share_a_port)
{
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };
	struct endpoint_listener *l = NULL;
	struct endpoint_fault fault;
	int r;

	pair_init(&pair, 0);
	((struct sockaddr_in *)&pair.addr)->sin_addr.s_addr = htonl(INADDR_ANY);
	pair_listen(&pair);
	any6.sin6_port = ((struct sockaddr_in *)&pair.addr)->sin_port;
	r = endpoint_listen(&endpoint_stream, (struct sockaddr *)&any6, sizeof(any6), &l, &fault);
	endpoint_listener_free(l);
	pair_done(&pair);
	if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
		skip_test("no IPv6 here");
	ck_assert_int_eq(r, 0);
}
END_TEST

START_TEST(request_outlives_its_listener)
{
	pair_init(&pair, 0);
	pair.server.stop = STOP_REQUESTED;
	pair_listen(&pair);
	pair_start(&pair);
	pair_run(&pair, request_kept);
	loop_remove(&pair.loop, &pair.listener_source);
	endpoint_listener_free(pair.listener);
	pair.listener = NULL;
	pair.server.stop = STOP_NEVER;
	side_accept(&pair.server);
	pair_run(&pair, client_connected);
	pair_done(&pair);
}
END_TEST

START_TEST(listener_leaves_no_descriptors_behind)
{
	unsigned int before = open_descriptors();
	int fd;

	pair_init(&pair, 0);
	pair.server.stop = STOP_REQUESTED;
	pair_listen(&pair);
	fd = connect_raw();
	pair_start(&pair);
	pair_run(&pair, request_kept);
	pair_done(&pair); /* a silent stranger and a request that nobody took */
	close(fd);
	ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

static TCase *strangers_case(void)
{
	TCase *tc = endpoint_tcase("strangers");

	tcase_add_test(tc, stranger_without_a_request_is_hung_up_on);
	tcase_add_test(tc, silent_strangers_keep_nobody_out);
	tcase_add_test(tc, silent_stranger_has_five_seconds);
	tcase_add_test(tc, caller_is_hung_up_on_when_descriptors_run_out);
	tcase_add_test(tc, listener_without_any_descriptor_does_not_spin_and_recovers);
	tcase_add_test(tc, wildcards_of_both_families_share_a_port);
	tcase_add_test(tc, request_outlives_its_listener);
	tcase_add_test(tc, listener_leaves_no_descriptors_behind);
	return tc;
}

Suite *endpoint_listen_suite(void)
{
	Suite *s = suite_create("endpoint_listen");

	suite_add_tcase(s, strangers_case());
	return s;
}
