/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What --status prints, byte for byte where programs read it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"
#include "rdcpd/report.h"

Suite *report_suite(void);

static const struct report_daemon idle = { .since = { 1700000000, 123456789 },
					   .seconds = 93784.5,
					   .listening = 2,
					   .max_sessions = 32,
					   .pinned = 0,
					   .max_pinned = 2 * GIB,
					   .in = 5,
					   .out = 7,
					   .refused = 3,
					   .challenged = 9 };

/* Without the lines of version and pid; freed by the caller. */
static char *print(const struct report_format *f, const struct report_daemon *d, const struct report_session *s,
		   size_t count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	f->begin(out, d);
	for (size_t i = 0; i < count; i++)
		f->session(out, &s[i], i == 0);
	f->end(out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static struct report_session *sample(size_t count)
{
	struct report_session *s = calloc(count, sizeof(*s));

	for (size_t i = 0; i < count; i++) {
		strcpy(s[i].id, "3992c23d-63a7-41f1-afd8-bcc20d6dda72");
		strcpy(s[i].client, "alice");
		strcpy(s[i].peer, "192.0.2.7");
		s[i].since = (struct timespec){ 1700000001, 5000000 };
		s[i].seconds = 12.25;
		s[i].bytes = 3 * GIB;
		s[i].rate = 1500000000;
		s[i].files = 4;
		s[i].failed = 1;
	}
	return s;
}

START_TEST(a_daemon_without_sessions_is_an_empty_list)
{
	char *text = print(&report_json, &idle, NULL, 0);

	ck_assert_ptr_nonnull(strstr(text, "\"since\": \"2023-11-14T22:13:20.123Z\",\n"
					   "  \"seconds\": 93784.500,\n"
					   "  \"stopping\": false,\n"
					   "  \"listening\": 2,\n"
					   "  \"max_sessions\": 32,\n"
					   "  \"pinned\": 0,\n"
					   "  \"max_pinned\": 2147483648,\n"
					   "  \"bytes_in\": 5,\n"
					   "  \"bytes_out\": 7,\n"
					   "  \"refused\": 3,\n"
					   "  \"challenged\": 9,\n"
					   "  \"sessions\": [\n"
					   "  ]\n"
					   "}\n"));
	free(text);
}
END_TEST

START_TEST(a_session_has_every_field_of_the_schema)
{
	struct report_session *s = sample(2);
	char *text;

	strcpy(s[1].user, "bob");
	s[1].pull = true;
	strcpy(s[1].file, "d/f");
	s[1].file_size = 9;
	text = print(&report_json, &idle, s, 2);
	ck_assert_ptr_nonnull(strstr(text, "    {\n"
					   "      \"id\": \"3992c23d-63a7-41f1-afd8-bcc20d6dda72\",\n"
					   "      \"client\": \"alice\",\n"
					   "      \"user\": null,\n"
					   "      \"peer\": \"192.0.2.7\",\n"
					   "      \"direction\": \"push\",\n"
					   "      \"since\": \"2023-11-14T22:13:21.005Z\",\n"
					   "      \"seconds\": 12.250,\n"
					   "      \"bytes\": 3221225472,\n"
					   "      \"rate\": 1500000000,\n"
					   "      \"files\": 4,\n"
					   "      \"failed\": 1,\n"
					   "      \"file\": null,\n"
					   "      \"file_size\": null\n"
					   "    },\n"));
	ck_assert_ptr_nonnull(strstr(text, "      \"user\": \"bob\",\n"));
	ck_assert_ptr_nonnull(strstr(text, "      \"direction\": \"pull\",\n"));
	ck_assert_ptr_nonnull(strstr(text, "      \"file\": \"d/f\",\n      \"file_size\": 9\n    }\n  ]\n}\n"));
	free(text);
	free(s);
}
END_TEST

START_TEST(a_name_cannot_leave_its_string_or_its_line)
{
	struct report_session *s = sample(1);
	char *text;

	strcpy(s->file, "a\"b\\c\nd\x1b[2J\xff");
	text = print(&report_json, &idle, s, 1);
	ck_assert_ptr_nonnull(strstr(text, "\"file\": \"a\\\"b\\\\\\\\c\\\\012d\\\\033[2J\\\\377\""));
	free(text);
	text = print(&report_text, &idle, s, 1);
	ck_assert_ptr_nonnull(strstr(text, "  a\"b\\\\c\\012d\\033[2J\\377\n"));
	free(text);
	memset(s->file, 1, sizeof(s->file) - 1);
	text = print(&report_json, &idle, s, 1);
	ck_assert_ptr_nonnull(strstr(text, "\\\\001\",\n"));
	free(text);
	free(s);
}
END_TEST

START_TEST(people_get_a_line_a_session)
{
	struct report_session *s = sample(2);
	char *text = print(&report_text, &idle, s, 2), *row;

	ck_assert_ptr_nonnull(strstr(text, ", up 1d 02:03\n0 of 32 sessions, 0 B of 2.0 GiB pinned, 2 addresses, "));
	row = strstr(text, "\n3992c23d  alice ");
	ck_assert_ptr_nonnull(row);
	ck_assert_ptr_nonnull(strstr(row, "0:00:12       4/1      3.0 GiB    1.4 GiB/s  -\n3992c23d  alice"));
	free(text);
	free(s);
}
END_TEST

Suite *report_suite(void)
{
	Suite *s = suite_create("report");
	TCase *tc = tcase_create("report");

	tcase_add_test(tc, a_daemon_without_sessions_is_an_empty_list);
	tcase_add_test(tc, a_session_has_every_field_of_the_schema);
	tcase_add_test(tc, a_name_cannot_leave_its_string_or_its_line);
	tcase_add_test(tc, people_get_a_line_a_session);
	suite_add_tcase(s, tc);
	return s;
}
