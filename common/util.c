/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The clock, and text for people. Called from everywhere; nothing is owned and nothing fails. Pure functions, but for what
 * escape_for_locale() found.
 */
#include <langinfo.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util.h"

static atomic_bool ascii_only;

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

/* Unicode 15, table 3-7. The terminating NUL ends any sequence. */
size_t utf8_character(const char *text, uint32_t *ret_code)
{
	const unsigned char *s = (const unsigned char *)text;
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t len, i;

	if (s[0] < 0x80) {
		*ret_code = s[0];
		return 1;
	}
	if ((s[0] & 0xe0) == 0xc0)
		len = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		len = 3;
	else if ((s[0] & 0xf8) == 0xf0)
		len = 4;
	else
		return 0;
	code = s[0] & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < lowest[len] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
		return 0;
	*ret_code = code;
	return len;
}

bool utf8_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void escape_for_locale(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", NULL);

	atomic_store(&ascii_only, !locale || strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") != 0);
	if (locale)
		freelocale(locale);
}

bool escape_is_ascii(void)
{
	return atomic_load_explicit(&ascii_only, memory_order_relaxed);
}

/* The next character of `s` as it may be shown. Returns the bytes taken from `s`; *ret_len: those put in `out`. */
static size_t escape_one(const unsigned char *s, bool ascii, char out[static 17], size_t *ret_len)
{
	uint32_t code = 0;
	size_t i, n = utf8_character((const char *)s, &code);

	if (n == 1 && code == '\\') {
		memcpy(out, "\\\\", 2);
		*ret_len = 2;
		return 1;
	}
	if (n && !utf8_is_control(code) && (n == 1 || !ascii)) {
		memcpy(out, s, n);
		*ret_len = n;
		return n;
	}
	if (!n)
		n = 1;
	for (i = 0; i < n; i++)
		snprintf(out + 4 * i, 5, "\\%03o", s[i]);
	*ret_len = 4 * n;
	return n;
}

static size_t escaped_length(const char *name, bool ascii)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t total = 0, len;
	char one[17];

	while (*s) {
		s += escape_one(s, ascii, one, &len);
		total += len;
	}
	return total;
}

/* Copies whole characters of `*s`, escaped, up to `room` bytes, and goes behind them. Returns the bytes written. */
static size_t escape_some(const unsigned char **s, bool ascii, char *out, size_t room)
{
	size_t used = 0, len;
	char one[17];

	while (**s) {
		size_t taken = escape_one(*s, ascii, one, &len);

		if (used + len > room)
			break;
		memcpy(out + used, one, len);
		used += len;
		*s += taken;
	}
	return used;
}

static char *escape(const char *name, bool ascii, char *out, size_t size)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t left, used, dots, len;
	char one[17];

	if (!size)
		return out;
	left = escaped_length(name, ascii);
	if (left < size) {
		out[escape_some(&s, ascii, out, left)] = '\0';
		return out;
	}
	dots = min_size(3, size - 1);
	used = escape_some(&s, ascii, out, (size - 1 - dots) / 3);
	left -= used;
	memcpy(out + used, "...", dots);
	used += dots;
	for (; left > size - 1 - used; left -= len)
		s += escape_one(s, ascii, one, &len);
	used += escape_some(&s, ascii, out + used, left);
	out[used] = '\0';
	return out;
}

char *escape_name(const char *name, char *out, size_t size)
{
	return escape(name, escape_is_ascii(), out, size);
}

char *escape_utf8(const char *name, char *out, size_t size)
{
	return escape(name, false, out, size);
}

char *last_component(const char *path)
{
	size_t len = strlen(path);
	const char *slash;

	while (len > 1 && path[len - 1] == '/')
		len--;
	slash = len > 1 ? memrchr(path, '/', len) : NULL;
	return slash ? strndup(slash + 1, (size_t)(path + len - slash - 1)) : strndup(path, len);
}

char *format_size(uint64_t bytes, char out[static 16])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t i;

	if (bytes < 1024) {
		snprintf(out, 16, "%u B", (unsigned int)bytes);
		return out;
	}
	/* 1023.95 would be printed as 1024.0 */
	for (i = 0; value >= 1023.95 && i + 1 < ARRAY_SIZE(units); i++)
		value /= 1024;
	snprintf(out, 16, "%.1f %s", value, units[i]);
	return out;
}
