/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The blobs of wire.h: golden bytes, padding, and everything a stranger may send instead. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "common/slab.h"
#include "common/util.h"
#include "common/wire.h"
#include "guard.h"
#include "tests/fuzz/fuzz.h"

static const struct wire_req req = {
	.flags = WIRE_PULL | WIRE_MAC,
	.slot_log2 = 20,
	.slots_log2 = 5,
	.receives_log2 = 4,
	.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.mac = { 0xaa, [31] = 0xbb },
};

static const uint8_t req_bytes[WIRE_REQ_SIZE] = {
	'R',  'D',         1, 56, 3, 20, 5, 4, /* magic, version, length, flags, geometry */
	1,    2,           3, 4,  5, 6,  7, 8, 9, 10, 11, 12, 13, 14, 15, 16, /* uuid */
	0xaa, [55] = 0xbb,                                                    /* mac */
};

/* An address in the upper half of what 48 bits hold: what a 32-bit swap would spoil. */
static const struct wire_rep rep = {
	.flags = WIRE_MAC,
	.slot_log2 = 12,
	.slots_log2 = 0,
	.receives_log2 = 10,
	.base = 0x7ffffffff000,
	.rkey = 0x11223344,
	.max_files = 0x0102,
	.mac = { 0xcc, [31] = 0xdd },
};

static const uint8_t rep_bytes[WIRE_REP_SIZE] = {
	'R',  'P',         1,    56,   2,    12,   0, 10, /* magic, version, length, flags, geometry */
	0x00, 0xf0,        0xff, 0xff, 0xff, 0x7f, 0, 0,  /* base */
	0x44, 0x33,        0x22, 0x11, 2,    1,    0, 0,  /* rkey, max_files, reserved */
	0xcc, [55] = 0xdd,                                /* mac */
};

static const struct wire_rej rej = {
	.reason = 0x0114,
	.challenge = { 0xee, [31] = 0xff },
	.text_len = 4,
	.text = "busy",
};

static const uint8_t rej_bytes[44] = {
	'R',  'J',         1,   44,  0x14, 1, 4, 0, /* magic, version, length, reason, text_len, reserved */
	0xee, [39] = 0xff,                          /* challenge */
	'b',  'u',         's', 'y',
};

static int decode_any_req(const void *blob, size_t len, unsigned int *ret_version)
{
	struct wire_req out;

	return wire_decode_req(blob, len, &out, ret_version);
}

static int decode_any_rep(const void *blob, size_t len, unsigned int *ret_version)
{
	struct wire_rep out;

	return wire_decode_rep(blob, len, &out, ret_version);
}

static int decode_any_rej(const void *blob, size_t len, unsigned int *ret_version)
{
	struct wire_rej out;

	return wire_decode_rej(blob, len, &out, ret_version);
}

static const struct {
	const uint8_t *bytes;
	size_t len, padded;
	int (*decode)(const void *blob, size_t len, unsigned int *ret_version);
	int (*fuzz)(const uint8_t *data, size_t len);
} blobs[] = {
	{ req_bytes, sizeof(req_bytes), WIRE_REQ_SIZE + 36, decode_any_req, fuzz_req },
	{ rep_bytes, sizeof(rep_bytes), WIRE_REP_MAX, decode_any_rep, fuzz_rep },
	{ rej_bytes, sizeof(rej_bytes), WIRE_REJ_MAX, decode_any_rej, fuzz_rej },
};

static uint8_t buf[512];
static struct guard guard;

static void setup(void)
{
	guard_init(&guard);
}

static void teardown(void)
{
	guard_done(&guard);
}

START_TEST(req_is_encoded_to_its_golden_bytes)
{
	struct wire_req out;

	ck_assert_int_eq(wire_encode_req(&req, buf, sizeof(buf)), WIRE_REQ_SIZE);
	ck_assert_mem_eq(buf, req_bytes, sizeof(req_bytes));
	ck_assert_int_eq(wire_decode_req(req_bytes, sizeof(req_bytes), &out, NULL), 0);
	ck_assert_mem_eq(&out, &req, sizeof(req)); /* bytes only: no padding in it */
}
END_TEST

START_TEST(rep_is_encoded_to_its_golden_bytes)
{
	struct wire_rep out;

	ck_assert_int_eq(wire_encode_rep(&rep, buf, sizeof(buf)), WIRE_REP_SIZE);
	ck_assert_mem_eq(buf, rep_bytes, sizeof(rep_bytes));
	ck_assert_int_eq(wire_decode_rep(rep_bytes, sizeof(rep_bytes), &out, NULL), 0);
	ck_assert_uint_eq(out.flags, rep.flags);
	ck_assert_uint_eq(out.slot_log2, rep.slot_log2);
	ck_assert_uint_eq(out.slots_log2, rep.slots_log2);
	ck_assert_uint_eq(out.receives_log2, rep.receives_log2);
	ck_assert_uint_eq(out.base, 0x7ffffffff000);
	ck_assert_uint_eq(out.rkey, rep.rkey);
	ck_assert_uint_eq(out.max_files, rep.max_files);
	ck_assert_mem_eq(out.mac, rep.mac, sizeof(rep.mac));
}
END_TEST

START_TEST(rej_is_encoded_to_its_golden_bytes)
{
	struct wire_rej out;

	ck_assert_int_eq(wire_encode_rej(&rej, buf, sizeof(buf)), sizeof(rej_bytes));
	ck_assert_mem_eq(buf, rej_bytes, sizeof(rej_bytes));
	ck_assert_int_eq(wire_decode_rej(rej_bytes, sizeof(rej_bytes), &out, NULL), 0);
	ck_assert_uint_eq(out.reason, rej.reason);
	ck_assert_uint_eq(out.text_len, rej.text_len);
	ck_assert_mem_eq(out.text, rej.text, sizeof(rej.text));
	ck_assert_mem_eq(out.challenge, rej.challenge, sizeof(rej.challenge));
}
END_TEST

START_TEST(padding_behind_a_blob_is_ignored)
{
	memset(buf, 0, sizeof(buf));
	memcpy(buf, blobs[_i].bytes, blobs[_i].len);
	ck_assert_int_eq(blobs[_i].decode(buf, blobs[_i].padded, NULL), 0);
	memset(buf + blobs[_i].len, 0xff, blobs[_i].padded - blobs[_i].len);
	ck_assert_int_eq(blobs[_i].decode(buf, blobs[_i].padded, NULL), 0);
}
END_TEST

START_TEST(no_private_data_is_refused)
{
	memset(buf, 0, sizeof(buf));
	for (size_t len = 0; len <= 256; len++)
		ck_assert_int_eq(blobs[_i].decode(buf, len, NULL), -EBADMSG);
	ck_assert_int_eq(blobs[_i].decode(NULL, 0, NULL), -EBADMSG);
}
END_TEST

START_TEST(every_truncation_of_a_blob_is_refused)
{
	for (size_t len = 0; len < blobs[_i].len; len++) {
		const uint8_t *p = guard_put(&guard, blobs[_i].bytes, len);

		ck_assert_int_eq(blobs[_i].decode(p, len, NULL), -EBADMSG);
	}
}
END_TEST

START_TEST(length_shorter_than_known_is_refused)
{
	memcpy(buf, blobs[_i].bytes, blobs[_i].len);
	for (size_t said = 0; said < blobs[_i].len; said++) {
		buf[3] = (uint8_t)said;
		ck_assert_int_eq(blobs[_i].decode(buf, blobs[_i].len, NULL), -EBADMSG);
	}
}
END_TEST

START_TEST(length_past_the_event_is_refused)
{
	memset(buf, 0, sizeof(buf));
	memcpy(buf, blobs[_i].bytes, blobs[_i].len);
	buf[3] = 100;
	ck_assert_int_eq(blobs[_i].decode(buf, 99, NULL), -EBADMSG);
	ck_assert_int_eq(blobs[_i].decode(buf, 100, NULL), 0); /* a newer peer of our version: known part is read */
}
END_TEST

START_TEST(another_version_is_told_apart_from_noise)
{
	unsigned int version = 77;

	memcpy(buf, blobs[_i].bytes, blobs[_i].len);
	buf[2] = WIRE_VERSION + 1;
	ck_assert_int_eq(blobs[_i].decode(buf, blobs[_i].len, &version), -EPROTONOSUPPORT);
	ck_assert_uint_eq(version, WIRE_VERSION + 1);
	ck_assert_int_eq(blobs[_i].decode(buf, 4, NULL), -EPROTONOSUPPORT);
	version = 77;
	buf[0] = 'X';
	ck_assert_int_eq(blobs[_i].decode(buf, blobs[_i].len, &version), -EBADMSG);
	ck_assert_uint_eq(version, 77);
}
END_TEST

START_TEST(blob_of_another_kind_is_refused)
{
	for (size_t other = 0; other < ARRAY_SIZE(blobs); other++) {
		memset(buf, 0, sizeof(buf));
		memcpy(buf, blobs[other].bytes, blobs[other].len);
		ck_assert_int_eq(blobs[_i].decode(buf, 196, NULL), other == (size_t)_i ? 0 : -EBADMSG);
	}
}
END_TEST

START_TEST(flipped_bits_never_break_the_decoder)
{
	for (size_t bit = 0; bit < 8 * blobs[_i].len; bit++) {
		uint8_t *p = guard_put(&guard, blobs[_i].bytes, blobs[_i].len);

		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		blobs[_i].fuzz(p, blobs[_i].len);
	}
}
END_TEST

/* Decodes a REQ and a REP of this geometry; both must agree. */
static int decode_geometry(uint8_t slot_log2, uint8_t slots_log2, uint8_t receives_log2)
{
	uint8_t as_rep[WIRE_REP_SIZE];
	int r;

	memcpy(buf, req_bytes, sizeof(req_bytes));
	memcpy(as_rep, rep_bytes, sizeof(rep_bytes));
	buf[5] = as_rep[5] = slot_log2;
	buf[6] = as_rep[6] = slots_log2;
	buf[7] = as_rep[7] = receives_log2;
	r = decode_any_req(buf, sizeof(req_bytes), NULL);
	ck_assert_int_eq(r, decode_any_rep(as_rep, sizeof(as_rep), NULL));
	return r;
}

START_TEST(geometry_is_taken_within_its_limits_only)
{
	for (unsigned int n = 0; n <= UINT8_MAX; n++) {
		bool slot_ok = n >= SLAB_MIN_SLOT_LOG2 && n <= SLAB_MAX_SLOT_LOG2;
		bool receives_ok = n >= WIRE_MIN_RECEIVES_LOG2 && n <= WIRE_MAX_RECEIVES_LOG2;

		ck_assert_int_eq(decode_geometry((uint8_t)n, 5, 4), slot_ok ? 0 : -EBADMSG);
		ck_assert_int_eq(decode_geometry(20, (uint8_t)n, 4), n <= SLAB_MAX_SLOTS_LOG2 ? 0 : -EBADMSG);
		ck_assert_int_eq(decode_geometry(20, 5, (uint8_t)n), receives_ok ? 0 : -EBADMSG);
	}
}
END_TEST

START_TEST(unknown_flags_are_refused)
{
	for (unsigned int flags = 0; flags <= UINT8_MAX; flags++) {
		int expected = flags & ~(unsigned int)(WIRE_PULL | WIRE_MAC) ? -EBADMSG : 0;

		memcpy(buf, req_bytes, sizeof(req_bytes));
		buf[4] = (uint8_t)flags;
		ck_assert_int_eq(decode_any_req(buf, sizeof(req_bytes), NULL), expected);
		memcpy(buf, rep_bytes, sizeof(rep_bytes));
		buf[4] = (uint8_t)flags;
		ck_assert_int_eq(decode_any_rep(buf, sizeof(rep_bytes), NULL), expected);
	}
}
END_TEST

START_TEST(slots_that_wrap_around_memory_are_refused)
{
	struct wire_rep wraps = rep;

	wraps.base = UINT64_MAX - 4096; /* one slot of 4 KiB ends at the very last byte */
	ck_assert_int_eq(wire_encode_rep(&wraps, buf, sizeof(buf)), WIRE_REP_SIZE);
	ck_assert_int_eq(decode_any_rep(buf, WIRE_REP_SIZE, NULL), 0);
	wraps.base++;
	ck_assert_int_eq(wire_encode_rep(&wraps, buf, sizeof(buf)), WIRE_REP_SIZE);
	ck_assert_int_eq(decode_any_rep(buf, WIRE_REP_SIZE, NULL), -EBADMSG);
}
END_TEST

START_TEST(rep_that_grants_no_file_is_refused)
{
	struct wire_rep none = rep;

	none.max_files = 0;
	ck_assert_int_eq(wire_encode_rep(&none, buf, sizeof(buf)), WIRE_REP_SIZE);
	ck_assert_int_eq(decode_any_rep(buf, WIRE_REP_SIZE, NULL), -EBADMSG);
}
END_TEST

START_TEST(blob_that_does_not_fit_is_not_written_past_its_buffer)
{
	for (size_t size = 0; size < WIRE_REQ_SIZE; size++) {
		ck_assert_int_eq(wire_encode_req(&req, guard_put(&guard, NULL, size), size), -ENOBUFS);
		ck_assert_int_eq(wire_encode_rep(&rep, guard_put(&guard, NULL, size), size), -ENOBUFS);
	}
	for (size_t size = 0; size < 40; size++)
		ck_assert_int_eq(wire_encode_rej(&rej, guard_put(&guard, NULL, size), size), -ENOBUFS);
}
END_TEST

START_TEST(rej_text_is_cut_to_fit)
{
	struct wire_rej longest = rej, out;

	memset(longest.text, 'x', sizeof(longest.text));
	longest.text_len = UINT8_MAX; /* more than the field holds */
	ck_assert_int_eq(wire_encode_rej(&longest, buf, sizeof(buf)), WIRE_REJ_MAX);
	ck_assert_int_eq(wire_decode_rej(buf, WIRE_REJ_MAX, &out, NULL), 0);
	ck_assert_uint_eq(out.text_len, WIRE_REJ_TEXT_MAX);
	ck_assert_mem_eq(out.text, longest.text, sizeof(out.text));

	ck_assert_int_eq(wire_encode_rej(&longest, guard_put(&guard, NULL, 43), 43), 43);
	ck_assert_int_eq(wire_decode_rej(guard_put(&guard, NULL, 43), 43, &out, NULL), 0);
	ck_assert_uint_eq(out.text_len, 3);
}
END_TEST

START_TEST(rej_text_ends_at_a_nul)
{
	struct wire_rej with_nul = rej, out;

	with_nul.text[2] = '\0';
	ck_assert_int_eq(wire_encode_rej(&with_nul, buf, sizeof(buf)), 42);
	ck_assert_int_eq(wire_decode_rej(buf, 42, &out, NULL), 0);
	ck_assert_uint_eq(out.text_len, 2);
	memcpy(buf, rej_bytes, sizeof(rej_bytes));
	buf[41] = 0;
	ck_assert_int_eq(decode_any_rej(buf, sizeof(rej_bytes), NULL), -EBADMSG);
}
END_TEST

START_TEST(reserved_bytes_that_are_set_are_refused)
{
	memcpy(buf, rep_bytes, sizeof(rep_bytes));
	buf[23] = 1;
	ck_assert_int_eq(decode_any_rep(buf, sizeof(rep_bytes), NULL), -EBADMSG);
	memcpy(buf, rej_bytes, sizeof(rej_bytes));
	buf[7] = 1;
	ck_assert_int_eq(decode_any_rej(buf, sizeof(rej_bytes), NULL), -EBADMSG);
}
END_TEST

Suite *wire_blob_suite(void);

Suite *wire_blob_suite(void)
{
	Suite *s = suite_create("wire_blob");
	TCase *each = tcase_create("each"), *tc = tcase_create("one");
	int n = ARRAY_SIZE(blobs);

	tcase_add_checked_fixture(each, setup, teardown);
	tcase_add_loop_test(each, padding_behind_a_blob_is_ignored, 0, n);
	tcase_add_loop_test(each, no_private_data_is_refused, 0, n);
	tcase_add_loop_test(each, every_truncation_of_a_blob_is_refused, 0, n);
	tcase_add_loop_test(each, length_shorter_than_known_is_refused, 0, n);
	tcase_add_loop_test(each, length_past_the_event_is_refused, 0, n);
	tcase_add_loop_test(each, another_version_is_told_apart_from_noise, 0, n);
	tcase_add_loop_test(each, blob_of_another_kind_is_refused, 0, n);
	tcase_add_loop_test(each, flipped_bits_never_break_the_decoder, 0, n);
	suite_add_tcase(s, each);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, req_is_encoded_to_its_golden_bytes);
	tcase_add_test(tc, rep_is_encoded_to_its_golden_bytes);
	tcase_add_test(tc, rej_is_encoded_to_its_golden_bytes);
	tcase_add_test(tc, geometry_is_taken_within_its_limits_only);
	tcase_add_test(tc, unknown_flags_are_refused);
	tcase_add_test(tc, slots_that_wrap_around_memory_are_refused);
	tcase_add_test(tc, rep_that_grants_no_file_is_refused);
	tcase_add_test(tc, blob_that_does_not_fit_is_not_written_past_its_buffer);
	tcase_add_test(tc, rej_text_is_cut_to_fit);
	tcase_add_test(tc, rej_text_ends_at_a_nul);
	tcase_add_test(tc, reserved_bytes_that_are_set_are_refused);
	suite_add_tcase(s, tc);
	return s;
}
