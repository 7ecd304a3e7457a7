/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The attributes of a file as a peer sends them, and the ACLs among them. */
#include <errno.h>
#include <string.h>

#include "common/attributes_impl.h"
#include "fuzz.h"

static uint32_t same(void *context, enum account_kind kind, uint32_t id)
{
	FUZZ_CHECK(kind == ACCOUNT_USER || kind == ACCOUNT_GROUP);
	return id;
}

/* Exchanging numbers keeps the length, and doing it again changes nothing more. */
static void check_acl(const struct attributes_xattr *x)
{
	uint8_t *one = malloc(x->len), *two = malloc(x->len);

	FUZZ_CHECK(one && two);
	acl_map(x->value, x->len, same, NULL, NULL);
	acl_map(x->value, x->len, same, NULL, one);
	acl_map(one, x->len, same, NULL, two);
	FUZZ_CHECK(memcmp(one, two, x->len) == 0);
	free(one);
	free(two);
}

/* Takes the lists off one by one and writes them again. */
static void write_again(const struct attributes *a, struct attributes_draft *d)
{
	struct reader xattrs = { .p = a->xattrs, .left = a->xattrs_len };
	struct reader names = { .p = a->names, .left = a->names_len };
	struct attributes_xattr x;
	struct attributes_name n;
	uint8_t *value;

	FUZZ_CHECK(attributes_draft_begin(d, a->kept, a->uid, a->gid) == 0);
	while (attributes_next_xattr(&xattrs, &x)) {
		FUZZ_CHECK(attributes_class(x.name) & a->kept);
		FUZZ_CHECK(attributes_draft_value(d, x.name, x.len, &value) == 0);
		memcpy(value, x.value, x.len);
		attributes_draft_xattr(d, x.name, x.len);
		if (x.len && attributes_class(x.name) == ATTRIBUTES_ACLS)
			check_acl(&x);
	}
	attributes_draft_names(d);
	while (attributes_next_name(&names, &n))
		FUZZ_CHECK(attributes_draft_name(d, n.kind, n.id, n.name, n.len) == 0);
	FUZZ_CHECK(!xattrs.bad && !names.bad && !xattrs.left && !names.left);
}

int fuzz_attributes(const uint8_t *data, size_t len)
{
	struct attributes a, untouched, again;
	struct attributes_draft draft;

	memset(&a, 0xa5, sizeof(a));
	memset(&untouched, 0xa5, sizeof(untouched));
	if (attributes_decode(data, len, &a) < 0) {
		FUZZ_CHECK(memcmp(&a, &untouched, sizeof(a)) == 0);
		return 0;
	}
	FUZZ_CHECK(a.blob == data && a.len == len && !a.owned);
	write_again(&a, &draft);
	attributes_draft_end(&draft, &again);
	FUZZ_CHECK(again.len == len && memcmp(again.blob, data, len) == 0);
	FUZZ_CHECK(again.kept == a.kept && again.uid == a.uid && again.gid == a.gid);
	attributes_done(&again);
	attributes_done(&a);
	return 1;
}

FUZZ_ENTRY(attributes)
