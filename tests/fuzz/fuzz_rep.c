/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a stranger that listens may send to the client. */
#include <errno.h>
#include <string.h>

#include "common/wire.h"
#include "fuzz.h"

int fuzz_rep(const uint8_t *data, size_t len)
{
	struct wire_rep rep, untouched;
	uint8_t again[WIRE_REP_MAX];
	ssize_t n;
	int r;

	memset(&rep, 0xa5, sizeof(rep));
	memset(&untouched, 0xa5, sizeof(untouched));
	r = wire_decode_rep(data, len, &rep, NULL);
	if (r < 0) {
		FUZZ_CHECK(r == -EBADMSG || r == -EPROTONOSUPPORT);
		FUZZ_CHECK(memcmp(&rep, &untouched, sizeof(rep)) == 0);
		return 0;
	}
	n = wire_encode_rep(&rep, again, sizeof(again));
	FUZZ_CHECK(n == WIRE_REP_SIZE && data[3] >= n);
	/* the length may have been a longer one, all the rest comes back as it was */
	FUZZ_CHECK(memcmp(data, again, 3) == 0 && memcmp(data + 4, again + 4, (size_t)n - 4) == 0);
	return 1;
}

FUZZ_ENTRY(rep)
