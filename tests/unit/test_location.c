/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operands: what is local, what is remote, what is refused and with which advice. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/util.h"
#include "common/wire.h"
#include "rdcp/location.h"

Suite *location_suite(void);

static char why[2048];

static void expect_remote(const char *text, const char *host, unsigned int port, const char *path)
{
	struct location loc = { 0 };
	int r = location_parse(text, &loc, why, sizeof(why));

	ck_assert_msg(r == 0, "%.60s: %s", text, why);
	ck_assert(location_is_remote(&loc));
	ck_assert_str_eq(loc.host, host);
	ck_assert_str_eq(loc.path, path);
	ck_assert_uint_eq(loc.port, port);
	ck_assert_ptr_eq(loc.text, text);
	location_done(&loc);
	ck_assert_ptr_null(loc.host);
}

static void expect_local(const char *text)
{
	struct location loc = { 0 };

	ck_assert_msg(location_parse(text, &loc, why, sizeof(why)) == 0, "%.60s: %s", text, why);
	ck_assert(!location_is_remote(&loc));
	ck_assert_str_eq(loc.path, text);
	location_done(&loc);
}

static void expect_refused(const char *text, int r, const char *advice)
{
	struct location loc = { .port = 77 };

	why[0] = '\0';
	ck_assert_msg(location_parse(text, &loc, why, sizeof(why)) == r, "%.60s: %s", text, why);
	ck_assert_msg(strstr(why, advice) != NULL, "%.60s: %s", text, why);
	ck_assert_uint_eq(loc.port, 77);
	ck_assert_ptr_null(loc.host);
}

START_TEST(host_and_path_are_split_at_the_first_colon)
{
	expect_remote("host:/a/b", "host", 0, "/a/b");
	expect_remote("host:a:b", "host", 0, "a:b");
	expect_remote("10.0.0.2:x", "10.0.0.2", 0, "x");
	expect_remote("db-1.example.org:dir/", "db-1.example.org", 0, "dir/");
	expect_remote("a:b", "a", 0, "b");
	expect_remote("h:-x", "h", 0, "-x");
	expect_remote("m\303\274nchen:x", "m\303\274nchen", 0, "x");
}
END_TEST

START_TEST(empty_remote_path_is_the_first_export)
{
	expect_remote("host:", "host", 0, ".");
	expect_remote("[::1]:", "::1", 0, ".");
	expect_remote("rdcp://host", "host", 0, ".");
	expect_remote("rdcp://host:99", "host", 99, ".");
}
END_TEST

START_TEST(home_directory_is_refused_with_the_way_to_write_such_a_name)
{
	expect_refused("host:~", -EINVAL, "HOST:./~NAME");
	expect_refused("host:~/x", -EINVAL, "no home directories");
	expect_refused("host:~user/x", -EINVAL, "no home directories");
	expect_refused("[::1]:~", -EINVAL, "no home directories");
	expect_remote("host:./~x", "host", 0, "./~x");
	expect_remote("host:/~x", "host", 0, "/~x");
	expect_remote("host:x~", "host", 0, "x~");
	expect_remote("rdcp://host/~x", "host", 0, "/~x");
	expect_local("~");
	expect_local("~/x");
}
END_TEST

START_TEST(colon_after_a_slash_is_local)
{
	expect_local("./a:b");
	expect_local("dir/a:b");
	expect_local("/a:b");
	expect_local("/[::1]:x");
}
END_TEST

START_TEST(plain_names_are_local)
{
	expect_local("file");
	expect_local("..");
	expect_local("-x");
	expect_local("a@b");
	expect_local("[draft].txt");
	expect_local("[a");
	expect_local("name with spaces \033[1m");
}
END_TEST

START_TEST(bracketed_ipv6_is_a_host)
{
	expect_remote("[fe80::1%eth0]:/x", "fe80::1%eth0", 0, "/x");
	expect_remote("[2001:db8::7]:x:y", "2001:db8::7", 0, "x:y");
	expect_remote("[::ffff:10.0.0.1]:x", "::ffff:10.0.0.1", 0, "x");
}
END_TEST

START_TEST(bad_brackets_are_refused)
{
	expect_refused("[::1]", -EINVAL, "comes ':PATH'");
	expect_refused("[::1]x:y", -EINVAL, "comes ':PATH'");
	expect_refused("[host]:x", -EINVAL, "no IPv6 address");
	expect_refused("[10.0.0.1]:x", -EINVAL, "no IPv6 address");
	expect_refused("[fe80::1%]:x", -EINVAL, "no IPv6 address");
	expect_refused("[fe80::1%averyveryverylongname]:x", -EINVAL, "no IPv6 address");
	expect_refused("[::1:x", -EINVAL, "']' is missing");
	expect_refused("[]:x", -EINVAL, "no IPv6 address");
}
END_TEST

START_TEST(bare_ipv6_is_refused_with_brackets_as_advice)
{
	expect_refused("::1", -EINVAL, "[::1]:PATH");
	expect_refused("fe80::1:/x", -EINVAL, "[fe80::1]:PATH");
	expect_refused("fe80::1%eth0:/x", -EINVAL, "[fe80::1%eth0]:PATH");
	expect_refused("2001:db8::1:file", -EINVAL, "[2001:db8::1]:PATH");
	expect_refused("1:2:3:4:5:6:7:8:x", -EINVAL, "[1:2:3:4:5:6:7:8]:PATH");
	expect_refused("rdcp://fe80::1/x", -EINVAL, "rdcp://[fe80::1]/PATH");
	expect_remote("host::module", "host", 0, ":module");
}
END_TEST

START_TEST(user_name_is_refused)
{
	expect_refused("joe@host:x", -EINVAL, "-i KEYFILE");
	expect_refused("rdcp://joe@host/x", -EINVAL, "-i KEYFILE");
	expect_refused("rdcp://joe:secret@host/x", -EINVAL, "-i KEYFILE");
}
END_TEST

START_TEST(host_like_an_option_is_refused)
{
	expect_refused("-oProxyCommand=x:/p", -EINVAL, "begin with '-'");
	expect_refused("rdcp://-x/p", -EINVAL, "begin with '-'");
}
END_TEST

START_TEST(empty_host_is_refused)
{
	expect_refused(":x", -EINVAL, "./NAME");
	expect_refused(":", -EINVAL, "./NAME");
	expect_refused("rdcp://", -EINVAL, "no host");
	expect_refused("rdcp:///x", -EINVAL, "no host");
	expect_refused("rdcp://:1/x", -EINVAL, "no host");
}
END_TEST

START_TEST(names_that_no_host_has_are_refused)
{
	expect_refused("10 30:log", -EINVAL, "./NAME");
	expect_refused("a\nb:c", -EINVAL, "'a\\012b:c'");
	expect_refused("\033]0;x\007:c", -EINVAL, "\\033]0;x\\007");
}
END_TEST

START_TEST(url_is_decoded)
{
	expect_remote("rdcp://host/a%20b", "host", 0, "/a b");
	expect_remote("RDCP://host:1/a", "host", 1, "/a");
	expect_remote("rdcp://host:65535/", "host", 65535, "/");
	expect_remote("rdcp://host/%25%2F%fF", "host", 0, "/%/\377");
	expect_remote("rdcp://host/a?b#c:d", "host", 0, "/a?b#c:d");
	expect_remote("rdcp://[fe80::1%25eth0]:7/x", "fe80::1%eth0", 7, "/x");
	expect_remote("rdcp://[fe80::1%eth0]/x", "fe80::1%eth0", 0, "/x");
	expect_remote("rdcp://[::1]", "::1", 0, ".");
}
END_TEST

START_TEST(bad_url_is_refused)
{
	expect_refused("rdcp://host:0/x", -EINVAL, "port");
	expect_refused("rdcp://host:65536/x", -EINVAL, "port");
	expect_refused("rdcp://host:99999999999999999999/x", -EINVAL, "port");
	expect_refused("rdcp://host:/x", -EINVAL, "port");
	expect_refused("rdcp://host:1a/x", -EINVAL, "port");
	expect_refused("rdcp://host/%", -EINVAL, "%25");
	expect_refused("rdcp://host/%2", -EINVAL, "%25");
	expect_refused("rdcp://host/%g0", -EINVAL, "%25");
	expect_refused("rdcp://host/a%00b", -EINVAL, "%00");
	expect_refused("rdcp://[::1]x/y", -EINVAL, "after ']'");
}
END_TEST

START_TEST(a_dash_is_a_stream_and_a_path_to_one_a_file)
{
	static const char *const files[] = { "./-", "--", "-x", "/-" };
	struct location loc;

	expect_local("-");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		ck_assert_int_eq(location_parse(files[i], &loc, why, sizeof(why)), 0);
		ck_assert(!location_is_stream(&loc));
		location_done(&loc);
	}
	ck_assert_int_eq(location_parse("host:-", &loc, why, sizeof(why)), 0);
	ck_assert(!location_is_stream(&loc));
	location_done(&loc);
	ck_assert_int_eq(location_parse("-", &loc, why, sizeof(why)), 0);
	ck_assert(location_is_stream(&loc));
	location_done(&loc);
}
END_TEST

START_TEST(an_empty_name_is_refused)
{
	expect_refused("", -EINVAL, "empty");
}
END_TEST

START_TEST(path_limit_is_exact)
{
	static char text[16 + 100 * 1024];

	strcpy(text, "h:");
	memset(text + 2, 'x', WIRE_PATH_MAX);
	expect_remote(text, "h", 0, text + 2);
	memset(text, 'x', WIRE_PATH_MAX);
	text[WIRE_PATH_MAX] = '\0';
	expect_local(text);
	memset(text, 'x', WIRE_PATH_MAX + 2);
	expect_refused(text, -ENAMETOOLONG, "4095");
	memcpy(text, "h:", 2);
	text[WIRE_PATH_MAX + 2] = 'x';
	expect_refused(text, -ENAMETOOLONG, "4095");
	memset(text + 2, 'x', 100 * 1024);
	expect_refused(text, -ENAMETOOLONG, "4095");
	memset(text, 'h', 254);
	text[254] = ':';
	expect_refused(text, -ENAMETOOLONG, "253");
}
END_TEST

START_TEST(short_buffer_for_the_sentence_is_terminated)
{
	struct location loc;
	char tiny[8] = "xxxxxxx";

	ck_assert_int_eq(location_parse(":x", &loc, tiny, sizeof(tiny)), -EINVAL);
	ck_assert_uint_eq(strlen(tiny), 7);
}
END_TEST

START_TEST(host_operand_takes_more_forms)
{
	static const struct {
		const char *text, *host;
	} good[] = {
		{ "host", "host" },    { "host:", "host" },  { "10.0.0.1", "10.0.0.1" },
		{ "::1", "::1" },      { "[::1]", "::1" },   { "fe80::1%eth0", "fe80::1%eth0" },
		{ "host:/x", "host" }, { "[::1]:x", "::1" }, { "rdcp://host:5/x", "host" },
	};
	static const char *const bad[] = { "", "-x", "joe@host", "a/b", "./x:y", "[x]" };
	struct location loc;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		ck_assert_msg(location_parse_host(good[i].text, &loc, why, sizeof(why)) == 0, "%s", good[i].text);
		ck_assert_str_eq(loc.host, good[i].host);
		ck_assert(*loc.path);
		location_done(&loc);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(location_parse_host(bad[i], &loc, why, sizeof(why)) == -EINVAL, "%s", bad[i]);
}
END_TEST

START_TEST(file_of_that_name_is_noticed)
{
	char dir[] = "/tmp/rdcp-location-XXXXXX", cwd[4096];
	struct location loc;
	int fd;

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	fd = open("a:b", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(location_parse("a:b", &loc, why, sizeof(why)), 0);
	ck_assert(location_shadows_file(&loc));
	location_done(&loc);
	ck_assert(!location_shadows_file(&loc));
	ck_assert_int_eq(location_parse("a:c", &loc, why, sizeof(why)), 0);
	ck_assert(!location_shadows_file(&loc));
	location_done(&loc);
	ck_assert_int_eq(unlink("a:b"), 0);
	ck_assert_int_eq(chdir(cwd), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

Suite *location_suite(void)
{
	Suite *s = suite_create("location");
	TCase *tc = tcase_create("location");

	tcase_add_test(tc, host_and_path_are_split_at_the_first_colon);
	tcase_add_test(tc, empty_remote_path_is_the_first_export);
	tcase_add_test(tc, home_directory_is_refused_with_the_way_to_write_such_a_name);
	tcase_add_test(tc, colon_after_a_slash_is_local);
	tcase_add_test(tc, plain_names_are_local);
	tcase_add_test(tc, bracketed_ipv6_is_a_host);
	tcase_add_test(tc, bad_brackets_are_refused);
	tcase_add_test(tc, bare_ipv6_is_refused_with_brackets_as_advice);
	tcase_add_test(tc, user_name_is_refused);
	tcase_add_test(tc, host_like_an_option_is_refused);
	tcase_add_test(tc, empty_host_is_refused);
	tcase_add_test(tc, names_that_no_host_has_are_refused);
	tcase_add_test(tc, url_is_decoded);
	tcase_add_test(tc, bad_url_is_refused);
	tcase_add_test(tc, a_dash_is_a_stream_and_a_path_to_one_a_file);
	tcase_add_test(tc, an_empty_name_is_refused);
	tcase_add_test(tc, path_limit_is_exact);
	tcase_add_test(tc, short_buffer_for_the_sentence_is_terminated);
	tcase_add_test(tc, host_operand_takes_more_forms);
	tcase_add_test(tc, file_of_that_name_is_noticed);
	suite_add_tcase(s, tc);
	return s;
}
