// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Records to bytes and back, see wire.h, and the header of the message they travel in. What is in each record is in wire_records.c,
 * the blobs are in wire_blob.c.
 *
 * Called by the session layers of both programs with bytes of a peer that may be hostile. Allocates nothing, logs
 * nothing, keeps nothing: any thread may call. What is out of range is -EINVAL when encoded, and -EBADMSG when decoded.
 */
#include "wire.h"

#include <errno.h>
#include <string.h>

#include "wire_cursor.h"
#include "wire_records.h"

/* ---- messages ------------------------------------------------------------------------------------------------- */

/* Header: 0 records_len u16, 2 credits u16 */
void wire_encode_message_header(uint8_t buf[static WIRE_MESSAGE_HEADER], uint16_t records_len, uint16_t credits)
{
	struct writer w = { .buf = buf, .size = WIRE_MESSAGE_HEADER };

	put_u16(&w, records_len);
	put_u16(&w, credits);
}

int wire_decode_message_header(const uint8_t *buf, size_t len, uint16_t *ret_records_len, uint16_t *ret_credits)
{
	struct reader r = { .p = buf, .left = len };
	uint16_t records_len = get_u16(&r), credits = get_u16(&r);

	if (r.bad || len > WIRE_MESSAGE_MAX || records_len != r.left)
		return -EBADMSG;
	*ret_records_len = records_len;
	*ret_credits = credits;
	return 0;
}

/* ---- records -------------------------------------------------------------------------------------------------- */

const char *wire_type_name(unsigned int type)
{
	const struct record_kind *kind = record_kind(type);

	return kind ? kind->name : "?";
}

struct wire_text wire_text(const char *s)
{
	return (struct wire_text){ s, (uint16_t)strnlen(s, UINT16_MAX) };
}

size_t wire_size(const struct wire_record *rec)
{
	const struct record_kind *kind = record_kind(rec->type);
	struct writer w = { .buf = NULL };

	if (!kind || !kind->ok(rec))
		return 0;
	kind->put(&w, rec);
	return WIRE_RECORD_HEADER + w.len;
}

ssize_t wire_encode(const struct wire_record *rec, uint8_t *buf, size_t size)
{
	const struct record_kind *kind = record_kind(rec->type);
	struct writer body, w = { .buf = buf, .size = size };

	if (!kind || !kind->ok(rec))
		return -EINVAL;
	if (size < WIRE_RECORD_HEADER)
		return -ENOBUFS;
	body = (struct writer){ .buf = buf + WIRE_RECORD_HEADER, .size = size - WIRE_RECORD_HEADER };
	kind->put(&body, rec);
	put_u8(&w, (uint8_t)rec->type);
	put_u8(&w, 0);
	put_u16(&w, (uint16_t)body.len);
	w.len += body.len;
	return written(&w);
}

int wire_decode(const uint8_t **p, size_t *len, struct wire_record *ret_rec)
{
	struct reader whole = { .p = *p, .left = *len }, body;
	struct wire_record rec = { 0 };
	const struct record_kind *kind;
	unsigned int type;
	uint8_t zero;

	type = get_u8(&whole);
	zero = get_u8(&whole);
	body.left = get_u16(&whole);
	body.p = get_bytes(&whole, body.left);
	body.bad = whole.bad;
	kind = record_kind(type);
	if (whole.bad || zero || !kind)
		return -EBADMSG;
	rec.type = (enum wire_type)type;
	kind->get(&body, &rec);
	if (body.bad || body.left || !kind->ok(&rec))
		return -EBADMSG;
	*p = whole.p;
	*len = whole.left;
	*ret_rec = rec;
	return 0;
}
