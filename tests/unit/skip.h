/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A unit test that cannot run here says why and returns: libcheck knows no third outcome. tests/run counts the line as
 * skipped instead of passed. Use inside START_TEST, whose function bears the test's name:
 *
 *	if (geteuid())
 *		skip_test("needs root");
 */
#ifndef RDCP_TEST_SKIP_H
#define RDCP_TEST_SKIP_H

#include <stdio.h>

/* __func__ is the test's name and libcheck's "_fn". */
#define skip_test(why)                                                                               \
	do {                                                                                         \
		printf("skip %.*s: %s\n", (int)(sizeof(__func__) - sizeof("_fn")), __func__, (why)); \
		fflush(stdout);                                                                      \
		return;                                                                              \
	} while (0)

#endif
