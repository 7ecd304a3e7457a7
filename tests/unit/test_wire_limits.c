/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Each limit on a field of a record, from both sides: what the encoder refuses with -EINVAL the decoder refuses with
 * -EBADMSG when a peer sends it all the same.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "common/util.h"
#include "common/wire.h"
#include "guard.h"
#include "tests/fuzz/fuzz.h"
#include "wire_samples.h"

static char long_text[UINT16_MAX];
static uint8_t buf[2 * WIRE_MESSAGE_MAX];
static struct guard guard;

static void setup(void)
{
	guard_init(&guard);
	memset(long_text, 'x', sizeof(long_text));
}

static void teardown(void)
{
	guard_done(&guard);
}

static struct wire_record sample(enum wire_type type)
{
	return wire_samples[type - 1].rec;
}

/* The record is just within what the encoder takes. */
static void assert_taken(const struct wire_record *rec)
{
	ssize_t n = wire_encode(rec, buf, sizeof(buf));
	struct wire_record out;

	ck_assert_int_gt(n, 0);
	ck_assert_uint_eq(wire_size(rec), (size_t)n);
	ck_assert_int_eq(wire_sample_decode(guard_put(&guard, buf, (size_t)n), (size_t)n, &out), 0);
	assert_record(&out, rec);
}

static void assert_not_encoded(const struct wire_record *rec)
{
	ck_assert_int_eq(wire_encode(rec, buf, sizeof(buf)), -EINVAL);
	ck_assert_uint_eq(wire_size(rec), 0);
}

/* The golden bytes of `type` with `n` bytes at `off` replaced. */
static int decode_patched(enum wire_type type, size_t off, const char *bytes, size_t n)
{
	uint8_t *p = guard_put(&guard, wire_samples[type - 1].bytes, wire_samples[type - 1].len);
	struct wire_record rec;

	memcpy(p + off, bytes, n);
	return wire_sample_decode(p, wire_samples[type - 1].len, &rec);
}

START_TEST(file_name_is_one_component_or_refused)
{
	static const char *const bad[] = { "", ".", "..", "/", "a/", "/a", "a/b" };
	static const char *const good[] = { "a", "...", ".a", "..a", "a.", "-", " ", "\n", "\xff" };
	struct wire_record rec = sample(WIRE_FILE);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		rec.file.name = wire_text(bad[i]);
		assert_not_encoded(&rec);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		rec.file.name = wire_text(good[i]);
		assert_taken(&rec);
	}
	ck_assert_int_eq(decode_patched(WIRE_FILE, 45, "..", 2), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 45, "a/", 2), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 45, "a\0", 2), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 40, "\x05", 1), -EBADMSG); /* path takes all, no name is left */
	ck_assert_int_eq(decode_patched(WIRE_FILE, 40, "\x06", 1), -EBADMSG); /* path past the record */
	ck_assert_int_eq(decode_patched(WIRE_FILE, 40, "\xff\xff", 2), -EBADMSG);
}
END_TEST

START_TEST(longest_file_record_fits_a_message)
{
	struct wire_record rec = sample(WIRE_FILE);

	rec.file.path = (struct wire_text){ long_text, WIRE_PATH_MAX };
	rec.file.name = (struct wire_text){ long_text, WIRE_NAME_MAX };
	assert_taken(&rec);
	ck_assert_uint_le(wire_size(&rec), WIRE_RECORDS_MAX);
	rec.file.path.len++;
	assert_not_encoded(&rec);
	rec.file.path.len--;
	rec.file.name.len++;
	assert_not_encoded(&rec);
}
END_TEST

START_TEST(file_path_may_be_empty_but_holds_no_nul)
{
	struct wire_record rec = sample(WIRE_FILE);

	rec.file.path = wire_text("");
	assert_taken(&rec);
	rec.file.path = (struct wire_text){ NULL, 0 };
	ck_assert_int_eq(wire_encode(&rec, buf, sizeof(buf)), 44);
	rec.file.path = (struct wire_text)TEXT("a\0b");
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 43, "\0", 1), -EBADMSG);
}
END_TEST

START_TEST(file_numbers_out_of_range_are_refused)
{
	struct wire_record rec = sample(WIRE_FILE);

	rec.file.mtime_nsec = 1000000000;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 36, "\0\xca\x9a\x3b", 4), -EBADMSG);
	rec = sample(WIRE_FILE);
	rec.file.mode = 010000;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 16, "\0\x10\0\0", 4), -EBADMSG);
	rec = sample(WIRE_FILE);
	rec.file.size = (uint64_t)INT64_MAX + 1;
	assert_not_encoded(&rec);
	rec.file.size--;
	assert_taken(&rec);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 27, "\x80", 1), -EBADMSG);
	rec = sample(WIRE_FILE);
	rec.file.flags = 1u << 31;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 15, "\x40", 1), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 15, "\x80", 1), -EBADMSG);
}
END_TEST

static void assert_kind(uint32_t flags, bool taken)
{
	struct wire_record rec = sample(WIRE_FILE);

	rec.file.flags = flags;
	rec.file.size = 0;
	if (taken)
		assert_taken(&rec);
	else
		assert_not_encoded(&rec);
}

START_TEST(kinds_that_exclude_each_other_are_refused)
{
	struct wire_record rec = sample(WIRE_FILE);

	assert_kind(WIRE_FILE_DIRECTORY, true);
	assert_kind(WIRE_FILE_DIRECTORY | WIRE_FILE_BELOW | WIRE_FILE_LEAVE, true);
	assert_kind(WIRE_FILE_SYMLINK, true);
	assert_kind(WIRE_FILE_HARD_LINK | WIRE_FILE_BELOW, true);
	assert_kind(WIRE_FILE_HARD_LINK, false);
	assert_kind(WIRE_FILE_LEAVE, false);
	assert_kind(WIRE_FILE_SYMLINK | WIRE_FILE_LEAVE, false);
	assert_kind(WIRE_FILE_SYMLINK | WIRE_FILE_DIRECTORY, false);
	assert_kind(WIRE_FILE_DIRECTORY | WIRE_FILE_UNSIZED, false);
	rec.file.flags = WIRE_FILE_DIRECTORY; /* with a size */
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_FILE, 12, "\x61", 1), -EBADMSG);
}
END_TEST

START_TEST(link_to_nowhere_is_refused)
{
	struct wire_record rec = sample(WIRE_LINK);

	rec.link.text.len = 0;
	assert_not_encoded(&rec);
	rec.link.text = (struct wire_text){ "a\0b", 3 };
	assert_not_encoded(&rec);
}
END_TEST

START_TEST(file_times_of_any_sign_survive)
{
	static const int64_t times[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
	struct wire_record rec = sample(WIRE_FILE);

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		rec.file.mtime_sec = times[i];
		rec.file.mtime_nsec = 0;
		assert_taken(&rec);
	}
}
END_TEST

START_TEST(empty_chunk_is_refused)
{
	struct wire_record rec = sample(WIRE_DATA);

	rec.data.len = 0;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_DATA, 16, "\0\0\0\0", 4), -EBADMSG);
}
END_TEST

START_TEST(chunk_past_the_largest_offset_is_refused)
{
	struct wire_record rec = sample(WIRE_DATA);

	rec.data.len = UINT32_MAX;
	rec.data.offset = (uint64_t)INT64_MAX - UINT32_MAX;
	assert_taken(&rec);
	rec.data.offset++;
	assert_not_encoded(&rec);
	rec.data.offset = UINT64_MAX; /* the sum wraps to something small */
	assert_not_encoded(&rec);
	rec.data.len = 1;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_DATA, 20, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_DATA, 20, "\xff\xff\xff\xff\xff\xff\xff\xff", 8), -EBADMSG);
}
END_TEST

START_TEST(unknown_chunk_and_get_flags_are_refused)
{
	struct wire_record rec = sample(WIRE_DATA);

	rec.data.flags = 4;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_DATA, 10, "\x03\0", 2), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_DATA, 10, "\0\x80", 2), -EBADMSG);
	rec.data.flags = WIRE_DATA_HELD; /* but it names a slot */
	assert_not_encoded(&rec);
	rec.data.slot = 0;
	rec.data.slot_off = 0;
	assert_taken(&rec);
	rec = sample(WIRE_HAVE);
	rec.have.first = WIRE_PIECES_MAX - rec.have.count;
	assert_taken(&rec);
	rec.have.first++;
	assert_not_encoded(&rec);
	rec.have.first = 0;
	rec.have.count = WIRE_HAVE_MAX + 1;
	assert_not_encoded(&rec);
	rec = sample(WIRE_GET);
	rec.get.flags = 1u << 30;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_GET, 8, "\0\0\0\x01", 4), -EBADMSG);
	rec.get.flags = WIRE_GET_ASK;
	assert_taken(&rec);
	rec.get.flags = WIRE_GET_GLOB; /* without LIST */
	assert_not_encoded(&rec);
	rec.get.flags |= WIRE_GET_LIST;
	assert_taken(&rec);
}
END_TEST

START_TEST(filter_without_a_pattern_or_with_unknown_flags_is_refused)
{
	struct wire_record rec = sample(WIRE_FILTER);

	rec.filter.pattern.len = 0;
	assert_not_encoded(&rec);
	rec.filter.pattern = (struct wire_text){ long_text, WIRE_PATH_MAX };
	assert_taken(&rec);
	rec.filter.pattern.len++;
	assert_not_encoded(&rec);
	rec = sample(WIRE_FILTER);
	rec.filter.flags = 2;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_FILTER, 9, "\0", 1), -EBADMSG);
}
END_TEST

START_TEST(entry_that_is_no_relative_path_or_the_last_word_is_refused)
{
	struct wire_record rec = sample(WIRE_ENTRY);

	rec.entry.path = wire_text("");
	assert_not_encoded(&rec);
	rec.entry.flags = WIRE_ENTRY_LAST;
	assert_taken(&rec);
	rec.entry.flags = WIRE_ENTRY_LAST | WIRE_ENTRY_DIRECTORY;
	assert_not_encoded(&rec);
	rec.entry.flags = WIRE_ENTRY_LAST;
	rec.entry.path = wire_text("a");
	assert_not_encoded(&rec);
	rec.entry.flags = 0;
	assert_taken(&rec);
	rec.entry.path = wire_text("/a");
	assert_not_encoded(&rec);
	rec.entry.path = wire_text("a");
	rec.entry.flags = 4;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_ENTRY, 12, "/", 1), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_ENTRY, 8, "\x02", 1), -EBADMSG);
}
END_TEST

START_TEST(piece_of_attributes_is_neither_empty_nor_long)
{
	struct wire_record rec = sample(WIRE_ATTRIBUTES);

	rec.attributes.len = 0;
	assert_not_encoded(&rec);
	rec.attributes.piece = (const uint8_t *)long_text;
	rec.attributes.len = WIRE_PIECE_MAX;
	assert_taken(&rec);
	rec.attributes.len++;
	assert_not_encoded(&rec);
}
END_TEST

START_TEST(any_limit_is_taken)
{
	static const uint64_t rates[] = { 0, 1, UINT64_MAX };
	struct wire_record rec = sample(WIRE_LIMIT);

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		rec.limit.bytes_per_second = rates[i];
		assert_taken(&rec);
	}
}
END_TEST

START_TEST(impossible_total_is_refused)
{
	struct wire_record rec = sample(WIRE_TOTAL);

	rec.total = (struct wire_total){ .files = INT64_MAX, .bytes = INT64_MAX };
	assert_taken(&rec);
	rec.total.files++;
	assert_not_encoded(&rec);
	rec.total = (struct wire_total){ .bytes = (uint64_t)INT64_MAX + 1 };
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_TOTAL, 11, "\x80", 1), -EBADMSG);
}
END_TEST

START_TEST(close_of_an_impossible_size_is_refused)
{
	struct wire_record rec = sample(WIRE_CLOSE);

	rec.close.size = (uint64_t)INT64_MAX + 1;
	assert_not_encoded(&rec);
	rec.close.size--;
	assert_taken(&rec);
	ck_assert_int_eq(decode_patched(WIRE_CLOSE, 15, "\x80", 1), -EBADMSG);
}
END_TEST

START_TEST(partial_is_one_name)
{
	static const char long_name[] = { [0 ... WIRE_NAME_MAX] = 'p', '\0' };
	static const char *const bad[] = { "", ".", "..", "a/b", "/a", long_name };
	struct wire_record rec = sample(WIRE_PARTIAL);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		rec.partial.name = wire_text(bad[i]);
		assert_not_encoded(&rec);
	}
	rec.partial.name = wire_text(long_name + 1);
	assert_taken(&rec);
	ck_assert_int_eq(decode_patched(WIRE_PARTIAL, 5, "/", 1), -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_PARTIAL, 5, "\0", 1), -EBADMSG);
}
END_TEST

START_TEST(ack_counts_from_one_to_its_limit)
{
	struct wire_record rec = sample(WIRE_ACK);

	for (unsigned int i = 0; i < WIRE_ACK_MAX; i++)
		rec.ack.slots[i] = (uint16_t)(i * 16);
	rec.ack.count = WIRE_ACK_MAX;
	assert_taken(&rec);
	rec.ack.count = WIRE_ACK_MAX + 1;
	assert_not_encoded(&rec);
	rec.ack.count = UINT16_MAX;
	assert_not_encoded(&rec);
	rec.ack.count = 0;
	assert_not_encoded(&rec);
	for (unsigned int count = 0; count <= UINT8_MAX; count++) /* three slots follow, whatever is said */
		ck_assert_int_eq(decode_patched(WIRE_ACK, 4, (const char[]){ (char)count }, 1),
				 count == 3 ? 0 : -EBADMSG);
	ck_assert_int_eq(decode_patched(WIRE_ACK, 4, "\xff\xff", 2), -EBADMSG);
}
END_TEST

START_TEST(ack_of_more_than_its_limit_is_refused_whole)
{
	static uint8_t big[WIRE_RECORD_HEADER + 2 + 2 * (WIRE_ACK_MAX + 1)] = { WIRE_ACK, 0, 4, 2, 1, 1 };
	struct wire_record rec;

	ck_assert_int_eq(wire_sample_decode(guard_put(&guard, big, sizeof(big)), sizeof(big), &rec), -EBADMSG);
}
END_TEST

START_TEST(get_needs_a_path)
{
	struct wire_record rec = sample(WIRE_GET);

	rec.get.path = wire_text("");
	assert_not_encoded(&rec);
	rec.get.path = (struct wire_text){ long_text, WIRE_PATH_MAX };
	assert_taken(&rec);
	rec.get.path.len++;
	assert_not_encoded(&rec);
	ck_assert_int_eq(decode_patched(WIRE_GET, 12, "\0", 1), -EBADMSG);
}
END_TEST

START_TEST(text_of_a_status_is_cut_not_refused)
{
	struct wire_record rec = wire_samples[_i].rec, out;
	struct wire_text *text = wire_sample_status_text(&rec);
	ssize_t n;

	if (!text)
		return;
	*text = (struct wire_text){ long_text, UINT16_MAX };
	n = wire_encode(&rec, buf, sizeof(buf));
	ck_assert_int_gt(n, WIRE_TEXT_MAX);
	ck_assert_uint_eq(wire_size(&rec), (size_t)n);
	ck_assert_int_eq(wire_sample_decode(buf, (size_t)n, &out), 0);
	text->len = WIRE_TEXT_MAX;
	assert_record(&out, &rec);

	*text = (struct wire_text){ "a\0b", 3 };
	assert_not_encoded(&rec);
}
END_TEST

START_TEST(text_of_a_status_that_is_too_long_is_refused)
{
	struct wire_record rec = wire_samples[_i].rec;
	struct wire_text *text = wire_sample_status_text(&rec);
	size_t n;

	if (!text)
		return;
	*text = (struct wire_text){ long_text, WIRE_TEXT_MAX };
	n = (size_t)wire_encode(&rec, buf, sizeof(buf));
	ck_assert_int_eq(fuzz_record(buf, n), 1);
	buf[n - 1] = '\0';
	ck_assert_int_eq(fuzz_record(buf, n), 0);
	buf[n - 1] = buf[n] = 'x';
	n++;
	buf[2] = (uint8_t)(n - WIRE_RECORD_HEADER);
	buf[3] = (uint8_t)((n - WIRE_RECORD_HEADER) >> 8);
	ck_assert_int_eq(fuzz_record(buf, n), 0);
}
END_TEST

START_TEST(unknown_type_is_refused)
{
	for (unsigned int type = 0; type <= UINT8_MAX; type++) {
		uint8_t bytes[WIRE_RECORD_HEADER + 8] = { (uint8_t)type, 0, 8, 0, 1 };
		struct wire_record rec = { .type = (enum wire_type)type };
		bool known = type >= 1 && type < WIRE_TYPE_END && wire_samples[type - 1].len;

		ck_assert_int_eq(strcmp(wire_type_name(type), "?") != 0, known);
		if (known)
			continue;
		ck_assert_int_eq(wire_sample_decode(bytes, sizeof(bytes), &rec), -EBADMSG);
		assert_not_encoded(&rec);
	}
	ck_assert_str_eq(wire_type_name(WIRE_FILE), "FILE");
	ck_assert_str_eq(wire_type_name(WIRE_ERROR), "ERROR");
	ck_assert_str_eq(wire_type_name(UINT32_MAX), "?");
}
END_TEST

START_TEST(reserved_byte_that_is_set_is_refused)
{
	for (unsigned int type = 1; type < WIRE_TYPE_END; type++)
		if (wire_samples[type - 1].len)
			ck_assert_int_eq(decode_patched((enum wire_type)type, 1, "\x01", 1), -EBADMSG);
}
END_TEST

START_TEST(refused_record_leaves_the_output_untouched)
{
	uint8_t *p = guard_put(&guard, wire_samples[WIRE_FILE - 1].bytes, wire_samples[WIRE_FILE - 1].len);
	struct wire_record rec, untouched;

	memset(&rec, 0xa5, sizeof(rec));
	memset(&untouched, 0xa5, sizeof(untouched));
	p[45] = '/';
	ck_assert_int_eq(wire_sample_decode(p, wire_samples[WIRE_FILE - 1].len, &rec), -EBADMSG);
	ck_assert_mem_eq(&rec, &untouched, sizeof(rec));
}
END_TEST

START_TEST(text_longer_than_its_length_can_say_is_cut)
{
	static char endless[UINT16_MAX + 2];

	memset(endless, 'x', sizeof(endless) - 1);
	ck_assert_uint_eq(wire_text(endless).len, UINT16_MAX);
	ck_assert_uint_eq(wire_text("abc").len, 3);
	ck_assert_uint_eq(wire_text("").len, 0);
}
END_TEST

Suite *wire_limits_suite(void);

Suite *wire_limits_suite(void)
{
	Suite *s = suite_create("wire_limits");
	TCase *tc = tcase_create("limits");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, file_name_is_one_component_or_refused);
	tcase_add_test(tc, longest_file_record_fits_a_message);
	tcase_add_test(tc, file_path_may_be_empty_but_holds_no_nul);
	tcase_add_test(tc, file_numbers_out_of_range_are_refused);
	tcase_add_test(tc, kinds_that_exclude_each_other_are_refused);
	tcase_add_test(tc, filter_without_a_pattern_or_with_unknown_flags_is_refused);
	tcase_add_test(tc, entry_that_is_no_relative_path_or_the_last_word_is_refused);
	tcase_add_test(tc, link_to_nowhere_is_refused);
	tcase_add_test(tc, file_times_of_any_sign_survive);
	tcase_add_test(tc, empty_chunk_is_refused);
	tcase_add_test(tc, chunk_past_the_largest_offset_is_refused);
	tcase_add_test(tc, unknown_chunk_and_get_flags_are_refused);
	tcase_add_test(tc, piece_of_attributes_is_neither_empty_nor_long);
	tcase_add_test(tc, any_limit_is_taken);
	tcase_add_test(tc, close_of_an_impossible_size_is_refused);
	tcase_add_test(tc, partial_is_one_name);
	tcase_add_test(tc, impossible_total_is_refused);
	tcase_add_test(tc, ack_counts_from_one_to_its_limit);
	tcase_add_test(tc, ack_of_more_than_its_limit_is_refused_whole);
	tcase_add_test(tc, get_needs_a_path);
	tcase_add_test(tc, unknown_type_is_refused);
	tcase_add_test(tc, reserved_byte_that_is_set_is_refused);
	tcase_add_test(tc, refused_record_leaves_the_output_untouched);
	tcase_add_test(tc, text_longer_than_its_length_can_say_is_cut);
	tcase_add_loop_test(tc, text_of_a_status_is_cut_not_refused, 0, ARRAY_SIZE(wire_samples));
	tcase_add_loop_test(tc, text_of_a_status_that_is_too_long_is_refused, 0, ARRAY_SIZE(wire_samples));
	suite_add_tcase(s, tc);
	return s;
}
