/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Runs the unit tests: `unit [SUITE...]`, all suites without arguments; SUITE may be a shell pattern. The list comes from the Makefile, which finds
 * every test_NOUN.c here; each defines `Suite *NOUN_suite(void)`. libcheck forks per test and reads CK_RUN_CASE,
 * CK_VERBOSITY, CK_FORK, CK_TAP_LOG_FILE_NAME and CK_TIMEOUT_MULTIPLIER from the environment.
 * Exit status: 0 all passed, 1 a test failed, 2 an unknown suite was asked for.
 */
#include <check.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>

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

static bool add(SRunner *sr, const char *pattern)
{
	bool found = false;

	for (size_t i = 0; suites[i].name; i++) {
		if (fnmatch(pattern, suites[i].name, 0))
			continue;
		srunner_add_suite(sr, suites[i].make());
		found = true;
	}
	if (found)
		return true;
	fprintf(stderr, "unit: no suite '%s'; there are:", pattern);
	for (size_t i = 0; suites[i].name; i++)
		fprintf(stderr, " %s", suites[i].name);
	fputc('\n', stderr);
	return false;
}

int main(int argc, char **argv)
{
	SRunner *sr = srunner_create(NULL);
	int failed;

	for (int i = 1; i < argc; i++) {
		if (!add(sr, argv[i])) {
			srunner_free(sr);
			return 2;
		}
	}
	if (argc < 2)
		add(sr, "*");
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
