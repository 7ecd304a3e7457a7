// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Choosing before the copy. Called by client.c while signals still end the program: files of rules and names may be pipes. The
 * client owns what is filled here.
 */
#include "choose.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "common/util.h"
#include "exitcode.h"
#include "namelist.h"

/* ---- rules -------------------------------------------------------------------------------------------------- */

static const char *rule_fault(int r)
{
	switch (r) {
	case -EINVAL:
		return "the pattern is empty";
	case -ENAMETOOLONG:
		return "the pattern is too long";
	case -E2BIG:
		return "there are too many rules";
	default:
		return strerror(-r);
	}
}

static int add_rule(struct client *c, const struct options_rule *rule, char *why, size_t size)
{
	bool include = rule->kind == OPTIONS_INCLUDE || rule->kind == OPTIONS_INCLUDE_FROM;
	char shown[1024];
	int r;

	if (rule->kind == OPTIONS_INCLUDE_FROM || rule->kind == OPTIONS_EXCLUDE_FROM)
		return namelist_read_rules(rule->text, c->options->from0, include, &c->filter, why, size);
	r = filter_add_line(&c->filter, rule->text, include);
	if (r < 0)
		snprintf(why, size, "--%s '%s': %s", include ? "include" : "exclude",
			 escape_name(rule->text, shown, sizeof(shown)), rule_fault(r));
	return r;
}

bool choose_rules(struct client *c)
{
	char why[OPTIONS_WHY_SIZE];

	for (unsigned int i = 0; i < c->options->rule_count; i++) {
		if (add_rule(c, &c->options->rules[i], why, sizeof(why)) < 0) {
			output_complain(&c->output, EXITCODE_USAGE, "%s", why);
			return false;
		}
	}
	return true;
}

/* ---- sources ------------------------------------------------------------------------------------------------ */

static bool has_no_name(const char *component)
{
	return strcmp(component, ".") == 0 || strcmp(component, "..") == 0 || strcmp(component, "/") == 0;
}

static int name_source(struct client_source *source)
{
	source->name = last_component(source->path);
	if (!source->name)
		return -ENOMEM;
	source->exact = source->stream || has_no_name(source->name);
	return 0;
}

static int make_room(struct client *c, size_t count)
{
	c->sources = count <= UINT_MAX ? calloc(count ? count : 1, sizeof(*c->sources)) : NULL;
	return c->sources ? 0 : -ENOMEM;
}

static int list_operands(struct client *c)
{
	const struct options *o = c->options;
	int r = make_room(c, o->source_count);

	for (; r == 0 && c->source_count < o->source_count; c->source_count++) {
		const struct location *operand = &o->sources[c->source_count];
		struct client_source *source = &c->sources[c->source_count];

		source->stream = location_is_stream(operand);
		source->path = o->pull ? operand->path : operand->text;
		if (source->stream)
			source->path = "standard input";
		r = name_source(source);
	}
	return r;
}

static char *join(const char *dir, const char *name, size_t name_len)
{
	size_t len = strlen(dir);
	char *path;

	if (asprintf(&path, "%s%s%.*s", dir, len && dir[len - 1] != '/' && name_len ? "/" : "", (int)name_len, name) <
	    0)
		return NULL;
	return path;
}

/* `name` beneath the one operand goes to the same place beneath the target. */
static int list_name(struct client *c, const char *name)
{
	const struct options *o = c->options;
	struct client_source *source = &c->sources[c->source_count++];
	size_t len = strlen(name), dir = len;
	int r;

	while (dir && name[dir - 1] == '/') /* one at the end */
		dir--;
	while (dir && name[dir - 1] != '/')
		dir--;
	source->own = join(o->pull ? o->sources[0].path : o->sources[0].text, name, len);
	if (!source->own)
		return -ENOMEM;
	source->path = source->own;
	r = name_source(source);
	if (r < 0 || source->exact)
		return r;
	source->target = join(o->pull ? o->target.text : o->target.path, name, dir ? dir - 1 : 0);
	return source->target ? 0 : -ENOMEM;
}

static int list_names(struct client *c, char *why, size_t size)
{
	struct namelist list = { 0 };
	int r = namelist_read(c->options->files_from, c->options->from0, &list, why, size);

	if (r == 0)
		r = make_room(c, list.count);
	for (size_t i = 0; r == 0 && i < list.count; i++)
		r = list_name(c, namelist_name(&list, i));
	namelist_done(&list);
	return r;
}

bool choose_sources(struct client *c)
{
	char why[OPTIONS_WHY_SIZE] = "out of memory";
	int r = c->options->files_from ? list_names(c, why, sizeof(why)) : list_operands(c);

	if (r < 0)
		output_complain(&c->output, r == -ENOMEM ? EXITCODE_FAILED : EXITCODE_USAGE, "%s", why);
	return r == 0;
}

int choose_source(struct client_source *source, const char *dir, size_t len, const char *path)
{
	if (asprintf(&source->own, "%.*s%s", (int)len, dir, path) < 0) {
		source->own = NULL;
		return -ENOMEM;
	}
	source->path = source->own;
	return name_source(source);
}

void choose_source_done(struct client_source *source)
{
	free(source->name);
	free(source->own);
	free(source->top);
	free(source->target);
}

void choose_done(struct client *c)
{
	for (unsigned int i = 0; i < c->source_count; i++)
		choose_source_done(&c->sources[i]);
	free(c->sources);
	filter_done(&c->filter);
}
