/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The metrics: their text, and the file that is replaced and never half there. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/util.h"
#include "rdcpd/metrics.h"

Suite *metrics_suite(void);

static char dir[200], path[256];

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/rdcp-metrics.XXXXXX", tmp && strlen(tmp) < 100 ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rdcpd.prom", dir);
	log_open("test", LOG_CRIT);
}

static void teardown(void)
{
	unlink(path);
	rmdir(dir);
}

static char *print(const struct metrics *m)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	metrics_print(m, out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static const char *skip_name(const char *p)
{
	return p + strspn(p, "abcdefghijklmnopqrstuvwxyz_");
}

START_TEST(every_line_is_of_the_format_and_every_name_is_declared_once)
{
	struct metrics m = { .start = 1700000000.5, .sessions = { 1, 2 }, .pinned = 5 };
	char *text, *save = NULL, type[128] = "", last[128] = "";

	m.ended[REASON_LOST] = 3;
	m.refused[STATUS_BUSY] = 4;
	text = print(&m);
	ck_assert_uint_eq(text[strlen(text) - 1], '\n');
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t n;

		if (!strncmp(line, "# HELP ", 7)) {
			n = (size_t)(skip_name(line + 7) - line - 7);
			snprintf(last, sizeof(last), "%.*s", (int)n, line + 7);
			continue;
		}
		if (!strncmp(line, "# TYPE ", 7)) {
			ck_assert_str_ne(type, last); /* else it is declared twice */
			snprintf(type, sizeof(type), "%s", last);
			ck_assert_int_eq(strncmp(line + 7, type, strlen(type)), 0);
			continue;
		}
		n = (size_t)(skip_name(line) - line);
		ck_assert_msg(n == strlen(type) && !strncmp(line, type, n), "'%s' is not below its TYPE", line);
		if (line[n] == '{')
			ck_assert_ptr_nonnull(strstr(line, "\"} "));
		else
			ck_assert_int_eq(line[n], ' ');
	}
	free(text);
}
END_TEST

START_TEST(numbers_are_under_their_labels)
{
	struct metrics m = { .sessions = { 1, 2 }, .bytes = { 10, 20 }, .files = { 3, 4 }, .failed = { 5, 6 } };
	char *text;

	m.ended[STATUS_OK] = 7;
	m.ended[REASON_LOST] = 8;
	m.refused[STATUS_BUSY] = 9;
	text = print(&m);
	ck_assert_ptr_nonnull(strstr(text, "\nrdcpd_sessions{direction=\"pull\"} 2\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrdcpd_bytes_total{direction=\"push\"} 10\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrdcpd_files_total{direction=\"pull\",result=\"failed\"} 6\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrdcpd_sessions_ended_total{result=\"ok\"} 7\n"
					   "rdcpd_sessions_ended_total{result=\"lost\"} 8\n# HELP"));
	ck_assert_ptr_nonnull(strstr(text, "\nrdcpd_refusals_total{reason=\"bad-key\"} 0\n"
					   "rdcpd_refusals_total{reason=\"busy\"} 9\n# HELP"));
	free(text);
}
END_TEST

/* Until the file holds this text; a deadline is libcheck's. */
static void await_text(const char *want)
{
	char got[64];

	for (;;) {
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got));

		if (fd >= 0)
			close(fd);
		if (n == (ssize_t)strlen(want) && !memcmp(got, want, (size_t)n))
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 2 * MSEC }, NULL);
	}
}

START_TEST(the_file_is_replaced_readable_for_all_and_goes_in_the_end)
{
	struct metrics_file *f;
	struct stat st;

	umask(077);
	ck_assert_int_eq(metrics_file_new(path, &f), 0);
	metrics_file_write(f, strdup("one\n"), 4);
	await_text("one\n");
	metrics_file_write(f, strdup("second\n"), 7);
	await_text("second\n");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
	metrics_file_free(f);
	ck_assert_int_eq(stat(path, &st), -1);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else is left */
}
END_TEST

START_TEST(a_directory_that_comes_later_gets_its_file)
{
	struct metrics_file *f;

	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(metrics_file_new(path, &f), 0);
	metrics_file_write(f, strdup("one\n"), 4);
	metrics_file_write(f, strdup("two\n"), 4);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	metrics_file_write(f, strdup("three\n"), 6);
	await_text("three\n");
	metrics_file_free(f);
}
END_TEST

Suite *metrics_suite(void)
{
	Suite *s = suite_create("metrics");
	TCase *tc = tcase_create("metrics");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, every_line_is_of_the_format_and_every_name_is_declared_once);
	tcase_add_test(tc, numbers_are_under_their_labels);
	tcase_add_test(tc, the_file_is_replaced_readable_for_all_and_goes_in_the_end);
	tcase_add_test(tc, a_directory_that_comes_later_gets_its_file);
	suite_add_tcase(s, tc);
	return s;
}
