/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ranges of addresses, as 192.0.2.0/24 or 2001:db8::/32: where a client may connect from. Numbers only: what hangs on a name
 * server is no fence. Whatever is not surely inside is outside.
 */
#ifndef RDCPD_RANGE_H
#define RDCPD_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct range {
	uint8_t family; /* 4 or 6 */
	uint8_t prefix; /* bits */
	uint8_t addr[16];
};

/*
 * Reads `len` bytes, "ADDR" or "ADDR/BITS". -EINVAL, with the part of a sentence that follows "KEY: " in ret_why. An address
 * with bits behind its prefix is an error: it is not clear what was meant.
 */
int range_parse(const char *text, size_t len, struct range *ret_range, char *ret_why, size_t why_size);

/* An IPv4 address that came in IPv6 clothes (::ffff:192.0.2.1) is one of IPv4. No address, or another kind of it, is in none. */
bool range_holds(const struct range *r, const struct sockaddr *addr);

/* Whether one of them does; false for none. */
bool ranges_hold(const struct range *list, size_t count, const struct sockaddr *addr);

#endif
