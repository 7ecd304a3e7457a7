/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Attributes of real files, on a tmpfs and an ext4 of their own in a private mount namespace, judged by stat, getfattr and
 * getfacl, and held against what cp -a does. Most of it needs root.
 */
#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "common/attributes_impl.h"
#include "common/util.h"
#include "skip.h"
#include "tree.h"

Suite *attributes_suite(void);

#define ALL ATTRIBUTES_ALL

static const char *const file_systems[] = { "tmpfs", "ext4" };
static char why[ATTRIBUTES_WHY_MAX];
static bool mounted;

static int run(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* An empty file system of this type as the current directory, which only this process sees. NULL, or why there is none. */
static const char *enter(const char *type)
{
	if (geteuid())
		return "needs root";
	if (run("command -v getfacl getfattr setfacl setfattr >/dev/null"))
		return "needs the packages acl and attr";
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return "needs a mount namespace";
	ck_assert_int_eq(mkdir("fs", 0755), 0);
	if (!strcmp(type, "ext4")) {
		if (run("truncate -s 8M image && mkfs.ext4 -q -F image 2>mkfs.log && mount -o loop image fs "
			"2>mount.log"))
			return "needs mkfs.ext4 and a loop device";
	} else if (mount("none", "fs", type, 0, NULL)) {
		return "needs this file system";
	}
	mounted = true;
	ck_assert_int_eq(chdir("fs"), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	return NULL;
}

static void setup(void)
{
	tree_setup();
	mounted = false;
	umask(022);
}

static void teardown(void)
{
	ck_assert_int_eq(chdir(tree_path), 0);
	if (mounted)
		ck_assert_int_eq(umount2("fs", MNT_DETACH), 0);
	tree_teardown();
}

/* What the tools say of a path, sorted where the order means nothing. */
static const char *facts(const char *path, char out[static 8192])
{
	char command[1024];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command),
		 "stat -c '%%u %%g' %s; getfattr -h -d -e hex -m - %s 2>&1 | grep -v '^#' | sort; "
		 "[ -h %s ] || getfacl -n -c %s 2>&1",
		 path, path, path, path);
	f = popen(command, "re");
	ck_assert_ptr_nonnull(f);
	n = fread(out, 1, 8191, f);
	out[n] = '\0';
	ck_assert_int_eq(pclose(f), 0);
	return out;
}

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

/* A file as the receiver makes it. */
static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	return fd;
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

/* VFS_CAP_REVISION_2, effective, cap_net_raw */
static const uint8_t capability[20] = { 1, 0, 0, 2, 0, 0x20 };

static void set(const char *path, const char *name, const void *value, size_t len)
{
	ck_assert_msg(lsetxattr(path, name, value, len, 0) == 0, "%s of %s: %m", name, path);
}

/* user.* of tmpfs is younger than some of the kernels. */
static bool has_user_attributes(void)
{
	bool has;

	tree_write("probe", "");
	has = setxattr("probe", "user.probe", "", 0, 0) == 0;
	unlink("probe");
	return has;
}

static void make_rich_file(const char *path)
{
	char command[256];

	tree_write(path, "content");
	ck_assert_int_eq(chown(path, 4242, 4343), 0);
	set(path, "trusted.note", "for root\0only", 13);
	set(path, "security.capability", capability, sizeof(capability));
	if (has_user_attributes()) {
		set(path, "user.empty", "", 0);
		set(path, "user.one", "1", 1);
		set(path, "user.J\303\266rg \n", "odd", 3);
	}
	snprintf(command, sizeof(command), "setfacl -m u:1234:rw,g:5678:r,m:rwx %s", path);
	ck_assert_int_eq(run(command), 0);
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

static void put_xattr(struct attributes_draft *d, const char *name, const void *value, size_t len)
{
	uint8_t *place;

	ck_assert_int_eq(attributes_draft_value(d, name, len, &place), 0);
	memcpy(place, value, len);
	attributes_draft_xattr(d, name, len);
}

/* user 54321, who may also write by an ACL, and group 54322, under these names */
static void make_named(const char *user, const char *group, struct attributes *ret)
{
	static const uint8_t acl[] = {
		2,  0, 0, 0,                         /* version */
		1,  0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* owner */
		2,  0, 6, 0, 0x31, 0xd4, 0,    0,    /* 54321 */
		4,  0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* group */
		16, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* mask */
		32, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* others */
	};
	struct attributes_draft d;

	ck_assert_int_eq(attributes_draft_begin(&d, ALL, 54321, 54322), 0);
	put_xattr(&d, "system.posix_acl_access", acl, sizeof(acl));
	attributes_draft_names(&d);
	ck_assert_int_eq(attributes_draft_name(&d, ACCOUNT_USER, 54321, user, strlen(user)), 0);
	ck_assert_int_eq(attributes_draft_name(&d, ACCOUNT_GROUP, 54322, group, strlen(group)), 0);
	attributes_draft_end(&d, ret);
}

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

/* ---- what cannot be done ------------------------------------------------------------------------------------ */

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
