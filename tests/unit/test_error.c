/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* errno to status, status to text, and the debug line of fail(). */
#include <check.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/log.h"
#include "common/util.h"

Suite *error_suite(void);

static const struct {
	int error;
	enum status status;
} table[] = {
	{ 0, STATUS_OK },
	{ ENOENT, STATUS_NOT_FOUND },
	{ EACCES, STATUS_PERMISSION },
	{ EPERM, STATUS_PERMISSION },
	{ EXDEV, STATUS_NOT_ALLOWED },
	{ ENOSPC, STATUS_NO_SPACE },
	{ EDQUOT, STATUS_QUOTA },
	{ EISDIR, STATUS_IS_DIRECTORY },
	{ ENOTDIR, STATUS_NOT_DIRECTORY },
	{ ENOTSUP, STATUS_NOT_REGULAR },
	{ EROFS, STATUS_READ_ONLY },
	{ ENAMETOOLONG, STATUS_NAME_TOO_LONG },
	{ EFBIG, STATUS_TOO_LARGE },
	{ EIO, STATUS_IO },
	{ ESTALE, STATUS_CHANGED },
	{ ECANCELED, STATUS_ABORTED },
	{ EBADMSG, STATUS_PROTOCOL },
	{ EPROTONOSUPPORT, STATUS_VERSION },
	{ ETIMEDOUT, STATUS_TIMEOUT },
	{ EMFILE, STATUS_TOO_MANY_FILES },
	{ ENFILE, STATUS_TOO_MANY_FILES },
	{ EEXIST, STATUS_FAILED },
	{ 99999, STATUS_FAILED },
};

START_TEST(errno_becomes_its_status_whatever_its_sign)
{
	ck_assert_int_eq(status_from_errno(table[_i].error), table[_i].status);
	ck_assert_int_eq(status_from_errno(-table[_i].error), table[_i].status);
}
END_TEST

START_TEST(every_status_has_a_text_of_its_own)
{
	unsigned int i, j;

	for (i = 0; i <= STATUS_JUST_MADE; i++) {
		ck_assert_ptr_nonnull(status_text(i));
		ck_assert_msg(islower(status_text(i)[0]), "status %u: '%s'", i, status_text(i));
		for (j = 0; j < i; j++)
			ck_assert_str_ne(status_text(i), status_text(j));
	}
}
END_TEST

START_TEST(an_unknown_status_is_shown_as_failed)
{
	ck_assert_str_eq(status_text(STATUS_JUST_MADE + 1), status_text(STATUS_FAILED));
	ck_assert_str_eq(status_text(65535), status_text(STATUS_FAILED));
	ck_assert_str_eq(status_text(UINT32_MAX), status_text(STATUS_FAILED));
}
END_TEST

static char last[256];
static int last_level;

static void capture(int level, const char *line)
{
	snprintf(last, sizeof(last), "%s", line);
	last_level = level;
}

static void setup(void)
{
	last[0] = '\0';
	log_set_sink(capture);
}

static void teardown(void)
{
	log_set_sink(NULL);
	log_set_level(LOG_INFO);
}

START_TEST(fail_returns_its_error_and_says_why)
{
	log_set_level(LOG_DEBUG);
	errno = EINTR;
	ck_assert_int_eq(fail(-ENOSPC, "write of %d bytes", 7), -ENOSPC);
	ck_assert_int_eq(errno, EINTR);
	ck_assert_str_eq(last, "write of 7 bytes: No space left on device");
	ck_assert_int_eq(last_level, LOG_DEBUG);
}
END_TEST

START_TEST(fail_is_silent_below_debug)
{
	log_set_level(LOG_INFO);
	ck_assert_int_eq(fail(-EIO, "read"), -EIO);
	ck_assert_str_eq(last, "");
}
END_TEST

Suite *error_suite(void)
{
	Suite *s = suite_create("error");
	TCase *tc = tcase_create("status");

	tcase_add_loop_test(tc, errno_becomes_its_status_whatever_its_sign, 0, ARRAY_SIZE(table));
	tcase_add_test(tc, every_status_has_a_text_of_its_own);
	tcase_add_test(tc, an_unknown_status_is_shown_as_failed);
	suite_add_tcase(s, tc);

	tc = tcase_create("fail");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, fail_returns_its_error_and_says_why);
	tcase_add_test(tc, fail_is_silent_below_debug);
	suite_add_tcase(s, tc);
	return s;
}
