/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Include and exclude rules of filter.h, written after rsync(1) and held to what rsync answers.
 *
 * Called by whoever walks a tree, for each name it meets, and by whoever takes rules from a command line or a peer.
 * The filter owns copies of its patterns and is not changed by asking. Only adding can fail.
 *
 * How a comparison stays short: of all '*' passed only the last is ever tried again, with one byte more. An earlier
 * one could do no better: everything in between was matched as early in the path as can be, and to stop earlier is to
 * leave more choice to what comes. This holds for '**' and for '*' apart, since '*' cannot leave its component: when
 * the last '*' stands before a '/', the '**' before it begins again behind the next '/', because from anywhere before
 * it the same '*' would end at the same '/'.
 */
#include "filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "util.h"
#include "wire.h"

#define ROOM_MIN 8 /* rules */

/* The classes of POSIX for ASCII, whatever the locale. */
static int is_in_class(const char *name, size_t len, unsigned char c)
{
	static const struct {
		const char *name;
		int (*has)(int c);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
		{ "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
		{ "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strlen(classes[i].name) == len && !memcmp(classes[i].name, name, len))
			return c < 0x80 && classes[i].has(c);
	return -EINVAL;
}

/* One byte of a bracket, which a backslash may precede. NULL: the pattern ends here. */
static const char *bracket_byte(const char *p, const char *end, unsigned char *ret_byte)
{
	if (p < end && *p == '\\')
		p++;
	if (p >= end)
		return NULL;
	*ret_byte = (unsigned char)*p;
	return p + 1;
}

/*
 * One member of a bracket: a byte, a range or a class. NULL: it is none, and such a pattern matches nothing. A range
 * that runs backwards is its first byte, as in rsync.
 */
static const char *bracket_member(const char *p, const char *end, unsigned char c, bool *found)
{
	unsigned char low, high;

	if (end - p > 1 && p[0] == '[' && p[1] == ':') {
		const char *name = p + 2, *stop = memchr(name, ']', (size_t)(end - name));
		int r;

		if (!stop)
			return NULL;
		if (stop > name && stop[-1] == ':') {
			r = is_in_class(name, (size_t)(stop - name) - 1, c);
			*found |= r > 0;
			return r < 0 ? NULL : stop + 1;
		}
	}
	p = bracket_byte(p, end, &low);
	if (!p)
		return NULL;
	high = low;
	if (end - p > 1 && p[0] == '-' && p[1] != ']') {
		p = bracket_byte(p + 1, end, &high);
		if (!p)
			return NULL;
	}
	*found |= c == low || (low < c && c <= high);
	return p;
}

/* `p` is behind the '['. Gives what is behind the ']' when `c` is one of those in between, else NULL. */
static const char *match_bracket(const char *p, const char *end, unsigned char c)
{
	bool negated = p < end && (*p == '!' || *p == '^');
	bool found = false;

	if (negated)
		p++;
	/* A ']' that comes first is a member. */
	do
		p = bracket_member(p, end, c, &found);
	while (p && p < end && *p != ']');
	return p && p < end && found != negated && c != '/' ? p + 1 : NULL;
}

/* Everything but stars: what follows in the pattern when its next item matches `c`, else NULL. */
static const char *match_one(const char *p, const char *end, unsigned char c)
{
	if (p == end)
		return NULL;
	if (*p == '[')
		return match_bracket(p + 1, end, c);
	if (*p == '?')
		return c != '/' ? p + 1 : NULL;
	if (*p == '\\' && ++p == end)
		return NULL;
	return (unsigned char)*p == c ? p + 1 : NULL;
}

/* How to go on with a path when the pattern does not match from here. */
struct retry {
	const char *star,
		*star_text; /* behind the last '*' since `deep`, and what it ends before; NULL: there is none */
	const char *deep, *deep_text; /* the same for '**', or for the start of a pattern that may float */
	bool floating;                /* it is the start of the pattern: begin at components only */
};

/* Takes the stars at `p`, and notes where to come back to. */
static const char *take_stars(struct retry *again, const char *p, const char *end, const char *text)
{
	const char *behind = p;

	while (behind < end && *behind == '*')
		behind++;
	if (behind - p > 1)
		*again = (struct retry){ .deep = behind, .deep_text = text };
	else {
		again->star = behind;
		again->star_text = text;
	}
	return behind;
}

/* Lets the last star that can take one byte more. False: there is none, the pattern does not match. */
static bool try_again(struct retry *again, const char **p, const char **text, const char *text_end)
{
	if (again->star && *again->star_text != '/') {
		*p = again->star;
		*text = ++again->star_text;
		return true;
	}
	if (!again->deep)
		return false;
	if (again->star || again->floating) {
		again->deep_text = memchr(again->deep_text, '/', (size_t)(text_end - again->deep_text));
		if (!again->deep_text)
			return false;
		again->star = NULL;
	}
	*p = again->deep;
	*text = ++again->deep_text;
	return true;
}

/* Does all of the pattern match all of the text or, if it is `floating`, what follows a slash of it? */
static bool match_wild(const struct filter_rule *rule, const char *text, const char *text_end, bool floating)
{
	const char *p = rule->body, *end = p + rule->body_len;
	struct retry again = { .deep = floating ? p : NULL, .deep_text = text, .floating = floating };

	while (text < text_end) {
		const char *behind;

		if (p < end && *p == '*') {
			p = take_stars(&again, p, end, text);
			if (p == end && p == again.deep)
				return true;
			continue;
		}
		behind = match_one(p, end, (unsigned char)*text);
		if (behind) {
			p = behind;
			text++;
		} else if (!try_again(&again, &p, &text, text_end)) {
			return false;
		}
	}
	/* No star may take more here: that would leave less than nothing. */
	while (p < end && *p == '*')
		p++;
	return p == end;
}

/* Is it the path, or the end of it from a component on? */
static bool match_plain(const struct filter_rule *rule, const char *text, size_t len)
{
	const char *tail = text + len - rule->body_len;

	if (rule->body_len > len || memcmp(tail, rule->body, rule->body_len) != 0)
		return false;
	return tail == text || (!rule->anchored && tail[-1] == '/');
}

/* Where the last `slashes` + 1 components of [text, end) begin; NULL: there are not as many. */
static const char *last_components(const char *text, const char *end, unsigned int slashes)
{
	while (end > text && (end[-1] != '/' || slashes-- > 0))
		end--;
	return end > text || slashes == 0 ? end : NULL;
}

/* `text` has a slash before it and behind its `len` bytes. */
static bool rule_matches(const struct filter_rule *rule, const char *text, size_t len, bool directory)
{
	const char *end = text + len;

	if (rule->directory && !directory)
		return false;
	if (!rule->wild)
		return match_plain(rule, text, len);
	if (!rule->deep && !rule->anchored)
		text = last_components(text, end, rule->slashes);
	if (!text)
		return false;
	if (rule->deep_end && directory)
		end++;
	if (rule->deep_front)
		text--;
	return match_wild(rule, text, end, rule->deep && !rule->anchored && !rule->deep_front);
}

bool filter_excludes(const struct filter *f, const char *path, bool directory)
{
	size_t len = strnlen(path, WIRE_PATH_MAX + 1);
	char buf[WIRE_PATH_MAX + 2];
	char *text = buf + 1;

	if (f->count == 0 || len == 0 || len > WIRE_PATH_MAX || !strcmp(path, "."))
		return false;
	buf[0] = '/';
	memcpy(text, path, len);
	text[len] = '/';
	for (unsigned int i = 0; i < f->count; i++)
		if (rule_matches(&f->rules[i], text, len, directory))
			return !f->rules[i].include;
	return false;
}

/* As rsync does, this looks for the bytes of wildcards, whether or not a backslash or a bracket makes them plain. */
static void rule_study(struct filter_rule *rule)
{
	size_t len = strlen(rule->pattern);

	rule->body = rule->pattern;
	rule->wild = strpbrk(rule->pattern, "*?[") != NULL;
	rule->directory = len > 1 && rule->pattern[len - 1] == '/';
	if (rule->directory)
		len--;
	rule->deep = strstr(rule->pattern, "**") != NULL;
	rule->deep_front = !strncmp(rule->pattern, "**", 2);
	rule->deep_end = len >= 3 && !memcmp(rule->pattern + len - 3, "***", 3);
	rule->anchored = rule->pattern[0] == '/';
	if (rule->anchored) {
		rule->body++;
		len--;
	}
	rule->body_len = len;
	for (size_t i = 0; i < len; i++)
		rule->slashes += rule->body[i] == '/';
}

static int make_room(struct filter *f)
{
	unsigned int room = f->room ? 2 * f->room : ROOM_MIN;
	struct filter_rule *rules;

	if (f->count < f->room)
		return 0;
	rules = reallocarray(f->rules, room, sizeof(*rules));
	if (!rules)
		return fail(-ENOMEM, "%u filter rules", room);
	f->rules = rules;
	f->room = room;
	return 0;
}

int filter_add(struct filter *f, const char *pattern, bool include)
{
	size_t len = strnlen(pattern, WIRE_PATH_MAX + 1);
	struct filter_rule rule = { .include = include };
	int r;

	if (len == 0)
		return fail(-EINVAL, "an empty filter pattern");
	if (len > WIRE_PATH_MAX)
		return fail(-ENAMETOOLONG, "a filter pattern of more than %d bytes", WIRE_PATH_MAX);
	if (f->count >= FILTER_RULES_MAX || len > FILTER_BYTES_MAX - f->bytes)
		return fail(-E2BIG, "filter rule %u, after %zu bytes", f->count + 1, f->bytes);
	r = make_room(f);
	if (r < 0)
		return r;
	rule.pattern = strdup(pattern);
	if (!rule.pattern)
		return fail(-ENOMEM, "a filter pattern of %zu bytes", len);
	rule_study(&rule);
	f->rules[f->count++] = rule;
	f->bytes += len;
	return 0;
}

int filter_add_line(struct filter *f, const char *line, bool include)
{
	if (!strcmp(line, "!")) {
		filter_done(f);
		return 0;
	}
	if ((line[0] == '-' || line[0] == '+') && line[1] == ' ')
		return filter_add(f, line + 2, line[0] == '+');
	return filter_add(f, line, include);
}

void filter_init(struct filter *f)
{
	*f = (struct filter){ 0 };
}

void filter_done(struct filter *f)
{
	for (unsigned int i = 0; i < f->count; i++)
		free(f->rules[i].pattern);
	free(f->rules);
	filter_init(f);
}
