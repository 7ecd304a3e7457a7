/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a stranger that refuses may send to the client. */
#include <errno.h>
#include <string.h>

#include "common/wire.h"
#include "fuzz.h"

int fuzz_rej(const uint8_t *data, size_t len)
{
	struct wire_rej rej, untouched;
	uint8_t again[WIRE_REP_MAX];
	ssize_t n;
	int r;

	memset(&rej, 0xa5, sizeof(rej));
	memset(&untouched, 0xa5, sizeof(untouched));
	r = wire_decode_rej(data, len, &rej, NULL);
	if (r < 0) {
		FUZZ_CHECK(r == -EBADMSG || r == -EPROTONOSUPPORT);
		FUZZ_CHECK(memcmp(&rej, &untouched, sizeof(rej)) == 0);
		return 0;
	}
	n = wire_encode_rej(&rej, again, sizeof(again));
	FUZZ_CHECK(n == 40 + rej.text_len && data[3] >= n);
	/* the length may have been a longer one, all the rest comes back as it was */
	FUZZ_CHECK(memcmp(data, again, 3) == 0 && memcmp(data + 4, again + 4, (size_t)n - 4) == 0);
	return 1;
}

FUZZ_ENTRY(rej)
