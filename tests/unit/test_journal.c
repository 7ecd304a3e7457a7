/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a line of the daemon's log is in the journal. sd_journal_sendv(3) is replaced by a function that keeps the fields. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/subtrees.h"
#include "common/wire.h"
#include "rdcpd/journal.h"
#include "rdcpd/reason.h"

Suite *journal_suite(void);

static char sent[65536]; /* the last record, "NAME=value" and a newline each */
static unsigned int records;

static int keep(const struct iovec *iov, int n)
{
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		ck_assert_uint_lt(used + iov[i].iov_len + 2, sizeof(sent));
		memcpy(sent + used, iov[i].iov_base, iov[i].iov_len);
		used += iov[i].iov_len;
		sent[used++] = '\n';
	}
	sent[used] = '\0';
	records++;
	errno = EBADF;
	return 0;
}

static void setup(void)
{
	log_open("test", LOG_INFO);
	journal_open_with(keep);
}

static void teardown(void)
{
	journal_set_session(NULL);
	journal_open_with(NULL);
	journal_log_files(false);
	log_set_context(NULL);
}

START_TEST(a_plain_line_has_text_and_level)
{
	errno = ENOENT;
	log_warning("it rains");
	ck_assert_str_eq(sent, "MESSAGE=it rains\nPRIORITY=4\nSYSLOG_IDENTIFIER=rdcpd\n");
	ck_assert_int_eq(errno, ENOENT);
	log_debug("drops");
	ck_assert_uint_eq(records, 1);
}
END_TEST

START_TEST(a_line_of_a_session_says_whose_it_is)
{
	struct journal_session session = { "u-u-i-d", "10.0.0.1", "alice", NULL };

	journal_set_session(&session);
	log_info("x");
	ck_assert_str_eq(sent, "MESSAGE=x\nPRIORITY=6\nSYSLOG_IDENTIFIER=rdcpd\n"
			       "TRANSFER_ID=u-u-i-d\nPEER=10.0.0.1\nCLIENT=alice\n");
	session.client = NULL;
	log_info("x");
	ck_assert_ptr_null(strstr(sent, "CLIENT"));
}
END_TEST

START_TEST(a_line_about_a_file_names_it_once)
{
	char want[256];

	log_set_context("u 10.0.0.1");
	journal_log_files(true);
	journal_write_done(JOURNAL_FILE_STORED, "a\nMESSAGE=forged", 17, "stored");
	snprintf(want, sizeof(want),
		 "MESSAGE=u 10.0.0.1: stored 'a\\012MESSAGE=forged', 17 "
		 "bytes\nPRIORITY=7\nSYSLOG_IDENTIFIER=rdcpd\nMESSAGE_ID=%s\n"
		 "FILE=a\\012MESSAGE=forged\nBYTES=17\n",
		 journal_message_id(JOURNAL_FILE_STORED));
	ck_assert_str_eq(sent, want);
	log_info("next");
	ck_assert_ptr_null(strstr(sent, "FILE="));
	ck_assert_ptr_null(strstr(sent, "MESSAGE_ID="));
}
END_TEST

START_TEST(the_longest_names_and_lines_fit)
{
	char *name = malloc(PATH_MAX), *text = malloc(WIRE_TEXT_MAX + 1);

	memset(name, '\xff', PATH_MAX - 1);
	strcpy(name + PATH_MAX - 6, "n.txt");
	memset(text, '\xfe', WIRE_TEXT_MAX);
	strcpy(text + WIRE_TEXT_MAX - 3, "why");
	journal_write_failed(name, 1, "stored", STATUS_NO_SPACE, text);
	ck_assert_ptr_nonnull(strstr(sent, "MESSAGE='\\377\\377"));
	ck_assert_ptr_nonnull(strstr(sent, "n.txt' was not stored: no space left on device: \\376"));
	ck_assert_ptr_nonnull(strstr(sent, "\\376why\nPRIORITY=3\n"));
	ck_assert_ptr_nonnull(strstr(sent, "\nFILE=\\377\\377"));
	ck_assert_ptr_nonnull(strstr(sent, "\\377n.txt\nBYTES=1\n"));
	ck_assert_ptr_null(strstr(sent, "..."));
	free(name);
	free(text);
}
END_TEST

static void *other(void *arg)
{
	log_info("mine");
	return NULL;
}

START_TEST(another_thread_has_no_session)
{
	struct journal_session session = { "u", "p", "c", NULL };
	pthread_t t;

	journal_set_session(&session);
	ck_assert_int_eq(pthread_create(&t, NULL, other, NULL), 0);
	pthread_join(t, NULL);
	ck_assert_ptr_null(strstr(sent, "TRANSFER_ID"));
}
END_TEST

START_TEST(files_are_counted_for_the_session_they_are_of)
{
	struct tally tally = { 0 };
	struct journal_session session = { "u", "p", "c", &tally };

	journal_write_done(JOURNAL_FILE_STORED, "f", 1, "stored");
	journal_set_session(&session);
	journal_write_done(JOURNAL_FILE_STORED, "f", 1, "stored");
	journal_write_done(JOURNAL_FILE_SENT, "f", 1, "sent");
	journal_write_failed("f", 1, "sent", STATUS_FAILED, "");
	journal_write(JOURNAL_SESSION_ENDED, "ended");
	ck_assert_uint_eq(counters_get(&tally.files), 2);
	ck_assert_uint_eq(counters_get(&tally.failed), 1);
}
END_TEST

START_TEST(files_that_went_well_have_no_line_unless_it_is_wanted)
{
	journal_write_done(JOURNAL_FILE_STORED, "f", 1, "stored");
	journal_write_done(JOURNAL_FILE_SENT, "f", 1, "sent");
	journal_write_done(JOURNAL_TREE_STORED, "f", 1, "stored");
	journal_write_done(JOURNAL_TREE_SENT, "f", 1, "sent");
	ck_assert_uint_eq(records, 0);
	journal_log_files(true);
	journal_write_done(JOURNAL_FILE_SENT, "f", 1, "sent");
	ck_assert_uint_eq(records, 1);
	/* for journald, which counts debug lines for themselves */
	ck_assert_ptr_nonnull(strstr(sent, "\nPRIORITY=7\n"));
	log_debug("this is not");
	ck_assert_uint_eq(records, 1);
}
END_TEST

/* However many files fail, what is said of the session comes through. */
START_TEST(failures_of_a_session_are_told_up_to_a_limit)
{
	struct tally tally = { 0 };
	struct journal_session session = { "u", "p", "c", &tally };
	struct journal_account account = { .failed = 1000, .result = "partial" };
	struct subtrees lost = { 0 };
	char path[16];

	journal_set_session(&session);
	for (int i = 0; i < 500; i++)
		journal_write_failed("f", 1, "sent", STATUS_FAILED, "");
	for (int i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "%d", i);
		subtrees_add(&lost, path);
		snprintf(path, sizeof(path), "%d/f", i);
		journal_is_lost(&lost, path, false);
	}
	journal_write_lost(&lost, "sent");
	ck_assert_uint_eq(records, JOURNAL_FILES_TOLD);
	ck_assert_ptr_nonnull(strstr(sent, "\nPRIORITY=3\n"));
	journal_write_account(&account);
	ck_assert_uint_eq(records, JOURNAL_FILES_TOLD + 2);
	ck_assert_ptr_nonnull(strstr(sent, "account: push, 0 files, 1000 failed"));
	ck_assert_ptr_nonnull(strstr(sent, "\nPRIORITY=5\n"));
	journal_log_files(true);
	journal_write_failed("f", 1, "sent", STATUS_FAILED, "");
	ck_assert_ptr_nonnull(strstr(sent, "\nPRIORITY=7\n"));
}
END_TEST

START_TEST(an_account_has_its_numbers_as_fields)
{
	struct journal_account account = {
		.files = 3, .failed = 1, .bytes = 5000000000, .seconds = 2.5, .result = "partial"
	};
	char want[400];

	journal_write_account(&account);
	snprintf(want, sizeof(want),
		 "MESSAGE=account: push, 3 files, 1 failed, 5000000000 bytes, 2.500 s, partial\nPRIORITY=5\n"
		 "SYSLOG_IDENTIFIER=rdcpd\nMESSAGE_ID=%s\nDIRECTION=push\nFILES=3\nFAILED=1\nBYTES=5000000000\n"
		 "SECONDS=2.500\nRESULT=partial\n",
		 journal_message_id(JOURNAL_SESSION_ACCOUNT));
	ck_assert_str_eq(sent, want);
	log_info("next");
	ck_assert_ptr_null(strstr(sent, "RESULT="));
}
END_TEST

START_TEST(reasons_have_names_of_their_own)
{
	ck_assert_str_eq(reason_name(STATUS_OK), "ok");
	ck_assert_str_eq(reason_name(REASON_LOST), "lost");
	ck_assert_str_eq(reason_name(62), "other");
	ck_assert_str_eq(reason_name(70000), "other");
	for (unsigned int i = 0; i <= STATUS_TOO_MANY_FILES; i++) {
		ck_assert_str_ne(reason_name(i), "other");
		for (unsigned int k = 0; k < i; k++)
			ck_assert_str_ne(reason_name(i), reason_name(k));
	}
}
END_TEST

START_TEST(each_kind_has_an_id_of_its_own)
{
	for (int i = 0; i < JOURNAL_KINDS; i++) {
		ck_assert_uint_eq(strlen(journal_message_id(i)), 32);
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(journal_message_id(i), journal_message_id(k));
	}
}
END_TEST

START_TEST(a_standard_error_that_is_no_journal_is_not_taken_for_one)
{
	unsetenv("JOURNAL_STREAM");
	ck_assert(!journal_open());
	setenv("JOURNAL_STREAM", "nonsense", 1);
	ck_assert(!journal_open());
	setenv("JOURNAL_STREAM", "1:1", 1);
	ck_assert(!journal_open());
}
END_TEST

Suite *journal_suite(void)
{
	Suite *s = suite_create("journal");
	TCase *tc = tcase_create("fields");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_plain_line_has_text_and_level);
	tcase_add_test(tc, a_line_of_a_session_says_whose_it_is);
	tcase_add_test(tc, a_line_about_a_file_names_it_once);
	tcase_add_test(tc, the_longest_names_and_lines_fit);
	tcase_add_test(tc, another_thread_has_no_session);
	tcase_add_test(tc, files_are_counted_for_the_session_they_are_of);
	tcase_add_test(tc, files_that_went_well_have_no_line_unless_it_is_wanted);
	tcase_add_test(tc, failures_of_a_session_are_told_up_to_a_limit);
	tcase_add_test(tc, an_account_has_its_numbers_as_fields);
	tcase_add_test(tc, reasons_have_names_of_their_own);
	tcase_add_test(tc, each_kind_has_an_id_of_its_own);
	tcase_add_test(tc, a_standard_error_that_is_no_journal_is_not_taken_for_one);
	suite_add_tcase(s, tc);
	return s;
}
