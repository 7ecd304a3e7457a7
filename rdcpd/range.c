/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See range.h. Pure functions; config_check.c parses, access.c asks. */
#include "range.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int __attribute__((format(printf, 3, 4))) refuse(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static unsigned int bits_of(const struct range *r)
{
	return r->family == 4 ? 32 : 128;
}

/* Decimal, no sign, no zero in front. */
static bool read_prefix(const char *text, unsigned int max, uint8_t *ret)
{
	unsigned int n = 0;

	if (!*text || (*text == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (unsigned int)(*text - '0');
		if (n > max)
			return false;
	}
	*ret = (uint8_t)n;
	return true;
}

/* Do the first `bits` of both agree? */
static bool same_start(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	uint8_t mask = (uint8_t)(0xff00 >> bits % 8);

	return !memcmp(a, b, bits / 8) && (!(bits % 8) || !((a[bits / 8] ^ b[bits / 8]) & mask));
}

static bool ends_in_zeros(const struct range *r)
{
	struct range cut = *r;

	for (unsigned int bit = r->prefix; bit < bits_of(r); bit++)
		cut.addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	return !memcmp(cut.addr, r->addr, sizeof(cut.addr));
}

int range_parse(const char *text, size_t len, struct range *ret_range, char *ret_why, size_t why_size)
{
	struct range r = { .family = 4 };
	char item[INET6_ADDRSTRLEN + 8], *slash;

	if (len >= sizeof(item))
		return refuse(ret_why, why_size, "'%.60s...' is too long for an address", text);
	memcpy(item, text, len);
	item[len] = '\0';
	slash = strchr(item, '/');
	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, item, r.addr) != 1) {
		r.family = 6;
		if (inet_pton(AF_INET6, item, r.addr) != 1)
			return refuse(ret_why, why_size, "'%.*s' is not a numeric address (names are not looked up)",
				      (int)len, text);
	}
	r.prefix = (uint8_t)bits_of(&r);
	if (slash && !read_prefix(slash + 1, bits_of(&r), &r.prefix))
		return refuse(ret_why, why_size, "'%.*s': what follows the '/' is not a number of bits from 0 to %u",
			      (int)len, text, bits_of(&r));
	if (!ends_in_zeros(&r))
		return refuse(ret_why, why_size, "'%.*s': the address has bits behind the first %u; leave them 0",
			      (int)len, text, r.prefix);
	*ret_range = r;
	return 0;
}

bool range_holds(const struct range *r, const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

		return r->family == 4 && same_start(r->addr, (const uint8_t *)&in->sin_addr, r->prefix);
	}
	if (addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)addr;
		const uint8_t *bytes = in->sin6_addr.s6_addr;

		if (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr))
			return r->family == 4 && same_start(r->addr, bytes + 12, r->prefix);
		return r->family == 6 && same_start(r->addr, bytes, r->prefix);
	}
	return false;
}

bool ranges_hold(const struct range *list, size_t count, const struct sockaddr *addr)
{
	for (size_t i = 0; i < count; i++)
		if (range_holds(&list[i], addr))
			return true;
	return false;
}
