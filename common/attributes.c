/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Owner, extended attributes and ACLs of a file, read into a blob and given to another file.
 *
 * Called by jobs on I/O workers, of the sender and of the receiver; the caller owns descriptors and structs. Keeps nothing
 * between calls but account.c's table. attributes_read() is all or nothing; attributes_apply() does what it can and returns
 * the first failure, since most users prefer a file without one attribute to no file, and the caller can tell.
 */
#include "attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attributes_impl.h"
#include "cleanup.h"
#include "error.h"
#include "sys.h"
#include "util.h"

#define ACL_ROOM 8192    /* a thousand entries; file systems take about half of that */
#define CHANGING_TRIES 8 /* an attribute that grows whenever it has been measured */

/* A file as sys_*xattr() wants it. */
struct target {
	int fd;
	const char *path; /* NULL: fd does */
	char buf[FD_PATH_MAX];
};

/* An O_PATH descriptor has no attributes, but its name in /proc leads to what has, a symlink included. */
static int target_init(struct target *t, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	t->fd = fd;
	t->path = flags & O_PATH ? sys_fd_path(fd, t->buf) : NULL;
	return 0;
}

/* The first trouble is told, all of it is in the log. */
static int complain(char *why, int r, const char *what, const char *name)
{
	char shown[512];

	if (!*why && (r == -E2BIG || r == -ERANGE))
		snprintf(why, ATTRIBUTES_WHY_MAX, "cannot %s attribute '%.160s': too large", what, name);
	else if (!*why)
		snprintf(why, ATTRIBUTES_WHY_MAX, "cannot %s attribute '%.160s': %s", what, name, strerror(-r));
	return fail(r, "%s attribute '%s'", what, escape_name(name, shown, sizeof(shown)));
}

static int complain_about(char *why, int r, const char *what)
{
	if (!*why)
		snprintf(why, ATTRIBUTES_WHY_MAX, "cannot %s: %s", what, strerror(-r));
	return fail(r, "%s", what);
}

/* The names of all attributes, one behind the other. Where there are none, or cannot be any, *ret_list stays NULL. */
static ssize_t list_names(const struct target *t, char **ret_list)
{
	int tries;

	for (tries = 0; tries < CHANGING_TRIES; tries++) {
		_cleanup_free_ char *list = NULL;
		ssize_t n = sys_listxattr(t->fd, t->path, NULL, 0);

		if (n > 0) {
			list = malloc((size_t)n);
			if (!list)
				return -ENOMEM;
			n = sys_listxattr(t->fd, t->path, list, (size_t)n);
		}
		if (n > 0)
			*ret_list = steal_ptr(list);
		if (n >= 0)
			return n;
		if (errno == ENOTSUP || (errno == ENOENT && t->path)) /* without /proc a symlink has none either */
			return 0;
		if (errno != ERANGE)
			return -errno;
	}
	return -ERANGE;
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

/* Users and groups that are to have names, ascending: kind in the upper half, number in the lower. */
struct ids {
	size_t count;
	uint64_t key[ATTRIBUTES_NAMES_MAX];
};

static uint32_t ids_add(void *context, enum account_kind kind, uint32_t id)
{
	struct ids *ids = context;
	uint64_t key = (uint64_t)kind << 32 | id;
	size_t i = ids->count;

	while (i && ids->key[i - 1] > key)
		i--;
	if (!id || id == UINT32_MAX || (i && ids->key[i - 1] == key) || ids->count == ATTRIBUTES_NAMES_MAX)
		return id;
	memmove(&ids->key[i + 1], &ids->key[i], (ids->count - i) * sizeof(ids->key[0]));
	ids->key[i] = key;
	ids->count++;
	return id;
}

static int put_names(struct attributes_draft *d, const struct ids *ids)
{
	char name[ACCOUNT_NAME_MAX + 1];
	size_t i;
	int r;

	attributes_draft_names(d);
	for (i = 0; i < ids->count; i++) {
		enum account_kind kind = ids->key[i] >> 32;
		uint32_t id = (uint32_t)ids->key[i];

		if (account_name(kind, id, name) < 0)
			continue;
		r = attributes_draft_name(d, kind, id, name, strlen(name));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Gone since it was listed, hidden, or its file system does not really have it: as if it were not there. */
static bool not_there(const struct target *t, int error, unsigned int class)
{
	if (error == ENODATA || error == ENOTSUP || (error == ENOENT && t->path))
		return true;
	return class == ATTRIBUTES_PRIVILEGED && (error == EPERM || error == EACCES);
}

/* Straight into the draft. Most values are short: measured only when they are not. */
static int read_xattr(const struct target *t, const char *name, unsigned int class, struct attributes_draft *d,
		      struct ids *ids)
{
	size_t room = min_size(128, attributes_draft_left(d, name));
	uint8_t *value;
	int tries, r;

	for (tries = 0; tries < CHANGING_TRIES; tries++) {
		ssize_t n;

		r = attributes_draft_value(d, name, room, &value);
		if (r < 0)
			return r;
		n = sys_getxattr(t->fd, t->path, name, value, room); /* with room 0 it only measures */
		if (n < 0 && errno == ERANGE)
			n = sys_getxattr(t->fd, t->path, name, NULL, 0);
		else if (n >= 0 && (size_t)n <= room) {
			if (class == ATTRIBUTES_ACLS)
				acl_map(value, (size_t)n, ids_add, ids, NULL);
			attributes_draft_xattr(d, name, (size_t)n);
			return 0;
		}
		if (n < 0)
			return not_there(t, errno, class) ? 0 : -errno;
		room = (size_t)n;
	}
	return -EBUSY;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

/*
 * The names to be read, sorted. ACLs are asked for whether they are listed or not: not every file system lists them. The
 * pointers lead into `list`.
 */
static int choose_names(char *list, size_t len, unsigned int flags, const char ***ret_names, size_t *ret_count)
{
	size_t count = 2, at;
	const char **names;

	for (at = 0; at < len; at += strlen(list + at) + 1)
		count++;
	names = calloc(count, sizeof(*names));
	if (!names)
		return -ENOMEM;
	count = 0;
	for (at = 0; at < len; at += strlen(list + at) + 1)
		if (attributes_class(list + at) & flags & (ATTRIBUTES_XATTRS | ATTRIBUTES_PRIVILEGED))
			names[count++] = list + at;
	if (flags & ATTRIBUTES_ACLS) {
		names[count++] = ACL_ACCESS;
		names[count++] = ACL_DEFAULT;
	}
	qsort(names, count, sizeof(*names), compare_names);
	*ret_names = names;
	*ret_count = count;
	return 0;
}

static int read_xattrs(const struct target *t, unsigned int flags, struct attributes_draft *d, struct ids *ids,
		       char *why)
{
	_cleanup_free_ char *list = NULL;
	_cleanup_free_ const char **names = NULL;
	size_t count = 0, i;
	ssize_t n = 0;
	int r;

	if (flags & (ATTRIBUTES_XATTRS | ATTRIBUTES_PRIVILEGED))
		n = list_names(t, &list);
	r = n < 0 ? (int)n : choose_names(list, (size_t)n, flags, &names, &count);
	if (r < 0)
		return complain_about(why, r, "list attributes");
	for (i = 0; i < count; i++) {
		r = read_xattr(t, names[i], attributes_class(names[i]), d, ids);
		if (r < 0)
			return complain(why, r, "read", names[i]);
	}
	return 0;
}

int attributes_read(int fd, const struct stat *st, unsigned int flags, struct attributes *ret_attributes,
		    char why[static ATTRIBUTES_WHY_MAX])
{
	struct attributes_draft draft;
	struct ids ids = { .count = 0 };
	struct target t;
	int r;

	why[0] = '\0';
	r = target_init(&t, fd);
	if (r >= 0)
		r = attributes_draft_begin(&draft, flags, st->st_uid, st->st_gid);
	if (r < 0)
		return complain_about(why, r, "read attributes");
	if (flags & ATTRIBUTES_OWNER) {
		ids_add(&ids, ACCOUNT_USER, st->st_uid);
		ids_add(&ids, ACCOUNT_GROUP, st->st_gid);
	}
	r = read_xattrs(&t, flags, &draft, &ids, why);
	if (flags & ATTRIBUTES_NUMERIC_IDS)
		ids.count = 0;
	if (r >= 0) {
		r = put_names(&draft, &ids);
		if (r < 0)
			complain_about(why, r, "read names of users and groups");
	}
	if (r >= 0)
		attributes_draft_end(&draft, ret_attributes);
	attributes_draft_done(&draft);
	return r;
}

static int open_link(int dir_fd, const char *name, char *why)
{
	int fd = sys_openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);

	why[0] = '\0';
	return fd < 0 ? complain_about(why, -errno, "open it for its attributes") : fd;
}

int attributes_read_link(int dir_fd, const char *name, unsigned int flags, struct attributes *ret_attributes,
			 char why[static ATTRIBUTES_WHY_MAX])
{
	_cleanup_close_ int fd = open_link(dir_fd, name, why);
	struct stat st;

	if (fd < 0)
		return fd;
	if (sys_fstat(fd, &st) < 0)
		return complain_about(why, -errno, "read its owner");
	return attributes_read(fd, &st, flags, ret_attributes, why);
}

int attributes_default_mode(int dir)
{
	uint8_t value[ACL_ROOM];
	struct target t;
	ssize_t n = target_init(&t, dir);

	if (n < 0)
		return (int)n;
	n = sys_getxattr(t.fd, t.path, ACL_DEFAULT, value, sizeof(value));
	if (n < 0)
		return not_there(&t, errno, ATTRIBUTES_ACLS) ? -ENODATA : -errno;
	return acl_mode(value, (size_t)n);
}

static mode_t narrow(int fd, const char *path, mode_t mode)
{
	uint8_t value[ACL_ROOM];
	ssize_t n = mode & S_IRWXG && !S_ISLNK(mode) ? sys_getxattr(fd, path, ACL_ACCESS, value, sizeof(value)) : -1;

	return n < 0 ? mode : acl_narrow(value, (size_t)n, mode);
}

mode_t attributes_mode(int fd, mode_t mode)
{
	struct target t;

	return target_init(&t, fd) < 0 ? mode : narrow(t.fd, t.path, mode);
}

mode_t attributes_mode_in(int dir, const char *name, mode_t mode)
{
	char in[FD_PATH_MAX], path[FD_PATH_MAX + 1 + NAME_MAX];

	if (dir == AT_FDCWD)
		return narrow(-1, name, mode);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", sys_fd_path(dir, in), name) >= sizeof(path))
		return mode;
	return narrow(-1, path, mode);
}

static bool has_acl(int fd)
{
	struct target t;

	return target_init(&t, fd) == 0 && sys_getxattr(t.fd, t.path, ACL_ACCESS, NULL, 0) >= 0;
}

mode_t attributes_mode_kept(int fd, const struct attributes *a, mode_t mode)
{
	struct reader r = { .p = a->xattrs, .left = a->xattrs_len };
	struct attributes_xattr x;

	while (attributes_next_xattr(&r, &x))
		if (!strcmp(x.name, ACL_ACCESS) && !has_acl(fd))
			mode = acl_narrow(x.value, x.len, mode);
	return mode;
}

/* ---- applying ----------------------------------------------------------------------------------------------- */

/* What one attributes_apply() works with. */
struct apply {
	struct target target;
	const struct attributes *attributes;
	unsigned int what; /* allowed and known */
	bool numeric;
	char *why;
	int error; /* the first, or 0 */
};

static void note(struct apply *p, int r)
{
	if (!p->error)
		p->error = r;
}

/* A number of the source's as the one to use here: by its name if it came with one that is known. */
static uint32_t map_id(void *context, enum account_kind kind, uint32_t id)
{
	struct apply *p = context;
	struct reader r = { .p = p->attributes->names, .left = p->attributes->names_len };
	struct attributes_name n;
	uint32_t here;

	if (p->numeric || !id)
		return id;
	while (attributes_next_name(&r, &n))
		if (n.kind == kind && n.id == id)
			return account_id(kind, n.name, n.len, &here) < 0 ? id : here;
	return id;
}

/* As cp -a: who may not give a file away may still give it to one of his groups, and that may fail as well. */
static int apply_owner(struct apply *p)
{
	uint32_t uid = map_id(p, ACCOUNT_USER, p->attributes->uid);
	uint32_t gid = map_id(p, ACCOUNT_GROUP, p->attributes->gid);

	if (sys_fchownat(p->target.fd, "", uid, gid, AT_EMPTY_PATH) >= 0)
		return 0;
	if (errno != EPERM && errno != EINVAL) { /* EINVAL: no such number in this user namespace */
		note(p, complain_about(p->why, -errno, "set the owner"));
		return 0;
	}
	if (sys_fchownat(p->target.fd, "", (uid_t)-1, gid, AT_EMPTY_PATH) < 0)
		fail(-errno, "set the group, ignoring");
	return ATTRIBUTES_OWNER;
}

/* Labels are the business of the security module that is here, which has given a new file one already. */
static bool is_label(const char *name)
{
	return !strncmp(name, "security.", 9) && strcmp(name, "security.capability") != 0;
}

static bool source_has(const struct attributes *a, const char *name)
{
	struct reader r = { .p = a->xattrs, .left = a->xattrs_len };
	struct attributes_xattr x;

	while (attributes_next_xattr(&r, &x))
		if (!strcmp(x.name, name))
			return true;
	return false;
}

static void remove_others(struct apply *p)
{
	_cleanup_free_ char *list = NULL;
	ssize_t n = list_names(&p->target, &list);
	const char *name;

	if (n < 0)
		note(p, complain_about(p->why, (int)n, "list attributes"));
	for (name = list; n > 0 && name < list + n; name += strlen(name) + 1) {
		unsigned int class = attributes_class(name);

		if (!(class & p->what) || is_label(name) || source_has(p->attributes, name))
			continue;
		if (sys_removexattr(p->target.fd, p->target.path, name) < 0 && !not_there(&p->target, errno, class))
			note(p, complain(p->why, -errno, "remove", name));
	}
}

static int set_xattr(struct apply *p, const struct attributes_xattr *x, unsigned int class)
{
	_cleanup_free_ uint8_t *mapped = NULL;
	const uint8_t *value = x->value;

	if (class == ATTRIBUTES_ACLS && x->len) {
		mapped = malloc(x->len);
		if (!mapped)
			return -ENOMEM;
		acl_map(value, x->len, map_id, p, mapped);
		value = mapped;
	}
	return sys_setxattr(p->target.fd, p->target.path, x->name, value, x->len) < 0 ? -errno : 0;
}

static void apply_class(struct apply *p, unsigned int classes)
{
	struct reader r = { .p = p->attributes->xattrs, .left = p->attributes->xattrs_len };
	struct attributes_xattr x;

	while (attributes_next_xattr(&r, &x)) {
		unsigned int class = attributes_class(x.name);
		int error;

		if (!(class & classes & p->what))
			continue;
		error = set_xattr(p, &x, class);
		if (error >= 0)
			continue;
		if (class == ATTRIBUTES_PRIVILEGED && (error == -EPERM || error == -EACCES || is_label(x.name)))
			fail(error, "set attribute '%s', ignoring", x.name);
		else
			note(p, complain(p->why, error, "set", x.name));
	}
}

int attributes_apply(int fd, const struct attributes *a, unsigned int flags, char why[static ATTRIBUTES_WHY_MAX])
{
	struct apply p = {
		.attributes = a,
		.what = flags & a->kept,
		.numeric = flags & ATTRIBUTES_NUMERIC_IDS,
		.why = why,
	};
	int r, left = 0;

	why[0] = '\0';
	r = target_init(&p.target, fd);
	if (r < 0)
		return complain_about(why, r, "set attributes");
	if (p.what & ATTRIBUTES_OWNER)
		left = apply_owner(&p);
	if (p.what & ~(unsigned int)ATTRIBUTES_OWNER)
		remove_others(&p);
	/* an ACL may take from the owner the right to write the others */
	apply_class(&p, ATTRIBUTES_XATTRS | ATTRIBUTES_PRIVILEGED);
	apply_class(&p, ATTRIBUTES_ACLS);
	return p.error ? p.error : left;
}

int attributes_apply_link(int dir_fd, const char *name, const struct attributes *a, unsigned int flags,
			  char why[static ATTRIBUTES_WHY_MAX])
{
	_cleanup_close_ int fd = open_link(dir_fd, name, why);

	return fd < 0 ? fd : attributes_apply(fd, a, flags, why);
}
