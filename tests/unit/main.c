/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Runs the unit tests: `unit [SUITE...]`, all suites without arguments. The list comes from the Makefile, which finds
 * every test_NOUN.c here; each defines `Suite *NOUN_suite(void)`. libcheck forks per test and reads CK_RUN_CASE,
 * CK_VERBOSITY, CK_FORK, CK_TAP_LOG_FILE_NAME and CK_TIMEOUT_MULTIPLIER from the environment.
 * Exit status: 0 all passed, 1 a test failed, 2 an unknown suite was asked for.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(noun) Suite *noun##_suite(void);
#include "suites.h"
#undef SUITE

static const struct {
	const char *name;
	Suite *(*make)(void);
} suites[] = {
#define SUITE(noun) { #noun, noun##_suite },
#include "suites.h"
#undef SUITE
	{ NULL, NULL },
};

static int add(SRunner *sr, const char *name)
{
	for (size_t i = 0; suites[i].name; i++) {
		if (!strcmp(suites[i].name, name)) {
			srunner_add_suite(sr, suites[i].make());
			return 0;
		}
	}
	fprintf(stderr, "unit: no suite '%s'; there are:", name);
	for (size_t i = 0; suites[i].name; i++)
		fprintf(stderr, " %s", suites[i].name);
	fputc('\n', stderr);
	return -1;
}

int main(int argc, char **argv)
{
	SRunner *sr = srunner_create(NULL);
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		if (add(sr, argv[i])) {
			srunner_free(sr);
			return 2;
		}
	}
	for (size_t i = 0; argc < 2 && suites[i].name; i++)
		srunner_add_suite(sr, suites[i].make());

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
