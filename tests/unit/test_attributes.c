/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Attributes of real files, on a tmpfs and an ext4, judged by stat, getfattr and getfacl, and held against what cp -a does.
 */
#include <pwd.h>

#include "attributes_fs.h"
#include "skip.h"

Suite *attributes_suite(void);

static void expect_same(const char *one, const char *other)
{
	char a[8192], b[8192];

	ck_assert_str_eq(facts(one, a), facts(other, b));
}

/* Through the bytes, as over the wire: what `from` has of `flags` goes to `fd`. */
static int transfer(const char *from, int fd, unsigned int read_flags, unsigned int apply_flags)
{
	struct attributes a = { 0 }, arrived = { 0 };
	int r;

	ck_assert_msg(attributes_read_link(AT_FDCWD, from, read_flags, &a, why) == 0, "%s", why);
	ck_assert_int_eq(attributes_decode(a.blob, a.len, &arrived), 0);
	r = attributes_apply(fd, &arrived, apply_flags, why);
	attributes_done(&arrived);
	attributes_done(&a);
	return r;
}

static int transfer_to_new(const char *from, const char *to, unsigned int flags)
{
	int fd = create(to), r = transfer(from, fd, ALL, flags);
	struct stat st;

	ck_assert_int_eq(stat(from, &st), 0);
	ck_assert_int_eq(fchmod(fd, st.st_mode & 07777), 0);
	close(fd);
	return r;
}

/* ---- against cp -a ------------------------------------------------------------------------------------------ */

START_TEST(a_file_gets_what_cp_a_gives_it)
{
	const char *no = enter(file_systems[_i]);
	char text[8192];

	if (no)
		skip_test(no);
	make_rich_file("source");
	ck_assert_int_eq(mkdir("dir", 0755), 0);
	ck_assert_int_eq(run("setfacl -d -m u:99:rwx dir"), 0); /* what new files there inherit has to go */
	ck_assert_int_eq(run("cp -a source dir/cp"), 0);
	ck_assert_int_eq(transfer_to_new("source", "dir/ours", ALL), 0);
	ck_assert_str_eq(why, "");
	expect_same("dir/cp", "dir/ours");
	expect_same("source", "dir/ours");
	ck_assert_ptr_nonnull(strstr(facts("dir/ours", text), "security.capability="));
	ck_assert_ptr_nonnull(strstr(text, "user:1234:rw-"));
}
END_TEST

START_TEST(a_plain_file_loses_what_it_inherited_as_with_cp_a)
{
	const char *no = enter(file_systems[_i]);

	if (no)
		skip_test(no);
	tree_write("source", "content");
	ck_assert_int_eq(mkdir("dir", 0755), 0);
	ck_assert_int_eq(run("setfacl -d -m u:99:rwx dir"), 0);
	ck_assert_int_eq(run("cp -a source dir/cp"), 0);
	ck_assert_int_eq(transfer_to_new("source", "dir/ours", ALL), 0);
	expect_same("dir/cp", "dir/ours");
	expect_same("source", "dir/ours");
}
END_TEST

START_TEST(a_directory_gets_its_default_acl)
{
	const char *no = enter(file_systems[_i]);
	int fd;

	if (no)
		skip_test(no);
	ck_assert_int_eq(mkdir("source", 0755), 0);
	ck_assert_int_eq(run("setfacl -m u:7:rx,d:u:8:rwx,d:g:9:r source && chown 5:6 source && cp -a source cp"), 0);
	ck_assert_int_eq(mkdir("ours", 0700), 0);
	ck_assert_int_eq(run("setfacl -d -m u:99:rwx ours && setfattr -n trusted.old -v x ours"), 0);
	fd = open("ours", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(transfer("source", fd, ALL, ALL), 0);
	close(fd);
	ck_assert_int_eq(chmod("ours", 0755), 0);
	expect_same("cp", "ours");
	expect_same("source", "ours");
}
END_TEST

START_TEST(a_symlink_gets_its_own_and_its_target_nothing)
{
	const char *no = enter(file_systems[_i]);
	struct attributes a = { 0 };
	char before[8192], after[8192];

	if (no)
		skip_test(no);
	tree_write("target", "content");
	facts("target", before);
	ck_assert_int_eq(symlink("target", "source"), 0);
	ck_assert_int_eq(symlink("target", "ours"), 0);
	ck_assert_int_eq(lchown("source", 77, 88), 0);
	set("source", "trusted.note", "of a link", 9);
	ck_assert_int_eq(run("cp -a source cp"), 0);
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ALL, &a, why), 0);
	ck_assert_int_eq(attributes_apply_link(AT_FDCWD, "ours", &a, ALL, why), 0);
	attributes_done(&a);
	expect_same("cp", "ours");
	expect_same("source", "ours");
	ck_assert_str_eq(facts("target", after), before);
}
END_TEST

/* ---- what goes, what stays ---------------------------------------------------------------------------------- */

START_TEST(what_the_source_has_not_goes_but_labels_stay)
{
	const char *no = enter(file_systems[_i]);
	char text[8192];
	int fd;

	if (no)
		skip_test(no);
	tree_write("source", "content");
	make_rich_file("there");
	set("there", "security.some-label", "label", 5);
	fd = open("there", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(transfer("source", fd, ALL, ALL), 0);
	close(fd);
	facts("there", text);
	ck_assert_ptr_nonnull(strstr(text, "security.some-label"));
	ck_assert_ptr_null(strstr(text, "security.capability"));
	ck_assert_ptr_null(strstr(text, "trusted."));
	ck_assert_ptr_null(strstr(text, "user."));
	ck_assert_ptr_null(strstr(text, "1234"));
}
END_TEST

START_TEST(what_is_not_allowed_is_neither_set_nor_removed)
{
	const char *no = enter(file_systems[_i]);
	char text[8192];
	int fd;

	if (no)
		skip_test(no);
	make_rich_file("source");
	fd = create("ours");
	set("ours", "trusted.mine", "m", 1);
	ck_assert_int_eq(run("setfacl -m u:99:rwx ours"), 0);
	ck_assert_int_eq(transfer("source", fd, ALL, ATTRIBUTES_XATTRS), 0);
	facts("ours", text);
	ck_assert_int_eq(strncmp(text, "0 0\n", 4), 0);
	ck_assert_ptr_nonnull(strstr(text, "trusted.mine"));
	ck_assert_ptr_nonnull(strstr(text, "user:99:"));
	ck_assert_ptr_null(strstr(text, "security.capability"));
	ck_assert_ptr_null(strstr(text, "trusted.note"));
	ck_assert_ptr_null(strstr(text, "1234"));
	/* nor what the source was not asked about */
	ck_assert_int_eq(transfer("source", fd, ATTRIBUTES_OWNER, ALL), 0);
	ck_assert_ptr_nonnull(strstr(facts("ours", text), "trusted.mine"));
	ck_assert_int_eq(strncmp(text, "4242 4343\n", 10), 0);
	close(fd);
}
END_TEST

/* ---- names and numbers -------------------------------------------------------------------------------------- */

/* Given to a file, this makes `owner` ("UID GID\n") and `entry` in its ACL. */
static void expect_named(const char *user, unsigned int flags, const char *owner, const char *entry)
{
	struct attributes a;
	char text[8192];
	int fd = create("named");

	make_named(user, user, &a);
	ck_assert_msg(attributes_apply(fd, &a, flags, why) == 0, "%s", why);
	attributes_done(&a);
	close(fd);
	facts("named", text);
	ck_assert_msg(!strncmp(text, owner, strlen(owner)), "%s", text);
	ck_assert_msg(strstr(text, entry) != NULL, "%s", text);
	ck_assert_int_eq(unlink("named"), 0);
}

START_TEST(a_name_wins_over_its_number)
{
	const char *no = enter(file_systems[_i]);

	if (no)
		skip_test(no);
	expect_named("daemon", ALL, "1 1\n", "\nuser:1:rw-\n");
	expect_named("daemon", ALL | ATTRIBUTES_NUMERIC_IDS, "54321 54322\n", "\nuser:54321:rw-\n");
	expect_named("no-such-user-here", ALL, "54321 54322\n", "\nuser:54321:rw-\n");
}
END_TEST

static bool has_name(const struct attributes *a, enum account_kind kind, uint32_t id, const char *name)
{
	struct reader r = { .p = a->names, .left = a->names_len };
	struct attributes_name n;

	while (attributes_next_name(&r, &n))
		if (n.kind == kind && n.id == id && n.len == strlen(name) && !memcmp(n.name, name, n.len))
			return true;
	return false;
}

START_TEST(names_of_the_owner_and_of_acls_are_read)
{
	const char *no = enter(file_systems[_i]);
	struct attributes a;

	if (no)
		skip_test(no);
	tree_write("source", "");
	ck_assert_int_eq(run("chown daemon:54322 source && setfacl -m u:bin:r,g:mail:r,u:root:r source"), 0);
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ALL, &a, why), 0);
	ck_assert(has_name(&a, ACCOUNT_USER, getpwnam("daemon")->pw_uid, "daemon"));
	ck_assert(has_name(&a, ACCOUNT_USER, getpwnam("bin")->pw_uid, "bin"));
	ck_assert(has_name(&a, ACCOUNT_GROUP, getpwnam("mail")->pw_gid, "mail"));
	ck_assert(!has_name(&a, ACCOUNT_USER, 0, "root"));
	attributes_done(&a);
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ALL | ATTRIBUTES_NUMERIC_IDS, &a, why), 0);
	ck_assert_uint_eq(a.names_len, 0);
	ck_assert_uint_eq(a.kept, ALL);
	attributes_done(&a);
}
END_TEST

Suite *attributes_suite(void)
{
	Suite *s = suite_create("attributes");
	TCase *tc = tcase_create("files");
	int all = ARRAY_SIZE(file_systems);

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_file_gets_what_cp_a_gives_it, 0, all);
	tcase_add_loop_test(tc, a_plain_file_loses_what_it_inherited_as_with_cp_a, 0, all);
	tcase_add_loop_test(tc, a_directory_gets_its_default_acl, 0, all);
	tcase_add_loop_test(tc, a_symlink_gets_its_own_and_its_target_nothing, 0, all);
	tcase_add_loop_test(tc, what_the_source_has_not_goes_but_labels_stay, 0, all);
	tcase_add_loop_test(tc, what_is_not_allowed_is_neither_set_nor_removed, 0, all);
	tcase_add_loop_test(tc, a_name_wins_over_its_number, 0, all);
	tcase_add_loop_test(tc, names_of_the_owner_and_of_acls_are_read, 0, all);
	suite_add_tcase(s, tc);
	return s;
}
