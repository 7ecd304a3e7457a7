/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which export a path is in. Exports are 'main' (/srv/rdcp, read-write), 'docs' (/srv/rdcp/docs, read-only) and 'data'
 * (/data, read-only); 'alice' has all of them, 'bob' only 'data'.
 */
#include <check.h>
#include <string.h>

#include "common/error.h"
#include "common/util.h"
#include "common/wire.h"
#include "rdcpd/access.h"

Suite *access_path_suite(void);

static struct config_export exports[3];
static const struct config_export *list[] = { &exports[0], &exports[1], &exports[2] };

static void setup(void)
{
	exports[0] = (struct config_export){ "main", "/srv/rdcp", true, false };
	exports[1] = (struct config_export){ "docs", "/srv/rdcp/docs", false, false };
	exports[2] = (struct config_export){ "data", "/data", false, false };
}

/* Counts nothing, is not done(). */
static struct access_grant grant_of(const char *name)
{
	struct access_grant g = { .exports = list, .export_count = 3 };

	if (!strcmp(name, "bob")) {
		g.exports = list + 2;
		g.export_count = 1;
	}
	return g;
}

static const struct {
	const char *who, *path, *export, *relative; /* export NULL: not allowed */
} paths[] = {
	{ "alice", "/srv/rdcp", "main", "." },
	{ "alice", "/srv/rdcp/", "main", "." },
	{ "alice", "/srv/rdcp/.", "main", "." },
	{ "alice", "/srv/rdcp//x", "main", "x" },
	{ "alice", "//srv/./rdcp///x/./y", "main", "x/y" },
	{ "alice", "/srv/rdcp/x/", "main", "x/" },
	{ "alice", "/srv/rdcp/x//", "main", "x/" },
	{ "alice", "/srv/rdcp/x/.", "main", "x/" },
	{ "alice", "/srv/rdcp/x.", "main", "x." },
	{ "alice", "/srv/rdcp/...", "main", "..." },
	{ "alice", "/srv/rdcp/..x/x..", "main", "..x/x.." },
	{ "alice", "/srv/rdcp/.x", "main", ".x" },
	{ "alice", "/srv/rdcp/a b\n\xff", "main", "a b\n\xff" },
	{ "alice", "/srv/rdcp2", NULL, NULL },
	{ "alice", "/srv/rdcp2/x", NULL, NULL },
	{ "alice", "/srv/rdc", NULL, NULL },
	{ "alice", "/srv", NULL, NULL },
	{ "alice", "/", NULL, NULL },
	{ "alice", "//", NULL, NULL },
	{ "alice", "/etc/passwd", NULL, NULL },
	{ "alice", "/srv/rdcp/..", NULL, NULL },
	{ "alice", "/srv/rdcp/../rdcp/x", NULL, NULL },
	{ "alice", "/../srv/rdcp/x", NULL, NULL },
	{ "alice", "/srv/rdcp/docs", "docs", "." },
	{ "alice", "/srv/rdcp/docs/x", "docs", "x" },
	{ "alice", "/srv/rdcp/docs2/x", "main", "docs2/x" },
	{ "alice", "/data/srv/rdcp/x", "data", "srv/rdcp/x" },
	{ "alice", "", "main", "." },
	{ "alice", ".", "main", "." },
	{ "alice", "./", "main", "." },
	{ "alice", "x", "main", "x" },
	{ "alice", "./x/", "main", "x/" },
	{ "alice", "srv/rdcp/x", "main", "srv/rdcp/x" },
	{ "alice", "docs/x", "docs", "x" }, /* the inner export has its say */
	{ "alice", "..", NULL, NULL },
	{ "alice", "x/../../y", NULL, NULL },
	{ "alice", "x/..", NULL, NULL },
	{ "bob", "x", "data", "x" },
	{ "bob", "", "data", "." },
	{ "bob", "/data/x", "data", "x" },
	{ "bob", "/srv/rdcp/x", NULL, NULL },
	{ "bob", "/data2", NULL, NULL },
};

START_TEST(a_path_is_resolved_or_refused)
{
	struct access_grant g = grant_of(paths[_i].who);
	char relative[ACCESS_RELATIVE_MAX] = "untouched", why[WIRE_TEXT_MAX + 1] = "";
	const struct config_export *e = NULL;
	enum status s = access_resolve(&g, wire_text(paths[_i].path), false, &e, relative, why);

	if (!paths[_i].export) {
		ck_assert_msg(s == STATUS_NOT_ALLOWED, "'%s' is in '%s'", paths[_i].path, e ? e->name : "?");
		ck_assert_str_eq(relative, "untouched");
		ck_assert_ptr_null(e);
		ck_assert_str_ne(why, "");
		return;
	}
	ck_assert_msg(s == STATUS_OK, "'%s': %s", paths[_i].path, why);
	ck_assert_str_eq(e->name, paths[_i].export);
	ck_assert_str_eq(relative, paths[_i].relative);
}
END_TEST

START_TEST(writing_needs_a_writable_export)
{
	struct access_grant g = grant_of("alice");
	char relative[ACCESS_RELATIVE_MAX], why[WIRE_TEXT_MAX + 1];
	const struct config_export *e;

	ck_assert_int_eq(access_resolve(&g, wire_text("/srv/rdcp/x"), true, &e, relative, why), STATUS_OK);
	ck_assert_int_eq(access_resolve(&g, wire_text("docs/x"), true, &e, relative, why), STATUS_NOT_ALLOWED);
	ck_assert_str_eq(why, "export 'docs' is read-only");
	ck_assert_int_eq(access_resolve(&g, wire_text("/data/x"), true, &e, relative, why), STATUS_NOT_ALLOWED);
	ck_assert_str_eq(why, "export 'data' is read-only");
}
END_TEST

START_TEST(a_refusal_says_where_relative_paths_go)
{
	struct access_grant g = grant_of("alice");
	char relative[ACCESS_RELATIVE_MAX], why[WIRE_TEXT_MAX + 1];
	const struct config_export *e;

	ck_assert_int_eq(access_resolve(&g, wire_text("/x"), true, &e, relative, why), STATUS_NOT_ALLOWED);
	ck_assert_str_eq(why, "in no export of this client; a path that does not begin with '/' is looked up in export "
			      "'main'");
}
END_TEST

START_TEST(the_root_can_be_an_export)
{
	struct access_grant g = grant_of("bob");
	char relative[ACCESS_RELATIVE_MAX], why[WIRE_TEXT_MAX + 1];
	static const char *const cases[][2] = { { "/", "." },     { "/etc/x", "etc/x" }, { "/etc/", "etc/" },
						{ "etc", "etc" }, { "", "." },           { "//etc", "etc" } };
	const struct config_export *e;

	exports[2].path = "/";
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq(access_resolve(&g, wire_text(cases[i][0]), false, &e, relative, why), STATUS_OK);
		ck_assert_str_eq(relative, cases[i][1]);
	}
	ck_assert_int_eq(access_resolve(&g, wire_text("/../x"), false, &e, relative, why), STATUS_NOT_ALLOWED);
	g = grant_of("alice"); /* a longer one still wins */
	ck_assert_int_eq(access_resolve(&g, wire_text("/srv/rdcp/x"), false, &e, relative, why), STATUS_OK);
	ck_assert_str_eq(e->name, "main");
	ck_assert_int_eq(access_resolve(&g, wire_text("/srv/rdcp2"), false, &e, relative, why), STATUS_OK);
	ck_assert_str_eq(e->path, "/");
}
END_TEST

START_TEST(a_nul_in_a_path_is_refused)
{
	struct access_grant g = grant_of("alice");
	char relative[ACCESS_RELATIVE_MAX], why[WIRE_TEXT_MAX + 1];
	struct wire_text path = { "/srv/rdcp/x\0y", 13 };
	const struct config_export *e;

	ck_assert_int_eq(access_resolve(&g, path, false, &e, relative, why), STATUS_NOT_ALLOWED);
	path.len = 11; /* what is behind the end does not count */
	ck_assert_int_eq(access_resolve(&g, path, false, &e, relative, why), STATUS_OK);
	ck_assert_str_eq(relative, "x");
	path.len = 9;
	ck_assert_int_eq(access_resolve(&g, path, false, &e, relative, why), STATUS_OK);
	ck_assert_str_eq(relative, ".");
}
END_TEST

START_TEST(the_longest_paths_fit_and_longer_ones_are_refused)
{
	struct access_grant g = grant_of("bob");
	char relative[ACCESS_RELATIVE_MAX], why[WIRE_TEXT_MAX + 1], path[WIRE_PATH_MAX + 2], deep[4096];
	const struct config_export *e;

	memset(path, 'x', sizeof(path));
	memset(deep, 'd', sizeof(deep));
	deep[0] = '/';
	deep[4095] = '\0';
	exports[2].path = deep;
	path[WIRE_PATH_MAX] = '\0';
	ck_assert_int_eq(access_resolve(&g, wire_text(path), false, &e, relative, why), STATUS_OK);
	ck_assert_str_eq(relative, path);
	path[WIRE_PATH_MAX - 1] = '/';
	ck_assert_int_eq(access_resolve(&g, wire_text(path), false, &e, relative, why), STATUS_OK);
	ck_assert_str_eq(relative, path);
	ck_assert_int_eq(access_resolve(&g, wire_text(deep), false, &e, relative, why), STATUS_OK);
	ck_assert_str_eq(relative, ".");
	path[WIRE_PATH_MAX] = 'x';
	path[WIRE_PATH_MAX + 1] = '\0';
	ck_assert_int_eq(access_resolve(&g, wire_text(path), false, &e, relative, why), STATUS_NAME_TOO_LONG);
}
END_TEST

Suite *access_path_suite(void)
{
	Suite *s = suite_create("access_path");
	TCase *tc = tcase_create("access_path");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, a_path_is_resolved_or_refused, 0, ARRAY_SIZE(paths));
	tcase_add_test(tc, writing_needs_a_writable_export);
	tcase_add_test(tc, a_refusal_says_where_relative_paths_go);
	tcase_add_test(tc, the_root_can_be_an_export);
	tcase_add_test(tc, a_nul_in_a_path_is_refused);
	tcase_add_test(tc, the_longest_paths_fit_and_longer_ones_are_refused);
	suite_add_tcase(s, tc);
	return s;
}
