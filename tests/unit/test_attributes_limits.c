/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attributes that cannot be read or set: without privilege, without room, on file systems that have none. */
#include "attributes_fs.h"
#include "skip.h"

Suite *attributes_limits_suite(void);

/* In a child without any privilege: the owner stays, root's attributes are left out, and nobody hears of it. */
static int apply_as_nobody(const struct attributes *a)
{
	struct stat st;
	int fd, r;

	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 10;
	fd = create("dir/ours");
	r = attributes_apply(fd, a, ALL, why);
	if (r != ATTRIBUTES_OWNER || *why || fstat(fd, &st) || st.st_uid != 65534 || st.st_gid != 65534)
		return 11;
	return 0;
}

START_TEST(without_privilege_the_owner_stays_and_the_rest_arrives)
{
	const char *no = enter(file_systems[_i]);
	struct attributes a = { 0 };
	char text[8192];
	bool has;
	int status;
	pid_t pid;

	if (no)
		skip_test(no);
	has = has_user_attributes();
	make_rich_file("source");
	ck_assert_int_eq(run("setfacl -m u::r source"), 0); /* an owner who may not write, once the ACL is there */
	ck_assert_int_eq(mkdir("dir", 0777), 0);
	ck_assert_int_eq(chmod("dir", 0777), 0);
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ALL, &a, why), 0);
	pid = fork();
	if (!pid)
		_exit(apply_as_nobody(&a));
	attributes_done(&a);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	facts("dir/ours", text);
	ck_assert_ptr_nonnull(strstr(text, "user:1234:rw-"));
	ck_assert_ptr_null(strstr(text, "security."));
	ck_assert_ptr_null(strstr(text, "trusted."));
	ck_assert_int_eq(strstr(text, "user.one=0x31") != NULL, has);
}
END_TEST

START_TEST(an_attribute_without_room_is_named_and_the_others_arrive)
{
	const char *no = enter("ext4");
	static uint8_t large[60000]; /* more than a block of this ext4 */
	struct attributes_draft d;
	struct attributes a;
	char text[8192];
	int fd;

	if (no)
		skip_test(no);
	ck_assert_int_eq(attributes_draft_begin(&d, ALL, 12, 13), 0);
	put_xattr(&d, "user.a", "a", 1);
	put_xattr(&d, "user.large", large, sizeof(large));
	put_xattr(&d, "user.z", "z", 1);
	attributes_draft_names(&d);
	attributes_draft_end(&d, &a);
	fd = create("ours");
	ck_assert_int_eq(attributes_apply(fd, &a, ALL, why), -ENOSPC);
	ck_assert_str_eq(why, "cannot set attribute 'user.large': No space left on device");
	facts("ours", text);
	ck_assert_ptr_nonnull(strstr(text, "12 13\n"));
	ck_assert_ptr_nonnull(strstr(text, "user.a="));
	ck_assert_ptr_nonnull(strstr(text, "user.z="));
	attributes_done(&a);
	close(fd);
}
END_TEST

START_TEST(a_file_system_without_attributes_matters_only_to_who_has_some)
{
	const char *no = enter("ramfs");
	struct attributes a = { 0 };
	int fd;

	if (no)
		skip_test(no);
	tree_write("source", "");
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ALL, &a, why), 0);
	ck_assert_uint_eq(a.xattrs_len, 0);
	fd = create("ours");
	ck_assert_int_eq(attributes_apply(fd, &a, ALL, why), 0);
	ck_assert_str_eq(why, "");
	attributes_done(&a);
	make_named("daemon", "daemon", &a);
	ck_assert_int_eq(attributes_apply(fd, &a, ALL, why), -ENOTSUP);
	ck_assert_str_eq(why, "cannot set attribute 'system.posix_acl_access': Operation not supported");
	attributes_done(&a);
	close(fd);
}
END_TEST

START_TEST(more_attributes_than_can_travel_are_an_error_with_a_name)
{
	const char *no = enter("tmpfs");
	static uint8_t large[60000];
	struct attributes a = { .len = 7 };
	char name[] = "trusted.0";

	if (no)
		skip_test(no);
	tree_write("source", "");
	for (; name[8] < '5'; name[8]++)
		set("source", name, large, sizeof(large));
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ALL, &a, why), -E2BIG);
	ck_assert_str_eq(why, "cannot read attribute 'trusted.4': too large");
	ck_assert_uint_eq(a.len, 7);
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ATTRIBUTES_OWNER, &a, why), 0);
	attributes_done(&a);
}
END_TEST

START_TEST(an_acl_that_the_kernel_refuses_is_an_error_with_a_name)
{
	const char *no = enter("tmpfs");
	struct attributes_draft d;
	struct attributes a;
	int fd;

	if (no)
		skip_test(no);
	ck_assert_int_eq(attributes_draft_begin(&d, ALL, 0, 0), 0);
	put_xattr(&d, "system.posix_acl_access", "\2\0\0\0odd", 7);
	put_xattr(&d, "trusted.z", "z", 1);
	attributes_draft_names(&d);
	attributes_draft_end(&d, &a);
	fd = create("ours");
	ck_assert_int_lt(attributes_apply(fd, &a, ALL, why), 0);
	ck_assert_ptr_nonnull(strstr(why, "'system.posix_acl_access'"));
	ck_assert_int_eq(fgetxattr(fd, "trusted.z", NULL, 0), 1);
	attributes_done(&a);
	close(fd);
}
END_TEST

/* ---- without root ------------------------------------------------------------------------------------------- */

START_TEST(a_descriptor_that_is_none_and_a_name_that_is_missing_are_errors)
{
	struct attributes a = { 0 };
	struct stat st = { 0 };

	ck_assert_int_eq(attributes_read(-1, &st, ALL, &a, why), -EBADF);
	ck_assert_str_ne(why, "");
	ck_assert_int_eq(attributes_apply(-1, &a, ALL, why), -EBADF);
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "missing", ALL, &a, why), -ENOENT);
	ck_assert_str_ne(why, "");
	ck_assert_int_eq(attributes_apply_link(AT_FDCWD, "missing", &a, ALL, why), -ENOENT);
	attributes_done(&a);
}
END_TEST

START_TEST(own_files_are_copied_without_any_privilege_and_descriptor_left)
{
	unsigned int fds = tree_open_fds();
	struct attributes a = { 0 };
	int fd;

	tree_write("source", "content");
	ck_assert_int_eq(attributes_read_link(AT_FDCWD, "source", ALL, &a, why), 0);
	ck_assert_uint_eq(a.uid, geteuid());
	ck_assert_uint_ge(a.len, ATTRIBUTES_MIN);
	fd = create("ours");
	ck_assert_msg(attributes_apply(fd, &a, ALL, why) == 0, "%s", why);
	close(fd);
	ck_assert_int_eq(attributes_apply_link(AT_FDCWD, "ours", &a, ALL, why), 0);
	attributes_done(&a);
	ck_assert_uint_eq(tree_open_fds(), fds);
}
END_TEST

Suite *attributes_limits_suite(void)
{
	Suite *s = suite_create("attributes_limits");
	TCase *tc = tcase_create("files");
	int all = ARRAY_SIZE(file_systems);

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, without_privilege_the_owner_stays_and_the_rest_arrives, 0, all);
	tcase_add_test(tc, an_attribute_without_room_is_named_and_the_others_arrive);
	tcase_add_test(tc, a_file_system_without_attributes_matters_only_to_who_has_some);
	tcase_add_test(tc, more_attributes_than_can_travel_are_an_error_with_a_name);
	tcase_add_test(tc, an_acl_that_the_kernel_refuses_is_an_error_with_a_name);
	tcase_add_test(tc, a_descriptor_that_is_none_and_a_name_that_is_missing_are_errors);
	tcase_add_test(tc, own_files_are_copied_without_any_privilege_and_descriptor_left);
	suite_add_tcase(s, tc);
	return s;
}
