/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* namelist.h: which names a file gives, and what is said about one that cannot be taken. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/util.h"
#include "rdcp/namelist.h"
#include "tree.h"

Suite *namelist_suite(void);

static struct namelist list;
static struct filter filter;
static char why[512];

static void setup(void)
{
	tree_setup();
	filter_init(&filter);
	memset(&list, 0, sizeof(list));
	strcpy(why, "nothing");
}

static void teardown(void)
{
	namelist_done(&list);
	filter_done(&filter);
	tree_teardown();
}

static void write_bytes(const void *bytes, size_t len)
{
	int fd = open("list", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

/* The list's names, joined by '|'. */
static void expect_names(const char *expected)
{
	char got[256] = "";

	for (size_t i = 0; i < list.count; i++) {
		ck_assert_uint_lt(strlen(got) + strlen(namelist_name(&list, i)) + 1, sizeof(got));
		if (i)
			strcat(got, "|");
		strcat(got, namelist_name(&list, i));
	}
	ck_assert_str_eq(got, expected);
}

static void expect_refused(bool nul, int error, const char *sentence)
{
	ck_assert_int_eq(namelist_read("list", nul, &list, why, sizeof(why)), error);
	ck_assert_msg(strstr(why, sentence) != NULL, "%s", why);
	ck_assert_ptr_null(list.text);
	ck_assert_ptr_null(list.entries);
}

/* As rsync 3.5.0 takes them, but for comments, CR and the "/./", which namelist.h tells of. */
static const struct {
	const char *bytes;
	size_t len;
	bool nul;
	const char *names;
} files[] = {
#define TEXT(text) text, sizeof(text) - 1
	{ TEXT(""), false, "" },
	{ TEXT(""), true, "" },
	{ TEXT("a"), false, "a" },
	{ TEXT("a\nb\n"), false, "a|b" },
	{ TEXT("a\r\nb\r\n"), false, "a\r|b\r" },
	{ TEXT("a\rb"), false, "a\rb" },
	{ TEXT("\n\r\n\ra\n\n\nb\r\r"), false, "\r|\ra|b\r\r" },
	{ TEXT("#c\n;c\n #a\n;\n#\nb#c\n./#d"), false, "#c|;c| #a|;|#|b#c|#d" },
	{ TEXT("#c\0;c\0a\0"), true, "#c|;c|a" },
	{ TEXT("a\r\n\0\0b\nc\0d"), true, "a\r\n|b\nc|d" },
	{ TEXT(" s\ns \n\t\n"), false, " s|s |\t" },
	{ TEXT("- a\n+ b\n!\n-c\n"), false, "- a|+ b|!|-c" },
	{ TEXT("b\na\nb\n"), false, "b|a|b" },
	{ TEXT("../a\n/a\n//a\n./a\n.//./a\n/../../a\n"), false, "a|a|a|a|a|a" },
	{ TEXT("d/../a\nd/../../b\nd/e/../f\nd/./f\nd//e///g\n"), false, "a|b|d/f|d/f|d/e/g" },
	{ TEXT(".\n./\n/\n..\n../..\nd/..\n/.//\n"), false, ".|.|.|.|.|.|." },
	{ TEXT("d\nd/\nd//\nd/.\nd/e/..\n"), false, "d|d/|d/|d/|d/" },
	{ TEXT("...\n.a\n..a/..b\na./b..\n"), false, "...|.a|..a/..b|a./b.." },
	{ TEXT("\xff\xfe/\xc3\n"), false, "\xff\xfe/\xc3" },
};

START_TEST(file_gives_these_names)
{
	write_bytes(files[_i].bytes, files[_i].len);
	ck_assert_msg(namelist_read("list", files[_i].nul, &list, why, sizeof(why)) == 0, "%s", why);
	expect_names(files[_i].names);
}
END_TEST

START_TEST(entry_knows_its_line)
{
	write_bytes(TEXT("\n\na\n\nb\nc"));
	ck_assert_int_eq(namelist_read("list", false, &list, why, sizeof(why)), 0);
	expect_names("a|b|c");
	ck_assert_uint_eq(list.entries[0].line, 3);
	ck_assert_uint_eq(list.entries[1].line, 5);
	ck_assert_uint_eq(list.entries[2].line, 6);
}
END_TEST

START_TEST(standard_input_is_read_from_a_pipe)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "a\nb", 3), 3);
	close(ends[1]);
	ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	ck_assert_msg(namelist_read("-", false, &list, why, sizeof(why)) == 0, "%s", why);
	expect_names("a|b");
}
END_TEST

START_TEST(standard_input_is_called_by_its_name)
{
	write_bytes(TEXT("a\0b"));
	ck_assert_int_eq(dup2(open("list", O_RDONLY | O_CLOEXEC), STDIN_FILENO), STDIN_FILENO);
	ck_assert_int_eq(namelist_read("-", false, &list, why, sizeof(why)), -EINVAL);
	ck_assert_int_eq(strncmp(why, "standard input, line 1: ", 24), 0);
}
END_TEST

START_TEST(file_that_is_missing_is_named)
{
	expect_refused(false, -ENOENT, "'list': No such file");
}
END_TEST

START_TEST(directory_is_refused)
{
	ck_assert_int_eq(mkdir("list", 0755), 0);
	expect_refused(false, -EISDIR, "'list': Is a directory");
}
END_TEST

START_TEST(file_with_a_terrible_name_is_shown_escaped)
{
	ck_assert_int_eq(namelist_read("\x1b[2J\n", false, &list, why, sizeof(why)), -ENOENT);
	ck_assert_msg(!strpbrk(why, "\x1b\n"), "%s", why);
}
END_TEST

START_TEST(nul_byte_in_a_line_is_refused_with_advice)
{
	write_bytes(TEXT("a\nb\0c\n"));
	expect_refused(false, -EINVAL, "'list', line 2: ");
	expect_refused(false, -EINVAL, "--from0");
}
END_TEST

START_TEST(longest_name_is_taken)
{
	char name[PATH_MAX];

	memset(name, 'x', sizeof(name));
	name[PATH_MAX - 1] = '\n';
	write_bytes(name, sizeof(name));
	ck_assert_int_eq(namelist_read("list", false, &list, why, sizeof(why)), 0);
	ck_assert_uint_eq(strlen(namelist_name(&list, 0)), PATH_MAX - 1);
}
END_TEST

START_TEST(name_that_is_too_long_is_refused_with_its_line)
{
	char text[2 + PATH_MAX] = "a\n";

	memset(text + 2, 'x', PATH_MAX);
	write_bytes(text, sizeof(text));
	expect_refused(false, -ENAMETOOLONG, "'list', line 2: it has more than 4095 bytes");
	text[1] = '\0';
	write_bytes(text, sizeof(text));
	expect_refused(true, -ENAMETOOLONG, "'list', entry 2: ");
}
END_TEST

START_TEST(comment_of_any_length_is_skipped_among_rules)
{
	char text[2 * PATH_MAX];

	memset(text, '#', sizeof(text));
	memcpy(text + sizeof(text) - 2, "\na", 2);
	write_bytes(text, sizeof(text));
	ck_assert_int_eq(namelist_read_rules("list", false, false, &filter, why, sizeof(why)), 0);
	ck_assert_uint_eq(filter.count, 1);
	ck_assert_str_eq(filter.rules[0].pattern, "a");
}
END_TEST

START_TEST(file_of_the_greatest_size_is_taken_and_no_larger_one)
{
	write_bytes(TEXT("a"));
	ck_assert_int_eq(truncate("list", NAMELIST_BYTES_MAX), 0);
	ck_assert_msg(namelist_read("list", true, &list, why, sizeof(why)) == 0, "%s", why);
	expect_names("a");
	namelist_done(&list);
	ck_assert_int_eq(truncate("list", NAMELIST_BYTES_MAX + 1), 0);
	expect_refused(true, -EFBIG, "'list': a list has at most 64 MiB");
}
END_TEST

START_TEST(many_names_keep_their_order)
{
	static char text[50000 * 8 + 1];
	char name[16];

	for (int i = 0; i < 50000; i++)
		ck_assert_int_eq(snprintf(text + 8 * i, 9, "%07d%s", i, i < 49999 ? "\n" : ""), i < 49999 ? 8 : 7);
	write_bytes(text, strlen(text));
	ck_assert_int_eq(namelist_read("list", false, &list, why, sizeof(why)), 0);
	ck_assert_uint_eq(list.count, 50000);
	for (unsigned int i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "%07u", i);
		ck_assert_str_eq(namelist_name(&list, i), name);
		ck_assert_uint_eq(list.entries[i].line, i + 1);
	}
}
END_TEST

START_TEST(rules_of_a_file_are_appended)
{
	ck_assert_int_eq(filter_add(&filter, "first", true), 0);
	write_bytes(TEXT("# rules\n*.o\r\n+ *.c\n\n- /a/\n #x\n-y"));
	ck_assert_msg(namelist_read_rules("list", false, false, &filter, why, sizeof(why)) == 0, "%s", why);
	ck_assert_uint_eq(filter.count, 6);
	ck_assert_str_eq(filter.rules[1].pattern, "*.o");
	ck_assert_str_eq(filter.rules[2].pattern, "*.c");
	ck_assert(filter.rules[2].include);
	ck_assert_str_eq(filter.rules[3].pattern, "/a/");
	ck_assert_str_eq(filter.rules[4].pattern, " #x");
	ck_assert_str_eq(filter.rules[5].pattern, "-y");
	ck_assert(!filter.rules[5].include);
}
END_TEST

START_TEST(carriage_return_ends_a_rule_before_a_line_feed_only)
{
	write_bytes(TEXT("a\r\n\r\n;c\r\nb\rc\nd\r"));
	ck_assert_msg(namelist_read_rules("list", false, false, &filter, why, sizeof(why)) == 0, "%s", why);
	ck_assert_uint_eq(filter.count, 3);
	ck_assert_str_eq(filter.rules[0].pattern, "a");
	ck_assert_str_eq(filter.rules[1].pattern, "b\rc");
	ck_assert_str_eq(filter.rules[2].pattern, "d\r");
}
END_TEST

START_TEST(rules_without_a_sign_mean_what_the_option_says)
{
	write_bytes(TEXT("a\0- b\0\nc"));
	ck_assert_int_eq(namelist_read_rules("list", true, true, &filter, why, sizeof(why)), 0);
	ck_assert_uint_eq(filter.count, 3);
	ck_assert(filter.rules[0].include);
	ck_assert(!filter.rules[1].include);
	ck_assert_str_eq(filter.rules[2].pattern, "\nc");
}
END_TEST

START_TEST(lone_exclamation_mark_drops_the_rules_before)
{
	ck_assert_int_eq(filter_add(&filter, "first", true), 0);
	write_bytes(TEXT("a\n!\nb\n"));
	ck_assert_int_eq(namelist_read_rules("list", false, false, &filter, why, sizeof(why)), 0);
	ck_assert_uint_eq(filter.count, 1);
	ck_assert_str_eq(filter.rules[0].pattern, "b");
}
END_TEST

START_TEST(rule_without_a_pattern_is_refused_with_its_line)
{
	write_bytes(TEXT("a\n+ \n"));
	ck_assert_int_eq(namelist_read_rules("list", false, false, &filter, why, sizeof(why)), -EINVAL);
	ck_assert_msg(strstr(why, "'list', line 2: there is no pattern") != NULL, "%s", why);
}
END_TEST

START_TEST(rule_that_is_too_long_is_refused_with_its_line)
{
	char text[PATH_MAX + 8];

	memset(text, 'x', sizeof(text));
	memcpy(text, "+ ", 2);
	write_bytes(text, PATH_MAX - 1 + 2);
	ck_assert_msg(namelist_read_rules("list", false, false, &filter, why, sizeof(why)) == 0, "%s", why);
	text[0] = 'x';
	write_bytes(text, PATH_MAX - 1 + 2);
	ck_assert_int_eq(namelist_read_rules("list", false, false, &filter, why, sizeof(why)), -ENAMETOOLONG);
	ck_assert_msg(strstr(why, "'list', line 1: a pattern has at most 4095 bytes") != NULL, "%s", why);
	write_bytes(text, sizeof(text));
	ck_assert_int_eq(namelist_read_rules("list", false, false, &filter, why, sizeof(why)), -ENAMETOOLONG);
}
END_TEST

START_TEST(rule_too_many_is_refused_with_its_line)
{
	char text[2 * (FILTER_RULES_MAX + 1)];

	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "x\n", 2);
	write_bytes(text, sizeof(text));
	ck_assert_int_eq(namelist_read_rules("list", false, false, &filter, why, sizeof(why)), -E2BIG);
	ck_assert_msg(strstr(why, "'list', line 1025: there are at most 1024 rules") != NULL, "%s", why);
}
END_TEST

START_TEST(no_descriptor_is_left_open)
{
	unsigned int before = tree_open_fds();

	write_bytes(TEXT("a\nb\0c"));
	expect_refused(false, -EINVAL, "line 2");
	ck_assert_int_eq(namelist_read("list", true, &list, why, sizeof(why)), 0);
	ck_assert_int_eq(namelist_read_rules("list", true, true, &filter, why, sizeof(why)), 0);
	ck_assert_uint_eq(tree_open_fds(), before);
}
END_TEST

Suite *namelist_suite(void)
{
	Suite *suite = suite_create("namelist");
	TCase *tc = tcase_create("namelist");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, file_gives_these_names, 0, ARRAY_SIZE(files));
	tcase_add_test(tc, entry_knows_its_line);
	tcase_add_test(tc, standard_input_is_read_from_a_pipe);
	tcase_add_test(tc, standard_input_is_called_by_its_name);
	tcase_add_test(tc, file_that_is_missing_is_named);
	tcase_add_test(tc, directory_is_refused);
	tcase_add_test(tc, file_with_a_terrible_name_is_shown_escaped);
	tcase_add_test(tc, nul_byte_in_a_line_is_refused_with_advice);
	tcase_add_test(tc, longest_name_is_taken);
	tcase_add_test(tc, name_that_is_too_long_is_refused_with_its_line);
	tcase_add_test(tc, comment_of_any_length_is_skipped_among_rules);
	tcase_add_test(tc, file_of_the_greatest_size_is_taken_and_no_larger_one);
	tcase_add_test(tc, many_names_keep_their_order);
	tcase_add_test(tc, rules_of_a_file_are_appended);
	tcase_add_test(tc, carriage_return_ends_a_rule_before_a_line_feed_only);
	tcase_add_test(tc, rules_without_a_sign_mean_what_the_option_says);
	tcase_add_test(tc, lone_exclamation_mark_drops_the_rules_before);
	tcase_add_test(tc, rule_without_a_pattern_is_refused_with_its_line);
	tcase_add_test(tc, rule_that_is_too_long_is_refused_with_its_line);
	tcase_add_test(tc, rule_too_many_is_refused_with_its_line);
	tcase_add_test(tc, no_descriptor_is_left_open);
	return suite;
}
