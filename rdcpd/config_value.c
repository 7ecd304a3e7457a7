/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Text to numbers, paths and addresses, for config.c. Pure functions but for the interface names of IPv6
 * zones. Names are never looked up: who a daemon listens to must not hang on a name server.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/util.h"
#include "common/wire.h"
#include "config_value.h"

static int __attribute__((format(printf, 2, 3))) refuse(struct config_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit no_unit[] = { { "", 1 }, { NULL, 0 } };
static const struct unit size_units[] = { { "", 1 },    { "K", KIB },        { "M", MIB },
					  { "G", GIB }, { "T", 1024 * GIB }, { NULL, 0 } };
static const struct unit time_units[] = { { "", SEC },         { "s", SEC },        { "ms", MSEC },
					  { "min", 60 * SEC }, { "h", 3600 * SEC }, { "d", 86400 * SEC },
					  { NULL, 0 } };

/* Digits and one of the suffixes; false when it is anything else or beyond 64 bits. */
static bool read_number(const char *text, const struct unit *units, uint64_t *ret)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *text - '0', &n))
			return false;
	while (units->suffix && strcasecmp(units->suffix, text))
		units++;
	return units->suffix && !__builtin_mul_overflow(n, units->factor, ret);
}

int config_value_count(const char *text, uint64_t min, uint64_t max, uint64_t *ret_count, struct config_why *why)
{
	uint64_t n;

	if (!read_number(text, no_unit, &n) || n < min || n > max)
		return refuse(why, "'%.60s' is not a number from %llu to %llu", text, (unsigned long long)min,
			      (unsigned long long)max);
	*ret_count = n;
	return 0;
}

/* As a value may be written in the file. */
static const char *show_size(uint64_t n, char out[static 32])
{
	const struct unit *u = size_units, *best = u;

	for (; u->suffix; u++)
		if (n && n % u->factor == 0)
			best = u;
	snprintf(out, 32, "%llu%s", (unsigned long long)(n / best->factor), best->suffix);
	return out;
}

int config_value_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_bytes, struct config_why *why)
{
	char low[32], high[32];
	uint64_t n;

	if (!read_number(text, size_units, &n) || n < min || n > max)
		return refuse(why, "'%.60s' is not a size from %s to %s, such as 512K or 2G", text, show_size(min, low),
			      show_size(max, high));
	*ret_bytes = n;
	return 0;
}

int config_value_time(const char *text, uint64_t min, uint64_t max, uint64_t *ret_ns, struct config_why *why)
{
	uint64_t n;

	if (!read_number(text, time_units, &n) || n < min || n > max)
		return refuse(why, "'%.60s' is not a time from %llums to %llus, such as 500ms, 10s or 2min", text,
			      (unsigned long long)(min / MSEC), (unsigned long long)(max / SEC));
	*ret_ns = n;
	return 0;
}

int config_value_path(const char *text, char **ret_path, struct config_why *why)
{
	_cleanup_free_ char *path = NULL;
	size_t len = 0;

	if (*text != '/')
		return refuse(why, "'%.120s' is not an absolute path", text);
	if (strlen(text) >= PATH_MAX)
		return refuse(why, "a path of %zu bytes is too long, at most %d", strlen(text), PATH_MAX - 1);
	path = malloc(strlen(text) + 2);
	if (!path) {
		refuse(why, "out of memory");
		return -ENOMEM;
	}
	while (*text) {
		size_t n = strcspn(text, "/");

		if (n == 2 && !memcmp(text, "..", 2))
			return refuse(why, "a path with '..' in it");
		if (n && !(n == 1 && *text == '.')) {
			path[len++] = '/';
			memcpy(path + len, text, n);
			len += n;
		}
		text += n + (text[n] == '/');
	}
	if (!len)
		path[len++] = '/';
	path[len] = '\0';
	*ret_path = steal_ptr(path);
	return 0;
}

size_t config_value_item(const char **text, const char **ret_item)
{
	size_t n;

	*text += strspn(*text, " \t,");
	n = strcspn(*text, " \t,");
	*ret_item = *text;
	*text += n;
	return n;
}

/* ADDR and PORT out of 'ADDR', 'ADDR:PORT', '[ADDR]', '[ADDR]:PORT'; a bare ADDR with more than one colon is IPv6. */
static bool split_address(char *item, char **ret_host, const char **ret_port)
{
	char *colon = strchr(item, ':');

	*ret_port = NULL;
	if (*item == '[') {
		char *end = strchr(item, ']');

		if (!end || (end[1] && end[1] != ':'))
			return false;
		*ret_port = end[1] ? end + 2 : NULL;
		*end = '\0';
		*ret_host = item + 1;
		return strchr(item, ':') != NULL;
	}
	*ret_host = item;
	if (colon && !strchr(colon + 1, ':')) {
		*colon = '\0';
		*ret_port = colon + 1;
	}
	return true;
}

static void set_wildcard(struct config_address *a, int family, uint16_t port)
{
	*a = (struct config_address){ .wildcard = true };
	if (family == AF_INET) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

		memcpy(&a->addr, &in, sizeof(in));
		a->len = sizeof(in);
	} else {
		struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

		memcpy(&a->addr, &in, sizeof(in));
		a->len = sizeof(in);
	}
}

/* One item is one address, or two for '*'. */
static int read_address(const char *item, size_t len, struct config_address ret[static 2], size_t *ret_count,
			struct config_why *why)
{
	static const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					       .ai_socktype = SOCK_STREAM };
	char text[128], service[8];
	uint64_t number = WIRE_PORT;
	struct addrinfo *ai = NULL;
	const char *port;
	char *host;
	int err;

	if (len >= sizeof(text))
		return refuse(why, "'%.60s...' is too long for an address", item);
	memcpy(text, item, len);
	text[len] = '\0';
	if (!split_address(text, &host, &port))
		return refuse(why, "'%.*s' is not 'ADDR', 'ADDR:PORT' or '[IPv6]:PORT'", (int)len, item);
	if (port && (!read_number(port, no_unit, &number) || !number || number > UINT16_MAX))
		return refuse(why, "'%.*s': the port is not a number from 1 to 65535", (int)len, item);
	if (!strcmp(host, "*")) {
		set_wildcard(&ret[0], AF_INET, (uint16_t)number);
		set_wildcard(&ret[1], AF_INET6, (uint16_t)number);
		*ret_count = 2;
		return 0;
	}
	snprintf(service, sizeof(service), "%u", (unsigned int)number);
	err = getaddrinfo(host, service, &hints, &ai);
	if (err || !*host) {
		if (ai)
			freeaddrinfo(ai);
		return refuse(why, "'%.*s' is not a numeric address (names are not looked up)", (int)len, item);
	}
	ret[0] = (struct config_address){ .len = ai->ai_addrlen };
	memcpy(&ret[0].addr, ai->ai_addr, ai->ai_addrlen);
	*ret_count = 1;
	freeaddrinfo(ai);
	return 0;
}

static bool listed(const struct config_address *list, size_t count, const struct config_address *a)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].len == a->len && !memcmp(&list[i].addr, &a->addr, a->len))
			return true;
	return false;
}

int config_value_listen(const char *text, struct config_address **ret_list, size_t *ret_count, struct config_why *why)
{
	_cleanup_free_ struct config_address *list = NULL;
	size_t count = 0, len, n = 0;
	const char *item;
	int err;

	while ((len = config_value_item(&text, &item))) {
		struct config_address *more = reallocarray(list, count + 2, sizeof(*list));
		struct config_address found[2];

		if (!more) {
			refuse(why, "out of memory");
			return -ENOMEM;
		}
		list = more;
		err = read_address(item, len, found, &n, why);
		if (err < 0)
			return err;
		for (size_t i = 0; i < n; i++) {
			if (listed(list, count, &found[i]))
				return refuse(why, "'%.*s' is there twice", (int)len, item);
			list[count++] = found[i];
		}
	}
	if (!count)
		return refuse(why, "no address");
	*ret_list = steal_ptr(list);
	*ret_count = count;
	return 0;
}
