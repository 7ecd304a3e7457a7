/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The users and groups inside POSIX ACLs, whose attributes hold numbers: le32 version, then le16 tag, le16 permissions, le32
 * id for each entry (linux/posix_acl_xattr.h). Called by attributes.c to learn which there are, and to exchange them. What
 * an ACL means, and whether it is one, is left to the kernel: a value that does not look like one passes unchanged. Only the mode
 * that one stands for has to be known here.
 */
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdlib.h>

#include "attributes_impl.h"

#define HEADER_SIZE sizeof(struct posix_acl_xattr_header)
#define ENTRY_SIZE sizeof(struct posix_acl_xattr_entry)

struct entry {
	uint16_t tag, perm;
	uint32_t id;
};

static struct entry get_entry(struct reader *r)
{
	struct entry e;

	e.tag = get_u16(r);
	e.perm = get_u16(r);
	e.id = get_u32(r);
	return e;
}

/* The order libacl and the kernel want: tags ascend, and within one the numbers. */
static int compare_entries(const void *one, const void *other)
{
	struct reader p = { .p = one, .left = ENTRY_SIZE }, q = { .p = other, .left = ENTRY_SIZE };
	struct entry a = get_entry(&p), b = get_entry(&q);

	if (a.tag != b.tag)
		return a.tag < b.tag ? -1 : 1;
	return a.id < b.id ? -1 : a.id > b.id;
}

/* False: it does not look like an ACL. `r` is behind the header. */
static bool begin(struct reader *r)
{
	return r->left >= HEADER_SIZE && (r->left - HEADER_SIZE) % ENTRY_SIZE == 0 &&
	       get_u32(r) == POSIX_ACL_XATTR_VERSION;
}

int acl_mode(const uint8_t *value, size_t len)
{
	struct reader r = { .p = value, .left = len };
	unsigned int user = 0, group = 0, other = 0;
	bool has_mask = false;

	if (!begin(&r) || !r.left)
		return -ENODATA;
	while (r.left) {
		struct entry e = get_entry(&r);

		if (e.tag == ACL_USER_OBJ)
			user = e.perm;
		else if (e.tag == ACL_MASK || (e.tag == ACL_GROUP_OBJ && !has_mask))
			group = e.perm;
		else if (e.tag == ACL_OTHER)
			other = e.perm;
		has_mask |= e.tag == ACL_MASK;
	}
	return (int)((user & 7) << 6 | (group & 7) << 3 | (other & 7));
}

mode_t acl_narrow(const uint8_t *value, size_t len, mode_t mode)
{
	struct reader r = { .p = value, .left = len };

	if (!begin(&r))
		return mode;
	while (r.left) {
		struct entry e = get_entry(&r);

		if (e.tag == ACL_GROUP_OBJ)
			mode &= ~(mode_t)S_IRWXG | (mode_t)(e.perm & 7) << 3;
	}
	return mode;
}

void acl_map(const uint8_t *value, size_t len, acl_visit visit, void *context, uint8_t *out)
{
	struct reader r = { .p = value, .left = len };
	struct writer w = { .buf = out, .size = len };

	if (!begin(&r)) {
		put_bytes(&w, value, len);
		return;
	}
	put_u32(&w, POSIX_ACL_XATTR_VERSION);
	while (r.left) {
		struct entry e = get_entry(&r);

		if (e.tag == ACL_USER || e.tag == ACL_GROUP)
			e.id = visit(context, e.tag == ACL_USER ? ACCOUNT_USER : ACCOUNT_GROUP, e.id);
		put_u16(&w, e.tag);
		put_u16(&w, e.perm);
		put_u32(&w, e.id);
	}
	if (out)
		qsort(out + HEADER_SIZE, (len - HEADER_SIZE) / ENTRY_SIZE, ENTRY_SIZE, compare_entries);
}
