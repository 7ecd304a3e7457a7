/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Small things everybody needs and no library in the dependencies offers. */
#ifndef RDCP_UTIL_H
#define RDCP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define KIB (1ULL << 10)
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define MSEC 1000000ULL /* nanoseconds */
#define SEC 1000000000ULL

static inline size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* The exponent of the largest power of two <= n; n must not be 0. */
static inline unsigned int log2_floor(uint64_t n)
{
	return 63 - (unsigned int)__builtin_clzll(n);
}

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t now_ns(void);

/*
 * Length in bytes of the UTF-8 character at `text` and its code point, or 0 when it is none: stray or missing continuation bytes,
 * overlong forms, surrogates, beyond U+10FFFF. A NUL is a character of one byte.
 */
size_t utf8_character(const char *text, uint32_t *ret_code);

/* Does something else than appear: C0, DEL, C1, line separators, and what turns the direction of text. */
bool utf8_is_control(uint32_t code);

/*
 * Writes `name` to `out` so that a terminal or the journal can show it: control bytes, C1, what breaks a line or turns
 * its direction, and bytes that are not valid UTF-8 become \ooo, a backslash doubles. Always terminates. Of a result that does not
 * fit a part is left out between whole characters, "..." in its place, and what is kept is most of all the end, which tells the files
 * of a tree apart; a path of PATH_MAX fits into ESCAPED_PATH_SIZE bytes. `out` must not overlap `name`. Returns `out`.
 */
#define ESCAPED_PATH_SIZE (4 * 4096)
char *escape_name(const char *name, char *out, size_t size);

/*
 * From now on escape_name() takes only ASCII for showable if the locale of the environment (LC_ALL, LC_CTYPE, LANG) has no UTF-8: a
 * terminal of eight bits obeys C1 bytes wherever they are. For main, where people read what is written; the journal is UTF-8.
 */
void escape_for_locale(void);
bool escape_is_ascii(void);

/* The same for what is UTF-8 in every locale. */
char *escape_utf8(const char *name, char *out, size_t size);

/* The last component of a path, without slashes behind it; "/" when there is none. malloc'ed, NULL: no memory. */
char *last_component(const char *path);

/* A counted unit for people: "512 B", "1.5 MiB", "2.0 GiB". Returns `out`. */
char *format_size(uint64_t bytes, char out[static 16]);

#endif
