/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The records of a message, taken off one by one as a session does. */
#include <errno.h>
#include <string.h>

#include "common/wire.h"
#include "fuzz.h"

/* A record that was taken must be what its encoder writes: there is one way to say a thing. */
static void check_again(const struct wire_record *rec, const uint8_t *start, size_t taken)
{
	static uint8_t again[WIRE_RECORD_HEADER + UINT16_MAX];

	FUZZ_CHECK(strcmp(wire_type_name(rec->type), "?") != 0);
	FUZZ_CHECK(wire_size(rec) == taken && taken <= WIRE_RECORDS_MAX);
	FUZZ_CHECK(wire_encode(rec, again, taken) == (ssize_t)taken);
	FUZZ_CHECK(memcmp(start, again, taken) == 0);
	FUZZ_CHECK(wire_encode(rec, again, taken - 1) == -ENOBUFS);
}

int fuzz_record(const uint8_t *data, size_t len)
{
	const uint8_t *p = data;
	size_t left = len;

	while (left) {
		const uint8_t *start = p;
		size_t before = left;
		struct wire_record rec, untouched;

		memset(&rec, 0xa5, sizeof(rec));
		memset(&untouched, 0xa5, sizeof(untouched));
		if (wire_decode(&p, &left, &rec) < 0) {
			FUZZ_CHECK(p == start && left == before);
			FUZZ_CHECK(memcmp(&rec, &untouched, sizeof(rec)) == 0);
			return 0;
		}
		FUZZ_CHECK(left < before && p == start + (before - left));
		check_again(&rec, start, before - left);
	}
	return len > 0;
}

FUZZ_ENTRY(record)
