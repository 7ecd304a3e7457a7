/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What `-a` keeps of a file beyond its mode and mtime: owner and group, extended attributes, POSIX ACLs. Not the atime,
 * not setuid and setgid (they belong to the mode), not NFSv4 ACLs.
 *
 *   sender    attributes_read ... a->blob, a->len go to the peer ... attributes_done
 *   receiver  attributes_decode -> attributes_apply -> the caller's mode and times -> attributes_done
 *
 * A user or group travels with its name. 0 is 0 everywhere; others are looked up by name where they arrive and stay the
 * number they were when that name is unknown there, also inside ACLs. (Two entries of an ACL may then mean the same user;
 * the kernel takes the first.)
 *
 * Reading and applying block and belong to an I/O worker. `why` gets one sentence without a full stop, "" when there is
 * nothing to say; it may contain any bytes of an attribute's name but NUL: escape before showing.
 */
#ifndef RDCP_ATTRIBUTES_H
#define RDCP_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define ATTRIBUTES_MAX (256 * 1024) /* bytes of a blob */
#define ATTRIBUTES_MIN 20           /* a blob that says nothing, or only an owner by number */
#define ATTRIBUTES_WHY_MAX 256

enum attributes_flags {
	ATTRIBUTES_OWNER = 1 << 0,
	ATTRIBUTES_XATTRS = 1 << 1, /* user.* */
	ATTRIBUTES_PRIVILEGED =
		1 << 2,           /* security.* and trusted.*: file capabilities, labels. As good as setuid root */
	ATTRIBUTES_ACLS = 1 << 3, /* system.posix_acl_access and system.posix_acl_default */
	ATTRIBUTES_NUMERIC_IDS = 1 << 4, /* names are neither looked up nor taken into account; never in `kept` */
	ATTRIBUTES_ALL = ATTRIBUTES_OWNER | ATTRIBUTES_XATTRS | ATTRIBUTES_PRIVILEGED | ATTRIBUTES_ACLS
};

/* Read-only for everybody but attributes*.c. Zeroed it is one that says nothing. */
struct attributes {
	unsigned int kept;   /* of ATTRIBUTES_ALL: what it speaks of. With ATTRIBUTES_XATTRS it says all there are */
	uint32_t uid, gid;   /* with ATTRIBUTES_OWNER, else 0 */
	const uint8_t *blob; /* all of it as bytes, what goes to the peer */
	size_t len;
	const uint8_t *xattrs, *names; /* inside blob */
	size_t xattrs_len, names_len;
	uint8_t *owned; /* the blob's memory, NULL when it is somebody else's */
};

/*
 * Reads what `flags` asks for. `fd` may be O_PATH, also of a symlink; `st` is its status. What the file system does not have
 * or the process may not see (trusted.* without privilege) is not there.
 * -E2BIG: more than ATTRIBUTES_MAX. -EACCES: a user.* attribute may not be read. Else as fgetxattr(2), -ENOMEM. In all
 * cases `why` tells which attribute, and nothing is kept; asking for less may work.
 */
int attributes_read(int fd, const struct stat *st, unsigned int flags, struct attributes *ret_attributes,
		    char why[static ATTRIBUTES_WHY_MAX]);

/* The same of `name` in a directory, which is not followed when it is a symlink. Also as openat(2) and fstat(2). */
int attributes_read_link(int dir_fd, const char *name, unsigned int flags, struct attributes *ret_attributes,
			 char why[static ATTRIBUTES_WHY_MAX]);

/*
 * Takes what a peer sent, of any length. `blob` is borrowed and has to stay until attributes_done(). Allocates nothing.
 * -EBADMSG: it is no blob of ours, longer than ATTRIBUTES_MAX, or anything in it is out of range; output untouched.
 */
int attributes_decode(const uint8_t *blob, size_t len, struct attributes *ret_attributes);

/*
 * Makes a file have them, as far as both `flags` and a->kept say: ATTRIBUTES_OWNER | ... is what the caller allows, beside
 * ATTRIBUTES_NUMERIC_IDS. `fd` may be O_PATH. Extended attributes and ACLs that it has and the source has not are removed
 * (a new file inherits its directory's default ACL), but not the labels of a security module. The owner is first, ACLs last:
 * mode and times come after it, and the file has to be writable meanwhile for user.* without privilege.
 *
 * What a process without privilege cannot do is left out without a word: the owner (then at least the group is tried),
 * security.* and trusted.*. Everything else is tried whatever fails, and the first failure returned, with `why`:
 * -ENOTSUP, -ENOSPC, -E2BIG, -EDQUOT, -EPERM ... as fsetxattr(2); as fchown(2).
 * Otherwise 0, or ATTRIBUTES_OWNER: user and group are not both those of the source, setuid and setgid bits would mean
 * somebody else.
 */
int attributes_apply(int fd, const struct attributes *a, unsigned int flags, char why[static ATTRIBUTES_WHY_MAX]);

/* The same to `name` in a directory, which is not followed when it is a symlink. Also as openat(2). */
int attributes_apply_link(int dir_fd, const char *name, const struct attributes *a, unsigned int flags,
			  char why[static ATTRIBUTES_WHY_MAX]);

/*
 * What the default ACL of a directory (may be O_PATH) lets the mode of a new file be, at most. -ENODATA: it has none. Else as
 * getxattr(2).
 */
int attributes_default_mode(int dir);

/*
 * The mode of a file whose ACL is not copied: with one, what looks like the permissions of the group is the most that anybody has whom
 * the ACL names, and the group itself may have less. `mode` is as stat(2) says, of what is open (may be O_PATH), or of `name` in
 * that directory, or with AT_FDCWD of any path. What cannot be looked at keeps it.
 */
mode_t attributes_mode(int fd, mode_t mode);
mode_t attributes_mode_in(int dir, const char *name, mode_t mode);

/* The same of a copy that was to get the ACL among `a`, if it has none. */
mode_t attributes_mode_kept(int fd, const struct attributes *a, mode_t mode);

void attributes_done(struct attributes *a); /* fine on a zeroed struct; zeroes it */

#endif
