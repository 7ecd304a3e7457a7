/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The progress line: golden lines, every width, hostile names; and what is drawn on a terminal, a pipe, a full disk. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "common/util.h"
#include "rdcp/progress.h"

Suite *progress_suite(void);

static const struct progress_state halfway = {
	.name = "disk.img",
	.done = 512 * MIB,
	.total = GIB,
	.sized = true,
	.rate = 100 * MIB,
	.elapsed_ns = 5 * SEC,
};

static const char *line(unsigned int width, const struct progress_state *s)
{
	static char buf[2048];
	size_t len = progress_format(buf, sizeof(buf), width, s);

	ck_assert_uint_eq(len, strlen(buf));
	return buf;
}

START_TEST(golden_lines)
{
	struct progress_state s = halfway;

	ck_assert_str_eq(line(80, &s),
			 "disk.img                                50%  512.0 MiB  100.0 MiB/s    00:06 ETA");
	s.stalled = true;
	ck_assert_str_eq(line(80, &s),
			 "disk.img                                50%  512.0 MiB  100.0 MiB/s  - stalled -");
	s = halfway;
	s.finished = true;
	s.done = GIB;
	ck_assert_str_eq(line(80, &s),
			 "disk.img                               100%    1.0 GiB  204.8 MiB/s    00:05    ");
	s = (struct progress_state){ .done = 12, .rate = 0 };
	ck_assert_str_eq(line(80, &s),
			 "                                          -       12 B        0 B/s    --:-- ETA");
}
END_TEST

START_TEST(parts_go_in_order_when_it_gets_narrow)
{
	ck_assert_str_eq(line(54, &halfway), "disk.img      50%  512.0 MiB  100.0 MiB/s    00:06 ETA");
	ck_assert_str_eq(line(53, &halfway), "disk.img                  50%  512.0 MiB  100.0 MiB/s");
	ck_assert_str_eq(line(40, &halfway), "disk.img                  50%  512.0 MiB");
	ck_assert_str_eq(line(27, &halfway), "disk.img                50%");
	ck_assert_str_eq(line(10, &halfway), "k.img  50%");
	ck_assert_str_eq(line(6, &halfway), "g  50%");
	ck_assert_str_eq(line(5, &halfway), " 50%");
	ck_assert_str_eq(line(4, &halfway), " 50%");
	ck_assert_str_eq(line(3, &halfway), "");
	ck_assert_str_eq(line(1, &halfway), "");
	ck_assert_str_eq(line(0, &halfway), "");
}
END_TEST

static const struct progress_state tree = {
	.name = "src",
	.done = 512 * MIB,
	.total = GIB,
	.sized = true,
	.rate = 100 * MIB,
	.elapsed_ns = 5 * SEC,
	.many = true,
	.files = 12,
	.files_found = 345,
	.files_known = true,
};

START_TEST(many_files_are_counted)
{
	struct progress_state s = tree;

	ck_assert_str_eq(line(80, &s),
			 "src                   50%  512.0 MiB      12/345 files  100.0 MiB/s    00:06 ETA");
	s.files_known = s.sized = false;
	ck_assert_str_eq(line(80, &s),
			 "src                     -  512.0 MiB     12/345+ files  100.0 MiB/s    --:-- ETA");
	s = tree;
	s.finished = true;
	s.done = GIB;
	s.files = 345;
	ck_assert_str_eq(line(80, &s),
			 "src                  100%    1.0 GiB         345 files  204.8 MiB/s    00:05    ");
	s.files = 1;
	ck_assert_str_eq(line(80, &s),
			 "src                  100%    1.0 GiB           1 file   204.8 MiB/s    00:05    ");
	s = tree;
	s.files_found = s.files = UINT64_MAX;
	ck_assert_str_eq(line(80, &s),
			 "src               50%  512.0 MiB 18446744073709551615/18446744073709551615 files");
}
END_TEST

START_TEST(counting_stays_longer_than_the_rate)
{
	ck_assert_str_eq(line(72, &tree), "src           50%  512.0 MiB      12/345 files  100.0 MiB/s    00:06 ETA");
	ck_assert_str_eq(line(71, &tree), "src                       50%  512.0 MiB      12/345 files  100.0 MiB/s");
	ck_assert_str_eq(line(58, &tree), "src                       50%  512.0 MiB      12/345 files");
	ck_assert_str_eq(line(45, &tree), "src                            50%  512.0 MiB");
	ck_assert_str_eq(line(20, &tree), "src              50%");
}
END_TEST

START_TEST(who_asks_once_gets_one_plain_line)
{
	struct progress_state s = tree;
	char buf[512], small[20];

	ck_assert_str_eq(progress_tell(buf, sizeof(buf), &s),
			 "'src': 12/345 files, 512.0 MiB of 1.0 GiB, 50%, 100.0 MiB/s, 00:06 ETA");
	s.name = "\033[2J\n";
	s.many = s.sized = false;
	s.rate = 0;
	ck_assert_str_eq(progress_tell(buf, sizeof(buf), &s), "'\\033[2J\\012': 512.0 MiB, 102.4 MiB/s, --:-- ETA");
	s = (struct progress_state){ 0 };
	ck_assert_str_eq(progress_tell(buf, sizeof(buf), &s), "0 B, 0 B/s, --:-- ETA");
	ck_assert_str_eq(progress_tell(small, sizeof(small), &tree), "'src': 12/345 files");
}
END_TEST

START_TEST(percent_says_100_only_when_all_is_done)
{
	struct progress_state s = { .name = "f", .sized = true, .total = UINT64_MAX, .done = UINT64_MAX - 1 };

	ck_assert_str_eq(line(6, &s), "f  99%");
	s.done = UINT64_MAX;
	ck_assert_str_eq(line(6, &s), "f 100%");
	s = (struct progress_state){ .name = "f", .sized = true };
	ck_assert_str_eq(line(6, &s), "f 100%");
	s = (struct progress_state){ .name = "f", .sized = true, .total = 5, .done = 9 };
	ck_assert_str_eq(line(6, &s), "f 100%");
	s = (struct progress_state){ .name = "f", .sized = true, .total = 1000, .done = 999 };
	ck_assert_str_eq(line(6, &s), "f  99%");
}
END_TEST

START_TEST(time_left_has_all_sizes)
{
	static const struct {
		uint64_t left, rate;
		const char *text;
	} cases[] = {
		{ 1, 10, "00:01 ETA" },       { 59, 1, "00:59 ETA" },         { 3599, 1, "59:59 ETA" },
		{ 3600, 1, "1:00:00 ETA" },   { 359999, 1, "99:59:59 ETA" },  { 360000, 1, "4d04h ETA" },
		{ 86400000, 1, "--:-- ETA" }, { UINT64_MAX, 1, "--:-- ETA" }, { 5, 0, "--:-- ETA" },
		{ 0, 7, "00:00 ETA" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct progress_state s = { .name = "f", .sized = true, .total = cases[i].left, .rate = cases[i].rate };
		const char *l = line(79, &s);

		ck_assert_msg(strcmp(l + strlen(l) - strlen(cases[i].text), cases[i].text) == 0, "%s", l);
		ck_assert_uint_eq(strlen(l), 79);
	}
}
END_TEST

/* Columns as a terminal counts them; fails on anything a terminal would obey. */
static unsigned int columns_of(const char *s)
{
	mbstate_t state = { 0 };
	unsigned int columns = 0;
	wchar_t wc;
	size_t n;

	while ((n = mbrtowc(&wc, s, strlen(s) + 1, &state)) != 0) {
		ck_assert_msg(n < 8 && wcwidth(wc) >= 0, "%s", s);
		columns += (unsigned int)wcwidth(wc);
		s += n;
	}
	return columns;
}

START_TEST(no_name_gets_wider_than_the_window)
{
	static const char *const names[] = {
		"plain",
		"a-long-name-that-does-not-fit-into-the-width-of-any-window-and-so-has-to-be-cut-somewhere-in-it",
		"\346\227\245\346\234\254\350\252\236\343\201\256\343\203\225\343\202\241\343\202\244\343\203\253.txt",
		"e\314\201e\314\201e\314\201e\314\201e\314\201e\314\201e\314\201e\314\201e\314\201",
		"\033]0;owned\007\033[2J",
		"\377\376\200broken",
		"back\\slash\r\nnewline",
		"\342\200\256gpj.exe",
		"\342\200\213zero\342\200\213width",
		"\360\237\230\200\360\237\230\200\360\237\230\200",
		"",
	};
	const char *loc = setlocale(LC_CTYPE, "C.UTF-8");

	ck_assert_ptr_nonnull(loc);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			for (unsigned int width = 0; width < 150; width++) {
				struct progress_state s = halfway;
				unsigned int columns;

				s.name = names[i];
				columns = columns_of(line(width, &s));
				ck_assert_msg(columns <= width, "%s", line(width, &s));
				ck_assert(width < 4 || width == 5 || columns == width || columns == 4);
				s.many = true;
				s.files_found = width * 1000000000ULL;
				ck_assert_uint_eq(columns_of(line(width, &s)), columns);
			}
		}
		setlocale(LC_CTYPE, "C"); /* as a program that forgot setlocale(3), or LC_ALL=C */
	}
}
END_TEST

START_TEST(wide_names_are_cut_between_characters)
{
	struct progress_state s = halfway;

	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	s.name = "\346\227\245\346\234\254\350\252\236\346\226\207"; /* 4 characters, 8 columns */
	ck_assert_str_eq(line(13, &s), "\346\227\245\346\234\254\350\252\236\346\226\207  50%");
	ck_assert_str_eq(line(12, &s), "...\350\252\236\346\226\207  50%");
	ck_assert_str_eq(line(11, &s), "...\346\226\207   50%");
	ck_assert_str_eq(line(10, &s), "\350\252\236\346\226\207   50%");
}
END_TEST

START_TEST(control_characters_are_octal)
{
	struct progress_state s = halfway;

	s.name = "\033[1m\n";
	ck_assert_str_eq(line(40, &s), "\\033[1m\\012               50%  512.0 MiB");
	ck_assert_str_eq(line(10, &s), "m\\012  50%");
}
END_TEST

START_TEST(buffers_of_any_size_are_not_overrun)
{
	char buf[256];

	for (size_t size = 1; size < 100; size++) {
		memset(buf, '#', sizeof(buf));
		ck_assert_uint_lt(progress_format(buf, size, 80, &halfway), size);
		ck_assert_uint_lt(strlen(buf), size);
		ck_assert_int_eq(buf[size], '#');
	}
	ck_assert_uint_eq(progress_format(buf, 0, 80, &halfway), 0);
}
END_TEST

START_TEST(rate_follows_smoothly)
{
	struct progress_state s = { 0 };
	uint64_t now = 0, done = 0;

	for (int i = 0; i < 10; i++) {
		now += 200 * MSEC;
		done += 20 * MIB;
		progress_sample(&s, done, now);
		ck_assert_uint_eq(s.rate, 100 * MIB);
	}
	progress_sample(&s, done + 200 * MIB, now + 200 * MSEC); /* one burst at ten times the rate */
	ck_assert_uint_gt(s.rate, 100 * MIB);
	ck_assert_uint_lt(s.rate, 200 * MIB);
	ck_assert_uint_eq(s.elapsed_ns, now + 200 * MSEC);
}
END_TEST

START_TEST(rate_takes_no_notice_of_samples_too_close)
{
	struct progress_state s = { 0 };

	progress_sample(&s, MIB, 0);
	progress_sample(&s, 2 * MIB, 1);
	ck_assert_uint_eq(s.rate, 0);
	progress_sample(&s, 10 * MIB, SEC);
	ck_assert_uint_eq(s.rate, 10 * MIB);
	progress_sample(&s, 5 * MIB, 2 * SEC); /* a file started over: no negative rate */
	ck_assert_uint_eq(s.rate, 10 * MIB);
}
END_TEST

START_TEST(stall_is_noticed_and_forgotten)
{
	struct progress_state s = { 0 };

	progress_sample(&s, 1, SEC);
	progress_sample(&s, 1, 5 * SEC);
	ck_assert(!s.stalled);
	progress_sample(&s, 1, 6 * SEC);
	ck_assert(s.stalled);
	progress_sample(&s, 2, 7 * SEC);
	ck_assert(!s.stalled);
}
END_TEST

/* Everything that is in the pipe or terminal now. */
static const char *drain(int fd)
{
	static char buf[65536];
	size_t used = 0;
	ssize_t n;

	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while ((n = read(fd, buf + used, sizeof(buf) - 1 - used)) > 0)
		used += (size_t)n;
	buf[used] = '\0';
	return buf;
}

static unsigned int count(const char *s, char c)
{
	unsigned int n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* Two seconds of a copy, an update every 10 ms. */
static void run(struct progress *p, uint64_t start)
{
	progress_name(p, "a\033b");
	for (uint64_t ms = 10; ms <= 2000; ms += 10)
		progress_update(p, ms * KIB, 2000 * KIB, true, start + ms * MSEC);
}

START_TEST(pipe_gets_nothing_unless_asked)
{
	struct progress p;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	progress_init(&p, fds[1], PROGRESS_AUTO, SEC);
	run(&p, SEC);
	progress_clear(&p);
	progress_finish(&p, true, 3 * SEC);
	progress_init(&p, fds[1], PROGRESS_NEVER, SEC);
	run(&p, SEC);
	progress_finish(&p, false, 3 * SEC);
	ck_assert_str_eq(drain(fds[0]), "");
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(pipe_gets_whole_plain_lines_when_asked)
{
	struct progress p;
	const char *text;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	progress_init(&p, fds[1], PROGRESS_ALWAYS, SEC);
	run(&p, SEC);
	progress_finish(&p, true, 3 * SEC);
	text = drain(fds[0]);
	ck_assert_uint_eq(count(text, '\n'), 3); /* two seconds and the end */
	ck_assert_uint_eq(count(text, '\r') + count(text, '\033'), 0);
	ck_assert_ptr_nonnull(strstr(text, "a\\033b"));
	ck_assert_ptr_nonnull(strstr(text, "100%"));
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(broken_pipe_and_full_disk_are_survived)
{
	struct progress p;
	int fds[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(fds), 0);
	close(fds[0]);
	progress_init(&p, fds[1], PROGRESS_ALWAYS, SEC);
	run(&p, SEC);
	progress_finish(&p, true, 3 * SEC);
	close(fds[1]);
	ck_assert_int_ge(full, 0);
	progress_init(&p, full, PROGRESS_ALWAYS, SEC);
	run(&p, SEC);
	progress_finish(&p, true, 3 * SEC);
	close(full);
	progress_init(&p, -1, PROGRESS_AUTO, SEC);
	run(&p, SEC);
	progress_clear(&p);
	progress_finish(&p, true, 3 * SEC);
}
END_TEST

START_TEST(full_pipe_does_not_block)
{
	static char block[4096];
	struct progress p;
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_NONBLOCK), 0);
	while (write(fds[1], block, sizeof(block)) > 0)
		;
	ck_assert_int_eq(fcntl(fds[1], F_SETFL, 0), 0);
	progress_init(&p, fds[1], PROGRESS_ALWAYS, SEC);
	run(&p, SEC);
	progress_finish(&p, true, 3 * SEC);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

/* A child that has the terminal as its own, so that it is the foreground job; returns what it drew. */
static const char *draw_on_terminal(unsigned short columns, bool success, enum progress_mode mode)
{
	struct winsize ws = { .ws_row = 24, .ws_col = columns };
	static char buf[65536];
	size_t used = 0;
	int master;
	ssize_t n;
	pid_t pid;

	pid = forkpty(&master, NULL, NULL, &ws);
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct progress p;

		progress_init(&p, STDOUT_FILENO, mode, SEC);
		run(&p, SEC);
		progress_finish(&p, success, 3 * SEC);
		_exit(0);
	}
	while (used < sizeof(buf) - 1 && (n = read(master, buf + used, sizeof(buf) - 1 - used)) > 0)
		used += (size_t)n;
	buf[used] = '\0';
	close(master);
	return buf;
}

START_TEST(terminal_redraws_five_times_a_second)
{
	const char *text = draw_on_terminal(60, true, PROGRESS_AUTO);

	/* 2 s * 5, before and behind, the last, and the '\r' that the terminal puts before its '\n' */
	ck_assert_uint_eq(count(text, '\r'), 22);
	ck_assert_uint_eq(count(text, '\n'), 1);
	ck_assert_uint_eq(count(text, '\033'), 0);
	for (const char *s = strchr(text, '\r'); s && s[1]; s = strchr(s + 1, '\r'))
		ck_assert_uint_lt(strcspn(s + 1, "\r\n"), 60);
}
END_TEST

START_TEST(terminal_of_any_width_is_fine)
{
	for (unsigned short columns = 0; columns < 12; columns++) {
		const char *text;

		ck_assert_int_eq(setenv("COLUMNS", "0", 1), 0);
		text = draw_on_terminal(columns, true, PROGRESS_ALWAYS);
		for (const char *s = strchr(text, '\r'); s && s[1]; s = strchr(s + 1, '\r'))
			ck_assert_uint_lt(strcspn(s + 1, "\r\n"), columns ? columns : 80);
		ck_assert_uint_eq(count(text, '\n'), 1);
	}
}
END_TEST

START_TEST(columns_variable_counts_where_the_window_does_not)
{
	const char *text;

	ck_assert_int_eq(setenv("COLUMNS", "30", 1), 0);
	text = draw_on_terminal(0, true, PROGRESS_AUTO);
	ck_assert_uint_eq(strcspn(text + 1, "\r\n"), 29);
	ck_assert_int_eq(setenv("COLUMNS", "many", 1), 0);
	text = draw_on_terminal(0, true, PROGRESS_AUTO);
	ck_assert_uint_eq(strcspn(text + 1, "\r\n"), 79);
}
END_TEST

START_TEST(failure_leaves_the_screen_clean)
{
	const char *text = draw_on_terminal(40, false, PROGRESS_AUTO);
	size_t len = strlen(text);

	ck_assert_uint_eq(count(text, '\n'), 0);
	ck_assert_uint_gt(len, 41);
	ck_assert_int_eq(text[len - 1], '\r');
	ck_assert_uint_eq(strspn(text + len - 40, " "), 39);
}
END_TEST

Suite *progress_suite(void)
{
	Suite *s = suite_create("progress");
	TCase *tc = tcase_create("lines"), *drawing = tcase_create("drawing");

	tcase_add_test(tc, golden_lines);
	tcase_add_test(tc, parts_go_in_order_when_it_gets_narrow);
	tcase_add_test(tc, many_files_are_counted);
	tcase_add_test(tc, counting_stays_longer_than_the_rate);
	tcase_add_test(tc, who_asks_once_gets_one_plain_line);
	tcase_add_test(tc, percent_says_100_only_when_all_is_done);
	tcase_add_test(tc, time_left_has_all_sizes);
	tcase_add_test(tc, no_name_gets_wider_than_the_window);
	tcase_add_test(tc, wide_names_are_cut_between_characters);
	tcase_add_test(tc, control_characters_are_octal);
	tcase_add_test(tc, buffers_of_any_size_are_not_overrun);
	tcase_add_test(tc, rate_follows_smoothly);
	tcase_add_test(tc, rate_takes_no_notice_of_samples_too_close);
	tcase_add_test(tc, stall_is_noticed_and_forgotten);
	suite_add_tcase(s, tc);
	tcase_add_test(drawing, pipe_gets_nothing_unless_asked);
	tcase_add_test(drawing, pipe_gets_whole_plain_lines_when_asked);
	tcase_add_test(drawing, broken_pipe_and_full_disk_are_survived);
	tcase_add_test(drawing, full_pipe_does_not_block);
	tcase_add_test(drawing, terminal_redraws_five_times_a_second);
	tcase_add_test(drawing, terminal_of_any_width_is_fine);
	tcase_add_test(drawing, columns_variable_counts_where_the_window_does_not);
	tcase_add_test(drawing, failure_leaves_the_screen_clean);
	suite_add_tcase(s, drawing);
	return s;
}
