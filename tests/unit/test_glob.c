/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Patterns of paths: what they match, and how long that takes when they are made to be slow. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "common/glob.h"
#include "common/util.h"

static bool matches(const char *component, const char *name)
{
	struct glob g;
	bool r;

	ck_assert_int_eq(glob_init(&g, component, strlen(component)), 0);
	r = glob_matches(&g, name);
	glob_done(&g);
	return r;
}

START_TEST(component_matches_as_in_a_shell)
{
	static const struct {
		const char *pattern, *name;
		bool expected;
	} cases[] = {
		{ "*", "a", true },         { "*", ".a", false },      { ".*", ".a", true },
		{ ".*", ".", false },       { ".*", "..", false },     { "*.bin", "a.bin", true },
		{ "*.bin", ".bin", false }, { "?", "ab", false },      { "?", ".", false },
		{ "[ab]c", "bc", true },    { "[!ab]c", "bc", false }, { "[a-c]", "b", true },
		{ "a", "a", true },         { "a", "b", false },       { "a\\*", "a*", true },
		{ "a\\*", "ab", false },    { "a\\b", "a\\b", true },  { "**", "abc", true },
		{ "***", ".x", false },     { "\\.*", ".x", true },    { "*\xff", "a\xff", true },
		{ "*", "a/b", false },      { "*", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_msg(matches(cases[i].pattern, cases[i].name) == cases[i].expected, "'%s' and '%s'",
			      cases[i].pattern, cases[i].name);
}
END_TEST

START_TEST(path_matches_component_by_component)
{
	ck_assert(glob_matches_path("*/x", "a/x"));
	ck_assert(glob_matches_path("*/", "a"));
	ck_assert(glob_matches_path("a*//b?", "ab/bc"));
	ck_assert(glob_matches_path("[x", "[x")); /* exactly so */
	ck_assert(!glob_matches_path("*", "a/b"));
	ck_assert(!glob_matches_path("*/x", "x"));
	ck_assert(!glob_matches_path("*/x", "../x"));
	ck_assert(!glob_matches_path("*", ".."));
	ck_assert(!glob_matches_path("*", ""));
	ck_assert(!glob_matches_path("*/*", "a/"));
	ck_assert(!glob_matches_path("*/*", "a//b"));
	ck_assert(!glob_matches_path("*", "/etc"));
	ck_assert(!glob_matches_path("*.bin", "a.bin/.ssh"));
}
END_TEST

START_TEST(fixed_part_ends_before_the_first_wildcard)
{
	ck_assert_uint_eq(glob_fixed("*"), 0);
	ck_assert_uint_eq(glob_fixed("ab*"), 0);
	ck_assert_uint_eq(glob_fixed("a/b?"), 2);
	ck_assert_uint_eq(glob_fixed("/a/b/[c]/*"), 5);
	ck_assert(!glob_is_pattern("a\\b"));
	ck_assert(glob_is_pattern("a[b"));
}
END_TEST

START_TEST(component_without_a_meaning_is_refused)
{
	char longest[300];
	struct glob g;

	memset(longest, '*', sizeof(longest));
	ck_assert_int_eq(glob_init(&g, "", 0), -EINVAL);
	glob_done(&g);
	ck_assert_int_eq(glob_init(&g, longest, sizeof(longest)), -ENAMETOOLONG);
	glob_done(&g);
}
END_TEST

/* fnmatch(3) would try each star anew for each of the others. */
START_TEST(many_stars_take_no_time)
{
	char pattern[256] = "", name[256];

	for (int i = 0; i < 60; i++)
		strcat(pattern, "*a");
	strcat(pattern, "b");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 1000; i++)
		ck_assert(!matches(pattern, name));
}
END_TEST

Suite *glob_suite(void);

Suite *glob_suite(void)
{
	Suite *s = suite_create("glob");
	TCase *tc = tcase_create("patterns");

	tcase_add_test(tc, component_matches_as_in_a_shell);
	tcase_add_test(tc, path_matches_component_by_component);
	tcase_add_test(tc, fixed_part_ends_before_the_first_wildcard);
	tcase_add_test(tc, component_without_a_meaning_is_refused);
	tcase_add_test(tc, many_stars_take_no_time);
	suite_add_tcase(s, tc);
	return s;
}
