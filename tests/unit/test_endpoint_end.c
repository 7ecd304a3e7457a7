/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The endpoint's contract, see test_endpoint.c: every way in which a connection ends. closed() comes once, after the last
 * written(), whoever ends it and wherever.
 */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/util.h"
#include "common/wire.h"
#include "endpoint_pair.h"

Suite *endpoint_end_suite(void);

static struct pair pair;

static struct post posts[16];

/* ---- ends --------------------------------------------------------------------------------------------------- */

static void expect_failed_once(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_uint_eq(posts[i].calls, 1);
		ck_assert_int_lt(posts[i].status, 0);
		ck_assert(!posts[i].after_closed);
	}
}

static void post_unnamed_writes(void)
{
	for (unsigned int i = 0; i < pair.client.slab.slots; i++)
		ck_assert_int_eq(side_write(&pair.client, &posts[i], i, 0, pair.client.slab.slot_size), 0);
}

START_TEST(abort_completes_each_write_once_with_an_error)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	post_unnamed_writes();
	endpoint_abort(pair.client.ep, ENDPOINT_TIMEOUT, "enough");
	ck_assert_uint_eq(pair.client.closed, 0);
	pair_run(&pair, both_closed);
	expect_failed_once(pair.client.slab.slots);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_TIMEOUT);
	ck_assert_str_eq(pair.client.fault.text, "enough");
	ck_assert(pair.server.fault.kind == ENDPOINT_LOST ||
		  (!is_tcp(&pair) && pair.server.fault.kind == ENDPOINT_CLOSED));
	pair_done(&pair);
}
END_TEST

static void abort_here(struct side *s)
{
	endpoint_abort(s->ep, ENDPOINT_LOST, "the peer gives up");
}

START_TEST(abort_by_the_peer_completes_each_write_once_with_an_error)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	post_unnamed_writes();
	abort_here(&pair.server);
	pair_run(&pair, both_closed);
	expect_failed_once(pair.client.slab.slots);
	ck_assert(pair.client.fault.kind == ENDPOINT_LOST ||
		  (!is_tcp(&pair) && pair.client.fault.kind == ENDPOINT_CLOSED));
	pair_done(&pair);
}
END_TEST

/* The child serves one connection until it is killed; it tells its port first. */
static pid_t fork_server(struct pair *p, int transport)
{
	int fds[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(fds, 0), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(20);
		pair_init(p, transport);
		loop_timer_cancel(&p->loop, &p->guard);
		pair_listen(p);
		if (write(fds[1], &p->addr, sizeof(p->addr)) == sizeof(p->addr))
			loop_run(&p->loop);
		_exit(1);
	}
	pair_init(p, transport);
	ck_assert_int_eq(read(fds[0], &p->addr, sizeof(p->addr)), sizeof(p->addr));
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void end_server(pid_t pid)
{
	int status;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

START_TEST(death_of_the_peer_completes_each_write_once_with_an_error)
{
	pid_t pid = fork_server(&pair, _i);

	pair_start(&pair);
	pair_run(&pair, client_connected);
	post_unnamed_writes();
	end_server(pid);
	pair_run(&pair, client_closed);
	expect_failed_once(pair.client.slab.slots);
	ck_assert(pair.client.fault.kind == ENDPOINT_LOST ||
		  (!is_tcp(&pair) && pair.client.fault.kind == ENDPOINT_CLOSED));
	pair_done(&pair);
}
END_TEST

START_TEST(death_of_an_idle_peer_is_noticed)
{
	pid_t pid = fork_server(&pair, _i);

	pair_start(&pair);
	pair_run(&pair, client_connected);
	end_server(pid);
	pair_run(&pair, client_closed);
	ck_assert(pair.client.fault.kind == ENDPOINT_LOST ||
		  (!is_tcp(&pair) && pair.client.fault.kind == ENDPOINT_CLOSED));
	ck_assert_int_lt(side_write(&pair.client, &posts[0], 0, 0, 1), 0);
	ck_assert(!side_say(&pair.client, "x", 1));
	pair_done(&pair);
	ck_assert_uint_eq(posts[0].calls, 0);
}
END_TEST

static void expect_aborted(const struct side *s)
{
	ck_assert_int_eq(s->fault.kind, ENDPOINT_LOST);
	ck_assert_str_eq(s->fault.text, "the peer gives up");
}

static void abort_on_message(struct side *s, const uint8_t *records, size_t len)
{
	abort_here(s);
}

START_TEST(abort_inside_resolved_closes_once)
{
	pair_init(&pair, _i);
	pair_listen(&pair);
	pair.client.on_resolved = abort_here;
	pair_start(&pair);
	pair_run(&pair, client_closed);
	expect_aborted(&pair.client);
	pair_done(&pair);
}
END_TEST

START_TEST(abort_inside_connected_closes_once)
{
	pair_init(&pair, _i);
	pair_listen(&pair);
	pair.client.on_connected = abort_here;
	pair_start(&pair);
	pair_run(&pair, both_closed);
	expect_aborted(&pair.client);
	pair_done(&pair);

	pair_init(&pair, _i);
	pair_listen(&pair);
	pair.server.on_connected = abort_here;
	pair_start(&pair);
	pair_run(&pair, both_closed);
	expect_aborted(&pair.server);
	pair_done(&pair);
}
END_TEST

START_TEST(abort_inside_message_closes_once)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	pair.server.on_message = abort_on_message;
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert(side_say(&pair.client, "x", 1));
		endpoint_flush(pair.client.ep);
	}
	pair_run(&pair, both_closed);
	expect_aborted(&pair.server);
	ck_assert_uint_eq(pair.server.messages, 1);
	pair_done(&pair);
}
END_TEST

START_TEST(abort_inside_writable_closes_once)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	pair.client.on_writable = abort_here;
	while (side_say(&pair.client, "x", 1))
		endpoint_flush(pair.client.ep);
	pair_run(&pair, both_closed);
	expect_aborted(&pair.client);
	ck_assert_uint_eq(pair.client.writables, 1);
	pair_done(&pair);
}
END_TEST

static void abort_on_written(struct post *post)
{
	abort_here(post->side);
}

START_TEST(abort_inside_written_closes_once)
{
	struct post hooked[3] = { 0 };

	pair_init(&pair, _i);
	pair_connect(&pair);
	for (unsigned int i = 0; i < 3; i++) {
		hooked[i].on_written = abort_on_written;
		ck_assert_int_eq(side_write(&pair.client, &hooked[i], i, 0, 4096), 0);
	}
	ck_assert(side_say(&pair.client, "w", 1));
	pair_run(&pair, both_closed);
	expect_aborted(&pair.client);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_uint_eq(hooked[i].calls, 1);
	pair_done(&pair);
}
END_TEST

START_TEST(close_delivers_what_was_committed)
{
	uint8_t record[3000];

	memset(record, 'r', sizeof(record));
	pair_init(&pair, _i);
	pair.server.receives = 32;
	pair_connect(&pair);
	for (unsigned int i = 0; i < 16; i++) {
		ck_assert(side_say(&pair.client, record, sizeof(record)));
		endpoint_flush(pair.client.ep);
	}
	ck_assert(side_say(&pair.client, "last", 4));
	endpoint_close(pair.client.ep);
	ck_assert(!side_say(&pair.client, "later", 5));
	pair_run(&pair, both_closed);
	ck_assert_uint_eq(pair.server.messages, 17);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_CLOSED);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
	pair_done(&pair);
}
END_TEST

START_TEST(close_delivers_writes_that_a_message_names)
{
	pair_init(&pair, _i);
	pair.client.slot_log2 = pair.server.slot_log2 = 20;
	pair_connect(&pair);
	for (unsigned int i = 0; i < 4; i++)
		fill(&pair.client, 0, i);
	post_unnamed_writes();
	ck_assert(side_say(&pair.client, "w", 1));
	endpoint_close(pair.client.ep);
	pair_run(&pair, both_closed);
	ck_assert_uint_eq(pair.server.messages, 1);
	for (unsigned int i = 0; i < 4; i++) {
		expect_filled(&pair.server, 0, i);
		ck_assert_uint_eq(posts[i].calls, 1);
		ck_assert_int_eq(posts[i].status, 0);
	}
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_CLOSED);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
	pair_done(&pair);
}
END_TEST

START_TEST(close_after_an_empty_commit_is_orderly)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	ck_assert_ptr_nonnull(endpoint_reserve(pair.client.ep, 100));
	endpoint_commit(pair.client.ep, 0);
	endpoint_close(pair.client.ep);
	pair_run(&pair, both_closed);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_CLOSED);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
	pair_done(&pair);
}
END_TEST

START_TEST(close_at_both_ends_at_once_is_orderly)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	ck_assert(side_say(&pair.client, "bye", 3));
	ck_assert(side_say(&pair.server, "bye", 3));
	endpoint_close(pair.client.ep);
	endpoint_close(pair.server.ep);
	pair_run(&pair, both_closed);
	ck_assert_int_eq(pair.client.fault.kind, ENDPOINT_CLOSED);
	ck_assert_int_eq(pair.server.fault.kind, ENDPOINT_CLOSED);
	pair_done(&pair);
}
END_TEST

START_TEST(close_then_abort_closes_once)
{
	pair_init(&pair, _i);
	pair_connect(&pair);
	endpoint_close(pair.client.ep);
	endpoint_close(pair.client.ep);
	endpoint_abort(pair.client.ep, ENDPOINT_LOST, "too late, or just in time");
	endpoint_abort(pair.client.ep, ENDPOINT_PROTOCOL, "too late");
	pair_run(&pair, both_closed);
	ck_assert(pair.client.fault.kind == ENDPOINT_CLOSED || pair.client.fault.kind == ENDPOINT_LOST);
	pair_done(&pair);
}
END_TEST

/* The first connection may leave behind what a library keeps for the life of the process. */
START_TEST(connections_leak_no_descriptors)
{
	unsigned int before = 0;

	for (unsigned int i = 0; i < 20; i++) {
		pair_init(&pair, _i);
		pair_connect(&pair);
		if (i % 2)
			abort_here(&pair.server);
		pair_done(&pair);
		if (i == 1)
			before = open_descriptors();
	}
	ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

static TCase *ends_case(void)
{
	TCase *tc = endpoint_tcase("ends");

	endpoint_test(tc, abort_completes_each_write_once_with_an_error);
	endpoint_test(tc, abort_by_the_peer_completes_each_write_once_with_an_error);
	endpoint_test(tc, death_of_the_peer_completes_each_write_once_with_an_error);
	endpoint_test(tc, death_of_an_idle_peer_is_noticed);
	endpoint_test(tc, abort_inside_resolved_closes_once);
	endpoint_test(tc, abort_inside_connected_closes_once);
	endpoint_test(tc, abort_inside_message_closes_once);
	endpoint_test(tc, abort_inside_writable_closes_once);
	endpoint_test(tc, abort_inside_written_closes_once);
	endpoint_test(tc, close_delivers_what_was_committed);
	endpoint_test(tc, close_delivers_writes_that_a_message_names);
	endpoint_test(tc, close_after_an_empty_commit_is_orderly);
	endpoint_test(tc, close_at_both_ends_at_once_is_orderly);
	endpoint_test(tc, close_then_abort_closes_once);
	endpoint_test(tc, connections_leak_no_descriptors);
	return tc;
}

Suite *endpoint_end_suite(void)
{
	Suite *s = suite_create("endpoint_end");

	suite_add_tcase(s, ends_case());
	return s;
}
