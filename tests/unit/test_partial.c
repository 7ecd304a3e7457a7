/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which names are those of unfinished files. That outfile.c makes such is seen by test_outfile.c. */
#include <check.h>

#include "common/partial.h"
#include "common/util.h"

Suite *partial_suite(void);

START_TEST(only_names_of_temporaries_are_taken)
{
	static const char *const good[] = { ".f.abcdefgh.rdcp-part", ".a.b.c.abcdefgh.rdcp-part",
					    ".x.a2345672.rdcp-part" };
	static const char *const bad[] = { "f.abcdefgh.rdcp-part",
					   ".abcdefgh.rdcp-part",
					   ".f.abcdefg.rdcp-part",
					   ".f.abcdefghi.rdcp-part",
					   ".f.ABCDEFGH.rdcp-part",
					   ".f.abcdefgh.rdcp-parts",
					   ".f.abcdefgh",
					   ".f.abcdefg0.rdcp-part",
					   ".rdcp-part",
					   "",
					   ".fabcdefgh.rdcp-part",
					   ".f.abc/efgh.rdcp-part" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(partial_is_name(good[i]), "'%s'", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!partial_is_name(bad[i]), "'%s'", bad[i]);
}
END_TEST

Suite *partial_suite(void)
{
	Suite *s = suite_create("partial");
	TCase *tc = tcase_create("partial");

	suite_add_tcase(s, tc);
	tcase_add_test(tc, only_names_of_temporaries_are_taken);
	return s;
}
