/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside attributes. attributes.c: reading and applying. attributes_blob.c: the bytes that travel. attributes_acl.c: the ids
 * inside ACLs. Only these, their fuzz entry and their tests include this.
 */
#ifndef RDCP_ATTRIBUTES_IMPL_H
#define RDCP_ATTRIBUTES_IMPL_H

#include <linux/limits.h>
#include <stdbool.h>

#include "account.h"
#include "attributes.h"
#include "buffer.h"
#include "wire_cursor.h"

#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define ATTRIBUTES_NAMES_MAX 1024 /* users and groups with a name in a blob; what is beyond goes by number */

/* ---- attributes_blob.c -------------------------------------------------------------------------------------- */

/* A blob being made. Extended attributes in ascending order of their names, then users and groups by kind and number. */
struct attributes_draft {
	struct buffer bytes;
	size_t xattrs_len; /* known from attributes_draft_names() on */
};

struct attributes_xattr {
	char name[XATTR_NAME_MAX + 1];
	const uint8_t *value;
	uint32_t len; /* at most XATTR_SIZE_MAX */
};

struct attributes_name {
	enum account_kind kind;
	uint32_t id;
	const char *name; /* not terminated */
	uint8_t len;
};

/* Which of attributes_flags a name belongs to; 0: to none, it does not travel. */
unsigned int attributes_class(const char *name);

/* -E2BIG: ATTRIBUTES_MAX would be passed. -ENOMEM. The draft stays what it was. */
int attributes_draft_begin(struct attributes_draft *d, unsigned int kept, uint32_t uid, uint32_t gid);
int attributes_draft_value(struct attributes_draft *d, const char *name, size_t room, uint8_t **ret_value);
int attributes_draft_name(struct attributes_draft *d, enum account_kind kind, uint32_t id, const char *name,
			  size_t len);

/* An attribute whose value, of `len` bytes, is where attributes_draft_value() with the same name said. */
void attributes_draft_xattr(struct attributes_draft *d, const char *name, size_t len);
size_t attributes_draft_left(const struct attributes_draft *d, const char *name); /* room for its value at most */
void attributes_draft_names(struct attributes_draft *d);                          /* only names from now on */

void attributes_draft_end(struct attributes_draft *d, struct attributes *ret_attributes); /* gives the memory away */
void attributes_draft_done(struct attributes_draft *d); /* fine on a zeroed struct and after attributes_draft_end() */

/* Take one off a list. False: none is left, or with r->bad, never behind attributes_decode(), it is malformed. */
bool attributes_next_xattr(struct reader *r, struct attributes_xattr *ret_xattr);
bool attributes_next_name(struct reader *r, struct attributes_name *ret_name);

/* ---- attributes_acl.c --------------------------------------------------------------------------------------- */

/* Called for each user and group that an ACL names; returns the number to put there. */
typedef uint32_t (*acl_visit)(void *context, enum account_kind kind, uint32_t id);

/*
 * Visits the entries of the value of an ACL attribute. `out` (NULL: only visit; else `len` bytes, not `value`) gets it with
 * the numbers exchanged and the entries in the kernel's order. A value that is no ACL is copied as it is.
 */
void acl_map(const uint8_t *value, size_t len, acl_visit visit, void *context, uint8_t *out);

/* The mode bits that an ACL stands for, the mask being that of the group. -ENODATA: it is none. */
int acl_mode(const uint8_t *value, size_t len);

/* `mode` with no more for the group than the ACL allows the owning group. Of what is no ACL, as it was. */
mode_t acl_narrow(const uint8_t *value, size_t len, mode_t mode);

#endif
