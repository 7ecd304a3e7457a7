/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The command line: every option's value, every refusal, and where the key is looked for. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/util.h"
#include "common/wire.h"
#include "rdcp/options.h"

Suite *options_suite(void);

#define MAX_ARGS 24

static char why[OPTIONS_WHY_SIZE];

/* `line` is split at blanks; "rdcp" goes in front. What options borrow lives until the next call. */
static int parse(const char *line, struct options *ret_o)
{
	static char copy[512];
	static char *argv[MAX_ARGS + 1];
	int argc = 0;

	snprintf(copy, sizeof(copy), "rdcp %s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
		ck_assert_int_lt(argc, MAX_ARGS);
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	why[0] = '\0';
	return options_parse(argc, argv, ret_o, why, sizeof(why));
}

static struct options accept_line(const char *line)
{
	struct options o;

	ck_assert_msg(parse(line, &o) == 0, "%s: %s", line, why);
	return o;
}

static void refuse_line(const char *line, const char *text)
{
	struct options o = { .port = 4711 };

	ck_assert_msg(parse(line, &o) < 0, "%s", line);
	ck_assert_msg(strstr(why, text) != NULL, "%s: %s", line, why);
	ck_assert_uint_eq(o.port, 4711);
}

START_TEST(defaults_are_as_documented)
{
	struct options o = accept_line("file host:dir");

	ck_assert_int_eq(o.action, OPTIONS_COPY);
	ck_assert_ptr_null(o.identity);
	ck_assert(!o.preserve && !o.quiet && !o.no_clobber && !o.pull);
	ck_assert_uint_eq(o.verbose, 0);
	ck_assert_uint_eq(options_port(&o), WIRE_PORT);
	ck_assert_uint_eq(o.slot_log2, 20);
	ck_assert_uint_eq(o.slots_log2, 5);
	ck_assert_uint_eq(o.io_threads, 4);
	ck_assert_int_eq(o.fsync, OPTIONS_FSYNC_END);
	ck_assert_uint_eq(o.timeout_ns, 30 * SEC);
	ck_assert_uint_eq(o.connect_timeout_ns, 10 * SEC);
	ck_assert_int_eq(o.family, AF_UNSPEC);
	ck_assert_str_eq(options_transport_name(&o), "rdma");
	ck_assert_int_eq(o.progress, PROGRESS_AUTO);
	options_done(&o);
}
END_TEST

START_TEST(every_option_is_stored)
{
	struct options o =
		accept_line("-i key -p -q -v -vv --no-clobber -P 99 -6 --slot-size=1M --slots=64 --io-threads=8 "
			    "--fsync=file a b h:x");

	ck_assert_str_eq(o.identity, "key");
	ck_assert(o.preserve && o.quiet && o.no_clobber);
	ck_assert_uint_eq(o.verbose, 3);
	ck_assert_uint_eq(options_port(&o), 99);
	ck_assert_int_eq(o.family, AF_INET6);
	ck_assert_uint_eq(o.slot_log2, 20);
	ck_assert_uint_eq(o.slots_log2, 6);
	ck_assert_uint_eq(o.io_threads, 8);
	ck_assert_int_eq(o.fsync, OPTIONS_FSYNC_FILE);
	ck_assert_uint_eq(o.source_count, 2);
	options_done(&o);

	o = accept_line("--timeout=0.25 --connect-timeout=3 --transport=tcp --progress=never --fsync=none -4 a h:x");
	ck_assert_uint_eq(o.timeout_ns, 250 * MSEC);
	ck_assert_uint_eq(o.connect_timeout_ns, 3 * SEC);
	ck_assert_str_eq(options_transport_name(&o), "tcp");
	ck_assert_int_eq(o.progress, PROGRESS_NEVER);
	ck_assert_int_eq(o.fsync, OPTIONS_FSYNC_NONE);
	ck_assert_int_eq(o.family, AF_INET);
	options_done(&o);
}
END_TEST

START_TEST(archive_is_recursive_and_preserves)
{
	struct options o = accept_line("-a --numeric-ids -L a h:x");

	ck_assert(o.archive && o.recursive && o.preserve && o.numeric_ids && o.follow);
	options_done(&o);
	o = accept_line("-r -p a h:x");
	ck_assert(o.recursive && o.preserve && !o.archive && !o.numeric_ids && !o.follow);
	options_done(&o);
}
END_TEST

START_TEST(a_stream_is_the_one_end_of_one_copy)
{
	struct options o = accept_line("- host:dir/name");

	ck_assert(!o.pull && location_is_stream(&o.sources[0]));
	options_done(&o);
	o = accept_line("host:file -");
	ck_assert(o.pull && location_is_stream(&o.target));
	options_done(&o);
	o = accept_line("./- host:");
	ck_assert(!location_is_stream(&o.sources[0]));
	options_done(&o);
	refuse_line("- -", "HOST:PATH");
	refuse_line("- file", "local");
	refuse_line("file -", "local");
	refuse_line("- host:", "name the file");
	refuse_line("- host:.", "name the file");
	refuse_line("- host:dir/", "name the file");
	refuse_line("- rdcp://host", "name the file");
	refuse_line("-r - host:x", "-r");
	refuse_line("-r host:x -", "-r");
	refuse_line("- a host:x", "one source");
	refuse_line("a - host:x", "one source");
	refuse_line("- - host:x", "one source");
	refuse_line("host:a host:b -", "one file");
	refuse_line("--verify host:a -", "--verify");
}
END_TEST

START_TEST(rates_have_suffixes_and_are_not_nothing)
{
	static const struct {
		const char *line;
		uint64_t rate;
	} good[] = { { "--limit-rate=1 a h:x", 1 },
		     { "--limit-rate 500k a h:x", 500 * KIB },
		     { "--limit-rate=10M a h:x", 10 * MIB },
		     { "--limit-rate=1G a h:x", GIB } };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct options o = accept_line(good[i].line);

		ck_assert_uint_eq(o.limit_rate, good[i].rate);
		options_done(&o);
	}
	refuse_line("--limit-rate=0 a h:x", "bytes a second");
	refuse_line("--limit-rate=-1 a h:x", "bytes a second");
	refuse_line("--limit-rate=1T a h:x", "bytes a second");
	refuse_line("--limit-rate=fast a h:x", "bytes a second");
	refuse_line("--limit-rate=99999999999999999999 a h:x", "bytes a second");
}
END_TEST

START_TEST(options_may_follow_operands)
{
	struct options o = accept_line("a h:x -p --slots 1");

	ck_assert(o.preserve);
	ck_assert_uint_eq(o.slots_log2, 0);
	options_done(&o);
	o = accept_line("-- -p h:x");
	ck_assert(!o.preserve);
	ck_assert_str_eq(o.sources[0].path, "-p");
	options_done(&o);
}
END_TEST

START_TEST(values_out_of_range_are_refused)
{
	static const char *const lines[] = {
		"-P 0",
		"-P 65536",
		"-P x",
		"-P -1",
		"-P 1x",
		"--slot-size=2K",
		"--slot-size=128M",
		"--slot-size=5000",
		"--slot-size=K",
		"--slot-size=1G",
		"--slot-size=99999999999999999999",
		"--slot-size=18446744073709551615M",
		"--slots=0",
		"--slots=3",
		"--slots=8192",
		"--slots=1000000",
		"--io-threads=0",
		"--io-threads=65",
		"--timeout=0",
		"--timeout=0.0000001",
		"--timeout=-1",
		"--timeout=1.",
		"--timeout=.5",
		"--timeout=1.x",
		"--timeout=86401",
		"--timeout=99999999999999999999999",
		"--timeout=nan",
		"--fsync=maybe",
		"--fsync=en",
		"--progress=on",
		"--transport=ib",
		"--transport=",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char line[128], name[32];

		snprintf(line, sizeof(line), "%s a h:x", lines[i]);
		snprintf(name, sizeof(name), "%.*s takes", (int)strcspn(lines[i], "= "), lines[i]);
		refuse_line(line, strncmp(name, "-P", 2) == 0 ? "--port takes" : name);
	}
	refuse_line("--slot-size=64M --slots=4096 a h:x", "4 GiB");
}
END_TEST

START_TEST(limits_themselves_are_accepted)
{
	static const char *const lines[] = {
		"-P 1",         "-P 65535",        "--slot-size=4K",  "--slot-size=4096", "--slot-size=64m",
		"--slots=4096", "--io-threads=64", "--timeout=86400", "--timeout=0.001"
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char line[128];
		struct options o;

		snprintf(line, sizeof(line), "%s a h:x", lines[i]);
		o = accept_line(line);
		options_done(&o);
	}
}
END_TEST

START_TEST(unknown_options_are_refused)
{
	refuse_line("--frobnicate a h:x", "'--frobnicate'");
	refuse_line("-Z a h:x", "'-Z'");
	refuse_line("-pZ a h:x", "'-Z'");
	refuse_line("-\303 a h:x", "'-\\303'");
	refuse_line("--quiet=3 a h:x", "--quiet takes no value");
	refuse_line("a h:x -i", "--identity needs a value: KEYFILE");
	refuse_line("a h:x --slots", "--slots needs a value");
	refuse_line("--s=1 a h:x", "ambiguous");
	refuse_line("--\033[1m a h:x", "\\033[1m");
}
END_TEST

START_TEST(direction_follows_from_the_operands)
{
	struct options o = accept_line("a ./b:c h:x");

	ck_assert(!o.pull);
	ck_assert_str_eq(options_peer(&o)->host, "h");
	ck_assert_str_eq(options_peer(&o)->path, "x");
	options_done(&o);
	o = accept_line("H:a h:b dir");
	ck_assert(o.pull);
	ck_assert_uint_eq(o.source_count, 2);
	ck_assert_str_eq(options_peer(&o)->host, "H");
	ck_assert_str_eq(o.target.path, "dir");
	options_done(&o);
}
END_TEST

START_TEST(directions_that_make_no_sense_are_refused)
{
	refuse_line("", "nothing to copy");
	refuse_line("a", "destination");
	refuse_line("h:a", "destination");
	refuse_line("a b", "cp(1)");
	refuse_line("h:a i:b", "both remote");
	refuse_line("a h:b c", "mixed");
	refuse_line("h:a i:b dir", "several hosts");
	refuse_line("h:a rdcp://h:7/b dir", "several hosts");
	refuse_line("a joe@h:x", "-i KEYFILE");
}
END_TEST

START_TEST(port_of_the_url_wins)
{
	struct options o = accept_line("-P 5 a rdcp://h:6/x");

	ck_assert_uint_eq(options_port(&o), 6);
	options_done(&o);
	o = accept_line("-P 5 a rdcp://h/x");
	ck_assert_uint_eq(options_port(&o), 5);
	options_done(&o);
}
END_TEST

START_TEST(help_and_version_need_no_operands)
{
	struct options o = accept_line("--help");

	ck_assert_int_eq(o.action, OPTIONS_HELP);
	options_done(&o);
	o = accept_line("-V --nonsense");
	ck_assert_int_eq(o.action, OPTIONS_VERSION);
	options_done(&o);
}
END_TEST

START_TEST(doctor_takes_a_host_or_none)
{
	struct options o = accept_line("--doctor");

	ck_assert_int_eq(o.action, OPTIONS_DOCTOR);
	ck_assert_ptr_null(options_peer(&o));
	options_done(&o);
	o = accept_line("--doctor ::1 -P 7");
	ck_assert_str_eq(options_peer(&o)->host, "::1");
	ck_assert_uint_eq(options_port(&o), 7);
	options_done(&o);
	refuse_line("--doctor a b", "one host");
	refuse_line("--doctor -- -x", "begin with '-'");
}
END_TEST

START_TEST(help_fits_a_terminal_and_names_every_option)
{
	static const char *const names[] = { "--identity", "--preserve",   "--quiet",     "--verbose",
					     "--port",     "--slot-size",  "--slots",     "--io-threads",
					     "--fsync",    "--no-clobber", "--timeout",   "--connect-timeout",
					     "-4",         "-6",           "--transport", "--progress",
					     "--doctor",   "--help",       "--version" };
	char *text = NULL, *line, *rest;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	options_print_help(f);
	fclose(f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_msg(strstr(text, names[i]) != NULL, "%s", names[i]);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		ck_assert_msg(strlen(line) <= 80, "%s", line);
	free(text);
}
END_TEST

/* A home of our own; the directory is removed by leave_home(). */
static char home[] = "/tmp/rdcp-options-XXXXXX";

static void enter_home(void)
{
	strcpy(home + strlen(home) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(home));
	ck_assert_int_eq(setenv("HOME", home, 1), 0);
	ck_assert_int_eq(unsetenv(OPTIONS_KEY_VARIABLE), 0);
}

static void make_home_key(void)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/.config", home);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.config/rdcp", home);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.config/rdcp/key", home);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void leave_home(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/.config/rdcp/key", home);
	unlink(path);
	snprintf(path, sizeof(path), "%s/.config/rdcp", home);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/.config", home);
	rmdir(path);
	rmdir(home);
}

static enum options_key_source find(const char *identity, char *ret_path)
{
	struct options o = { .identity = identity };
	struct options_key k;
	bool found = options_find_key(&o, &k);

	ck_assert(found == (k.path[0] != '\0'));
	if (ret_path)
		strcpy(ret_path, k.path);
	return k.source;
}

START_TEST(key_is_looked_for_in_order)
{
	char path[PATH_MAX], expected[PATH_MAX];

	make_home_key();
	snprintf(expected, sizeof(expected), "%s/.config/rdcp/key", home);
	ck_assert_int_eq(find(NULL, path), OPTIONS_KEY_HOME);
	ck_assert_str_eq(path, expected);
	setenv(OPTIONS_KEY_VARIABLE, "/no/such", 1);
	ck_assert_int_eq(find(NULL, path), OPTIONS_KEY_ENVIRONMENT);
	ck_assert_str_eq(path, "/no/such");
	ck_assert_int_eq(find("mine", path), OPTIONS_KEY_OPTION);
	ck_assert_str_eq(path, "mine");
}
END_TEST

START_TEST(key_is_declined_by_none)
{
	make_home_key();
	ck_assert_int_eq(find("none", NULL), OPTIONS_KEY_DECLINED);
	setenv(OPTIONS_KEY_VARIABLE, "none", 1);
	ck_assert_int_eq(find(NULL, NULL), OPTIONS_KEY_DECLINED);
	ck_assert_int_eq(find("mine", NULL), OPTIONS_KEY_OPTION);
}
END_TEST

START_TEST(empty_key_variable_does_not_count)
{
	make_home_key();
	setenv(OPTIONS_KEY_VARIABLE, "", 1);
	ck_assert_int_eq(find(NULL, NULL), OPTIONS_KEY_HOME);
}
END_TEST

START_TEST(without_a_key_there_is_none)
{
	bool system_key = access(OPTIONS_SYSTEM_KEY, R_OK) == 0;

	ck_assert_int_eq(find(NULL, NULL), system_key ? OPTIONS_KEY_SYSTEM : OPTIONS_KEY_NONE);
}
END_TEST

Suite *options_suite(void)
{
	Suite *s = suite_create("options");
	TCase *tc = tcase_create("options"), *keys = tcase_create("keys");

	tcase_add_test(tc, defaults_are_as_documented);
	tcase_add_test(tc, every_option_is_stored);
	tcase_add_test(tc, options_may_follow_operands);
	tcase_add_test(tc, archive_is_recursive_and_preserves);
	tcase_add_test(tc, a_stream_is_the_one_end_of_one_copy);
	tcase_add_test(tc, rates_have_suffixes_and_are_not_nothing);
	tcase_add_test(tc, values_out_of_range_are_refused);
	tcase_add_test(tc, limits_themselves_are_accepted);
	tcase_add_test(tc, unknown_options_are_refused);
	tcase_add_test(tc, direction_follows_from_the_operands);
	tcase_add_test(tc, directions_that_make_no_sense_are_refused);
	tcase_add_test(tc, port_of_the_url_wins);
	tcase_add_test(tc, help_and_version_need_no_operands);
	tcase_add_test(tc, doctor_takes_a_host_or_none);
	tcase_add_test(tc, help_fits_a_terminal_and_names_every_option);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(keys, enter_home, leave_home);
	tcase_add_test(keys, key_is_looked_for_in_order);
	tcase_add_test(keys, key_is_declined_by_none);
	tcase_add_test(keys, empty_key_variable_does_not_count);
	tcase_add_test(keys, without_a_key_there_is_none);
	suite_add_tcase(s, keys);
	return s;
}
