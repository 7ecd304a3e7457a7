/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log lines: what is in them, and what becomes of those that are hostile, too long, too many or unwanted. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/util.h"

Suite *log_suite(void);

static char last[65536];
static int last_level, lines;

static void capture(int level, const char *line)
{
	snprintf(last, sizeof(last), "%s", line);
	last_level = level;
	lines++;
}

static void setup(void)
{
	log_open("prog", LOG_INFO);
	log_set_sink(capture);
	log_set_context(NULL);
	last[0] = '\0';
	lines = 0;
}

static void teardown(void)
{
	log_set_sink(NULL);
	log_set_context(NULL);
	log_set_level(LOG_INFO);
}

/* Standard error into a file while `body` runs; gives what was written. */
static size_t with_stderr(void (*body)(void), char *buf, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t n;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(saved, 0);
	fflush(stderr);
	ck_assert_int_ge(fcntl(fileno(file), F_SETFL, O_APPEND), 0);
	ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
	body();
	ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
	close(saved);
	rewind(file);
	n = fread(buf, 1, size - 1, file);
	buf[n] = '\0';
	fclose(file);
	return n;
}

static void one_line(void)
{
	log_set_sink(NULL);
	log_err("cannot open '%s'", "x");
}

START_TEST(a_line_on_stderr_has_program_text_and_newline)
{
	char buf[256];

	with_stderr(one_line, buf, sizeof(buf));
	ck_assert_str_eq(buf, "prog: cannot open 'x'\n");
}
END_TEST

START_TEST(a_line_in_the_sink_has_level_and_text_only)
{
	log_warning("odd, ignoring");
	ck_assert_str_eq(last, "odd, ignoring");
	ck_assert_int_eq(last_level, LOG_WARNING);
}
END_TEST

START_TEST(a_line_above_the_level_is_dropped)
{
	log_debug("hidden");
	ck_assert_int_eq(lines, 0);
	log_set_level(LOG_DEBUG);
	ck_assert_int_eq(log_level(), LOG_DEBUG);
	log_debug("shown");
	ck_assert_str_eq(last, "shown");
}
END_TEST

START_TEST(the_context_is_in_front_until_it_is_removed)
{
	char text[] = "1234";

	log_set_context(text);
	text[0] = 'x';
	log_notice("hello");
	ck_assert_str_eq(last, "1234: hello");
	log_set_context(NULL);
	log_notice("hello");
	ck_assert_str_eq(last, "hello");
}
END_TEST

static void *log_in_thread(void *arg)
{
	log_notice("from a thread");
	return NULL;
}

START_TEST(the_context_belongs_to_its_thread)
{
	pthread_t thread;

	log_set_context("mine");
	ck_assert_int_eq(pthread_create(&thread, NULL, log_in_thread, NULL), 0);
	pthread_join(thread, NULL);
	ck_assert_str_eq(last, "from a thread");
}
END_TEST

START_TEST(control_bytes_do_not_reach_the_line)
{
	log_err("a\nb\x1b[31mc\x7f");
	ck_assert_str_eq(last, "a?b?[31mc?");
}
END_TEST

START_TEST(name_that_was_not_escaped_does_no_harm)
{
	log_err("\xc3\xbc \xc2\x9b \x9b \xe2\x80\xae \xe2\x82");
	ck_assert_str_eq(last, "\xc3\xbc ?? ? ??? ??");
	ck_assert_int_eq(setenv("LC_ALL", "C", 1), 0);
	escape_for_locale();
	log_err("\xc3\x9b"
		"2J");
	ck_assert_str_eq(last, "??2J");
	ck_assert_int_eq(setenv("LC_ALL", "C.UTF-8", 1), 0);
	escape_for_locale();
}
END_TEST

START_TEST(a_line_of_any_length_is_whole)
{
	char *text = malloc(50000);

	memset(text, 'x', 49999);
	text[49999] = '\0';
	for (size_t len = 49999; len > 20; len = len > 1100 ? len / 2 : len - 1) {
		text[len] = '\0';
		log_set_context("who");
		errno = ENOENT;
		log_err("%s %m", text);
		ck_assert_int_eq(errno, ENOENT);
		ck_assert_uint_eq(strlen(last), 5 + len + strlen(" No such file or directory"));
		ck_assert_str_eq(last + 5 + len, " No such file or directory");
		log_set_context(NULL);
	}
	free(text);
}
END_TEST

START_TEST(a_path_of_4095_bytes_is_not_cut)
{
	char path[4096];

	memset(path, 'p', 4095);
	path[4095] = '\0';
	log_set_context("0b0e7e3a-5e7b-4c53-a6a9-5b2c4be0f0d7");
	log_err("cannot open '%s': no such file", path);
	ck_assert_str_eq(last + strlen(last) - 15, "': no such file");
}
END_TEST

START_TEST(errno_is_printed_and_survives)
{
	log_set_context("ctx");
	errno = ENOSPC;
	log_err("write: %m");
	ck_assert_int_eq(errno, ENOSPC);
	ck_assert_str_eq(last, "ctx: write: No space left on device");
	errno = EIO;
	log_debug("dropped");
	ck_assert_int_eq(errno, EIO);
}
END_TEST

START_TEST(a_closed_stderr_is_harmless)
{
	int saved = dup(STDERR_FILENO);

	log_set_sink(NULL);
	close(STDERR_FILENO);
	errno = ENOENT;
	log_err("nobody reads this");
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
}
END_TEST

#define THREADS 4
#define EACH 100

static void *log_many(void *arg)
{
	int i;

	for (i = 0; i < EACH; i++)
		log_err("0123456789012345678901234567890123456789");
	return NULL;
}

static void log_from_threads(void)
{
	pthread_t threads[THREADS];
	int i;

	log_set_sink(NULL);
	for (i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, log_many, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(lines_of_several_threads_do_not_mix)
{
	static const char line[] = "prog: 0123456789012345678901234567890123456789\n";
	size_t i, len = sizeof(line) - 1, size = THREADS * EACH * len;
	char *buf = malloc(size + 2);

	ck_assert_uint_eq(with_stderr(log_from_threads, buf, size + 2), size);
	for (i = 0; i < size; i += len)
		ck_assert_int_eq(memcmp(buf + i, line, len), 0);
	free(buf);
}
END_TEST

Suite *log_suite(void)
{
	Suite *s = suite_create("log");
	TCase *tc = tcase_create("lines");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_line_on_stderr_has_program_text_and_newline);
	tcase_add_test(tc, a_line_in_the_sink_has_level_and_text_only);
	tcase_add_test(tc, a_line_above_the_level_is_dropped);
	tcase_add_test(tc, the_context_is_in_front_until_it_is_removed);
	tcase_add_test(tc, the_context_belongs_to_its_thread);
	tcase_add_test(tc, control_bytes_do_not_reach_the_line);
	tcase_add_test(tc, name_that_was_not_escaped_does_no_harm);
	tcase_add_test(tc, a_line_of_any_length_is_whole);
	tcase_add_test(tc, a_path_of_4095_bytes_is_not_cut);
	tcase_add_test(tc, errno_is_printed_and_survives);
	tcase_add_test(tc, a_closed_stderr_is_harmless);
	tcase_add_test(tc, lines_of_several_threads_do_not_mix);
	suite_add_tcase(s, tc);
	return s;
}
