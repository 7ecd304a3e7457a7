/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Log lines: put together here, written with one write(2) or given to the program's sink.
 *
 * Called by everybody, from any thread. The settings are atomic, the context belongs to its thread, and a line is
 * built on the stack: there is nothing to lock, own or fail. A line that does not fit is cut and says so; a standard
 * error that cannot be written to is nobody's problem.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "standard.h"
#include "util.h"

#define LINE_SIZE 6144 /* holds a path of PATH_MAX bytes and what is said about it */
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

/* Names are escaped by who logs them; should one be forgotten, a message still is one line without control bytes. */
static void flatten(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

/* "CONTEXT: text" from `used` on; a cut shows. Returns the length of the line. */
__attribute__((format(printf, 3, 0))) static size_t build(char *line, size_t used, const char *fmt, va_list ap)
{
	int n, saved_errno = errno;

	if (context[0])
		used += (size_t)snprintf(line + used, LINE_SIZE - used, "%s: ", context);
	errno = saved_errno; /* for %m */
	n = vsnprintf(line + used, LINE_SIZE - used, fmt, ap);
	if (n < 0)
		n = snprintf(line + used, LINE_SIZE - used, "%s", fmt);
	if ((size_t)n >= LINE_SIZE - used) {
		memcpy(line + LINE_SIZE - 4, "...", 4);
		n = (int)(LINE_SIZE - 1 - used);
	}
	flatten(line + used);
	return used + (size_t)n;
}

void log_writev(int level, const char *fmt, va_list ap)
{
	int saved_errno = errno;
	log_sink to = atomic_load(&sink);
	const char *program = atomic_load(&log_program);
	char line[LINE_SIZE + 1]; /* and the newline */
	size_t used = 0;

	if (level > log_level())
		return;
	if (!to && program)
		used = min_size((size_t)snprintf(line, LINE_SIZE / 2, "%s: ", program), LINE_SIZE / 2 - 1);
	errno = saved_errno;
	used = build(line, used, fmt, ap);
	if (to) {
		to(level, line);
	} else {
		line[used++] = '\n';
		standard_write(STDERR_FILENO, line, used);
	}
	errno = saved_errno;
}

void log_write(int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_writev(level, fmt, ap);
	va_end(ap);
}
