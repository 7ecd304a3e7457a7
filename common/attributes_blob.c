/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The bytes that attributes travel as, made and taken apart.
 *
 * A blob, all integers little-endian:
 *	 0 'R' 'A'       4 uid    12 length of the attributes    20 attributes
 *	 2 version: 1    8 gid    16 length of the names            names
 *	 3 kept
 * An attribute: length of its name (1), of its value (4), name, value. A user or group: kind (1), length of its name (1), number
 * (4), name. Both ascend without doubles, by name and by (kind, number): there is one way to say a thing.
 *
 * Made by attributes_read() in memory that grows with what is there; decoded in place from a peer's bytes, where every
 * length is checked against what is left, and nothing is allocated.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attributes_impl.h"
#include "cleanup.h"
#include "util.h"

#define BLOB_VERSION 1
#define LENGTHS_AT 12
#define LIST_MAX (XATTR_LIST_MAX + sizeof(ACL_ACCESS) + sizeof(ACL_DEFAULT)) /* no kernel lists more */
#define XATTR_HEAD 5                                                         /* lengths */
#define NAME_HEAD 6                                                          /* kind, length, number */

static bool begins(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix)) && name[strlen(prefix)];
}

/* What cp -a leaves out as well, see /etc/xattr.conf: only the kernel can write it, or it is XFS's own. */
static bool is_skipped(const char *name)
{
	return !strcmp(name, "security.evm") || begins(name, "trusted.SGI_");
}

unsigned int attributes_class(const char *name)
{
	if (!strcmp(name, ACL_ACCESS) || !strcmp(name, ACL_DEFAULT))
		return ATTRIBUTES_ACLS;
	if (begins(name, "user."))
		return ATTRIBUTES_XATTRS;
	if ((begins(name, "security.") || begins(name, "trusted.")) && !is_skipped(name))
		return ATTRIBUTES_PRIVILEGED;
	return 0;
}

/* False: it is no blob. What is in its fields and lists is yet to be looked at. */
static bool get_layout(const uint8_t *blob, size_t len, struct attributes *a)
{
	struct reader r = { .p = blob, .left = len };
	uint8_t head[3] = { 0 };

	*a = (struct attributes){ .blob = blob, .len = len };
	get_copy(&r, head, sizeof(head));
	a->kept = get_u8(&r);
	a->uid = get_u32(&r);
	a->gid = get_u32(&r);
	a->xattrs_len = get_u32(&r);
	a->names_len = get_u32(&r);
	a->xattrs = get_bytes(&r, a->xattrs_len);
	a->names = get_bytes(&r, a->names_len);
	return !r.bad && !r.left && head[0] == 'R' && head[1] == 'A' && head[2] == BLOB_VERSION;
}

/* ---- making one --------------------------------------------------------------------------------------------- */

static int reserve(struct attributes_draft *d, size_t bytes)
{
	return buffer_reserve(&d->bytes, bytes, ATTRIBUTES_MAX);
}

/* At the end of what is there; the caller has reserved the room. */
static struct writer append(struct attributes_draft *d)
{
	return (struct writer){ .buf = d->bytes.data + d->bytes.len, .size = d->bytes.room - d->bytes.len };
}

int attributes_draft_begin(struct attributes_draft *d, unsigned int kept, uint32_t uid, uint32_t gid)
{
	struct writer w;
	int r;

	memset(d, 0, sizeof(*d));
	r = reserve(d, ATTRIBUTES_MIN);
	if (r < 0)
		return r;
	w = append(d);
	put_bytes(&w, "RA", 2);
	put_u8(&w, BLOB_VERSION);
	put_u8(&w, (uint8_t)(kept & ATTRIBUTES_ALL));
	put_u32(&w, kept & ATTRIBUTES_OWNER ? uid : 0);
	put_u32(&w, kept & ATTRIBUTES_OWNER ? gid : 0);
	put_u64(&w, 0); /* attributes_draft_end() knows the lengths */
	d->bytes.len += w.len;
	return 0;
}

size_t attributes_draft_left(const struct attributes_draft *d, const char *name)
{
	size_t taken = d->bytes.len + XATTR_HEAD + strlen(name);

	return taken < ATTRIBUTES_MAX ? ATTRIBUTES_MAX - taken : 0;
}

int attributes_draft_value(struct attributes_draft *d, const char *name, size_t room, uint8_t **ret_value)
{
	size_t head = XATTR_HEAD + strlen(name);
	int r = reserve(d, head + room);

	if (r < 0)
		return r;
	*ret_value = d->bytes.data + d->bytes.len + head;
	return 0;
}

void attributes_draft_xattr(struct attributes_draft *d, const char *name, size_t len)
{
	struct writer w = append(d);

	put_u8(&w, (uint8_t)strlen(name));
	put_u32(&w, (uint32_t)len);
	put_bytes(&w, name, strlen(name));
	d->bytes.len += w.len + len;
}

void attributes_draft_names(struct attributes_draft *d)
{
	d->xattrs_len = d->bytes.len - ATTRIBUTES_MIN;
}

int attributes_draft_name(struct attributes_draft *d, enum account_kind kind, uint32_t id, const char *name, size_t len)
{
	struct writer w;
	int r = reserve(d, NAME_HEAD + len);

	if (r < 0)
		return r;
	w = append(d);
	put_u8(&w, (uint8_t)kind);
	put_u8(&w, (uint8_t)len);
	put_u32(&w, id);
	put_bytes(&w, name, len);
	d->bytes.len += w.len;
	return 0;
}

void attributes_draft_end(struct attributes_draft *d, struct attributes *ret_attributes)
{
	struct writer w = { .buf = d->bytes.data + LENGTHS_AT, .size = 2 * sizeof(uint32_t) };
	uint8_t *fitting;

	put_u32(&w, (uint32_t)d->xattrs_len);
	put_u32(&w, (uint32_t)(d->bytes.len - ATTRIBUTES_MIN - d->xattrs_len));
	fitting = realloc(d->bytes.data, d->bytes.len);
	if (fitting)
		d->bytes.data = fitting;
	get_layout(d->bytes.data, d->bytes.len, ret_attributes);
	ret_attributes->owned = d->bytes.data;
	memset(d, 0, sizeof(*d));
}

void attributes_draft_done(struct attributes_draft *d)
{
	buffer_done(&d->bytes);
	memset(d, 0, sizeof(*d));
}

/* ---- taking one apart --------------------------------------------------------------------------------------- */

bool attributes_next_xattr(struct reader *r, struct attributes_xattr *ret_xattr)
{
	const uint8_t *name, *value;
	size_t name_len;
	uint32_t len;

	if (!r->left || r->bad)
		return false;
	name_len = get_u8(r);
	len = get_u32(r);
	name = get_bytes(r, name_len);
	value = get_bytes(r, len);
	if (r->bad || memchr(name, 0, name_len) || len > XATTR_SIZE_MAX) {
		r->bad = true;
		return false;
	}
	memcpy(ret_xattr->name, name, name_len);
	ret_xattr->name[name_len] = '\0';
	ret_xattr->value = value;
	ret_xattr->len = len;
	return true;
}

bool attributes_next_name(struct reader *r, struct attributes_name *ret_name)
{
	struct attributes_name n;

	if (!r->left || r->bad)
		return false;
	n.kind = get_u8(r);
	n.len = get_u8(r);
	n.id = get_u32(r);
	n.name = (const char *)get_bytes(r, n.len);
	if (r->bad || n.kind > ACCOUNT_GROUP || !account_name_ok(n.name, n.len)) {
		r->bad = true;
		return false;
	}
	*ret_name = n;
	return true;
}

static bool xattrs_ok(const struct attributes *a)
{
	struct reader r = { .p = a->xattrs, .left = a->xattrs_len };
	struct attributes_xattr x;
	char last[XATTR_NAME_MAX + 1] = "";
	size_t listed = 0;

	while (attributes_next_xattr(&r, &x)) {
		if (!(attributes_class(x.name) & a->kept) || strcmp(last, x.name) >= 0)
			return false;
		listed += strlen(x.name) + 1;
		memcpy(last, x.name, strlen(x.name) + 1);
	}
	return !r.bad && listed <= LIST_MAX;
}

/* 0 has no name, and UINT32_MAX is nobody: chown(2) takes it for "leave it". */
static bool names_ok(const struct attributes *a)
{
	struct reader r = { .p = a->names, .left = a->names_len };
	struct attributes_name n;
	uint64_t last = 0;
	size_t count = 0;

	while (attributes_next_name(&r, &n)) {
		uint64_t key = (uint64_t)n.kind << 32 | n.id;

		if (!n.id || n.id == UINT32_MAX || (count && key <= last) || ++count > ATTRIBUTES_NAMES_MAX)
			return false;
		last = key;
	}
	return !r.bad;
}

int attributes_decode(const uint8_t *blob, size_t len, struct attributes *ret_attributes)
{
	struct attributes a;

	if (len > ATTRIBUTES_MAX || !get_layout(blob, len, &a))
		return -EBADMSG;
	if (a.kept & ~(unsigned int)ATTRIBUTES_ALL || a.uid == UINT32_MAX || a.gid == UINT32_MAX)
		return -EBADMSG;
	if ((!(a.kept & ATTRIBUTES_OWNER) && (a.uid || a.gid)) || !xattrs_ok(&a) || !names_ok(&a))
		return -EBADMSG;
	*ret_attributes = a;
	return 0;
}

void attributes_done(struct attributes *a)
{
	free(a->owned);
	memset(a, 0, sizeof(*a));
}
