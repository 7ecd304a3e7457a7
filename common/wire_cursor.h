/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The two cursors all byte-order code goes through (wire.c, wire_blob.c, digest.c): a reader that turns bad instead of
 * passing its end, and a writer that goes on counting behind its end, so that a size can be had by writing to nowhere.
 */
#ifndef RDCP_WIRE_CURSOR_H
#define RDCP_WIRE_CURSOR_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wire.h"

struct reader {
	const uint8_t *p;
	size_t left;
	bool bad; /* asked for more than there was; every get returns 0 from then on */
};

struct writer {
	uint8_t *buf; /* NULL: only counts */
	size_t size;
	size_t len; /* may pass size: what did not fit was dropped */
};

static inline const uint8_t *get_bytes(struct reader *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->bad || n > r->left) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	r->left -= n;
	return p;
}

static inline void get_copy(struct reader *r, uint8_t *out, size_t n)
{
	const uint8_t *p = get_bytes(r, n);

	if (p)
		memcpy(out, p, n);
}

static inline uint64_t get_uint(struct reader *r, size_t bytes)
{
	const uint8_t *p = get_bytes(r, bytes);
	uint64_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static inline uint8_t get_u8(struct reader *r)
{
	return (uint8_t)get_uint(r, 1);
}

static inline uint16_t get_u16(struct reader *r)
{
	return (uint16_t)get_uint(r, 2);
}

static inline uint32_t get_u32(struct reader *r)
{
	return (uint32_t)get_uint(r, 4);
}

static inline uint64_t get_u64(struct reader *r)
{
	return get_uint(r, 8);
}

static inline struct wire_text get_text(struct reader *r, size_t len)
{
	const uint8_t *p = get_bytes(r, len);

	return p ? (struct wire_text){ (const char *)p, (uint16_t)len } : (struct wire_text){ NULL, 0 };
}

/* Whatever is left of the record is text, at most `max` bytes of it. */
static inline struct wire_text get_rest(struct reader *r, size_t max)
{
	if (r->left > max)
		r->bad = true;
	return get_text(r, r->left);
}

static inline void put_bytes(struct writer *w, const void *data, size_t n)
{
	if (n && w->buf && w->len + n <= w->size)
		memcpy(w->buf + w->len, data, n);
	w->len += n;
}

static inline void put_uint(struct writer *w, uint64_t v, size_t bytes)
{
	uint8_t le[8];

	for (size_t i = 0; i < bytes; i++)
		le[i] = (uint8_t)(v >> (8 * i));
	put_bytes(w, le, bytes);
}

static inline void put_u8(struct writer *w, uint8_t v)
{
	put_uint(w, v, 1);
}

static inline void put_u16(struct writer *w, uint16_t v)
{
	put_uint(w, v, 2);
}

static inline void put_u32(struct writer *w, uint32_t v)
{
	put_uint(w, v, 4);
}

static inline void put_u64(struct writer *w, uint64_t v)
{
	put_uint(w, v, 8);
}

/* What an encoder returns. */
static inline ssize_t written(const struct writer *w)
{
	return w->len <= w->size ? (ssize_t)w->len : -ENOBUFS;
}

#endif
