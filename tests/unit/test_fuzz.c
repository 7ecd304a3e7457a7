/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Replays the seed corpora through the fuzz entries: ok-* must be taken, bad-* refused, and each input is read from a
 * buffer with nothing behind it. The corpus is found through RDCP_CORPUS, by default tests/fuzz/corpus.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util.h"
#include "guard.h"
#include "tests/fuzz/fuzz.h"

static const struct {
	const char *name;
	int (*run)(const uint8_t *data, size_t len);
	int seeds; /* there are at least so many */
} entries[] = {
	{ "req", fuzz_req, 19 },        { "rep", fuzz_rep, 12 },       { "rej", fuzz_rej, 11 },
	{ "message", fuzz_message, 8 }, { "record", fuzz_record, 50 }, { "attributes", fuzz_attributes, 35 },
	{ "filter", fuzz_filter, 12 },  { "glob", fuzz_glob, 7 },      { "namelist", fuzz_namelist, 8 },
	{ "config", fuzz_config, 11 },
};

/* Whole sessions. What an input means is nothing to compare with; each has to end well. */
static const struct {
	const char *name;
	int (*run)(const uint8_t *data, size_t len);
	int seeds, ends; /* at least this many seeds, and this many sessions that reach their orderly end */
} sessions[] = {
	{ "copy", fuzz_copy, 12, 1 },
	{ "daemon", fuzz_daemon, 12, 1 },
	{ "client", fuzz_client, 12, 0 },
	{ "stream", fuzz_stream, 2, 0 },
};

static size_t read_seed(int dir, const char *name, uint8_t *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	ck_assert_msg(fd >= 0, "%s: %m", name);
	n = read(fd, buf, size);
	ck_assert_msg(n >= 0 && (size_t)n < size, "%s: cannot be read, or too long", name);
	close(fd);
	return (size_t)n;
}

/* Also with every bit turned, one at a time, for the first bytes: whatever the entry says, it must come back. */
static void turn_bits(int (*run)(const uint8_t *, size_t), uint8_t *data, size_t len)
{
	for (size_t bit = 0; bit < 8 * min_size(len, 128); bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		run(data, len);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static DIR *open_corpus(const char *name)
{
	const char *top = getenv("RDCP_CORPUS");
	char path[PATH_MAX];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", top ? top : "tests/fuzz/corpus", name);
	dir = opendir(path);
	ck_assert_msg(dir != NULL, "%s: %m", path);
	return dir;
}

START_TEST(every_seed_is_taken_or_refused_as_its_name_says)
{
	static uint8_t buf[GUARD_SPAN];
	DIR *dir = open_corpus(entries[_i].name);
	struct guard guard;
	struct dirent *entry;
	int seeds = 0;

	guard_init(&guard);
	while ((entry = readdir(dir))) {
		bool good = strncmp(entry->d_name, "ok-", 3) == 0;
		size_t len;
		uint8_t *data;

		if (entry->d_name[0] == '.')
			continue;
		ck_assert_msg(good || strncmp(entry->d_name, "bad-", 4) == 0, "%s: neither ok- nor bad-",
			      entry->d_name);
		len = read_seed(dirfd(dir), entry->d_name, buf, sizeof(buf));
		data = guard_put(&guard, buf, len);
		ck_assert_msg(entries[_i].run(data, len) == good, "%s/%s", entries[_i].name, entry->d_name);
		turn_bits(entries[_i].run, data, len);
		seeds++;
	}
	ck_assert_int_ge(seeds, entries[_i].seeds);
	guard_done(&guard);
	closedir(dir);
}
END_TEST

static int run_sessions(int i, int *ret_ends)
{
	static uint8_t buf[GUARD_SPAN];
	DIR *dir = open_corpus(sessions[i].name);
	struct dirent *entry;
	int seeds = 0;

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		*ret_ends += sessions[i].run(buf, read_seed(dirfd(dir), entry->d_name, buf, sizeof(buf)));
		seeds++;
	}
	closedir(dir);
	return seeds;
}

/* Which of several answers comes first is the scheduler's to say, and with it what the bytes behind it mean: some rounds, then. */
START_TEST(every_session_ends_and_keeps_its_promise)
{
	int ends = 0, round = 0;

	do
		ck_assert_int_ge(run_sessions(_i, &ends), sessions[_i].seeds);
	while (ends < sessions[_i].ends && ++round < 20);
	ck_assert_int_ge(ends, sessions[_i].ends);
}
END_TEST

Suite *fuzz_suite(void);

Suite *fuzz_suite(void)
{
	Suite *s = suite_create("fuzz");
	TCase *tc = tcase_create("corpus");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_seed_is_taken_or_refused_as_its_name_says, 0, ARRAY_SIZE(entries));
	suite_add_tcase(s, tc);
	tc = tcase_create("sessions");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_session_ends_and_keeps_its_promise, 0, ARRAY_SIZE(sessions));
	suite_add_tcase(s, tc);
	return s;
}
