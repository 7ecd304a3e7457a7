/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names made fit to be shown, sizes for people, powers of two, the clock. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"

Suite *util_suite(void);

static const struct {
	const char *name, *shown;
} names[] = {
	{ "", "" },
	{ "plain name.txt", "plain name.txt" },
	{ "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "a\\b", "a\\\\b" },
	{ "a\nb\tc", "a\\012b\\011c" },
	{ "\x1b]0;x\x07", "\\033]0;x\\007" }, /* sets a terminal's title */
	{ "\x7f", "\\177" },
	{ "\x9b"
	  "31m",
	  "\\23331m" }, /* CSI as one byte */
	{ "\xc2\x9b"
	  "31m",
	  "\\302\\23331m" },          /* CSI as UTF-8 */
	{ "\xc2\xa0", "\xc2\xa0" },   /* the first after C1 */
	{ "\xc0\xaf", "\\300\\257" }, /* overlong '/' */
	{ "\xe0\x80\xaf", "\\340\\200\\257" },
	{ "\xf0\x80\x80\xaf", "\\360\\200\\200\\257" },
	{ "\xed\xa0\x80", "\\355\\240\\200" },          /* a surrogate */
	{ "\xf4\x90\x80\x80", "\\364\\220\\200\\200" }, /* U+110000 */
	{ "\xf8\x88\x80\x80\x80", "\\370\\210\\200\\200\\200" },
	{ "\xe2\x82", "\\342\\202" }, /* ends in the middle */
	{ "\xe2\x82x", "\\342\\202x" },
	{ "\x80x", "\\200x" },
	{ "\xff\xfe", "\\377\\376" },
	{ "a\xe2\x80\xae"
	  "b",
	  "a\\342\\200\\256b" }, /* right-to-left override */
	{ "a\xe2\x80\xa8"
	  "b",
	  "a\\342\\200\\250b" },               /* line separator */
	{ "\xe2\x81\xa6", "\\342\\201\\246" }, /* an isolate */
	{ "\xe2\x80\x8e", "\\342\\200\\216" }, /* U+200E, U+200F, U+061C: marks of a direction */
	{ "\xe2\x80\x8f", "\\342\\200\\217" },
	{ "\xd8\x9c", "\\330\\234" },
	{ "\xe2\x80\x90\xe2\x80\x8d", "\xe2\x80\x90\xe2\x80\x8d" }, /* and what is beside them */
};

START_TEST(a_name_is_shown_without_what_a_terminal_obeys)
{
	char out[256];

	ck_assert_ptr_eq(escape_name(names[_i].name, out, sizeof(out)), out);
	ck_assert_str_eq(out, names[_i].shown);
}
END_TEST

START_TEST(a_locale_without_utf8_shows_ascii_only)
{
	static const char *const locales[] = { "C", "POSIX", "nowhere", "C.UTF-8" };
	char out[64];

	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		bool ascii = i < ARRAY_SIZE(locales) - 1;

		ck_assert_int_eq(setenv("LC_ALL", locales[i], 1), 0);
		escape_for_locale();
		ck_assert_int_eq(escape_is_ascii(), ascii);
		ck_assert_str_eq(escape_name("\xc3\x9b"
					     "2J\n",
					     out, sizeof(out)),
				 ascii ? "\\303\\2332J\\012"
				       : "\xc3\x9b"
					 "2J\\012");
		ck_assert_str_eq(escape_utf8("\xc3\x9b\n", out, sizeof(out)), "\xc3\x9b\\012");
	}
}
END_TEST

START_TEST(no_two_bytes_make_a_control_byte)
{
	unsigned int a, b;

	for (a = 1; a < 256; a++) {
		for (b = 1; b < 256; b++) {
			char name[3] = { (char)a, (char)b, '\0' }, out[16];
			const unsigned char *s;

			for (s = (const unsigned char *)escape_name(name, out, sizeof(out)); *s; s++) {
				ck_assert(*s >= 0x20 && *s != 0x7f);
				if (*s == 0xc2)
					ck_assert_uint_ge(s[1], 0xa0);
				else if (*s >= 0x80 && *s < 0xc0)
					ck_assert(s > (unsigned char *)out && s[-1] >= 0xc2);
			}
		}
	}
}
END_TEST

START_TEST(a_name_that_does_not_fit_ends_in_dots)
{
	char out[16];

	ck_assert_str_eq(escape_name("0123456789", out, 11), "0123456789");
	ck_assert_str_eq(escape_name("0123456789", out, 10), "01...6789");
	ck_assert_str_eq(escape_name("0123456789", out, 5), "...9");
	ck_assert_str_eq(escape_name("0123456789", out, 4), "...");
	ck_assert_str_eq(escape_name("0123456789", out, 3), "..");
	ck_assert_str_eq(escape_name("0123456789", out, 1), "");
	memset(out, 'x', sizeof(out));
	escape_name("0123", out, 0);
	ck_assert_int_eq(out[0], 'x');
}
END_TEST

START_TEST(a_cut_never_splits_a_character_or_an_escape)
{
	char out[16];

	ck_assert_str_eq(escape_name("a\nbcdef", out, 8), "a...def");
	ck_assert_str_eq(escape_name("a\nbcdef", out, 9), "a...cdef");
	ck_assert_str_eq(escape_name("abcdef\xe2\x82\xac", out, 7), "a...");
	ck_assert_str_eq(escape_name("abcdef\xe2\x82\xac", out, 8), "a...\xe2\x82\xac");
	ck_assert_str_eq(escape_name("abcdef\nx", out, 10), "ab...x");
	ck_assert_str_eq(escape_name("abcdef\nx", out, 11), "ab...\\012x");
	ck_assert_str_eq(escape_name("\\\\\\", out, 6), "...\\\\");
}
END_TEST

START_TEST(every_size_is_terminated_and_within_bounds)
{
	size_t size;

	for (size = 1; size < 64; size++) {
		char *out = malloc(size); /* an overrun is the sanitizer's to find */

		escape_name("\x1b\xe2\x82\xac\\x\xff\xf0\x9f\x98\x80 and more of it", out, size);
		ck_assert_uint_lt(strnlen(out, size), size);
		free(out);
	}
}
END_TEST

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{ 0, "0 B" },           { 512, "512 B" },          { 1023, "1023 B" },          { KIB, "1.0 KiB" },
	{ 1536, "1.5 KiB" },    { MIB - 1, "1.0 MiB" },    { MIB - 100, "1023.9 KiB" }, { MIB + MIB / 2, "1.5 MiB" },
	{ 2 * GIB, "2.0 GiB" }, { 1024 * GIB, "1.0 TiB" }, { UINT64_MAX, "16.0 EiB" },
};

START_TEST(a_size_has_a_unit_and_one_digit)
{
	char out[16];

	ck_assert_str_eq(format_size(sizes[_i].bytes, out), sizes[_i].text);
}
END_TEST

START_TEST(powers_of_two_are_told_from_the_rest)
{
	ck_assert(!is_power_of_two(0));
	ck_assert(is_power_of_two(1));
	ck_assert(!is_power_of_two(3));
	ck_assert(is_power_of_two(1ULL << 63));
	ck_assert(!is_power_of_two(UINT64_MAX));
	ck_assert_uint_eq(log2_floor(1), 0);
	ck_assert_uint_eq(log2_floor(4095), 11);
	ck_assert_uint_eq(log2_floor(4096), 12);
	ck_assert_uint_eq(log2_floor(UINT64_MAX), 63);
}
END_TEST

START_TEST(the_clock_never_goes_back)
{
	uint64_t last = now_ns();
	int i;

	ck_assert_uint_gt(last, 0);
	for (i = 0; i < 1000; i++) {
		uint64_t now = now_ns();

		ck_assert_uint_ge(now, last);
		last = now;
	}
}
END_TEST

START_TEST(last_component_is_what_no_slash_ends)
{
	static const char *const paths[][2] = { { "a", "a" },   { "/a", "a" }, { "a/b", "b" }, { "a/b//", "b" },
						{ "/", "/" },   { "//", "/" }, { ".", "." },   { "a/..", ".." },
						{ "./a", "a" }, { "", "" } };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *name = last_component(paths[i][0]);

		ck_assert_str_eq(name, paths[i][1]);
		free(name);
	}
}
END_TEST

Suite *util_suite(void)
{
	Suite *s = suite_create("util");
	TCase *tc = tcase_create("escape_name");

	tcase_add_loop_test(tc, a_name_is_shown_without_what_a_terminal_obeys, 0, ARRAY_SIZE(names));
	tcase_add_test(tc, a_locale_without_utf8_shows_ascii_only);
	tcase_add_test(tc, no_two_bytes_make_a_control_byte);
	tcase_add_test(tc, a_name_that_does_not_fit_ends_in_dots);
	tcase_add_test(tc, a_cut_never_splits_a_character_or_an_escape);
	tcase_add_test(tc, every_size_is_terminated_and_within_bounds);
	suite_add_tcase(s, tc);

	tc = tcase_create("numbers");
	tcase_add_loop_test(tc, a_size_has_a_unit_and_one_digit, 0, ARRAY_SIZE(sizes));
	tcase_add_test(tc, powers_of_two_are_told_from_the_rest);
	tcase_add_test(tc, the_clock_never_goes_back);
	suite_add_tcase(s, tc);

	tc = tcase_create("paths");
	tcase_add_test(tc, last_component_is_what_no_slash_ends);
	suite_add_tcase(s, tc);
	return s;
}
