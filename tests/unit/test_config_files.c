/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdcpd.conf as files: what cannot be read, what drop-ins change, and the file that is shipped. See conf_dir.h. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_dir.h"

Suite *config_files_suite(void);

START_TEST(a_missing_file_is_said)
{
	_cleanup_free_ char *want = expand("@/rdcpd.conf: cannot be read: No such file or directory\n");
	struct config *c = NULL;

	ck_assert_int_eq(load(&c), -ENOENT);
	ck_assert_ptr_null(c);
	ck_assert_str_eq(said.text, want);
}
END_TEST

START_TEST(a_directory_or_fifo_as_file_is_refused_without_waiting)
{
	struct config *c = NULL;

	make_dir("rdcpd.conf");
	ck_assert_int_eq(load(&c), -EISDIR);
	ck_assert_int_eq(rmdir(conf), 0);
	ck_assert_int_eq(mkfifo(conf, 0600), 0);
	ck_assert_int_eq(load(&c), -EINVAL);
	ck_assert_ptr_nonnull(strstr(said.text, "not a regular file"));
	ck_assert_uint_eq(said.errors, 1);
}
END_TEST

START_TEST(a_huge_file_is_refused)
{
	struct config *c = NULL;

	put("rdcpd.conf", GOOD);
	ck_assert_int_eq(truncate(conf, MIB + 1), 0);
	ck_assert_int_eq(load(&c), -EFBIG);
}
END_TEST

START_TEST(drop_ins_override_and_extend_in_order)
{
	struct config *c;

	make_dir("rdcpd.conf.d");
	put("rdcpd.conf.d/20-b.conf", "[daemon]\nmax-sessions = 20\n[export b]\npath = @/b\n");
	put("rdcpd.conf.d/10-a.conf", "[daemon]\nmax-sessions = 10\nio-threads = 9\n[export a]\naccess = read-write\n");
	put("rdcpd.conf.d/.hidden.conf", "[nonsense]\n");
	put("rdcpd.conf.d/30-x.conf.bak", "[nonsense]\n");
	put("rdcpd.conf.d/.conf", "[nonsense]\n");
	c = load_good(DAEMON("max-sessions = 1"));
	ck_assert_uint_eq(c->max_sessions, 20);
	ck_assert_uint_eq(c->io_threads, 9);
	ck_assert_int_eq(c->auth, CONFIG_AUTH_NONE);
	ck_assert_uint_eq(c->export_count, 2);
	ck_assert(c->exports[0].writable);
	ck_assert_str_eq(c->exports[1].name, "b");
	config_unref(c);
}
END_TEST

START_TEST(a_mistake_in_a_drop_in_names_the_drop_in)
{
	make_dir("rdcpd.conf.d");
	put("rdcpd.conf", OPEN);
	put("rdcpd.conf.d/x.conf", "# x\n[export a]\npath = @/none\n");
	expect_said("@/rdcpd.conf.d/x.conf:3: export 'a': '@/none': No such file or directory");
	put("rdcpd.conf.d/x.conf", "[daemon]\nauth = key\nauth = none\n" CLIENT);
	expect_said("@/rdcpd.conf.d/x.conf:3: 'auth' is there already, in line 2");
	ck_assert_uint_eq(said.errors, 1);
}
END_TEST

START_TEST(a_mistake_that_a_drop_in_replaces_is_one_all_the_same)
{
	make_dir("rdcpd.conf.d");
	put("rdcpd.conf", "[daemon]\nauth = none\nmax-sessions = many\n" EXPORT);
	put("rdcpd.conf.d/10.conf", "[daemon]\nmax-sessions = 0\n");
	put("rdcpd.conf.d/20.conf", "[daemon]\nmax-sessions = 3\n");
	expect_said("@/rdcpd.conf:3: max-sessions: 'many' is not a number from 1 to 4096");
	expect_said("@/rdcpd.conf.d/10.conf:2: max-sessions: '0' is not a number from 1 to 4096");
	ck_assert_uint_eq(said.errors, 2);
}
END_TEST

START_TEST(an_overridden_path_need_not_exist)
{
	struct config *c;

	make_dir("rdcpd.conf.d");
	put("rdcpd.conf.d/x.conf", EXPORT);
	c = load_good("[daemon]\nauth = none\n[export a]\npath = /no/such/path\n");
	config_unref(c);
}
END_TEST

START_TEST(the_shipped_file_starts_no_daemon_by_itself_and_needs_one_line)
{
	static const char *const places[] = { "rdcpd/rdcpd.conf", "../rdcpd/rdcpd.conf", "../../rdcpd/rdcpd.conf" };
	char text[16384] = "";
	struct config *c = NULL;
	FILE *f = NULL;

	for (size_t i = 0; !f && i < ARRAY_SIZE(places); i++)
		f = fopen(places[i], "r");
	if (!f)
		return; /* not run from the source tree */
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	put_bytes("rdcpd.conf", text, strlen(text));
	make_dir("rdcpd.conf.d");
	put("rdcpd.conf.d/test.conf", "[export rdcp]\npath = @/a\n");
	ck_assert_int_eq(load(&c), -EINVAL);
	ck_assert_ptr_nonnull(strstr(said.text, ": [daemon] does not say who may connect"));
	ck_assert_msg(said.errors == 1, "%s", said.text);
	put("rdcpd.conf.d/test.conf", "[daemon]\nauth = none\n[export rdcp]\npath = @/a\n");
	config_unref(load_good(text));
}
END_TEST

/* ---- exports in exports ----------------------------------------------------------------------------------------- */

#define NESTED(at, who, inner, inner_path, inner_rights, outer, outer_path, outer_rights)                              \
	"@/rdcpd.conf:" at ": " who " has export '" inner "' ('@/" inner_path "', " inner_rights ") in export '" outer \
	"' ('@/" outer_path "', " outer_rights                                                                         \
	"): what is in the one can be reached through the other; give both the same "                                  \
	"rights, or leave one of them out"
#define WRITABLE "access = read-write\n"

static void make_link(const char *to, const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(symlink(to, path), 0);
}

START_TEST(a_nested_export_with_other_rights_is_refused)
{
	make_dir("a/in");
	make_dir("a/in/deep");
	expect_only(OPEN WRITABLE "[export in]\npath = @/a/in/deep\n",
		    NESTED("3", "auth = none: everybody", "in", "a/in/deep", "read-only", "a", "a", "read-write"));
	expect_only(OPEN "[export in]\npath = @/a/in\n" WRITABLE,
		    NESTED("3", "auth = none: everybody", "in", "a/in", "read-write", "a", "a", "read-only"));
	expect_only(OPEN WRITABLE "[export in]\npath = @/a/in\nsetuid = yes\n" WRITABLE,
		    NESTED("3", "auth = none: everybody", "in", "a/in", "read-write, setuid", "a", "a", "read-write"));
	expect_only(GOOD "[export in]\npath = @/a/in\n" WRITABLE,
		    NESTED("5", "client 'one'", "in", "a/in", "read-write", "a", "a", "read-only"));
	expect_only(GOOD "exports = a in\n[export in]\npath = @/a/in\n" WRITABLE,
		    NESTED("7", "client 'one'", "in", "a/in", "read-write", "a", "a", "read-only"));
}
END_TEST

START_TEST(a_symlink_hides_no_nesting)
{
	make_dir("a/in");
	make_link("a/in", "link");
	make_link("a", "same");
	expect_only(OPEN WRITABLE "[export in]\npath = @/link\n",
		    NESTED("3", "auth = none: everybody", "in", "link", "read-only", "a", "a", "read-write"));
	expect_only(OPEN WRITABLE "[export in]\npath = @/same/in\n",
		    NESTED("3", "auth = none: everybody", "in", "same/in", "read-only", "a", "a", "read-write"));
	expect_only(OPEN WRITABLE "[export twin]\npath = @/same\n",
		    NESTED("3", "auth = none: everybody", "twin", "same", "read-only", "a", "a", "read-write"));
}
END_TEST

START_TEST(a_nested_export_is_fine_where_rights_cannot_differ)
{
	make_dir("a/in");
	config_unref(load_good(OPEN WRITABLE "[export in]\npath = @/a/in\n" WRITABLE));
	config_unref(load_good(OPEN "[export b]\npath = @/b\n" WRITABLE));
	/* two clients, each with one of them; and one that writes nowhere */
	config_unref(load_good(GOOD "exports = a\n[export in]\npath = @/a/in\n" WRITABLE
				    "[client two]\nkey-file = @/two.key\nexports = in\n"));
	config_unref(load_good(GOOD "access = read-only\n[export in]\npath = @/a/in\n" WRITABLE));
}
END_TEST

Suite *config_files_suite(void)
{
	Suite *s = suite_create("config_files");
	TCase *tc = tcase_create("files");

	tcase_add_checked_fixture(tc, conf_setup, conf_teardown);
	tcase_add_test(tc, a_missing_file_is_said);
	tcase_add_test(tc, a_directory_or_fifo_as_file_is_refused_without_waiting);
	tcase_add_test(tc, a_huge_file_is_refused);
	tcase_add_test(tc, drop_ins_override_and_extend_in_order);
	tcase_add_test(tc, a_mistake_in_a_drop_in_names_the_drop_in);
	tcase_add_test(tc, a_mistake_that_a_drop_in_replaces_is_one_all_the_same);
	tcase_add_test(tc, an_overridden_path_need_not_exist);
	tcase_add_test(tc, a_nested_export_with_other_rights_is_refused);
	tcase_add_test(tc, a_symlink_hides_no_nesting);
	tcase_add_test(tc, a_nested_export_is_fine_where_rights_cannot_differ);
	tcase_add_test(tc, the_shipped_file_starts_no_daemon_by_itself_and_needs_one_line);
	suite_add_tcase(s, tc);
	return s;
}
