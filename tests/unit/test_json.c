/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Objects of --json: golden lines, and text of any bytes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"
#include "rdcp/json.h"

Suite *json_suite(void);

static char *line;
static size_t line_len;
static FILE *f;

static void setup(void)
{
	f = open_memstream(&line, &line_len);
	ck_assert_ptr_nonnull(f);
}

static void teardown(void)
{
	fclose(f);
	free(line);
}

START_TEST(members_and_objects_within_get_their_commas)
{
	struct json j;

	json_begin(&j, f, "sort");
	json_text(&j, "text", "a b");
	json_text(&j, "none", NULL);
	json_open(&j, "within");
	json_number(&j, "one", UINT64_MAX);
	json_number(&j, "two", 0);
	json_close(&j);
	json_seconds(&j, "time", 61 * SEC + 2345678);
	json_open(&j, "empty");
	json_close(&j);
	json_name(&j, "name", "x");
	json_end(&j);
	ck_assert_str_eq(line,
			 "{\"type\":\"sort\",\"text\":\"a b\",\"none\":null,\"within\":{\"one\":18446744073709551615,"
			 "\"two\":0},\"time\":61.002345,\"empty\":{},\"name\":\"x\"}\n");
}
END_TEST

/* What stands for `name` between the braces, behind the type. */
static const char *member(const char *name)
{
	struct json j;

	rewind(f);
	json_begin(&j, f, "t");
	json_name(&j, "n", name);
	json_end(&j);
	putc('\0', f); /* it does not get shorter */
	fflush(f);
	return line + strlen("{\"type\":\"t\",");
}

START_TEST(what_json_or_a_terminal_would_obey_is_escaped)
{
	ck_assert_str_eq(member("q\"b\\s/"), "\"n\":\"q\\\"b\\\\s/\"}\n");
	ck_assert_str_eq(member("\n\t\033[2J\177"), "\"n\":\"\\u000a\\u0009\\u001b[2J\\u007f\"}\n");
	ck_assert_str_eq(member("\302\233\342\200\256\342\201\246\342\200\250"),
			 "\"n\":\"\\u009b\\u202e\\u2066\\u2028\"}\n");
	ck_assert_str_eq(member("\346\227\245 \360\237\230\200"), "\"n\":\"\346\227\245 \360\237\230\200\"}\n");
}
END_TEST

START_TEST(bytes_that_are_not_utf8_come_in_base64_too)
{
	ck_assert_str_eq(member("\377"), "\"n\":\"\\ufffd\",\"n_base64\":\"/w==\"}\n");
	ck_assert_str_eq(member("a\300\200"), "\"n\":\"a\\ufffd\\ufffd\",\"n_base64\":\"YcCA\"}\n");
	ck_assert_str_eq(member("ab\355\240\200"), "\"n\":\"ab\\ufffd\\ufffd\\ufffd\",\"n_base64\":\"YWLtoIA=\"}\n");
	ck_assert_str_eq(member("\346\227"), "\"n\":\"\\ufffd\\ufffd\",\"n_base64\":\"5pc=\"}\n");
	ck_assert_str_eq(member(""), "\"n\":\"\"}\n");
}
END_TEST

START_TEST(every_byte_gives_plain_text)
{
	static const unsigned char leads[] = { 'a', '"', '\\', 0x80, 0xc2, 0xe2, 0xed, 0xf0, 0xff };

	for (size_t a = 0; a < sizeof(leads); a++) {
		for (int b = 1; b < 256; b++) {
			char name[] = { (char)leads[a], (char)b, '\0' };
			uint32_t code;

			for (const char *s = member(name); *s != '\n'; s += utf8_character(s, &code)) {
				ck_assert_uint_gt(utf8_character(s, &code), 0);
				ck_assert(!utf8_is_control(code));
			}
		}
	}
}
END_TEST

START_TEST(a_stream_that_breaks_remembers_it)
{
	FILE *full = fopen("/dev/full", "we");
	struct json j;

	ck_assert_ptr_nonnull(full);
	json_begin(&j, full, "t");
	json_end(&j);
	ck_assert(ferror(full));
	fclose(full);
}
END_TEST

Suite *json_suite(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("objects");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, members_and_objects_within_get_their_commas);
	tcase_add_test(tc, what_json_or_a_terminal_would_obey_is_escaped);
	tcase_add_test(tc, bytes_that_are_not_utf8_come_in_base64_too);
	tcase_add_test(tc, every_byte_gives_plain_text);
	tcase_add_test(tc, a_stream_that_breaks_remembers_it);
	suite_add_tcase(s, tc);
	return s;
}
