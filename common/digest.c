/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * XXH3 over chunks and over the list of chunks, see digest.h.
 *
 * digest_chunk() runs on the I/O workers, next to the read or write of the same bytes; the running digest of a file
 * belongs to the loop thread. Only digest_init() can fail.
 */
#include "digest.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "error.h"
#include "wire_cursor.h"

/* Picks the widest vector unit of the machine at run time; libxxhash has it on x86-64. */
#if __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#define ENTRY_SIZE 24 /* of one chunk in the list: offset, length, hash */

static_assert(sizeof(XXH128_canonical_t) == WIRE_DIGEST_SIZE, "the digest of CLOSE is an XXH3 of 128 bits");

uint64_t digest_chunk(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

static void to_canonical(XXH128_hash_t hash, uint8_t ret_value[static WIRE_DIGEST_SIZE])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, hash);
	memcpy(ret_value, canonical.digest, WIRE_DIGEST_SIZE);
}

void digest_sum(const void *data, size_t len, uint8_t ret_sum[static WIRE_DIGEST_SIZE])
{
	to_canonical(XXH3_128bits(data, len), ret_sum);
}

int digest_init(struct digest *d)
{
	if (!d->state)
		d->state = XXH3_createState();
	if (!d->state)
		return fail(-ENOMEM, "state of a file digest");
	XXH3_128bits_reset(d->state);
	return 0;
}

void digest_done(struct digest *d)
{
	XXH3_freeState(d->state);
	d->state = NULL;
}

void digest_add(struct digest *d, uint64_t offset, uint32_t len, uint64_t hash)
{
	uint8_t entry[ENTRY_SIZE];
	struct writer w = { .buf = entry, .size = sizeof(entry) };

	put_u64(&w, offset);
	put_u64(&w, len);
	put_u64(&w, hash);
	XXH3_128bits_update(d->state, entry, sizeof(entry));
}

void digest_add_bytes(struct digest *d, const void *data, size_t len)
{
	XXH3_128bits_update(d->state, data, len);
}

void digest_value(const struct digest *d, uint8_t ret_value[static WIRE_DIGEST_SIZE])
{
	to_canonical(XXH3_128bits_digest(d->state), ret_value);
}
