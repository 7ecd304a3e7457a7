/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* digest.h against the published values of XXH3 and against a list laid out by hand. */
#include <check.h>
#include <string.h>

#include "common/digest.h"

static struct digest d;
static uint8_t value[WIRE_DIGEST_SIZE];

static void setup(void)
{
	ck_assert_int_eq(digest_init(&d), 0);
}

static void teardown(void)
{
	digest_done(&d);
}

START_TEST(empty_chunk_has_the_published_hash)
{
	ck_assert_uint_eq(digest_chunk("", 0), 0x2d06800538d394c2ULL);
}
END_TEST

START_TEST(chunk_hash_sees_one_flipped_bit)
{
	static uint8_t chunk[100000];
	uint64_t before = digest_chunk(chunk, sizeof(chunk));

	chunk[sizeof(chunk) - 1] ^= 1;
	ck_assert_uint_ne(digest_chunk(chunk, sizeof(chunk)), before);
	ck_assert_uint_ne(digest_chunk(chunk, sizeof(chunk) - 1), before);
}
END_TEST

START_TEST(empty_file_has_the_published_digest)
{
	static const uint8_t published[] = { 0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
					     0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f };

	digest_value(&d, value);
	ck_assert_mem_eq(value, published, sizeof(published));
}
END_TEST

START_TEST(file_digest_is_xxh3_of_the_list_of_chunks)
{
	static const uint8_t list[] = {
		0,    0,    0,    0,    0,    0,    0,    0,    /* offset 0 */
		0,    0,    0x10, 0,    0,    0,    0,    0,    /* length 1 MiB */
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* hash */
		0,    0,    0x10, 0,    0,    0,    0,    0,    /* offset 1 MiB */
		0,    0x10, 0,    0,    0,    0,    0,    0,    /* length 4 KiB */
		0,    0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, /* hash */
	};
	static const uint8_t golden[] = { 0x9f, 0x80, 0xd6, 0x24, 0x3b, 0xd6, 0xbe, 0xc8,
					  0xac, 0x8e, 0xc1, 0x00, 0x4a, 0x2a, 0x32, 0xd0 };
	XXH128_canonical_t expected;

	XXH128_canonicalFromHash(&expected, XXH3_128bits(list, sizeof(list)));
	digest_add(&d, 0, 1 << 20, 0x1122334455667788);
	digest_add(&d, 1 << 20, 4096, 0x99aabbccddeeff00);
	digest_value(&d, value);
	ck_assert_mem_eq(value, expected.digest, sizeof(value));
	ck_assert_mem_eq(value, golden, sizeof(golden));
}
END_TEST

/* The digest of two chunks, each given by its place in a file of three. */
static void digest_of(const unsigned int *chunks, size_t count, uint8_t ret_value[static WIRE_DIGEST_SIZE])
{
	ck_assert_int_eq(digest_init(&d), 0);
	for (size_t i = 0; i < count; i++)
		digest_add(&d, chunks[i] * 4096ULL, 4096, 1000 + chunks[i]);
	digest_value(&d, ret_value);
}

START_TEST(missing_doubled_or_swapped_chunk_changes_the_digest)
{
	uint8_t good[WIRE_DIGEST_SIZE];

	digest_of((const unsigned int[]){ 0, 1, 2 }, 3, good);
	digest_of((const unsigned int[]){ 0, 1 }, 2, value);
	ck_assert_mem_ne(value, good, sizeof(good));
	digest_of((const unsigned int[]){ 0, 1, 1, 2 }, 4, value);
	ck_assert_mem_ne(value, good, sizeof(good));
	digest_of((const unsigned int[]){ 0, 2, 1 }, 3, value);
	ck_assert_mem_ne(value, good, sizeof(good));
}
END_TEST

START_TEST(init_again_starts_over)
{
	uint8_t first[WIRE_DIGEST_SIZE];

	digest_of((const unsigned int[]){ 0, 1, 2 }, 3, first);
	digest_of((const unsigned int[]){ 0, 1, 2 }, 3, value);
	ck_assert_mem_eq(value, first, sizeof(first));
}
END_TEST

START_TEST(asking_for_the_value_does_not_end_the_digest)
{
	uint8_t at_once[WIRE_DIGEST_SIZE];

	digest_of((const unsigned int[]){ 0, 1 }, 2, at_once);
	digest_of((const unsigned int[]){ 0 }, 1, value);
	digest_add(&d, 4096, 4096, 1001);
	digest_value(&d, value);
	ck_assert_mem_eq(value, at_once, sizeof(at_once));
}
END_TEST

START_TEST(done_on_a_zeroed_struct_does_nothing)
{
	struct digest zeroed = { 0 };

	digest_done(&zeroed);
	ck_assert_ptr_null(zeroed.state);
}
END_TEST

Suite *digest_suite(void);

Suite *digest_suite(void)
{
	Suite *s = suite_create("digest");
	TCase *tc = tcase_create("digest");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, empty_chunk_has_the_published_hash);
	tcase_add_test(tc, chunk_hash_sees_one_flipped_bit);
	tcase_add_test(tc, empty_file_has_the_published_digest);
	tcase_add_test(tc, file_digest_is_xxh3_of_the_list_of_chunks);
	tcase_add_test(tc, missing_doubled_or_swapped_chunk_changes_the_digest);
	tcase_add_test(tc, init_again_starts_over);
	tcase_add_test(tc, asking_for_the_value_does_not_end_the_digest);
	tcase_add_test(tc, done_on_a_zeroed_struct_does_nothing);
	suite_add_tcase(s, tc);
	return s;
}
