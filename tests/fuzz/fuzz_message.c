/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The header of a message, as it comes out of a receive buffer. */
#include <errno.h>
#include <string.h>

#include "common/wire.h"
#include "fuzz.h"

int fuzz_message(const uint8_t *data, size_t len)
{
	uint8_t again[WIRE_MESSAGE_HEADER];
	uint16_t records, credits;

	if (wire_decode_message_header(data, len, &records, &credits) < 0)
		return 0;
	FUZZ_CHECK((size_t)records + WIRE_MESSAGE_HEADER == len && len <= WIRE_MESSAGE_MAX);
	wire_encode_message_header(again, records, credits);
	FUZZ_CHECK(memcmp(data, again, sizeof(again)) == 0);
	return 1;
}

FUZZ_ENTRY(message)
