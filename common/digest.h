/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * End-to-end checks. A chunk is hashed with XXH3 (64 bits) by whoever read it, and compared by whoever stores it. The
 * file digest at CLOSE is XXH3 (128 bits) over the chunks in the order they were announced, each as 24 bytes: offset,
 * length, hash, little-endian u64; its 16 bytes are in xxHash's canonical order. It catches a chunk that is missing, doubled or out of place. These find accidents,
 * not attacks.
 */
#ifndef RDCP_DIGEST_H
#define RDCP_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "wire.h"

struct digest {
	XXH3_state_t *state;
};

uint64_t digest_chunk(const void *data, size_t len);
void digest_sum(const void *data, size_t len, uint8_t ret_sum[static WIRE_DIGEST_SIZE]); /* XXH3_128bits, canonical */

int digest_init(struct digest *d);  /* -ENOMEM; zeroed before the first call, may be called again to start over */
void digest_done(struct digest *d); /* fine on a zeroed struct */
void digest_add(struct digest *d, uint64_t offset, uint32_t len, uint64_t hash);
/* Instead of digest_add(): as digest_sum() of all. */
void digest_add_bytes(struct digest *d, const void *data, size_t len);
void digest_value(const struct digest *d, uint8_t ret_value[static WIRE_DIGEST_SIZE]);

#endif
