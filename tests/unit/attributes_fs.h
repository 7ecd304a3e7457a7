/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the tests of attributes share: file systems of their own in a private mount namespace, files and blobs with
 * something in them, and what the tools say of a file. Most of it needs root.
 */
#ifndef RDCP_TEST_ATTRIBUTES_FS_H
#define RDCP_TEST_ATTRIBUTES_FS_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "common/attributes_impl.h"
#include "common/util.h"
#include "tree.h"

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

/* A file as the receiver makes it. */
static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	return fd;
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

#endif
