/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One line a message, to standard error or, through a hook, to the journal. Thread-safe.
 * Text: lower case, no full stop, names in 'ticks'. Levels: err = an operation is lost, warning = carries on,
 * notice = start and stop, info = a line a session or, in a client with -v, a file, debug = the rest.
 */
#ifndef RDCP_LOG_H
#define RDCP_LOG_H

#include <stdarg.h>
#include <syslog.h>

/* Receives each finished line that passes the level; called with no lock held, from any thread. */
typedef void (*log_sink)(int level, const char *line);

/* `program` is borrowed for the life of the process. Lines above `max_level` (LOG_DEBUG, ...) are dropped early. */
void log_open(const char *program, int max_level);
void log_set_sink(log_sink sink);
void log_set_level(int max_level);
int log_level(void);

/* A short text (the transfer id) in front of every line of this thread; copied, NULL removes it. */
void log_set_context(const char *text);

void log_write(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_writev(int level, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* errno survives each of these (a message must never change what it reports). */
#define log_err(...) log_write(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

#endif
