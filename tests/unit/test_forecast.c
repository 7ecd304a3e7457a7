/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What there is to send: every file once, by the rules of the sender, and an end when it is told to stop. */
#include <check.h>
#include <errno.h>

#include "common/filter.h"
#include "common/ioqueue.h"
#include "common/loop.h"
#include "common/forecast.h"
#include "common/util.h"
#include "tree.h"

Suite *forecast_suite(void);

static struct loop loop;
static struct ioqueue *queue;
static struct forecast forecast;
static unsigned int rests;

static void on_deadline(struct loop_timer *t)
{
	ck_abort_msg("%u items are never counted", forecast.waiting);
}

static struct loop_timer deadline = { .expired = on_deadline };

static void on_rested(void *owner)
{
	ck_assert_ptr_eq(owner, &forecast);
	rests++;
	loop_stop(&loop);
}

static void setup(void)
{
	tree_setup();
	rests = 0;
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(ioqueue_new(&loop, 2, &queue), 0);
	loop_timer_set(&loop, &deadline, now_ns() + 60 * SEC);
	forecast_init(&forecast, queue, on_rested, &forecast);
}

static void teardown(void)
{
	forecast_done(&forecast);
	ioqueue_free(queue);
	loop_timer_cancel(&loop, &deadline);
	loop_done(&loop);
	tree_teardown();
}

static struct send_item item(const char *path)
{
	return (struct send_item){ .root = AT_FDCWD, .path = (char *)path, .recurse = true, .dense = true };
}

static void assert_counted(uint64_t files, uint64_t bytes)
{
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_uint_eq(rests, 1);
	ck_assert(!forecast.busy && forecast_is_known(&forecast));
	ck_assert_uint_eq(forecast.files, files);
	ck_assert_uint_eq(forecast.bytes, bytes);
}

/* More than a batch, in directories within each other. */
static void make_many(unsigned int count)
{
	char path[64];

	ck_assert_int_eq(mkdir("many", 0755), 0);
	ck_assert_int_eq(mkdir("many/d", 0755), 0);
	for (unsigned int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "many/%sf%u", i % 2 ? "d/" : "", i);
		tree_write(path, "1234567");
	}
}

START_TEST(all_files_of_all_items_are_counted)
{
	struct send_item many = item("many"), single = item("single"), missing = item("missing");

	make_many(1000);
	tree_write("single", "123");
	forecast_add(&forecast, &many);
	forecast_add(&forecast, &single);
	forecast_add(&forecast, &missing);
	ck_assert_uint_eq(forecast.waiting, 3);
	ck_assert(!forecast_is_known(&forecast));
	assert_counted(1002, 7003);
}
END_TEST

START_TEST(items_may_follow_when_it_has_rested)
{
	struct send_item single = item("single");

	tree_write("single", "123");
	forecast_add(&forecast, &single);
	assert_counted(1, 3);
	rests = 0;
	forecast_add(&forecast, &single);
	assert_counted(2, 6);
}
END_TEST

START_TEST(what_is_excluded_is_not_counted)
{
	struct send_item many = item("many");
	struct filter filter;

	make_many(100);
	filter_init(&filter);
	ck_assert_int_eq(filter_add(&filter, "/d", false), 0);
	many.filter = &filter;
	forecast_add(&forecast, &many);
	assert_counted(50, 350);
	filter_done(&filter);
}
END_TEST

START_TEST(further_names_have_no_bytes_if_links_are_kept)
{
	struct send_item many = item("many");

	make_many(2);
	ck_assert_int_eq(link("many/f0", "many/d/g"), 0);
	ck_assert_int_eq(symlink("f0", "many/l"), 0);
	many.hard_links = _i;
	forecast_add(&forecast, &many);
	assert_counted(4, _i ? 14 : 21);
}
END_TEST

START_TEST(links_count_as_what_they_lead_to_if_they_are_followed)
{
	struct send_item many = item("many");

	make_many(2);
	tree_write("other", "12345");
	ck_assert_int_eq(symlink("../other", "many/l"), 0);
	ck_assert_int_eq(symlink("nowhere", "many/m"), 0);
	many.follow = true;
	forecast_add(&forecast, &many);
	assert_counted(4, 19);
}
END_TEST

START_TEST(holes_are_not_counted_unless_they_are_sent)
{
	struct send_item single = item("holes");
	struct stat st;

	tree_write("holes", "x");
	ck_assert_int_eq(truncate("holes", 1 << 20), 0);
	ck_assert_int_eq(stat("holes", &st), 0);
	single.dense = _i;
	forecast_add(&forecast, &single);
	assert_counted(1, _i ? 1 << 20 : (uint64_t)st.st_blocks * 512);
}
END_TEST

START_TEST(nothing_is_counted_when_it_was_stopped)
{
	struct send_item many = item("many");

	make_many(300);
	forecast_add(&forecast, &many);
	forecast_add(&forecast, &many);
	forecast_stop(&forecast);
	ck_assert_int_eq(loop_run(&loop), 0);
	ck_assert_uint_eq(rests, 1);
	ck_assert(!forecast.busy && !forecast_is_known(&forecast));
}
END_TEST

Suite *forecast_suite(void)
{
	Suite *s = suite_create("forecast");
	TCase *tc = tcase_create("forecast");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, all_files_of_all_items_are_counted);
	tcase_add_test(tc, items_may_follow_when_it_has_rested);
	tcase_add_test(tc, what_is_excluded_is_not_counted);
	tcase_add_loop_test(tc, further_names_have_no_bytes_if_links_are_kept, 0, 2);
	tcase_add_test(tc, links_count_as_what_they_lead_to_if_they_are_followed);
	tcase_add_loop_test(tc, holes_are_not_counted_unless_they_are_sent, 0, 2);
	tcase_add_test(tc, nothing_is_counted_when_it_was_stopped);
	suite_add_tcase(s, tc);
	return s;
}
