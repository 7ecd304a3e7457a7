/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The bytes attributes travel as: golden ones, broken ones, and the numbers inside ACLs. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "common/attributes_impl.h"
#include "common/util.h"
#include "guard.h"
#include "tests/fuzz/fuzz.h"

Suite *attributes_blob_suite(void);

static const uint8_t golden[] = {
	'R', 'A', 1,    7,    0xe8, 0x03, 0,   0,   0x44, 0x33, 0x22, 0x11,      /* magic, version, kept, uid, gid */
	25,  0,   0,    0,    11,   0,    0,   0,                                /* lengths of the two lists */
	6,   1,   0,    0,    0,    'u',  's', 'e', 'r',  '.',  'a',  'v',       /* user.a = v */
	8,   0,   0,    0,    0,    'u',  's', 'e', 'r',  '.',  'n',  'i',  'l', /* user.nil = "" */
	0,   5,   0xe8, 0x03, 0,    0,    'a', 'l', 'i',  'c',  'e',             /* user 1000 is alice */
};

static void put_xattr(struct attributes_draft *d, const char *name, const void *value, size_t len)
{
	uint8_t *place;

	ck_assert_int_eq(attributes_draft_value(d, name, len, &place), 0);
	memcpy(place, value, len);
	attributes_draft_xattr(d, name, len);
}

START_TEST(a_blob_is_written_as_the_protocol_has_it)
{
	struct attributes_draft d;
	struct attributes a;

	ck_assert_int_eq(attributes_draft_begin(&d, 7, 1000, 0x11223344), 0);
	put_xattr(&d, "user.a", "v", 1);
	put_xattr(&d, "user.nil", "", 0);
	attributes_draft_names(&d);
	ck_assert_int_eq(attributes_draft_name(&d, ACCOUNT_USER, 1000, "alice", 5), 0);
	attributes_draft_end(&d, &a);
	ck_assert_mem_eq(a.blob, golden, min_size(a.len, sizeof(golden)));
	ck_assert_uint_eq(a.len, sizeof(golden));
	ck_assert_uint_eq(a.uid, 1000);
	ck_assert_uint_eq(a.gid, 0x11223344);
	ck_assert_uint_eq(a.kept, 7);
	attributes_done(&a);
	ck_assert_ptr_null(a.blob);
}
END_TEST

START_TEST(a_blob_is_read_as_the_protocol_has_it)
{
	struct attributes a;
	struct attributes_xattr x;
	struct attributes_name n;
	struct reader r;

	ck_assert_int_eq(attributes_decode(golden, sizeof(golden), &a), 0);
	ck_assert_uint_eq(a.kept, ATTRIBUTES_OWNER | ATTRIBUTES_XATTRS | ATTRIBUTES_PRIVILEGED);
	ck_assert_uint_eq(a.uid, 1000);
	ck_assert_uint_eq(a.gid, 0x11223344);
	r = (struct reader){ .p = a.xattrs, .left = a.xattrs_len };
	ck_assert(attributes_next_xattr(&r, &x));
	ck_assert_str_eq(x.name, "user.a");
	ck_assert(x.len == 1 && *x.value == 'v');
	ck_assert(attributes_next_xattr(&r, &x));
	ck_assert_str_eq(x.name, "user.nil");
	ck_assert_uint_eq(x.len, 0);
	ck_assert(!attributes_next_xattr(&r, &x) && !r.bad);
	r = (struct reader){ .p = a.names, .left = a.names_len };
	ck_assert(attributes_next_name(&r, &n));
	ck_assert(n.kind == ACCOUNT_USER && n.id == 1000 && n.len == 5 && !memcmp(n.name, "alice", 5));
	ck_assert(!attributes_next_name(&r, &n) && !r.bad);
	attributes_done(&a); /* borrowed: nothing to free */
}
END_TEST

START_TEST(a_blob_cut_anywhere_is_refused_and_not_read_past_its_end)
{
	struct attributes a;
	struct guard guard;
	size_t len;

	guard_init(&guard);
	for (len = 0; len < sizeof(golden); len++)
		ck_assert_int_eq(attributes_decode(guard_put(&guard, golden, len), len, &a), -EBADMSG);
	ck_assert_int_eq(attributes_decode(guard_put(&guard, golden, len), len, &a), 0);
	guard_done(&guard);
}
END_TEST

/* The fuzz entry checks that what was taken is written the same again. */
START_TEST(a_blob_with_a_turned_bit_is_refused_or_means_what_it_says)
{
	uint8_t bytes[sizeof(golden)];
	size_t bit;

	memcpy(bytes, golden, sizeof(bytes));
	for (bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		fuzz_attributes(bytes, sizeof(bytes));
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ck_assert_int_eq(fuzz_attributes(bytes, sizeof(bytes)), 1);
}
END_TEST

START_TEST(a_draft_grows_to_the_limit_and_not_beyond)
{
	static const uint8_t value[XATTR_SIZE_MAX];
	struct attributes_draft d;
	struct attributes a, decoded;
	uint8_t *place;
	size_t left;
	char name[] = "user.0";

	ck_assert_int_eq(attributes_draft_begin(&d, ATTRIBUTES_XATTRS, 0, 0), 0);
	while ((left = attributes_draft_left(&d, name)) > 0) {
		ck_assert_int_eq(attributes_draft_value(&d, name, left + 1, &place), -E2BIG);
		put_xattr(&d, name, value, min_size(left, sizeof(value)));
		name[5]++;
	}
	ck_assert_uint_eq(d.bytes.len, ATTRIBUTES_MAX);
	attributes_draft_names(&d);
	ck_assert_int_eq(attributes_draft_name(&d, ACCOUNT_USER, 1, "n", 1), -E2BIG);
	attributes_draft_end(&d, &a);
	ck_assert_int_eq(attributes_decode(a.blob, a.len, &decoded), 0);
	ck_assert_int_eq(attributes_decode(a.blob, a.len + 1, &decoded), -EBADMSG);
	attributes_done(&a);
}
END_TEST

START_TEST(more_names_of_attributes_than_a_kernel_lists_are_refused)
{
	struct attributes_draft d;
	struct attributes a, decoded;
	char name[XATTR_NAME_MAX + 1];
	int i, count;

	for (count = 250; count < 265; count++) { /* of 255 bytes and a NUL: 256 are all */
		ck_assert_int_eq(attributes_draft_begin(&d, ATTRIBUTES_XATTRS, 0, 0), 0);
		for (i = 0; i < count; i++) {
			snprintf(name, sizeof(name), "user.%0250d", i);
			put_xattr(&d, name, "", 0);
		}
		attributes_draft_names(&d);
		attributes_draft_end(&d, &a);
		ck_assert_int_eq(attributes_decode(a.blob, a.len, &decoded), count <= 256 ? 0 : -EBADMSG);
		attributes_done(&a);
	}
}
END_TEST

static const struct {
	const char *name;
	unsigned int class;
} classes[] = {
	{ "user.a", ATTRIBUTES_XATTRS },
	{ "user.", 0 },
	{ "user", 0 },
	{ "username.a", 0 },
	{ "security.capability", ATTRIBUTES_PRIVILEGED },
	{ "security.evm", 0 },
	{ "security.evm2", ATTRIBUTES_PRIVILEGED },
	{ "trusted.overlay.opaque", ATTRIBUTES_PRIVILEGED },
	{ "trusted.SGI_ACL_FILE", 0 },
	{ "system.posix_acl_access", ATTRIBUTES_ACLS },
	{ "system.posix_acl_default", ATTRIBUTES_ACLS },
	{ "system.posix_acl_accessx", 0 },
	{ "system.nfs4_acl", 0 },
	{ "btrfs.compression", 0 },
	{ "", 0 },
};

START_TEST(every_name_belongs_to_its_class)
{
	ck_assert_msg(attributes_class(classes[_i].name) == classes[_i].class, "%s", classes[_i].name);
}
END_TEST

/* 1000 -> 5, everything else stays. */
static uint32_t exchange(void *context, enum account_kind kind, uint32_t id)
{
	unsigned int *seen = context;

	seen[kind]++;
	return id == 1000 ? 5 : id;
}

static const uint8_t acl[] = {
	2,  0, 0, 0, 1,    0,    6,    0,    0xff, 0xff, 0xff, 0xff, /* version; owner rw */
	2,  0, 7, 0, 10,   0,    0,    0,                            /* user 10 rwx */
	2,  0, 4, 0, 0xe8, 3,    0,    0,                            /* user 1000 r */
	4,  0, 0, 0, 0xff, 0xff, 0xff, 0xff,                         /* group */
	8,  0, 4, 0, 0xe8, 3,    0,    0,                            /* group 1000 r */
	16, 0, 7, 0, 0xff, 0xff, 0xff, 0xff,                         /* mask */
	32, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,                         /* others */
};

static const uint8_t exchanged[] = {
	2, 0, 0, 0, 1,  0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* as above */
	2, 0, 4, 0, 5,  0, 0, 0,                         /* before the one that stayed */
	2, 0, 7, 0, 10, 0, 0, 0, 4,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 8,    0,    4,    0,
	5, 0, 0, 0, 16, 0, 7, 0, 0xff, 0xff, 0xff, 0xff, 32,   0,    0,    0,    0xff, 0xff, 0xff, 0xff,
};

START_TEST(numbers_in_an_acl_are_exchanged_and_its_entries_in_order)
{
	uint8_t out[sizeof(acl)];
	unsigned int seen[2] = { 0 };

	acl_map(acl, sizeof(acl), exchange, seen, NULL);
	ck_assert(seen[ACCOUNT_USER] == 2 && seen[ACCOUNT_GROUP] == 1);
	acl_map(acl, sizeof(acl), exchange, seen, out);
	ck_assert(seen[ACCOUNT_USER] == 4 && seen[ACCOUNT_GROUP] == 2);
	ck_assert_mem_eq(out, exchanged, sizeof(out));
}
END_TEST

START_TEST(what_is_no_acl_is_left_as_it_is)
{
	uint8_t in[sizeof(acl)], out[sizeof(acl)];
	unsigned int seen[2] = { 0 };
	struct guard guard;
	size_t len;

	guard_init(&guard);
	for (len = 1; len < sizeof(acl); len++) {
		if (len >= 4 && (len - 4) % 8 == 0)
			continue;
		acl_map(guard_put(&guard, acl, len), len, exchange, seen, out);
		ck_assert_mem_eq(out, acl, len);
	}
	memcpy(in, acl, sizeof(acl));
	in[0] = 3;
	acl_map(in, sizeof(in), exchange, seen, out);
	ck_assert_mem_eq(out, in, sizeof(in));
	ck_assert(!seen[ACCOUNT_USER] && !seen[ACCOUNT_GROUP]);
	guard_done(&guard);
}
END_TEST

Suite *attributes_blob_suite(void)
{
	Suite *s = suite_create("attributes_blob");
	TCase *tc = tcase_create("bytes");

	tcase_add_test(tc, a_blob_is_written_as_the_protocol_has_it);
	tcase_add_test(tc, a_blob_is_read_as_the_protocol_has_it);
	tcase_add_test(tc, a_blob_cut_anywhere_is_refused_and_not_read_past_its_end);
	tcase_add_test(tc, a_blob_with_a_turned_bit_is_refused_or_means_what_it_says);
	tcase_add_test(tc, a_draft_grows_to_the_limit_and_not_beyond);
	tcase_add_test(tc, more_names_of_attributes_than_a_kernel_lists_are_refused);
	tcase_add_loop_test(tc, every_name_belongs_to_its_class, 0, ARRAY_SIZE(classes));
	tcase_add_test(tc, numbers_in_an_acl_are_exchanged_and_its_entries_in_order);
	tcase_add_test(tc, what_is_no_acl_is_left_as_it_is);
	suite_add_tcase(s, tc);
	return s;
}
