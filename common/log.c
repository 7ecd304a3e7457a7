/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Log lines: put together here, written with one write(2) or given to the program's sink.
 *
 * Called by everybody, from any thread. The settings are atomic, the context belongs to its thread, and a line is
 * built on the stack, or where it is long in memory of its own: there is nothing to lock or own. Without memory a long line is cut and
 * says so; a standard error that cannot be written to is nobody's problem.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "standard.h"
#include "util.h"

#define LINE_SIZE 1024 /* most are shorter */
#define CONTEXT_SIZE 64

static _Atomic(const char *) log_program;
static _Atomic(log_sink) sink;
static atomic_int level_limit = LOG_INFO;
static _Thread_local char context[CONTEXT_SIZE];

void log_open(const char *program, int max_level)
{
	atomic_store(&log_program, program);
	atomic_store(&level_limit, max_level);
}

void log_set_sink(log_sink new_sink)
{
	atomic_store(&sink, new_sink);
}

void log_set_level(int max_level)
{
	atomic_store(&level_limit, max_level);
}

int log_level(void)
{
	return atomic_load_explicit(&level_limit, memory_order_relaxed);
}

void log_set_context(const char *text)
{
	snprintf(context, sizeof(context), "%s", text ? text : "");
}

/* Names are escaped by who logs them; should one be forgotten, a message still is one line without anything that would have been. */
static void flatten(char *s)
{
	uint32_t code;

	for (size_t n; *s; s += n) {
		n = utf8_character(s, &code);
		if (n && !utf8_is_control(code) && (n == 1 || !escape_is_ascii()))
			continue;
		n = n ? n : 1;
		memset(s, '?', n);
	}
}

/* "PROGRAM: CONTEXT: text" into `line`, as snprintf(3): returns the length of all of it. */
__attribute__((format(printf, 4, 0))) static size_t build(char *line, size_t size, bool program, const char *fmt,
							  va_list ap)
{
	const char *name = program ? atomic_load(&log_program) : NULL;
	int n, saved_errno = errno;
	size_t used;

	used = min_size((size_t)snprintf(line, size, "%s%s%s%s", name ? name : "", name ? ": " : "", context,
					 context[0] ? ": " : ""),
			size - 1);
	errno = saved_errno; /* for %m */
	n = vsnprintf(line + used, size - used, fmt, ap);
	if (n < 0)
		n = snprintf(line + used, size - used, "%s", fmt);
	flatten(line + used);
	return used + (size_t)n;
}

static void put(log_sink to, int level, char *line, size_t len)
{
	if (to) {
		to(level, line);
	} else {
		line[len++] = '\n';
		standard_write(STDERR_FILENO, line, len);
	}
}

/* Names make it long: then it takes memory, and without that its end is missing. */
__attribute__((format(printf, 5, 0))) static void put_long(log_sink to, int level, char *cut, size_t len,
							   const char *fmt, va_list ap)
{
	char *line = malloc(len + 2);

	if (line) {
		build(line, len + 1, !to, fmt, ap);
		put(to, level, line, len);
	} else {
		memcpy(cut + LINE_SIZE - 4, "...", 4);
		put(to, level, cut, LINE_SIZE - 1);
	}
	free(line);
}

void log_writev(int level, const char *fmt, va_list ap)
{
	int saved_errno = errno;
	log_sink to = atomic_load(&sink);
	char line[LINE_SIZE + 1]; /* and the newline */
	va_list again;
	size_t len;

	if (level > log_level())
		return;
	va_copy(again, ap);
	len = build(line, LINE_SIZE, !to, fmt, ap);
	errno = saved_errno;
	if (len < LINE_SIZE)
		put(to, level, line, len);
	else
		put_long(to, level, line, len, fmt, again);
	va_end(again);
	errno = saved_errno;
}

void log_write(int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_writev(level, fmt, ap);
	va_end(ap);
}
