/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a client says, and what becomes of it: a stream of good records, then mutations of all kinds: bits, bytes, whole records left
 * out, doubled, out of order, with fields at their limits, or made of nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "common/digest.h"
#include "common/error.h"
#include "common/util.h"

#define STREAM_MAX (256 * 1024)
#define RECORDS 64

static void add_bytes(struct caller *c, const void *bytes, size_t len)
{
	if (c->stream_len + len > STREAM_MAX)
		return;
	memcpy(c->stream + c->stream_len, bytes, len);
	c->stream_len += len;
}

static void add(struct caller *c, const struct wire_record *rec)
{
	uint8_t buf[WIRE_RECORDS_MAX];
	ssize_t n = wire_encode(rec, buf, sizeof(buf));

	if (n > 0)
		add_bytes(c, buf, (size_t)n);
}

/* ---- good records ------------------------------------------------------------------------------------------- */

static const char *some_name(struct caller *c, char *buf, size_t size)
{
	static const char *const odd[] = {
		"../../etc/passwd", "/etc/passwd", ".", "/", "", "a/../../b", "h0/below", "no/such/dir/x", "\033]0;x\a",
	};

	if (one_in(c->crowd, 6))
		return odd[below(c->crowd, ARRAY_SIZE(odd))];
	snprintf(buf, size, "%s/h%u", c->crowd->dir, below(c->crowd, 4));
	return buf;
}

static void add_file(struct caller *c, uint32_t number)
{
	static const uint32_t flags[] = { 0, WIRE_FILE_SYNC, WIRE_FILE_NO_SYNC, WIRE_FILE_PRESERVE,
					  WIRE_FILE_NO_CLOBBER };
	struct wire_record rec = { .type = WIRE_FILE };
	char path[512];

	rec.file = (struct wire_file){
		.file = number,
		.mode = 0644,
		.flags = flags[below(c->crowd, ARRAY_SIZE(flags))],
		.size = crowd_random(c->crowd) >> 1,
		.mtime_sec = (int64_t)crowd_random(c->crowd) >> below(c->crowd, 64),
		.path = wire_text(some_name(c, path, sizeof(path))),
		.name = wire_text("h"),
	};
	add(c, &rec);
}

static void add_data(struct caller *c, struct wire_record *rec, unsigned int slot, uint32_t len)
{
	uint8_t *bytes = slab_slot(&c->slab, slot);

	for (uint32_t i = 0; i < len; i += 8)
		memcpy(bytes + i, &c->crowd->random, 8);
	rec->data.slot = (uint16_t)slot;
	rec->data.flags = WIRE_DATA_LAST;
	rec->data.len = len;
	rec->data.hash = digest_chunk(bytes, len);
	caller_write(c, slot, 0, len);
	add(c, rec);
}

static void add_whole_file(struct caller *c, uint32_t number, unsigned int *slot)
{
	struct wire_record data = { .type = WIRE_DATA, .data.file = number };
	struct wire_record end = { .type = WIRE_CLOSE, .close.file = number };
	struct digest digest = { 0 };

	if (digest_init(&digest) < 0)
		return;
	add_file(c, number);
	while (*slot < c->slab.slots && !one_in(c->crowd, 3)) {
		add_data(c, &data, (*slot)++, 8 * (1 + below(c->crowd, (unsigned int)c->slab.slot_size / 8)));
		digest_add(&digest, data.data.offset, data.data.len, data.data.hash);
		data.data.offset += data.data.len;
	}
	end.close.size = data.data.offset;
	digest_value(&digest, end.close.digest);
	digest_done(&digest);
	if (one_in(c->crowd, 5)) {
		end.type = WIRE_ABORT;
		end.abort =
			(struct wire_abort){ .file = number, .status = STATUS_IO, .text = wire_text("\033[2Jaborted") };
	}
	add(c, &end);
}

static void make_push(struct caller *c)
{
	unsigned int files = below(c->crowd, 6), slot = 0;
	struct wire_record end = { .type = WIRE_END, .end.files = files };

	for (uint32_t i = 0; i < files; i++)
		add_whole_file(c, i, &slot);
	add(c, &end);
}

static void make_pull(struct caller *c)
{
	unsigned int gets = below(c->crowd, 8);
	struct wire_record rec = { .type = WIRE_WINDOW, .window = { .base = c->base, .rkey = c->rkey } };
	char path[512];

	add(c, &rec);
	for (uint32_t i = 0; i < gets; i++) {
		rec = (struct wire_record){ .type = WIRE_GET, .get.request = i };
		rec.get.path = wire_text(some_name(c, path, sizeof(path)));
		add(c, &rec);
	}
	rec = (struct wire_record){ .type = WIRE_END, .end.files = gets };
	add(c, &rec);
}

void stream_make(struct caller *c)
{
	c->stream = calloc(1, STREAM_MAX);
	if (!c->stream)
		return;
	if (c->req.flags & WIRE_PULL)
		make_pull(c);
	else
		make_push(c);
}

/* ---- spoiling ----------------------------------------------------------------------------------------------- */

static void spoil_bytes(struct crowd *crowd, uint8_t *buf, size_t len)
{
	static const uint8_t extremes[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (unsigned int n = 1 + below(crowd, 4); n && len; n--) {
		uint8_t *p = buf + below(crowd, (unsigned int)len);

		switch (below(crowd, 3)) {
		case 0:
			*p ^= (uint8_t)(1U << below(crowd, 8));
			break;
		case 1:
			*p = extremes[below(crowd, sizeof(extremes))];
			break;
		default:
			*p = (uint8_t)crowd_random(crowd);
			break;
		}
	}
}

size_t stream_record(struct crowd *crowd, const struct wire_record *rec, uint8_t buf[static WIRE_RECORDS_MAX])
{
	ssize_t n = wire_encode(rec, buf, WIRE_RECORDS_MAX);

	if (n < 0)
		return 0;
	if (one_in(crowd, 8)) /* of the body as a rule: a broken header ends it all */
		spoil_bytes(crowd, buf + WIRE_RECORD_HEADER, (size_t)n - WIRE_RECORD_HEADER);
	return (size_t)n;
}

/* Of a type that there is, with a body of noise. */
static size_t noise(struct crowd *crowd, uint8_t *buf)
{
	size_t len = below(crowd, 64);

	for (size_t i = 0; i < len; i++)
		buf[WIRE_RECORD_HEADER + i] = one_in(crowd, 2) ? 0 : (uint8_t)crowd_random(crowd);
	buf[0] = (uint8_t)below(crowd, WIRE_TYPE_END + 1);
	buf[1] = 0;
	buf[2] = (uint8_t)len;
	buf[3] = 0;
	return WIRE_RECORD_HEADER + len;
}

struct piece {
	uint8_t *at;
	size_t len;
};

static unsigned int cut(uint8_t *stream, size_t len, struct piece pieces[static RECORDS])
{
	const uint8_t *p = stream;
	struct wire_record rec;
	unsigned int n = 0;

	while (len && n < RECORDS) {
		uint8_t *start = stream + (p - stream);

		if (wire_decode(&p, &len, &rec) < 0)
			break;
		pieces[n++] = (struct piece){ start, (size_t)(p - start) };
	}
	return n;
}

static void spoil_order(struct caller *c, struct piece *pieces, unsigned int n)
{
	unsigned int a = below(c->crowd, n), b = below(c->crowd, n);
	struct piece piece = pieces[a];

	pieces[a] = pieces[b];
	pieces[b] = piece;
}

void stream_spoil(struct caller *c)
{
	struct piece pieces[RECORDS];
	uint8_t *old = c->stream, buf[256];
	unsigned int n = cut(old, c->stream_len, pieces);
	bool gently = one_in(c->crowd, 3); /* some have to get far */

	if (one_in(c->crowd, 8))
		return;
	c->stream = calloc(1, STREAM_MAX);
	c->stream_len = 0;
	if (n && one_in(c->crowd, 4))
		spoil_order(c, pieces, n);
	for (unsigned int i = 0; c->stream && i < n; i++) {
		if (one_in(c->crowd, gently ? 40 : 10))
			continue;
		if (one_in(c->crowd, gently ? 40 : 10))
			spoil_bytes(c->crowd, pieces[i].at, pieces[i].len);
		do {
			add_bytes(c, pieces[i].at, pieces[i].len);
		} while (one_in(c->crowd, gently ? 40 : 6));
		if (one_in(c->crowd, gently ? 60 : 15))
			add_bytes(c, buf, noise(c->crowd, buf));
	}
	free(old);
}
