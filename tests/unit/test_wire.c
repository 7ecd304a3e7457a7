/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Records and message headers of wire.h: golden bytes of each, every truncation, every flipped bit. The limits of the
 * fields are in test_wire_limits.c, the blobs in test_wire_blob.c.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "common/util.h"
#include "common/wire.h"
#include "guard.h"
#include "tests/fuzz/fuzz.h"
#include "wire_samples.h"

static uint8_t buf[2 * WIRE_MESSAGE_MAX];
static struct guard guard;

static void setup(void)
{
	guard_init(&guard);
}

static void teardown(void)
{
	guard_done(&guard);
}

/* ---- each record -------------------------------------------------------------------------------------------- */

START_TEST(record_is_encoded_to_its_golden_bytes)
{
	ck_assert_int_eq(wire_samples[_i].rec.type, _i + 1);
	ck_assert_uint_eq(wire_size(&wire_samples[_i].rec), wire_samples[_i].len);
	ck_assert_int_eq(wire_encode(&wire_samples[_i].rec, buf, sizeof(buf)), (ssize_t)wire_samples[_i].len);
	ck_assert_mem_eq(buf, wire_samples[_i].bytes, wire_samples[_i].len);
}
END_TEST

START_TEST(golden_bytes_are_decoded_to_the_record)
{
	const uint8_t *start = guard_put(&guard, wire_samples[_i].bytes, wire_samples[_i].len), *p = start;
	size_t len = wire_samples[_i].len;
	struct wire_record rec;

	ck_assert_int_eq(wire_decode(&p, &len, &rec), 0);
	ck_assert_uint_eq(len, 0);
	ck_assert_ptr_eq(p, start + wire_samples[_i].len);
	assert_record(&rec, &wire_samples[_i].rec);
}
END_TEST

START_TEST(record_is_taken_off_the_front_only)
{
	const uint8_t *p = buf;
	size_t len = wire_samples[_i].len + 3;
	struct wire_record rec;

	memcpy(buf, wire_samples[_i].bytes, wire_samples[_i].len);
	memset(buf + wire_samples[_i].len, 0xff, 3);
	ck_assert_int_eq(wire_decode(&p, &len, &rec), 0);
	ck_assert_ptr_eq(p, buf + wire_samples[_i].len);
	ck_assert_uint_eq(len, 3);
	ck_assert_int_eq(wire_sample_decode(p, len, &rec), -EBADMSG);
}
END_TEST

START_TEST(every_truncation_of_a_record_is_refused)
{
	struct wire_record rec;

	for (size_t len = 1; len < wire_samples[_i].len; len++)
		ck_assert_int_eq(wire_sample_decode(guard_put(&guard, wire_samples[_i].bytes, len), len, &rec),
				 -EBADMSG);
}
END_TEST

/* The record's own length is shortened along with its body. */
START_TEST(record_of_a_shorter_body_is_refused_or_ends_in_less_text)
{
	for (size_t len = WIRE_RECORD_HEADER; len < wire_samples[_i].len; len++) {
		uint8_t *p = guard_put(&guard, wire_samples[_i].bytes, len);

		p[2] = (uint8_t)(len - WIRE_RECORD_HEADER);
		if (!wire_samples[_i].open_ended)
			ck_assert_int_eq(fuzz_record(p, len), 0);
		else
			fuzz_record(p, len);
	}
}
END_TEST

START_TEST(record_of_a_longer_body_is_refused_or_ends_in_more_text)
{
	size_t len = wire_samples[_i].len + 1;
	uint8_t *p = guard_put(&guard, NULL, len);

	memcpy(p, wire_samples[_i].bytes, wire_samples[_i].len);
	p[len - 1] = 'x';
	p[2] = (uint8_t)(len - WIRE_RECORD_HEADER);
	ck_assert_int_eq(fuzz_record(p, len), wire_samples[_i].open_ended);
}
END_TEST

START_TEST(flipped_bits_never_break_the_decoder)
{
	for (size_t bit = 0; bit < 8 * wire_samples[_i].len; bit++) {
		uint8_t *p = guard_put(&guard, wire_samples[_i].bytes, wire_samples[_i].len);

		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		fuzz_record(p, wire_samples[_i].len);
	}
}
END_TEST

/* Any bytes behind each header; the generator is fixed, so a failure comes again. */
START_TEST(noise_never_breaks_the_decoder)
{
	uint32_t x = 2463534242U;

	for (int round = 0; round < 2000; round++) {
		size_t len = WIRE_RECORD_HEADER + (size_t)round % 80;
		uint8_t *p = guard_put(&guard, NULL, len);

		for (size_t i = 0; i < len; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			p[i] = (uint8_t)(round % 2 ? x : x & 1);
		}
		p[0] = (uint8_t)wire_samples[_i].rec.type;
		p[1] = 0;
		p[2] = (uint8_t)(len - WIRE_RECORD_HEADER);
		p[3] = 0;
		fuzz_record(p, len);
	}
}
END_TEST

START_TEST(record_that_does_not_fit_is_not_written_past_its_buffer)
{
	for (size_t size = 0; size < wire_samples[_i].len; size++)
		ck_assert_int_eq(wire_encode(&wire_samples[_i].rec, guard_put(&guard, NULL, size), size), -ENOBUFS);
	ck_assert_int_eq(wire_encode(&wire_samples[_i].rec, guard_put(&guard, NULL, wire_samples[_i].len),
				     wire_samples[_i].len),
			 (ssize_t)wire_samples[_i].len);
}
END_TEST

/* ---- messages ----------------------------------------------------------------------------------------------- */

START_TEST(message_header_is_encoded_to_its_golden_bytes)
{
	uint16_t records = 0, credits = 0;

	wire_encode_message_header(guard_put(&guard, NULL, WIRE_MESSAGE_HEADER), 0x0102, 0x0304);
	ck_assert_mem_eq(guard_put(&guard, NULL, WIRE_MESSAGE_HEADER), "\x02\x01\x04\x03", WIRE_MESSAGE_HEADER);
	memset(buf, 0, sizeof(buf));
	memcpy(buf, "\x02\x01\x04\x03", WIRE_MESSAGE_HEADER);
	ck_assert_int_eq(wire_decode_message_header(buf, WIRE_MESSAGE_HEADER + 0x0102, &records, &credits), 0);
	ck_assert_uint_eq(records, 0x0102);
	ck_assert_uint_eq(credits, 0x0304);
}
END_TEST

START_TEST(message_of_another_length_than_it_says_is_refused)
{
	uint16_t records = 77, credits = 77;

	wire_encode_message_header(buf, 100, 1);
	for (size_t len = 0; len <= 200; len++) {
		int expected = len == WIRE_MESSAGE_HEADER + 100 ? 0 : -EBADMSG;

		records = credits = 77;
		ck_assert_int_eq(wire_decode_message_header(guard_put(&guard, buf, len), len, &records, &credits),
				 expected);
		ck_assert_uint_eq(records, expected ? 77 : 100);
		ck_assert_uint_eq(credits, expected ? 77 : 1);
	}
}
END_TEST

START_TEST(message_longer_than_a_receive_buffer_is_refused)
{
	uint16_t records, credits;

	wire_encode_message_header(buf, WIRE_RECORDS_MAX, 0);
	ck_assert_int_eq(wire_decode_message_header(buf, WIRE_MESSAGE_MAX, &records, &credits), 0);
	wire_encode_message_header(buf, WIRE_RECORDS_MAX + 1, 0);
	ck_assert_int_eq(wire_decode_message_header(buf, WIRE_MESSAGE_MAX + 1, &records, &credits), -EBADMSG);
}
END_TEST

START_TEST(message_without_records_returns_credits)
{
	uint16_t records = 77, credits = 77;

	wire_encode_message_header(buf, 0, UINT16_MAX);
	ck_assert_int_eq(wire_decode_message_header(buf, WIRE_MESSAGE_HEADER, &records, &credits), 0);
	ck_assert_uint_eq(records, 0);
	ck_assert_uint_eq(credits, UINT16_MAX);
}
END_TEST

static void add_for_each(TCase *tc, const TTest *test)
{
	for (int i = 0; i < (int)ARRAY_SIZE(wire_samples); i++)
		if (wire_samples[i].len)
			tcase_add_loop_test(tc, test, i, i + 1);
}

static void add_each_record(Suite *s)
{
	TCase *tc = tcase_create("each record");

	tcase_add_checked_fixture(tc, setup, teardown);
	add_for_each(tc, record_is_encoded_to_its_golden_bytes);
	add_for_each(tc, golden_bytes_are_decoded_to_the_record);
	add_for_each(tc, record_is_taken_off_the_front_only);
	add_for_each(tc, every_truncation_of_a_record_is_refused);
	add_for_each(tc, record_of_a_shorter_body_is_refused_or_ends_in_less_text);
	add_for_each(tc, record_of_a_longer_body_is_refused_or_ends_in_more_text);
	add_for_each(tc, flipped_bits_never_break_the_decoder);
	add_for_each(tc, noise_never_breaks_the_decoder);
	add_for_each(tc, record_that_does_not_fit_is_not_written_past_its_buffer);
	suite_add_tcase(s, tc);
}

Suite *wire_suite(void);

Suite *wire_suite(void)
{
	Suite *s = suite_create("wire");
	TCase *tc = tcase_create("messages");

	add_each_record(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, message_header_is_encoded_to_its_golden_bytes);
	tcase_add_test(tc, message_of_another_length_than_it_says_is_refused);
	tcase_add_test(tc, message_longer_than_a_receive_buffer_is_refused);
	tcase_add_test(tc, message_without_records_returns_credits);
	suite_add_tcase(s, tc);
	return s;
}
