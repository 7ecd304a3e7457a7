/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The progress line. Called by client.c on the loop thread, a few times a second; borrows descriptor and name. What a
 * line says (progress_sample, progress_format) is pure and knows no terminal; drawing is the last third of the file.
 * A line that cannot be written is dropped: showing progress must never hold up or fail a copy.
 */
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "common/util.h"

#define RATE_MEMORY_NS (3 * SEC) /* the rate follows a change within about that time */
#define RATE_SAMPLE_NS (100 * MSEC)
#define STALL_NS (5 * SEC)
#define LINE_INTERVAL_NS SEC /* when it is not a terminal */
#define DEFAULT_COLUMNS 80
#define MAX_COLUMNS 400
#define LINE_MAX_BYTES (4 * MAX_COLUMNS + 3) /* UTF-8, and what begins and ends a line */

/* A name narrower than NAME_MIN is worth less than a part. */
#define PERCENT_COLUMNS 4
#define PARTS 4 /* bytes, files, rate, time */
#define NAME_MIN 12

/* ---- what to say ---- */

void progress_sample(struct progress_state *s, uint64_t done, uint64_t now)
{
	uint64_t dt = now - s->sampled_ns;

	s->elapsed_ns = now - s->started_ns;
	if (done != s->done)
		s->moved_ns = now;
	s->done = done;
	s->stalled = now - s->moved_ns >= STALL_NS;
	if (dt < RATE_SAMPLE_NS)
		return;

	/* The longer ago the last sample, the more this one counts; the first counts alone. */
	if (done >= s->sampled_done) {
		double rate = (double)(done - s->sampled_done) * (double)SEC / (double)dt;
		double weight = s->sampled_ns == s->started_ns ? 1.0 : (double)dt / (double)(dt + RATE_MEMORY_NS);

		s->rate = (uint64_t)((double)s->rate + weight * (rate - (double)s->rate));
	}
	s->sampled_ns = now;
	s->sampled_done = done;
}

static void format_percent(const struct progress_state *s, char out[static 16])
{
	double percent = s->done >= s->total ? 100 : (double)s->done * 100 / (double)s->total;

	if (s->sized)
		/* 100% is said of what is complete, not of what rounds to it. */
		snprintf(out, 16, "%3u%%", s->done < s->total && percent > 99 ? 99 : (unsigned int)percent);
	else
		snprintf(out, 16, "%4s", "-");
}

static void format_time(const struct progress_state *s, char out[static 32])
{
	const char *suffix = s->finished ? "    " : " ETA";
	uint64_t t = s->elapsed_ns / SEC;

	if (s->stalled && !s->finished) {
		snprintf(out, 32, "%12s", "- stalled -");
		return;
	}
	if (!s->finished) {
		uint64_t left = s->total > s->done ? s->total - s->done : 0;

		if (!s->sized || s->rate == 0 || left / s->rate >= 1000 * 86400ULL) {
			snprintf(out, 32, "%8s%s", "--:--", suffix);
			return;
		}
		t = left / s->rate + (left % s->rate != 0);
	}
	if (t >= 100 * 3600)
		snprintf(out, 32, "%4ud%02uh%s", (unsigned int)(t / 86400), (unsigned int)(t / 3600 % 24), suffix);
	else if (t >= 3600)
		snprintf(out, 32, "%2u:%02u:%02u%s", (unsigned int)(t / 3600), (unsigned int)(t / 60 % 60),
			 (unsigned int)(t % 60), suffix);
	else
		snprintf(out, 32, "   %02u:%02u%s", (unsigned int)(t / 60), (unsigned int)(t % 60), suffix);
}

static void format_files(const struct progress_state *s, char out[static 64])
{
	char count[48];

	if (s->finished)
		snprintf(count, sizeof(count), "%" PRIu64, s->files);
	else
		snprintf(count, sizeof(count), "%" PRIu64 "/%" PRIu64 "%s", s->files, s->files_found,
			 s->files_known ? "" : "+");
	snprintf(out, 64, " %11s file%s", count, s->files == 1 && s->finished ? " " : "s");
}

/*
 * The next character of `s` as it may be shown: itself, or its bytes in octal. Returns the bytes of `s` it stands for.
 * `out` gets the text, `ret_columns` the room it takes.
 */
static size_t next_character(const char *s, char out[static 32], unsigned int *ret_columns)
{
	mbstate_t state = { 0 };
	wchar_t wc;
	size_t len = mbrtowc(&wc, s, MB_LEN_MAX, &state);
	int columns = len == 0 || len > 6 ? -1 : wcwidth(wc);

	if (columns >= 0) {
		memcpy(out, s, len);
		out[len] = '\0';
		*ret_columns = (unsigned int)columns;
		return len;
	}
	if (len == 0 || len > 6)
		len = 1;
	for (size_t i = 0; i < len; i++)
		snprintf(out + 4 * i, 5, "\\%03o", (unsigned char)s[i]);
	*ret_columns = 4 * (unsigned int)len;
	return len;
}

/* Columns and bytes of `s` as it may be shown. */
static unsigned int measure_name(const char *s, size_t *ret_bytes)
{
	unsigned int columns = 0, w;
	char c[32];

	*ret_bytes = 0;
	while (*s) {
		s += next_character(s, c, &w);
		columns += w;
		*ret_bytes += strlen(c);
	}
	return columns;
}

/*
 * `name` in exactly `columns` columns: padded, or without its beginning ("..." in its place when there is room for it), since the
 * end tells files apart. Returns the bytes written. Assumes size > columns; a name whose characters need more bytes than there are is
 * cut as well.
 */
static size_t put_name(char *buf, size_t size, unsigned int columns, const char *name)
{
	char shown[ESCAPED_PATH_SIZE], c[32];
	const char *s = escape_name(name, shown, sizeof(shown));
	unsigned int dots = 0, at, w;
	size_t used = 0, left;

	at = measure_name(s, &left);
	if (at > columns || left + (columns - at) >= size)
		dots = columns >= 6 ? 3 : 0;
	while (*s && (at + dots > columns || dots + left + (columns - at - dots) >= size)) {
		s += next_character(s, c, &w);
		at -= w;
		left -= strlen(c);
	}
	memcpy(buf, "...", dots);
	for (used = dots; *s; used += strlen(c)) {
		s += next_character(s, c, &w);
		memcpy(buf + used, c, strlen(c));
	}
	for (at += dots; at < columns; at++)
		buf[used++] = ' ';
	buf[used] = '\0';
	return used;
}

__attribute__((format(printf, 4, 5))) static void append(char *buf, size_t size, size_t *used, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf + *used, size - *used, fmt, ap);
	va_end(ap);
	*used = n < 0 ? *used : min_size(*used + (size_t)n, size - 1);
}

/* All that stands right of the percentage, in order of worth; returns how many there are. */
static unsigned int format_parts(const struct progress_state *s, char parts[static PARTS][64])
{
	uint64_t elapsed_ms = s->elapsed_ns / MSEC;
	uint64_t per_second = s->rate;
	char text[32];
	unsigned int n = 0;

	if (s->finished)
		per_second = (uint64_t)((double)s->done * 1000 / (double)(elapsed_ms ? elapsed_ms : 1));
	snprintf(parts[n++], 64, " %10s", format_size(s->done, text));
	if (s->many)
		format_files(s, parts[n++]);
	snprintf(parts[n++], 64, " %10s/s", format_size(per_second, text));
	format_time(s, text);
	snprintf(parts[n++], 64, " %12s", text);
	return n;
}

size_t progress_format(char *buf, size_t size, unsigned int width, const struct progress_state *s)
{
	char percent[16], parts[PARTS][64];
	unsigned int right = PERCENT_COLUMNS, name, count = format_parts(s, parts), fit;
	size_t used;

	if (size == 0)
		return 0;
	buf[0] = '\0';
	width = min_size(width, min_size(size - 1, MAX_COLUMNS));
	if (width < PERCENT_COLUMNS)
		return 0;
	for (fit = 0; fit < count && right + strlen(parts[fit]) + NAME_MIN + 1 <= width; fit++)
		right += strlen(parts[fit]);
	name = width > right + 1 ? width - right - 1 : 0;

	format_percent(s, percent);
	used = put_name(buf, size - right - 1, name, s->name ? s->name : "");
	used += (size_t)snprintf(buf + used, size - used, "%s%s", name ? " " : "", percent);
	for (unsigned int i = 0; i < fit; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s", parts[i]);
	return used;
}

char *progress_tell(char *buf, size_t size, const struct progress_state *s)
{
	uint64_t elapsed_ms = s->elapsed_ns / MSEC + 1;
	struct progress_state now = *s;
	char name[ESCAPED_PATH_SIZE], part[64], total[16];
	size_t used = 0;

	/* Unless a line is being drawn nobody has followed the rate. */
	if (!now.rate)
		now.rate = (uint64_t)((double)s->done * 1000 / (double)elapsed_ms);
	buf[0] = '\0';
	if (s->name)
		append(buf, size, &used, "'%s': ", escape_name(s->name, name, sizeof(name)));
	if (s->many) {
		format_files(s, part);
		append(buf, size, &used, "%s, ", part + strspn(part, " "));
	}
	append(buf, size, &used, "%s", format_size(s->done, part));
	if (s->sized) {
		format_percent(s, part);
		append(buf, size, &used, " of %s, %s", format_size(s->total, total), part + strspn(part, " "));
	}
	append(buf, size, &used, ", %s/s", format_size(now.rate, part));
	format_time(&now, part);
	append(buf, size, &used, ", %s", part + strspn(part, " "));
	return buf;
}

/* ---- where to say it ---- */

static unsigned int window_columns(int fd)
{
	const char *variable = getenv("COLUMNS");
	struct winsize ws;
	char *end;
	unsigned long n;

	if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return min_size(ws.ws_col, MAX_COLUMNS);
	if (!variable || !*variable)
		return DEFAULT_COLUMNS;
	n = strtoul(variable, &end, 10);
	if (*end || n == 0)
		return DEFAULT_COLUMNS;
	return min_size(n, MAX_COLUMNS);
}

/* A job in the background keeps quiet, as scp(1) does. */
static bool in_foreground(int fd)
{
	return getpgrp() == tcgetpgrp(fd);
}

static void put(struct progress *p, const char *text, size_t len)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLOUT };
	ssize_t n;

	if (poll(&pfd, 1, 0) != 1 || !(pfd.revents & POLLOUT))
		return;
	n = write(p->fd, text, len);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		p->fd = -1;
}

static void draw(struct progress *p, bool last, uint64_t now)
{
	char line[LINE_MAX_BYTES];
	unsigned int width;
	size_t len = 0;

	p->shown_ns = now;
	if (p->terminal && !in_foreground(p->fd))
		return;
	width = window_columns(p->fd);
	if (p->terminal) {
		/* The last column stays free: writing there wraps on some terminals. */
		width--;
		line[len++] = '\r';
	}
	len += progress_format(line + len, sizeof(line) - len - 1, width, &p->state);
	/* Back to its start, so that a ^C is not echoed behind it, where nobody would take it away. */
	line[len++] = last || !p->terminal ? '\n' : '\r';
	put(p, line, len);
	p->on_screen = p->terminal && !last;
	p->columns = width;
}

void progress_init(struct progress *p, int fd, enum progress_mode mode, uint64_t now)
{
	bool terminal = mode != PROGRESS_NEVER && isatty(fd);

	*p = (struct progress){
		.fd = terminal || mode == PROGRESS_ALWAYS ? fd : -1,
		.terminal = terminal,
		.shown_ns = now,
		.state = { .started_ns = now, .sampled_ns = now, .moved_ns = now },
	};
}

void progress_name(struct progress *p, const char *name)
{
	p->state.name = name;
}

void progress_update(struct progress *p, uint64_t done, uint64_t total, bool sized, uint64_t now)
{
	progress_sample(&p->state, done, now);
	p->state.total = total;
	p->state.sized = sized;
	if (p->fd >= 0 && now - p->shown_ns >= (p->terminal ? PROGRESS_INTERVAL_NS : LINE_INTERVAL_NS))
		draw(p, false, now);
}

void progress_files(struct progress *p, uint64_t done, uint64_t found, bool known)
{
	p->state.many = true;
	p->state.files = done;
	p->state.files_found = found > done ? found : done;
	p->state.files_known = known;
}

void progress_clear(struct progress *p)
{
	char blank[MAX_COLUMNS + 2];
	size_t columns = min_size(p->columns, window_columns(p->fd) - 1);

	if (p->fd < 0 || !p->on_screen)
		return;
	blank[0] = '\r';
	memset(blank + 1, ' ', columns);
	blank[columns + 1] = '\r';
	put(p, blank, columns + 2);
	p->on_screen = false;
	p->shown_ns = 0; /* the next update draws at once */
}

void progress_finish(struct progress *p, bool success, uint64_t now)
{
	if (p->fd < 0)
		return;
	if (success) {
		progress_sample(&p->state, p->state.done, now);
		p->state.finished = true;
		p->state.stalled = false;
		draw(p, true, now);
	} else {
		progress_clear(p);
	}
	p->fd = -1;
}
