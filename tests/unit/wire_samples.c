/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The samples of wire_samples.h and how two records are compared. */
#include <check.h>

#include "common/error.h"
#include "common/util.h"
#include "wire_samples.h"

const struct wire_sample wire_samples[WIRE_TYPE_END - 1] = {
	{ { .type = WIRE_FILE,
	    .file = { .file = 0x01020304,
		      .request = 5,
		      .flags = WIRE_FILE_PRESERVE | WIRE_FILE_NO_CLOBBER,
		      .mode = 04755,
		      .size = 0x0102030405060708,
		      .mtime_sec = -2,
		      .mtime_nsec = 999999999,
		      .path = TEXT("d/f"),
		      .name = TEXT("fn") } },
	  47,
	  "\x01\0\x2b\0"
	  "\x04\x03\x02\x01"
	  "\x05\0\0\0"
	  "\x21\0\0\0"
	  "\xed\x09\0\0"
	  "\x08\x07\x06\x05\x04\x03\x02\x01"
	  "\xfe\xff\xff\xff\xff\xff\xff\xff"
	  "\xff\xc9\x9a\x3b"
	  "\x03\0"
	  "d/f"
	  "fn",
	  true },
	{ { .type = WIRE_DATA,
	    .data = { .file = 7,
		      .slot = 0x0fff,
		      .flags = WIRE_DATA_LAST,
		      .slot_off = 4096,
		      .len = 0x00100000,
		      .offset = 0x7ffffffff000,
		      .hash = 0x1122334455667788 } },
	  36,
	  "\x02\0\x20\0"
	  "\x07\0\0\0"
	  "\xff\x0f"
	  "\x01\0"
	  "\0\x10\0\0"
	  "\0\0\x10\0"
	  "\0\xf0\xff\xff\xff\x7f\0\0"
	  "\x88\x77\x66\x55\x44\x33\x22\x11",
	  false },
	{ { .type = WIRE_CLOSE,
	    .close = { .file = 7,
		       .size = 0x100000000,
		       .digest = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } } },
	  32,
	  "\x03\0\x1c\0"
	  "\x07\0\0\0"
	  "\0\0\0\0\x01\0\0\0"
	  "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10",
	  false },
	{ { .type = WIRE_ABORT,
	    .abort = { .file = WIRE_NO_FILE, .request = 9, .status = STATUS_CHANGED, .text = TEXT("gone") } },
	  18,
	  "\x04\0\x0e\0"
	  "\xff\xff\xff\xff"
	  "\x09\0\0\0"
	  "\x0e\0"
	  "gone",
	  true },
	{ { .type = WIRE_END, .end = { .files = 0x0100 } },
	  12,
	  "\x05\0\x08\0"
	  "\0\x01\0\0\0\0\0\0",
	  false },
	{ { .type = WIRE_ACK, .ack = { .count = 3, .slots = { 0, 0x0102, 0xffff } } },
	  12,
	  "\x06\0\x08\0"
	  "\x03\0"
	  "\0\0"
	  "\x02\x01"
	  "\xff\xff",
	  false },
	{ { .type = WIRE_RESULT, .result = { .file = 7, .status = STATUS_NO_SPACE, .text = TEXT("full") } },
	  16,
	  "\x07\0\x0c\0"
	  "\x07\0\0\0"
	  "\x05\0"
	  "\0\0"
	  "full",
	  true },
	{ { .type = WIRE_DONE, .status = { .status = STATUS_OK } },
	  6,
	  "\x08\0\x02\0"
	  "\0\0",
	  true },
	{ { .type = WIRE_WINDOW, .window = { .base = 0x7ffffffff000, .rkey = 0x11223344, .max_files = 258 } },
	  18,
	  "\x09\0\x0e\0"
	  "\0\xf0\xff\xff\xff\x7f\0\0"
	  "\x44\x33\x22\x11"
	  "\x02\x01",
	  false },
	{ { .type = WIRE_GET, .get = { .request = 2, .path = TEXT("a") } },
	  13,
	  "\x0a\0\x09\0"
	  "\x02\0\0\0"
	  "\0\0\0\0"
	  "a",
	  true },
	{ { .type = WIRE_PING, .ping = { .token = 0x0102030405060708, .worked = 0x0300 } },
	  22,
	  "\x0b\0\x12\0"
	  "\x08\x07\x06\x05\x04\x03\x02\x01"
	  "\0\x03\0\0\0\0\0\0"
	  "\0\0",
	  false },
	{ { .type = WIRE_PONG, .ping = { .token = 1, .worked = 0x0200, .flags = WIRE_PING_BUSY } },
	  22,
	  "\x0c\0\x12\0"
	  "\x01\0\0\0\0\0\0\0"
	  "\0\x02\0\0\0\0\0\0"
	  "\x01\0",
	  false },
	{ { .type = WIRE_ERROR, .status = { .status = STATUS_PROTOCOL, .text = TEXT("no") } },
	  8,
	  "\x0d\0\x04\0"
	  "\x11\0"
	  "no",
	  true },
	{ { .type = WIRE_LINK, .link = { .file = 7, .text = TEXT("../x") } },
	  12,
	  "\x0e\0\x08\0"
	  "\x07\0\0\0"
	  "../x",
	  true },
	{ { .type = WIRE_HAVE,
	    .have = { .file = 7, .flags = WIRE_HAVE_LAST, .count = 1, .first = 2, .hashes = { 0x1122334455667788 } } },
	  28,
	  "\x0f\0\x18\0"
	  "\x07\0\0\0"
	  "\x01\0\x01\0"
	  "\x02\0\0\0\0\0\0\0"
	  "\x88\x77\x66\x55\x44\x33\x22\x11",
	  false },
	[WIRE_ATTRIBUTES - 1] = { { .type = WIRE_ATTRIBUTES,
				    .attributes = { .file = 7, .piece = (const uint8_t *)"R\0A", .len = 3 } },
				  11,
				  "\x10\0\x07\0"
				  "\x07\0\0\0"
				  "R\0A",
				  true },
	[WIRE_FILTER -
		1] = { { .type = WIRE_FILTER, .filter = { .flags = WIRE_FILTER_INCLUDE, .pattern = TEXT("*.o") } },
		       11,
		       "\x11\0\x07\0"
		       "\x01\0\0\0"
		       "*.o",
		       true },
	[WIRE_ENTRY - 1] = { { .type = WIRE_ENTRY,
			       .entry = { .request = 2, .flags = WIRE_ENTRY_DIRECTORY, .path = TEXT("a/b") } },
			     15,
			     "\x12\0\x0b\0"
			     "\x02\0\0\0"
			     "\x01\0\0\0"
			     "a/b",
			     true },
	[WIRE_LIMIT - 1] = { { .type = WIRE_LIMIT, .limit = { .bytes_per_second = 0x0102030405060708 } },
			     12,
			     "\x13\0\x08\0"
			     "\x08\x07\x06\x05\x04\x03\x02\x01",
			     false },
	[WIRE_PARTIAL - 1] = { { .type = WIRE_PARTIAL, .partial = { .name = TEXT(".part") } },
			       9,
			       "\x15\0\x05\0"
			       ".part",
			       true },
	[WIRE_SUM - 1] = { { .type = WIRE_SUM,
			     .sum = { .file = 7, .sum = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } } },
			   24,
			   "\x14\0\x14\0"
			   "\x07\0\0\0"
			   "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10",
			   false },
	[WIRE_TOTAL -
		1] = { { .type = WIRE_TOTAL, .total = { .files = 0x0102030405060708, .bytes = 0x1112131415161718 } },
		       20,
		       "\x16\0\x10\0"
		       "\x08\x07\x06\x05\x04\x03\x02\x01"
		       "\x18\x17\x16\x15\x14\x13\x12\x11",
		       false },
	[WIRE_HERE - 1] = { { .type = WIRE_HERE,
			      .here = { .file = 7,
					.dev = 0x0102030405060708,
					.ino = 0x1112131415161718,
					.started_ns = -2 } },
			    32,
			    "\x17\0\x1c\0"
			    "\x07\0\0\0"
			    "\x08\x07\x06\x05\x04\x03\x02\x01"
			    "\x18\x17\x16\x15\x14\x13\x12\x11"
			    "\xfe\xff\xff\xff\xff\xff\xff\xff",
			    false },
};

int wire_sample_decode(const uint8_t *p, size_t len, struct wire_record *ret_rec)
{
	const uint8_t *start = p;
	size_t before = len;
	int r = wire_decode(&p, &len, ret_rec);

	if (r < 0) {
		ck_assert_ptr_eq(p, start);
		ck_assert_uint_eq(len, before);
	}
	return r;
}

static void assert_text(struct wire_text a, struct wire_text b)
{
	ck_assert_uint_eq(a.len, b.len);
	if (a.len)
		ck_assert_mem_eq(a.data, b.data, a.len);
}

static void assert_file(const struct wire_file *a, const struct wire_file *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_uint_eq(a->request, b->request);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->mode, b->mode);
	ck_assert_uint_eq(a->size, b->size);
	ck_assert_int_eq(a->mtime_sec, b->mtime_sec);
	ck_assert_uint_eq(a->mtime_nsec, b->mtime_nsec);
	assert_text(a->path, b->path);
	assert_text(a->name, b->name);
}

static void assert_abort(const struct wire_abort *a, const struct wire_abort *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_uint_eq(a->request, b->request);
	ck_assert_uint_eq(a->status, b->status);
	assert_text(a->text, b->text);
}

static void assert_entry(const struct wire_entry *a, const struct wire_entry *b)
{
	ck_assert_uint_eq(a->request, b->request);
	ck_assert_uint_eq(a->flags, b->flags);
	assert_text(a->path, b->path);
}

static void assert_attributes(const struct wire_attributes *a, const struct wire_attributes *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_uint_eq(a->len, b->len);
	ck_assert_mem_eq(a->piece, b->piece, a->len);
}

static void assert_have(const struct wire_have *a, const struct wire_have *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->first, b->first);
	ck_assert_uint_eq(a->count, b->count);
	ck_assert_mem_eq(a->hashes, b->hashes, 8 * a->count);
}

static void assert_here(const struct wire_here *a, const struct wire_here *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_uint_eq(a->dev, b->dev);
	ck_assert_uint_eq(a->ino, b->ino);
	ck_assert_int_eq(a->started_ns, b->started_ns);
}

static void assert_window(const struct wire_window *a, const struct wire_window *b)
{
	ck_assert_uint_eq(a->base, b->base);
	ck_assert_uint_eq(a->rkey, b->rkey);
	ck_assert_uint_eq(a->max_files, b->max_files);
}

static void assert_close(const struct wire_close *a, const struct wire_close *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_uint_eq(a->size, b->size);
	ck_assert_mem_eq(a->digest, b->digest, WIRE_DIGEST_SIZE);
}

static void assert_result(const struct wire_result *a, const struct wire_result *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_uint_eq(a->status, b->status);
	ck_assert_uint_eq(a->flags, b->flags);
	assert_text(a->text, b->text);
}

static void assert_get(const struct wire_get *a, const struct wire_get *b)
{
	ck_assert_uint_eq(a->request, b->request);
	ck_assert_uint_eq(a->flags, b->flags);
	assert_text(a->path, b->path);
}

static void assert_ack(const struct wire_ack *a, const struct wire_ack *b)
{
	ck_assert_uint_eq(a->count, b->count);
	ck_assert_mem_eq(a->slots, b->slots, 2 * a->count);
}

static void assert_status(const struct wire_status *a, const struct wire_status *b)
{
	ck_assert_uint_eq(a->status, b->status);
	assert_text(a->text, b->text);
}

static void assert_sum(const struct wire_sum *a, const struct wire_sum *b)
{
	ck_assert_uint_eq(a->file, b->file);
	ck_assert_mem_eq(a->sum, b->sum, WIRE_DIGEST_SIZE);
}

void assert_record(const struct wire_record *a, const struct wire_record *b)
{
	ck_assert_int_eq(a->type, b->type);
	switch (a->type) {
	case WIRE_FILE:
		assert_file(&a->file, &b->file);
		break;
	case WIRE_DATA:
		ck_assert_mem_eq(&a->data, &b->data, sizeof(a->data)); /* no padding in it */
		break;
	case WIRE_CLOSE:
		assert_close(&a->close, &b->close);
		break;
	case WIRE_ABORT:
		assert_abort(&a->abort, &b->abort);
		break;
	case WIRE_END:
		ck_assert_uint_eq(a->end.files, b->end.files);
		break;
	case WIRE_ACK:
		assert_ack(&a->ack, &b->ack);
		break;
	case WIRE_RESULT:
		assert_result(&a->result, &b->result);
		break;
	case WIRE_WINDOW:
		assert_window(&a->window, &b->window);
		break;
	case WIRE_GET:
		assert_get(&a->get, &b->get);
		break;
	case WIRE_PING:
	case WIRE_PONG:
		ck_assert_uint_eq(a->ping.token, b->ping.token);
		ck_assert_uint_eq(a->ping.worked, b->ping.worked);
		ck_assert_uint_eq(a->ping.flags, b->ping.flags);
		break;
	case WIRE_DONE:
	case WIRE_ERROR:
		assert_status(&a->status, &b->status);
		break;
	case WIRE_SUM:
		assert_sum(&a->sum, &b->sum);
		break;
	case WIRE_HERE:
		assert_here(&a->here, &b->here);
		break;
	case WIRE_TOTAL:
		ck_assert_mem_eq(&a->total, &b->total, sizeof(a->total)); /* no padding in it */
		break;
	case WIRE_HAVE:
		assert_have(&a->have, &b->have);
		break;
	case WIRE_LINK:
		ck_assert_uint_eq(a->link.file, b->link.file);
		assert_text(a->link.text, b->link.text);
		break;
	case WIRE_ATTRIBUTES:
		assert_attributes(&a->attributes, &b->attributes);
		break;
	case WIRE_FILTER:
		ck_assert_uint_eq(a->filter.flags, b->filter.flags);
		assert_text(a->filter.pattern, b->filter.pattern);
		break;
	case WIRE_ENTRY:
		assert_entry(&a->entry, &b->entry);
		break;
	case WIRE_LIMIT:
		ck_assert_uint_eq(a->limit.bytes_per_second, b->limit.bytes_per_second);
		break;
	case WIRE_PARTIAL:
		assert_text(a->partial.name, b->partial.name);
		break;
	case WIRE_TYPE_END:
		ck_abort();
	}
}

struct wire_text *wire_sample_status_text(struct wire_record *rec)
{
	switch (rec->type) {
	case WIRE_ABORT:
		return &rec->abort.text;
	case WIRE_RESULT:
		return &rec->result.text;
	case WIRE_DONE:
	case WIRE_ERROR:
		return &rec->status.text;
	default:
		return NULL;
	}
}
