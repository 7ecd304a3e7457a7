/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One record of each type with its bytes, and what the tests of records share. */
#ifndef RDCP_TEST_WIRE_SAMPLES_H
#define RDCP_TEST_WIRE_SAMPLES_H

#include <check.h>
#include <stdbool.h>

#include "common/wire.h"

#define TEXT(s)                                   \
	{                                         \
		.data = (s), .len = sizeof(s) - 1 \
	}

/* wire_samples[type - 1], empty for numbers without a record; the bytes are written out by hand from rdcp-protocol(7). */
extern const struct wire_sample {
	struct wire_record rec;
	size_t len;
	const char *bytes;
	bool open_ended; /* ends in text: a shorter body may be a valid one */
} wire_samples[WIRE_TYPE_END - 1];

/* wire_decode() of bytes that are no stream; on failure the cursor must not have moved. */
int wire_sample_decode(const uint8_t *p, size_t len, struct wire_record *ret_rec);

void assert_record(const struct wire_record *a, const struct wire_record *b);

/* Where a record keeps the text of its status; NULL for those that have none. */
struct wire_text *wire_sample_status_text(struct wire_record *rec);

#endif
