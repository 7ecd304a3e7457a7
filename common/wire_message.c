// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* What every message begins with, see wire.h. Called by the endpoints, which fill and take messages apart. */
#include <errno.h>

#include "wire.h"
#include "wire_cursor.h"

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
