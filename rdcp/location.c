/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Operands of the command line into hosts and paths. Called by options.c only. The grammar is scp's where scp has one,
 * so that fingers need not learn; where scp would guess (an IPv6 address without brackets, a user name, a host that looks
 * like an option) this refuses and says what to write. Parsing looks nothing up: no file system, no name service. A
 * location owns its strings; a failure leaves a sentence and nothing to release.
 */
#include "location.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/util.h"
#include "common/wire.h"

#define SCHEME "rdcp://"
#define HOST_MAX 253 /* of a name, RFC 1035 without the root's dot */

struct parse {
	const char *text;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct parse *p, int r, const char *fmt, ...)
{
	char shown[1024], sentence[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	snprintf(p->why, p->why_size, "'%s': %s", escape_name(p->text, shown, sizeof(shown)), sentence);
	return r;
}

/* An address, with or without a zone. A zone is an interface's name or number. */
static bool is_ipv6(const char *s, size_t len)
{
	const char *zone = memchr(s, '%', len);
	size_t address_len = zone ? (size_t)(zone - s) : len;
	char address[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	if (address_len >= sizeof(address))
		return false;
	memcpy(address, s, address_len);
	address[address_len] = '\0';
	if (inet_pton(AF_INET6, address, &in6) != 1)
		return false;
	if (!zone)
		return true;
	len -= address_len + 1;
	if (len == 0 || len >= IF_NAMESIZE)
		return false;
	for (size_t i = 1; i <= len; i++)
		if (!isgraph((unsigned char)zone[i]) || strchr(":/%", zone[i]))
			return false;
	return true;
}

/*
 * How much of the operand's start is an IPv6 address that somebody forgot to put in brackets; 0: none. "a:b" is no
 * address; "fe80::1:/x" is one and a path, "::1" is one and no path.
 */
static size_t bare_ipv6(const char *text)
{
	size_t end = strcspn(text, "/");

	for (size_t len = end; len > 1; len--)
		if ((len == end || text[len] == ':') && is_ipv6(text, len))
			return len;
	return 0;
}

static int check_name(const struct parse *p, const char *host, size_t len)
{
	if (len == 0)
		return refuse(p, -EINVAL, "there is no host before the ':'; a local file is written ./NAME");
	if (memchr(host, '@', len))
		return refuse(p, -EINVAL, "rdcpd knows keys, not users: write HOST:PATH, and the key with -i KEYFILE");
	if (host[0] == '-')
		return refuse(p, -EINVAL, "a host's name does not begin with '-'; a local file is written ./NAME");
	if (len > HOST_MAX)
		return refuse(p, -ENAMETOOLONG, "a host's name has at most %d characters", HOST_MAX);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host[i];

		/* Bytes of UTF-8 may be an international name; the resolver decides. */
		if (!isalnum(c) && !strchr("-._", c) && c < 0x80)
			return refuse(p, -EINVAL,
				      "what stands before the ':' is not a host's name; "
				      "a local file is written ./NAME");
	}
	return 0;
}

static int give(const struct parse *p, const char *host, size_t host_len, uint16_t port, const char *path,
		struct location *ret_loc)
{
	_cleanup_free_ char *h = NULL, *copy = NULL;

	if (host && *path == '\0')
		path = ".";
	if (strlen(path) > WIRE_PATH_MAX)
		return refuse(p, -ENAMETOOLONG, "a path has at most %d bytes", WIRE_PATH_MAX);
	copy = strdup(path);
	h = host ? strndup(host, host_len) : NULL;
	if (!copy || (host && !h))
		return refuse(p, -ENOMEM, "out of memory");
	*ret_loc = (struct location){
		.text = p->text,
		.host = steal_ptr(h),
		.path = steal_ptr(copy),
		.port = port,
	};
	return 0;
}

/* HOST:PATH. To scp and rsync a '~' that begins PATH is a home directory: such a name is never made by mistake. */
static int give_remote(const struct parse *p, const char *host, size_t host_len, const char *path,
		       struct location *ret_loc)
{
	if (*path == '~')
		return refuse(
			p, -EINVAL,
			"there are no home directories at an rdcpd: a path begins in an export; a file whose name "
			"begins with '~' is written HOST:./~NAME");
	return give(p, host, host_len, 0, path, ret_loc);
}

/* `s` begins with '['. Gives the address within and what follows the ']'. */
static int take_brackets(const struct parse *p, const char *s, const char **ret_host, size_t *ret_len,
			 const char **ret_rest)
{
	const char *close = strchr(s, ']');

	if (!close)
		return refuse(p, -EINVAL,
			      "the ']' is missing: write [IPv6-ADDRESS]:PATH; a local file is written ./NAME");
	if (!is_ipv6(s + 1, (size_t)(close - s - 1)))
		return refuse(p, -EINVAL,
			      "there is no IPv6 address between '[' and ']'; a local file is written ./NAME");
	*ret_host = s + 1;
	*ret_len = (size_t)(close - s - 1);
	*ret_rest = close + 1;
	return 0;
}

static int take_port(const struct parse *p, const char *s, size_t len, uint16_t *ret_port)
{
	unsigned int port = 0;

	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)s[i]) || port > UINT16_MAX)
			return refuse(p, -EINVAL, "the port is not a number from 1 to 65535");
		port = port * 10 + (unsigned int)(s[i] - '0');
	}
	if (port == 0 || port > UINT16_MAX)
		return refuse(p, -EINVAL, "the port is not a number from 1 to 65535");
	*ret_port = (uint16_t)port;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place; it only gets shorter. */
static int decode_percent(const struct parse *p, char *s)
{
	char *out = s;

	for (; *s; s++) {
		int high, low;

		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		high = hex_digit(s[1]);
		low = high < 0 ? -1 : hex_digit(s[2]);
		if (low < 0)
			return refuse(p, -EINVAL,
				      "in a URL '%%' is followed by two hexadecimal digits; itself is written %%25");
		if (high + low == 0)
			return refuse(p, -EINVAL, "%%00 cannot be part of a path");
		*out++ = (char)(high << 4 | low);
		s += 2;
	}
	*out = '\0';
	return 0;
}

/* RFC 6874: within a URL the '%' before a zone is written %25. */
static void decode_zone(char *host)
{
	char *zone = strchr(host, '%');

	if (zone && zone[1] == '2' && zone[2] == '5' && zone[3])
		memmove(zone + 1, zone + 3, strlen(zone + 3) + 1);
}

static int parse_url(const struct parse *p, struct location *ret_loc)
{
	const char *authority = p->text + strlen(SCHEME), *host = authority, *rest = "";
	size_t len = strcspn(authority, "/"), host_len = 0;
	_cleanup_free_ char *path = strdup(authority + len);
	uint16_t port = 0;
	int r;

	if (!path)
		return refuse(p, -ENOMEM, "out of memory");
	if (*authority == '[') {
		r = take_brackets(p, authority, &host, &host_len, &rest);
		if (r == 0 && *rest && *rest != ':' && *rest != '/')
			r = refuse(p, -EINVAL, "after ']' comes ':PORT' or '/PATH'");
	} else if (bare_ipv6(authority)) {
		return refuse(p, -EINVAL, "an IPv6 address is written in brackets: " SCHEME "[%.*s]/PATH",
			      (int)bare_ipv6(authority), authority);
	} else {
		const char *colon = memchr(authority, ':', len);

		host_len = colon ? (size_t)(colon - authority) : len;
		rest = authority + host_len;
		if (memchr(authority, '@', len))
			host_len = len;
		r = check_name(p, host, host_len);
	}
	if (r == 0 && *rest == ':')
		r = take_port(p, rest + 1, len - (size_t)(rest + 1 - authority), &port);
	if (r == 0)
		r = decode_percent(p, path);
	if (r == 0)
		r = give(p, host, host_len, port, path, ret_loc);
	if (r == 0)
		decode_zone(ret_loc->host);
	return r;
}

static int parse_brackets(const struct parse *p, struct location *ret_loc)
{
	const char *host, *rest;
	size_t len;
	int r = take_brackets(p, p->text, &host, &len, &rest);

	if (r < 0)
		return r;
	if (*rest != ':')
		return refuse(p, -EINVAL, "after ']' comes ':PATH'; a local file is written ./NAME");
	return give_remote(p, host, len, rest + 1, ret_loc);
}

/* The colon that makes it remote, or NULL. */
static const char *remote_colon(const char *text)
{
	const char *end = text + strcspn(text, ":/");

	return *end == ':' ? end : NULL;
}

/* '[' alone makes nothing remote: [draft].txt and [a] are names of files. */
static bool begins_bracketed(const char *text)
{
	const char *close = *text == '[' ? strchr(text, ']') : NULL;

	return *text == '[' && remote_colon(text) &&
	       (!close || memchr(text, ':', (size_t)(close - text)) || close[1] == ':');
}

int location_parse(const char *text, struct location *ret_loc, char *why, size_t why_size)
{
	const struct parse p = { .text = text, .why = why, .why_size = why_size };
	const char *colon;
	size_t len;
	int r;

	if (*text == '\0')
		return refuse(&p, -EINVAL, "an empty name is no file");
	if (strncasecmp(text, SCHEME, strlen(SCHEME)) == 0)
		return parse_url(&p, ret_loc);
	if (begins_bracketed(text))
		return parse_brackets(&p, ret_loc);
	colon = remote_colon(text);
	if (!colon)
		return give(&p, NULL, 0, 0, text, ret_loc);
	len = bare_ipv6(text);
	if (len)
		return refuse(&p, -EINVAL,
			      "an IPv6 address is written in brackets: [%.*s]:PATH; a local file is written ./NAME",
			      (int)len, text);
	r = check_name(&p, text, (size_t)(colon - text));
	return r < 0 ? r : give_remote(&p, text, (size_t)(colon - text), colon + 1, ret_loc);
}

int location_parse_host(const char *text, struct location *ret_loc, char *why, size_t why_size)
{
	const struct parse p = { .text = text, .why = why, .why_size = why_size };
	size_t len = strlen(text);
	int r;

	if (is_ipv6(text, len))
		return give(&p, text, len, 0, "", ret_loc);
	if (*text == '[' && len > 2 && text[len - 1] == ']' && is_ipv6(text + 1, len - 2))
		return give(&p, text + 1, len - 2, 0, "", ret_loc);
	if (remote_colon(text))
		return location_parse(text, ret_loc, why, why_size);
	if (len == 0)
		return refuse(&p, -EINVAL, "an empty name is no host");
	r = check_name(&p, text, len);
	return r < 0 ? r : give(&p, text, len, 0, "", ret_loc);
}

void location_done(struct location *loc)
{
	free(loc->host);
	free(loc->path);
	*loc = (struct location){ 0 };
}

bool location_shadows_file(const struct location *loc)
{
	struct stat st;

	return loc->host && loc->text && lstat(loc->text, &st) == 0;
}
