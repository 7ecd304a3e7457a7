/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * filter.h: what is left out of a tree. The tables are what rsync 3.5.0 answered (rsync -rn --out-format=%n --exclude=... over
 * a tree with these names), each name only if its directory was not left out already.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/filter.h"
#include "common/util.h"
#include "common/wire.h"

Suite *filter_suite(void);

static struct filter filter;

/* Directories end in a slash and come before what is in them. */
static const char *const tree[] = {
	"a/",         "a/b/", "a/b/c", "a/c",     "a*c",      "a-c",         "a.o",     "a1c",
	"aBc",        "a[c",  "a\\c",  "a]c",     "a^c",      "ab/",         "ab/foo/", "ab/foo/z/",
	"ab/foo/z/c", "abc",  "foo/",  "foo/b.o", "foo/bar/", "foo/bar/foo", "x/",      "x/foo",
};

static const struct {
	const char *pattern;
	const char *left_out;
} patterns[] = {
	{ "foo", "ab/foo/ foo/ x/foo" },
	{ "foo/", "ab/foo/ foo/" },
	{ "/foo", "foo/" },
	{ "/foo/", "foo/" },
	{ "foo/bar", "foo/bar/" },
	{ "/foo/bar", "foo/bar/" },
	{ "bar/foo", "foo/bar/foo" },
	{ "a/foo", "" },
	{ "b/foo", "" },
	{ "oo", "" },
	{ "foo//", "" },
	{ "/", "" },
	{ "//", "" },
	{ "//foo", "" },
	{ "/a.", "" },
	{ "./foo", "" },
	{ ".", "" },
	{ "..", "" },
	{ "*.o", "a.o foo/b.o" },
	{ "*.O", "" },
	{ "?", "a/ ab/foo/z/ x/" },
	{ "a?c", "a*c a-c a1c aBc a[c a\\c a]c a^c abc" },
	{ "???", "a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/foo/ abc foo/ x/foo" },
	{ "a*", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc" },
	{ "*c", "a/b/c a/c a*c a-c a1c aBc a[c a\\c a]c a^c ab/foo/z/c abc" },
	{ "*", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "?*", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "/*", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "*/", "a/ ab/ foo/ x/" },
	{ "/a*", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc" },
	{ "/*/", "a/ ab/ foo/ x/" },
	{ "x*", "x/" },
	{ "foo/*", "ab/foo/z/ foo/b.o foo/bar/" },
	{ "*/foo", "ab/foo/ foo/bar/foo x/foo" },
	{ "*/c", "a/b/c a/c ab/foo/z/c" },
	{ "*/*", "a/b/ a/c ab/foo/ foo/b.o foo/bar/ x/foo" },
	{ "/*/c", "a/c" },
	{ "/*/*/c", "a/b/c" },
	{ "a/*/c", "a/b/c" },
	{ "a/*c", "a/c" },
	{ "a/c*", "a/c" },
	{ "*/*/*/*", "ab/foo/z/c" },
	{ "?/?", "a/b/ a/c ab/foo/z/c" },
	{ "a?c/", "" },
	{ "a/b/", "a/b/" },
	{ "/a/b/*", "a/b/c" },
	{ "**", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "**/", "a/ ab/ foo/ x/" },
	{ "/**", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "**foo", "ab/foo/ foo/ x/foo" },
	{ "**/foo", "ab/foo/ foo/ x/foo" },
	{ "/**/foo", "ab/foo/ foo/bar/foo x/foo" },
	{ "foo**", "ab/foo/ foo/ x/foo" },
	{ "foo/**", "ab/foo/z/ foo/b.o foo/bar/" },
	{ "/foo/**", "foo/b.o foo/bar/" },
	{ "**/foo/**", "ab/foo/z/ foo/b.o foo/bar/" },
	{ "a/**", "a/b/ a/c" },
	{ "a/**/c", "a/b/c" },
	{ "a/**c", "a/b/c a/c" },
	{ "a**c", "a/b/c a/c a*c a-c a1c aBc a[c a\\c a]c a^c ab/foo/z/c abc" },
	{ "/a**c", "a/b/c a/c a*c a-c a1c aBc a[c a\\c a]c a^c ab/foo/z/c abc" },
	{ "b**", "a/b/ foo/b.o foo/bar/" },
	{ "**b**", "a/b/ ab/ abc foo/b.o foo/bar/" },
	{ "a**/c", "a/b/c a/c ab/foo/z/c" },
	{ "**/b/**", "a/b/c" },
	{ "**/c", "a/b/c a/c ab/foo/z/c" },
	{ "*/**", "a/b/ a/c ab/foo/ foo/b.o foo/bar/ x/foo" },
	{ "**/*", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "**/**", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "f**/**o", "foo/b.o foo/bar/foo" },
	{ "z/**", "ab/foo/z/c" },
	{ "**z**", "ab/foo/z/" },
	{ "***", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "foo/***", "ab/foo/ foo/" },
	{ "/foo/***", "foo/" },
	{ "foo***", "ab/foo/ foo/ x/foo" },
	{ "bar/***", "foo/bar/" },
	{ "/bar/***", "" },
	{ "*/***", "a/ ab/ foo/ x/" },
	{ "***/c", "a/b/c a/c ab/foo/z/c" },
	{ "x/***", "x/" },
	{ "/x/***/", "x/" },
	{ "foo/****", "ab/foo/ foo/" },
	{ "c/***", "" },
	{ "a/***/c", "a/b/c" },
	{ "[f]oo/***", "ab/foo/ foo/" },
	{ "foo/bar/***", "foo/bar/" },
	{ "a[bB]c", "aBc abc" },
	{ "a[!bB]c", "a*c a-c a1c a[c a\\c a]c a^c" },
	{ "a[^bB]c", "a*c a-c a1c a[c a\\c a]c a^c" },
	{ "a[a-z]c", "abc" },
	{ "a[z-a]c", "" },
	{ "a[b-]c", "a-c abc" },
	{ "a[-b]c", "a-c abc" },
	{ "a[+--]c", "a-c" },
	{ "a[]]c", "a]c" },
	{ "a[]b]c", "a]c abc" },
	{ "a[!]]c", "a*c a-c a1c aBc a[c a\\c a^c abc" },
	{ "a[[]c", "a[c" },
	{ "a[]-]c", "a-c a]c" },
	{ "a[\\]]c", "a]c" },
	{ "a[\\\\]c", "a\\c" },
	{ "a[\\b]c", "abc" },
	{ "a[\\a-\\c]c", "abc" },
	{ "a[^^]c", "a*c a-c a1c aBc a[c a\\c a]c abc" },
	{ "a[*]c", "a*c" },
	{ "a[b", "" },
	{ "a[", "" },
	{ "a[]c", "" },
	{ "a[!", "" },
	{ "a\\[c", "a[c" },
	{ "a\\\\c", "" },
	{ "a\\*c", "a*c" },
	{ "a\\\\[c]", "a\\c" },
	{ "a\\\\*", "a\\c" },
	{ "a\\b*", "ab/ abc" },
	{ "a\\**", "a*c" },
	{ "*\\", "" },
	{ "a\\[*", "a[c" },
	{ "a\\?c", "" },
	{ "[a]\\bc", "abc" },
	{ "a[[:alpha:]]c", "aBc abc" },
	{ "a[[:digit:]]c", "a1c" },
	{ "a[![:alnum:]]c", "a*c a-c a[c a\\c a]c a^c" },
	{ "a[[:upper:][:digit:]]c", "a1c aBc" },
	{ "a[[:punct:]]c", "a*c a-c a[c a\\c a]c a^c" },
	{ "a[[:bogus:]]c", "" },
	{ "a[[:alpha:]c", "" },
	{ "a[[:alpha]c", "a[c" },
	{ "a[[:lower:]-]c", "a-c abc" },
	{ "a[[:xdigit:]b-]c", "a-c a1c aBc abc" },
	{ "a[[:space:][:blank:]]c", "" },
	{ "a[^[:graph:]]c", "" },
	{ "a[/]c", "" },
	{ "a[/]b*", "" },
	{ "foo[!a]bar", "" },
	{ "foo?bar", "" },
	{ "a[/c]c", "" },
	{ "foo\\/bar", "" },
	{ "foo\\/b*", "foo/b.o foo/bar/" },
	{ "[/]*", "" },
	{ "x[^/]*", "" },
	{ "a[!/]*", "" },
	{ "/a[!/]c", "a*c a-c a1c aBc a[c a\\c a]c a^c abc" },
};

/* Lines of a file as filter_add_line() takes them. */
static const struct {
	const char *lines;
	const char *left_out;
} lists[] = {
	{ "+ */\n+ *.o\n- *", "a/b/c a/c a*c a-c a1c aBc a[c a\\c a]c a^c ab/foo/z/c abc foo/bar/foo x/foo" },
	{ "+ foo/\n+ foo/b.o\n- *", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/bar/ x/" },
	{ "- *\n+ *", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "+ *\n- *", "" },
	{ "foo/bar\n+ foo/*\nfoo", "ab/foo/ foo/ x/foo" },
	{ "+ /foo/**\n/foo/", "foo/" },
	{ "- a?c\n!\n- *.o", "a.o foo/b.o" },
	{ "+ a*c\n- a*", "a/ a.o ab/" },
	{ "+ x/\n+ x/***\n*", "a/ a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/" },
	{ "- -c\n+ +\n- !\n! \n#c", "" },
	{ "+ **/foo\n+ */\n*", "a/b/c a/c a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/foo/z/c abc foo/b.o" },
	{ "+ /a/\n+ /a/b/\n+ /a/b/c\n*", "a/c a*c a-c a.o a1c aBc a[c a\\c a]c a^c ab/ abc foo/ x/" },
	{ "- **\n!", "" },
	{ "+ *.o\n*.o\na/", "a/" },
};

static void setup(void)
{
	filter_init(&filter);
}

static void teardown(void)
{
	filter_done(&filter);
}

/* Walks the tree as a copy would, and compares what it leaves out with `expected`. */
static void expect_left_out(const char *rules, const char *expected)
{
	const char *skip = NULL; /* a directory that is not entered */
	char got[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tree); i++) {
		size_t len = strlen(tree[i]);
		bool directory = tree[i][len - 1] == '/';
		char path[32];

		if (skip && !strncmp(tree[i], skip, strlen(skip)))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)(len - directory), tree[i]);
		if (!filter_excludes(&filter, path, directory))
			continue;
		if (directory)
			skip = tree[i];
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s", used ? " " : "", tree[i]);
		ck_assert_uint_lt(used, sizeof(got));
	}
	ck_assert_msg(!strcmp(got, expected), "%s\nleaves out %s\nrsync      %s", rules, got, expected);
}

START_TEST(pattern_leaves_out_what_rsync_does)
{
	ck_assert_int_eq(filter_add(&filter, patterns[_i].pattern, false), 0);
	expect_left_out(patterns[_i].pattern, patterns[_i].left_out);
}
END_TEST

START_TEST(list_leaves_out_what_rsync_does)
{
	_cleanup_free_ char *lines = strdup(lists[_i].lines);
	char *rest = lines, *line;

	while ((line = strsep(&rest, "\n")))
		ck_assert_int_eq(filter_add_line(&filter, line, false), 0);
	expect_left_out(lists[_i].lines, lists[_i].left_out);
}
END_TEST

START_TEST(empty_filter_includes_everything)
{
	expect_left_out("", "");
	ck_assert(!filter_excludes(&filter, "a", true));
}
END_TEST

START_TEST(top_of_the_tree_is_never_excluded)
{
	ck_assert_int_eq(filter_add(&filter, "**", false), 0);
	ck_assert(filter_excludes(&filter, "a", true));
	ck_assert(!filter_excludes(&filter, ".", true));
	ck_assert(!filter_excludes(&filter, "", true));
}
END_TEST

START_TEST(names_are_bytes)
{
	ck_assert_int_eq(filter_add(&filter, "x/[\x80-\xfe]", false), 0);
	ck_assert_int_eq(filter_add(&filter, "\xff", false), 0);
	ck_assert_int_eq(filter_add(&filter, "?\n", false), 0);
	ck_assert(filter_excludes(&filter, "x/\xc3", false));
	ck_assert(!filter_excludes(&filter, "x/\xc3\xa9", false)); /* two bytes: rsync counts them as two as well */
	ck_assert(!filter_excludes(&filter, "x/a", false));
	ck_assert(filter_excludes(&filter, "y/\xff", false));
	ck_assert(!filter_excludes(&filter, "y\xff", false));
	ck_assert(filter_excludes(&filter, "\x01\n", false));
}
END_TEST

START_TEST(rules_can_be_read_back_as_they_were_given)
{
	ck_assert_int_eq(filter_add_line(&filter, "/a/", false), 0);
	ck_assert_int_eq(filter_add_line(&filter, "+ b", false), 0);
	ck_assert_int_eq(filter_add_line(&filter, "c//", true), 0);
	ck_assert_int_eq(filter_add_line(&filter, "- d***", true), 0);
	ck_assert_uint_eq(filter.count, 4);
	ck_assert_str_eq(filter.rules[0].pattern, "/a/");
	ck_assert(!filter.rules[0].include);
	ck_assert_str_eq(filter.rules[1].pattern, "b");
	ck_assert(filter.rules[1].include);
	ck_assert_str_eq(filter.rules[2].pattern, "c//");
	ck_assert(filter.rules[2].include);
	ck_assert_str_eq(filter.rules[3].pattern, "d***");
	ck_assert(!filter.rules[3].include);
}
END_TEST

START_TEST(pattern_without_bytes_is_refused)
{
	ck_assert_int_eq(filter_add(&filter, "", false), -EINVAL);
	ck_assert_int_eq(filter_add_line(&filter, "+ ", false), -EINVAL);
	ck_assert_int_eq(filter_add_line(&filter, "- ", false), -EINVAL);
	ck_assert_uint_eq(filter.count, 0);
}
END_TEST

/* `len` bytes of `unit` again and again, and a 'b' in the end. */
static const char *long_pattern(const char *unit, size_t len)
{
	static char pattern[WIRE_PATH_MAX + 2];
	size_t unit_len = strlen(unit);

	ck_assert_uint_lt(len, sizeof(pattern));
	for (size_t i = 0; i < len; i++)
		pattern[i] = unit[i % unit_len];
	pattern[len - 1] = 'b';
	pattern[len] = '\0';
	return pattern;
}

START_TEST(pattern_beyond_the_limit_is_refused)
{
	ck_assert_int_eq(filter_add(&filter, long_pattern("x", WIRE_PATH_MAX + 1), false), -ENAMETOOLONG);
	ck_assert_uint_eq(filter.count, 0);
	ck_assert_int_eq(filter_add(&filter, long_pattern("x", WIRE_PATH_MAX), false), 0);
	ck_assert(filter_excludes(&filter, long_pattern("x", WIRE_PATH_MAX), false));
}
END_TEST

START_TEST(rule_beyond_the_limit_is_refused)
{
	for (int i = 0; i < FILTER_RULES_MAX; i++)
		ck_assert_int_eq(filter_add(&filter, "x", false), 0);
	ck_assert_int_eq(filter_add(&filter, "y", false), -E2BIG);
	ck_assert_uint_eq(filter.count, FILTER_RULES_MAX);
	ck_assert(filter_excludes(&filter, "x", false));
	ck_assert(!filter_excludes(&filter, "y", false));
	ck_assert_int_eq(filter_add_line(&filter, "!", false), 0);
	ck_assert_uint_eq(filter.count, 0);
	ck_assert_int_eq(filter_add(&filter, "y", false), 0);
	ck_assert(filter_excludes(&filter, "y", false));
}
END_TEST

START_TEST(bytes_beyond_the_limit_are_refused)
{
	const char *pattern = long_pattern("x", 1024);

	for (int i = 0; i < FILTER_BYTES_MAX / 1024; i++)
		ck_assert_int_eq(filter_add(&filter, pattern, false), 0);
	ck_assert_int_eq(filter_add(&filter, "y", false), -E2BIG);
	ck_assert_uint_eq(filter.count, FILTER_BYTES_MAX / 1024);
}
END_TEST

START_TEST(path_beyond_the_limit_is_included)
{
	static char path[WIRE_PATH_MAX + 2];

	memset(path, 'x', sizeof(path) - 1);
	ck_assert_int_eq(filter_add(&filter, "x*", false), 0);
	ck_assert(!filter_excludes(&filter, path, false));
	path[WIRE_PATH_MAX] = '\0';
	ck_assert(filter_excludes(&filter, path, false));
}
END_TEST

static const char *const hostile[] = {
	"*a", "**a", "*a**", "**/a", "*a*/", "**[!b]", "***?", "*[[:alpha:]]", "?*", "*/", "**/*", "*\\a", "[", "\\",
};

/*
 * Matching by trying every star at every place would take longer than there is time. A path of the greatest length against
 * as many stars takes milliseconds; processor time, since other programs may be running.
 */
START_TEST(hostile_pattern_is_compared_in_time)
{
	static char path[WIRE_PATH_MAX + 1];
	clock_t start;

	for (size_t every = 2; every < 600; every += 297) {
		for (size_t i = 0; i < WIRE_PATH_MAX - 1; i++)
			path[i] = i % every == every - 1 ? '/' : 'a';
		path[WIRE_PATH_MAX - 1] = 'a';
		for (size_t len = 64; len <= WIRE_PATH_MAX; len = 2 * len + 1) {
			teardown();
			ck_assert_int_eq(filter_add(&filter, long_pattern(hostile[_i], len), false), 0);
			start = clock();
			ck_assert(!filter_excludes(&filter, path, true));
			ck_assert_msg(clock() - start < 5 * CLOCKS_PER_SEC, "%s x %zu", hostile[_i], len);
		}
	}
}
END_TEST

Suite *filter_suite(void)
{
	Suite *suite = suite_create("filter");
	TCase *tc = tcase_create("filter");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, pattern_leaves_out_what_rsync_does, 0, ARRAY_SIZE(patterns));
	tcase_add_loop_test(tc, list_leaves_out_what_rsync_does, 0, ARRAY_SIZE(lists));
	tcase_add_test(tc, empty_filter_includes_everything);
	tcase_add_test(tc, top_of_the_tree_is_never_excluded);
	tcase_add_test(tc, names_are_bytes);
	tcase_add_test(tc, rules_can_be_read_back_as_they_were_given);
	tcase_add_test(tc, pattern_without_bytes_is_refused);
	tcase_add_test(tc, pattern_beyond_the_limit_is_refused);
	tcase_add_test(tc, rule_beyond_the_limit_is_refused);
	tcase_add_test(tc, bytes_beyond_the_limit_are_refused);
	tcase_add_test(tc, path_beyond_the_limit_is_included);
	tcase_add_loop_test(tc, hostile_pattern_is_compared_in_time, 0, ARRAY_SIZE(hostile));
	return suite;
}
