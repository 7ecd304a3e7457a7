/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The daemon's loop while strangers call without end: what else is due, and how much of them is logged. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/endpoint_impl.h"
#include "common/log.h"
#include "common/util.h"
#include "rdcpd/listener.h"
#include "rdcpd/refusals.h"

Suite *listener_suite(void);

/* ---- a transport over which there is always one more request --------------------------------------------------- */

static unsigned int taken;

static int endless_listen(const struct sockaddr *addr, socklen_t len, struct endpoint_listener **ret_l,
			  struct endpoint_fault *ret_fault);

static int endless_next(struct endpoint_listener *l, struct endpoint_request **ret_rq)
{
	static struct endpoint_request request;

	*ret_rq = &request;
	return 1;
}

static void endless_free(struct endpoint_listener *l)
{
	close(l->fd);
	free(l);
}

static const struct endpoint_transport endless = {
	.name = "endless",
	.listen = endless_listen,
	.listener_next = endless_next,
	.listener_free = endless_free,
};

static int endless_listen(const struct sockaddr *addr, socklen_t len, struct endpoint_listener **ret_l,
			  struct endpoint_fault *ret_fault)
{
	*ret_l = calloc(1, sizeof(**ret_l));
	(*ret_l)->transport = &endless;
	(*ret_l)->fd = eventfd(1, EFD_CLOEXEC); /* readable for ever */
	return 0;
}

static void on_request(void *owner, struct endpoint_request *rq)
{
	taken++;
	ck_assert_uint_lt(taken, 10000); /* or nothing else would ever have its turn */
}

static const struct listener_events events = { .request = on_request };

/* ---- the loop ------------------------------------------------------------------------------------------------ */

static unsigned int taken_before; /* when the other source had its turn */

static int on_other(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	taken_before = taken;
	return sd_event_exit(sd_event_source_get_event(source), 7);
}

START_TEST(requests_without_end_leave_turns_to_everything_else)
{
	struct config_address address = { .len = sizeof(struct sockaddr_in) };
	struct endpoint_fault fault;
	struct listener *l;
	sd_event *event;
	int fd = eventfd(0, EFD_CLOEXEC);

	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(listener_new(event, &endless, &address, &events, NULL, &l, &fault), 0);
	ck_assert_int_ge(sd_event_add_io(event, NULL, fd, EPOLLIN, on_other, NULL), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_gt(sd_event_run(event, 0), 0);
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_le(taken, 48);
	ck_assert_int_eq(eventfd_write(fd, 1), 0);
	taken = 0;
	ck_assert_int_eq(sd_event_loop(event), 7);
	ck_assert_uint_le(taken_before, 16); /* those of a turn that was due already */
	listener_free(l);
	sd_event_unref(event);
	close(fd);
}
END_TEST

/* ---- the log ------------------------------------------------------------------------------------------------- */

static unsigned int lines;
static char last_line[512];

static void keep(int level, const char *line)
{
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static void refuse(struct refusals *r, enum status reason)
{
	const struct endpoint_request rq = { .peer.ss_family = AF_INET };
	struct access_refusal no = { .rej = { .reason = (uint16_t)reason, .text_len = 3, .text = "no!" } };

	refusals_log(r, &rq, &no);
}

static int on_late(sd_event_source *source, uint64_t usec, void *userdata)
{
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

START_TEST(refusals_have_a_few_lines_a_second_and_one_for_the_rest)
{
	struct refusals *r;
	sd_event *event;

	log_open("test", LOG_INFO);
	log_set_sink(keep);
	ck_assert_int_ge(sd_event_new(&event), 0);
	ck_assert_int_eq(refusals_new(event, &r), 0);
	refuse(r, STATUS_AUTH_REQUIRED);
	ck_assert_uint_eq(lines, 0);
	for (int i = 0; i < 1000; i++)
		refuse(r, STATUS_BAD_KEY);
	ck_assert_uint_eq(lines, REFUSALS_LINES);
	ck_assert_ptr_nonnull(strstr(last_line, "0.0.0.0: refused: no!"));
	ck_assert_int_ge(sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 1500000, 0, on_late, NULL), 0);
	ck_assert_int_eq(sd_event_loop(event), 0);
	ck_assert_uint_eq(lines, REFUSALS_LINES + 1);
	ck_assert_ptr_nonnull(
		strstr(last_line, "refused: 996 more connections within a second, the last from 0.0.0.0"));
	refuse(r, STATUS_BAD_KEY); /* in another second */
	ck_assert_uint_eq(lines, REFUSALS_LINES + 2);
	for (int i = 0; i < 10; i++)
		refuse(r, STATUS_BAD_KEY);
	refusals_free(r);
	ck_assert_ptr_nonnull(strstr(last_line, "refused: 7 more connections"));
	log_set_sink(NULL);
	sd_event_unref(event);
}
END_TEST

Suite *listener_suite(void)
{
	Suite *s = suite_create("listener");
	TCase *tc = tcase_create("listener");

	tcase_add_test(tc, requests_without_end_leave_turns_to_everything_else);
	tcase_add_test(tc, refusals_have_a_few_lines_a_second_and_one_for_the_rest);
	suite_add_tcase(s, tc);
	return s;
}
