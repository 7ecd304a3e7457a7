/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The blobs of wire.h: what travels in the private data of the connection manager's REQ, REP and REJ.
 *
 * Called while a connection is set up, with bytes of somebody who has proved nothing yet, followed by whatever padding
 * the fabric added. Allocates nothing, logs nothing, keeps nothing. The length that counts is the one inside the blob; a
 * longer one than we know is a newer peer of the same version, and what we do not know of it is ignored.
 */
#include "wire.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "slab.h"
#include "util.h"
#include "wire_cursor.h"

#define BLOB_FLAGS (WIRE_PULL | WIRE_MAC)
#define BLOB_PREFIX_SIZE 4 /* 'R', kind, version, length */
#define REJ_FIXED_SIZE (8 + WIRE_MAC_SIZE)

static_assert(WIRE_REQ_SIZE == 56 && WIRE_HEAD_SIZE + WIRE_MAC_SIZE == WIRE_REQ_SIZE, "REQ fills its room");
static_assert(WIRE_REP_MAX == 196 && WIRE_HEAD_SIZE + WIRE_MAC_SIZE == WIRE_REP_SIZE, "REP as laid out below");
static_assert(WIRE_REJ_MAX == 148 && REJ_FIXED_SIZE + WIRE_REJ_TEXT_MAX == WIRE_REJ_MAX, "REJ fills its room");
static_assert(WIRE_REP_SIZE <= WIRE_REP_MAX && WIRE_REP_MAX <= UINT8_MAX, "the length of a blob is one byte");

static void put_blob_prefix(struct writer *w, char kind, size_t len)
{
	put_u8(w, 'R');
	put_u8(w, (uint8_t)kind);
	put_u8(w, WIRE_VERSION);
	put_u8(w, (uint8_t)len);
}

/* Reads the prefix and narrows the reader to the length the blob itself states; padding behind it is nobody's. */
static int get_blob_prefix(struct reader *r, char kind, size_t least, unsigned int *ret_version)
{
	size_t whole = r->left, len;
	uint8_t magic[2] = { 0 };
	unsigned int version;

	get_copy(r, magic, sizeof(magic));
	version = get_u8(r);
	len = get_u8(r);
	if (r->bad || magic[0] != 'R' || magic[1] != (uint8_t)kind)
		return -EBADMSG;
	if (version != WIRE_VERSION) {
		if (ret_version)
			*ret_version = version;
		return -EPROTONOSUPPORT;
	}
	if (len < least || len > whole)
		return -EBADMSG;
	r->left = len - BLOB_PREFIX_SIZE;
	return 0;
}

static bool geometry_ok(uint8_t slot_log2, uint8_t slots_log2, uint8_t receives_log2)
{
	return slot_log2 >= SLAB_MIN_SLOT_LOG2 && slot_log2 <= SLAB_MAX_SLOT_LOG2 &&
	       slots_log2 <= SLAB_MAX_SLOTS_LOG2 && receives_log2 >= WIRE_MIN_RECEIVES_LOG2 &&
	       receives_log2 <= WIRE_MAX_RECEIVES_LOG2;
}

/* REQ: 0 'R' 'D', 2 version, 3 length, 4 flags, 5 slot_log2, 6 slots_log2, 7 receives_log2, 8 uuid[16], 24 mac[32] */
ssize_t wire_encode_req(const struct wire_req *req, uint8_t *buf, size_t size)
{
	struct writer w = { .buf = buf, .size = size };

	put_blob_prefix(&w, 'D', WIRE_REQ_SIZE);
	put_u8(&w, req->flags);
	put_u8(&w, req->slot_log2);
	put_u8(&w, req->slots_log2);
	put_u8(&w, req->receives_log2);
	put_bytes(&w, req->uuid, sizeof(req->uuid));
	put_bytes(&w, req->mac, sizeof(req->mac));
	return written(&w);
}

int wire_decode_req(const void *blob, size_t len, struct wire_req *ret_req, unsigned int *ret_version)
{
	struct reader rd = { .p = blob, .left = len };
	struct wire_req req = { 0 };
	int r;

	r = get_blob_prefix(&rd, 'D', WIRE_REQ_SIZE, ret_version);
	if (r < 0)
		return r;
	req.flags = get_u8(&rd);
	req.slot_log2 = get_u8(&rd);
	req.slots_log2 = get_u8(&rd);
	req.receives_log2 = get_u8(&rd);
	get_copy(&rd, req.uuid, sizeof(req.uuid));
	get_copy(&rd, req.mac, sizeof(req.mac));
	if (rd.bad || (req.flags & ~BLOB_FLAGS) || !geometry_ok(req.slot_log2, req.slots_log2, req.receives_log2))
		return -EBADMSG;
	*ret_req = req;
	return 0;
}

/* REP: 0 'R' 'P', 2 version, 3 length, 4 flags, 5 slot_log2, 6 slots_log2, 7 receives_log2, 8 base u64, 16 rkey u32,
 * 20 max_files u16, 22 zero u16, 24 mac[32] */
ssize_t wire_encode_rep(const struct wire_rep *rep, uint8_t *buf, size_t size)
{
	struct writer w = { .buf = buf, .size = size };

	put_blob_prefix(&w, 'P', WIRE_REP_SIZE);
	put_u8(&w, rep->flags);
	put_u8(&w, rep->slot_log2);
	put_u8(&w, rep->slots_log2);
	put_u8(&w, rep->receives_log2);
	put_u64(&w, rep->base);
	put_u32(&w, rep->rkey);
	put_u16(&w, rep->max_files);
	put_u16(&w, 0);
	put_bytes(&w, rep->mac, sizeof(rep->mac));
	return written(&w);
}

int wire_decode_rep(const void *blob, size_t len, struct wire_rep *ret_rep, unsigned int *ret_version)
{
	struct reader rd = { .p = blob, .left = len };
	struct wire_rep rep = { 0 };
	uint16_t zero;
	int r;

	r = get_blob_prefix(&rd, 'P', WIRE_REP_SIZE, ret_version);
	if (r < 0)
		return r;
	rep.flags = get_u8(&rd);
	rep.slot_log2 = get_u8(&rd);
	rep.slots_log2 = get_u8(&rd);
	rep.receives_log2 = get_u8(&rd);
	rep.base = get_u64(&rd);
	rep.rkey = get_u32(&rd);
	rep.max_files = get_u16(&rd);
	zero = get_u16(&rd);
	get_copy(&rd, rep.mac, sizeof(rep.mac));
	if (rd.bad || zero || !rep.max_files || (rep.flags & ~BLOB_FLAGS) ||
	    !geometry_ok(rep.slot_log2, rep.slots_log2, rep.receives_log2))
		return -EBADMSG;
	if (rep.base > UINT64_MAX - (1ULL << (rep.slot_log2 + rep.slots_log2))) /* slots behind the end of memory */
		return -EBADMSG;
	*ret_rep = rep;
	return 0;
}

/* REJ: 0 'R' 'J', 2 version, 3 length, 4 reason u16, 6 text_len, 7 zero, 8 challenge[32], 40 text[text_len] */
ssize_t wire_encode_rej(const struct wire_rej *rej, uint8_t *buf, size_t size)
{
	struct writer w = { .buf = buf, .size = size };
	size_t text_len = min_size(rej->text_len, sizeof(rej->text));

	if (size < REJ_FIXED_SIZE)
		return -ENOBUFS;
	text_len = strnlen(rej->text, min_size(text_len, size - REJ_FIXED_SIZE));
	put_blob_prefix(&w, 'J', REJ_FIXED_SIZE + text_len);
	put_u16(&w, rej->reason);
	put_u8(&w, (uint8_t)text_len);
	put_u8(&w, 0);
	put_bytes(&w, rej->challenge, sizeof(rej->challenge));
	put_bytes(&w, rej->text, text_len);
	return written(&w);
}

int wire_decode_rej(const void *blob, size_t len, struct wire_rej *ret_rej, unsigned int *ret_version)
{
	struct reader rd = { .p = blob, .left = len };
	struct wire_rej rej = { 0 };
	uint8_t zero;
	int r;

	r = get_blob_prefix(&rd, 'J', REJ_FIXED_SIZE, ret_version);
	if (r < 0)
		return r;
	rej.reason = get_u16(&rd);
	rej.text_len = get_u8(&rd);
	zero = get_u8(&rd);
	get_copy(&rd, rej.challenge, sizeof(rej.challenge));
	if (zero || rej.text_len > sizeof(rej.text))
		return -EBADMSG;
	get_copy(&rd, (uint8_t *)rej.text, rej.text_len);
	if (rd.bad || memchr(rej.text, '\0', rej.text_len))
		return -EBADMSG;
	*ret_rej = rej;
	return 0;
}
