/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lists of names and rules from files, see namelist.h. Called by options.c and whoever carries its options out, before
 * anything is connected. A list owns the file's text and an index of it: 64 MiB of names take as much and 8 bytes for
 * each name. A failure leaves a sentence and nothing to release.
 */
#include "namelist.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/standard.h"
#include "common/util.h"

#define ROOM_MIN (64U << 10) /* bytes of text */
#define SIGN_LEN 2           /* of "- " and "+ " before a pattern */

/* A file that is being taken apart. */
struct scan {
	const char *file;
	bool nul;
	bool rules; /* not names: there are comments, and CR LF ends a line */
	char *why;
	size_t why_size;

	char *text, *at, *end; /* `text` is owned and has room for a byte at `end` */
	uint32_t line;         /* of the entry that was found last */
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct scan *s, int r, const char *fmt, ...)
{
	char shown[1024], where[48] = "", sentence[192];
	bool piped = !strcmp(s->file, "-");
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (s->line)
		snprintf(where, sizeof(where), ", %s %u", s->nul ? "entry" : "line", (unsigned int)s->line);
	escape_name(piped ? "standard input" : s->file, shown, sizeof(shown));
	snprintf(s->why, s->why_size, piped ? "%s%s: %s" : "'%s'%s: %s", shown, where, sentence);
	return r;
}

/* Reads to the end of the file, or to the first byte that is too much. */
static int read_to_end(struct scan *s, int fd)
{
	size_t used = 0, room = 0;
	ssize_t n;

	for (;;) {
		if (used == room) {
			char *text;

			if (used > NAMELIST_BYTES_MAX)
				return refuse(s, -EFBIG, "a list has at most %u MiB", NAMELIST_BYTES_MAX >> 20);
			room = min_size(room ? 2 * room : ROOM_MIN, NAMELIST_BYTES_MAX + 1);
			text = realloc(s->text, room + 1);
			if (!text)
				return refuse(s, -ENOMEM, "out of memory");
			s->text = text;
		}
		n = standard_read(fd, s->text + used, room - used);
		if (n < 0)
			return refuse(s, (int)n, "%s", strerror((int)-n));
		if (n == 0)
			break;
		used += (size_t)n;
	}
	s->at = s->text;
	s->end = s->text + used;
	return 0;
}

static int scan_open(struct scan *s)
{
	_cleanup_close_ int fd = -1;

	if (!strcmp(s->file, "-"))
		return read_to_end(s, STDIN_FILENO);
	fd = open(s->file, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return refuse(s, -errno, "%s", strerror(errno));
	return read_to_end(s, fd);
}

/* Terminates the line at s->at and goes to the next one. */
static char *take_line(struct scan *s)
{
	char *line = s->at, *stop = memchr(line, s->nul ? '\0' : '\n', (size_t)(s->end - line));
	bool ended = stop;

	if (!ended)
		stop = s->end;
	*stop = '\0';
	s->at = stop + ended;
	s->line++;
	if (!s->nul && line + strlen(line) < stop) {
		refuse(s, -EINVAL, "there is a NUL byte in it; names that end in one are read with --from0");
		return NULL;
	}
	if (s->rules && !s->nul && ended && stop > line && stop[-1] == '\r')
		stop[-1] = '\0';
	return line;
}

static bool is_comment(const struct scan *s, const char *line)
{
	return s->rules && !s->nul && (line[0] == '#' || line[0] == ';');
}

/* The next entry of at most `max` bytes. 1: there is one. 0: no more. */
static int next_entry(struct scan *s, size_t max, char **ret_entry)
{
	while (s->at < s->end) {
		char *line = take_line(s);

		if (!line)
			return -EINVAL;
		if (line[0] == '\0' || is_comment(s, line))
			continue;
		if (strlen(line) > max)
			return refuse(s, -ENAMETOOLONG, "it has more than %zu bytes", max);
		*ret_entry = line;
		return 1;
	}
	return 0;
}

/* Makes a path that cannot lead upwards, in place: see namelist.h. */
static void clean_name(char *name)
{
	char *in = name, *out = name;
	bool contents; /* the last component said so */

	for (;;) {
		size_t len = strcspn(in, "/");
		bool up = len == 2 && !memcmp(in, "..", 2);

		contents = up || len == 0 || (len == 1 && in[0] == '.');
		if (up) {
			while (out > name && *--out != '/')
				;
		} else if (!contents) {
			if (out > name)
				*out++ = '/';
			memmove(out, in, len);
			out += len;
		}
		if (in[len] == '\0')
			break;
		in += len + 1;
	}
	if (out == name)
		*out++ = '.';
	else if (contents)
		*out++ = '/';
	*out = '\0';
}

static int add_entry(struct namelist *list, const struct scan *s, const char *name)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct namelist_entry *entries = reallocarray(list->entries, room, sizeof(*entries));

		if (!entries)
			return refuse(s, -ENOMEM, "out of memory");
		list->entries = entries;
		list->room = room;
	}
	list->entries[list->count++] = (struct namelist_entry){
		.offset = (uint32_t)(name - s->text),
		.line = s->line,
	};
	return 0;
}

int namelist_read(const char *file, bool nul, struct namelist *ret_list, char *why, size_t why_size)
{
	struct scan s = { .file = file, .nul = nul, .why = why, .why_size = why_size };
	struct namelist list = { 0 };
	char *name;
	int r = scan_open(&s);

	while (r >= 0 && (r = next_entry(&s, PATH_MAX - 1, &name)) > 0) {
		clean_name(name);
		r = add_entry(&list, &s, name);
	}
	list.text = s.text;
	if (r < 0)
		namelist_done(&list);
	else
		*ret_list = list;
	return r;
}

int namelist_read_rules(const char *file, bool nul, bool include, struct filter *f, char *why, size_t why_size)
{
	struct scan s = { .file = file, .nul = nul, .rules = true, .why = why, .why_size = why_size };
	char *line;
	int r = scan_open(&s);

	while (r >= 0 && (r = next_entry(&s, PATH_MAX - 1 + SIGN_LEN, &line)) > 0) {
		r = filter_add_line(f, line, include);
		if (r == -EINVAL)
			refuse(&s, r, "there is no pattern after the sign");
		else if (r == -ENAMETOOLONG)
			refuse(&s, r, "a pattern has at most %d bytes", PATH_MAX - 1);
		else if (r == -E2BIG)
			refuse(&s, r, "there are at most %d rules, of %d KiB together", FILTER_RULES_MAX,
			       FILTER_BYTES_MAX >> 10);
		else if (r < 0)
			refuse(&s, r, "%s", strerror(-r));
	}
	free(s.text);
	return r;
}

void namelist_done(struct namelist *list)
{
	free(list->text);
	free(list->entries);
	*list = (struct namelist){ 0 };
}
