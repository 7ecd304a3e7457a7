/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What rdcp(1) promises of a run, held against two trees before and after it. Always: every file of the destination is the old or a
 * new one, and whole; nothing is there that nobody asked for; no source is lost. With exit status 0: all that was to be there is
 * there, with its attributes.
 */
#include <stdio.h>
#include <string.h>

#include "common/util.h"
#include "copy.h"
#include "fuzz.h"

#define MAPPINGS (COPY_OPERANDS * TREE_ENTRIES)

/* A source, and where its copy belongs. */
struct mapping {
	const struct tree_entry *source;
	char path[2 * TREE_PATH]; /* beneath the destination */
};

struct plan {
	const struct copy *copy;
	struct mapping mappings[MAPPINGS];
	unsigned int count;
	bool loose; /* symlinks are followed: what is where is not known here */
	bool bad;   /* some operand cannot be copied */
};

static void complain(const struct copy *c, const char *rule, const char *path)
{
	fprintf(stderr, "%s of '%s' to '%s' (skip %d, -r %d -p %d -a %d, status %d): '%s': %s\n",
		c->pull ? "pull" : "push", c->operands[0], c->target, (int)c->skip, c->recursive, c->preserve,
		c->archive, c->code, path, rule);
	abort();
}

#define RULE(plan, cond, path)                                 \
	do {                                                   \
		if (!(cond))                                   \
			complain((plan)->copy, #cond, (path)); \
	} while (0)

static bool is_dir(const struct tree_entry *e)
{
	return e && S_ISDIR(e->stat.st_mode);
}

/* ---- where things go ---------------------------------------------------------------------------------------- */

/* "b" of "a/b"; NULL of "a/." and ".", whose contents go into the target itself. */
static const char *base_of(const char *operand)
{
	const char *slash = strrchr(operand, '/');
	const char *base = slash ? slash + 1 : operand;

	return strcmp(base, ".") == 0 ? NULL : base;
}

static void join(char *out, size_t size, const char *a, const char *b)
{
	FUZZ_CHECK((size_t)snprintf(out, size, "%s%s%s", a, *a && *b ? "/" : "", b) < size);
}

static void add(struct plan *p, const struct tree_entry *e, const char *path)
{
	p->mappings[p->count].source = e;
	snprintf(p->mappings[p->count++].path, sizeof(p->mappings[0].path), "%s", path);
	p->loose |= S_ISLNK(e->stat.st_mode) && p->copy->dereference;
}

/* The operand without its "." at the end. */
static void plain_operand(const char *operand, char *out, size_t size)
{
	snprintf(out, size, "%s", operand);
	if (!base_of(operand))
		out[strlen(out) > 1 ? strlen(out) - 2 : 0] = '\0';
}

static void plan_operand(struct plan *p, const char *operand)
{
	const struct copy *c = p->copy;
	const char *base = base_of(operand);
	char top[TREE_PATH], to[2 * TREE_PATH], path[2 * TREE_PATH];
	const struct tree_entry *e;
	size_t len;

	plain_operand(operand, top, sizeof(top));
	len = strlen(top);
	e = tree_find(&c->source, top);
	if (!e || S_ISLNK(e->stat.st_mode) || (is_dir(e) && !c->recursive)) {
		p->bad |= !e || !S_ISLNK(e->stat.st_mode);
		p->loose |= !e || S_ISLNK(e->stat.st_mode);
		return;
	}
	join(to, sizeof(to), c->target,
	     base && (c->operand_count > 1 || is_dir(tree_find(&c->destination, c->target))) ? base : "");
	for (unsigned int i = 0; i < c->source.count; i++) {
		const struct tree_entry *below = &c->source.entries[i];

		if (strncmp(below->path, top, len) != 0 || (len && below->path[len] && below->path[len] != '/'))
			continue;
		join(path, sizeof(path), to, below->path + len + (len && below->path[len] == '/'));
		add(p, below, path);
	}
}

static void make_plan(struct plan *p, const struct copy *c)
{
	p->copy = c;
	p->count = 0;
	p->loose = p->bad = false;
	for (unsigned int i = 0; i < c->operand_count; i++)
		plan_operand(p, c->operands[i]);
}

/* ---- always ------------------------------------------------------------------------------------------------- */

/* Made, or left as it was, or replaced by one of the sources that go there. */
static bool has_a_right_content(const struct plan *p, const struct tree_entry *e)
{
	const struct tree_entry *old = tree_find(&p->copy->destination, e->path);

	if (old && tree_same_content(e, old))
		return true;
	for (unsigned int i = 0; i < p->count; i++)
		if (strcmp(p->mappings[i].path, e->path) == 0 && tree_same_content(e, p->mappings[i].source))
			return true;
	return false;
}

/* A directory on the way to something that was asked for. */
static bool is_on_the_way(const struct plan *p, const char *path)
{
	size_t len = strlen(path);

	return strncmp(p->copy->target, path, len) == 0 &&
	       (!len || !p->copy->target[len] || p->copy->target[len] == '/');
}

static bool is_target(const struct plan *p, const char *path)
{
	for (unsigned int i = 0; i < p->count; i++)
		if (strcmp(p->mappings[i].path, path) == 0)
			return true;
	return false;
}

static void judge_present(const struct plan *p, const struct tree_entry *e)
{
	const struct tree_entry *old = tree_find(&p->copy->destination, e->path);

	RULE(p, !strstr(e->path, ".rdcp-part"), e->path);
	if (p->loose)
		return;
	RULE(p, has_a_right_content(p, e) || (is_dir(e) && is_on_the_way(p, e->path)), e->path);
	if (old && is_dir(old) && (!p->copy->preserve || !is_target(p, e->path)))
		RULE(p, old->stat.st_mode == e->stat.st_mode, e->path);
	if (old && !is_dir(old) && !is_target(p, e->path))
		RULE(p, old->stat.st_mode == e->stat.st_mode && old->stat.st_mtime == e->stat.st_mtime, e->path);
}

static void judge_old(const struct plan *p, const struct tree_entry *old)
{
	const struct tree_entry *now = tree_find(&p->copy->destination_after, old->path);

	RULE(p, now, old->path);
	if (is_dir(old))
		RULE(p, is_dir(now), old->path);
	if (!is_target(p, old->path) && !p->loose)
		RULE(p, tree_same_content(now, old), old->path);
}

static bool is_stored(const struct plan *p, const struct tree_entry *source)
{
	for (unsigned int i = 0; i < p->copy->destination_after.count; i++)
		if (tree_same_content(&p->copy->destination_after.entries[i], source))
			return true;
	return false;
}

static void judge_source(const struct plan *p, const struct tree_entry *before)
{
	const struct tree_entry *now = tree_find(&p->copy->source_after, before->path);

	if (!p->copy->remove_sources || p->copy->dry_run || is_dir(before))
		RULE(p, now && tree_same_content(now, before) && now->stat.st_mode == before->stat.st_mode,
		     before->path);
	else if (!now)
		RULE(p, is_stored(p, before), before->path);
}

/* ---- with exit status 0 ------------------------------------------------------------------------------------- */

static bool is_older(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
						      : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

/* The old one may stay in the place of this source. */
static bool may_skip(const struct plan *p, const struct mapping *m)
{
	const struct tree_entry *old = tree_find(&p->copy->destination, m->path);

	if (!old || is_dir(old))
		return false;
	switch (p->copy->skip) {
	case COPY_UPDATE:
		return !is_older(&old->stat, &m->source->stat);
	case COPY_IGNORE_EXISTING:
		return true;
	case COPY_CHECKSUM:
		return tree_same_content(old, m->source);
	default:
		return false;
	}
}

static bool has_rivals(const struct plan *p, const struct mapping *m)
{
	for (unsigned int i = 0; i < p->count; i++)
		if (p->mappings[i].source != m->source && strcmp(p->mappings[i].path, m->path) == 0)
			return true;
	return false;
}

static void judge_attributes(const struct plan *p, const struct mapping *m, const struct tree_entry *now)
{
	const struct stat *a = &now->stat, *b = &m->source->stat;

	if (!p->copy->preserve || has_rivals(p, m)) /* of directories that become one, the last says */
		return;
	if (!S_ISLNK(a->st_mode))
		RULE(p, ((a->st_mode ^ b->st_mode) & 0777) == 0, m->path);
	if (!S_ISLNK(a->st_mode) || p->copy->archive)
		RULE(p, a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec, m->path);
}

static void judge_links(const struct plan *p, const struct mapping *m, const struct tree_entry *now)
{
	for (unsigned int i = 0; i < p->count && p->copy->archive; i++) {
		const struct mapping *other = &p->mappings[i];
		const struct tree_entry *e = tree_find(&p->copy->destination_after, other->path);

		if (other->source == m->source || other->source->stat.st_ino != m->source->stat.st_ino ||
		    is_dir(m->source) || may_skip(p, other) || has_rivals(p, other))
			continue;
		RULE(p, e && e->stat.st_ino == now->stat.st_ino, other->path);
	}
}

static void judge_mapping(const struct plan *p, const struct mapping *m)
{
	const struct tree_entry *now = tree_find(&p->copy->destination_after, m->path);
	const struct tree_entry *source = tree_find(&p->copy->source_after, m->source->path);

	RULE(p, now, m->path);
	/* two sources for one name: one of them failed */
	RULE(p, is_dir(m->source) || p->copy->skip || !has_rivals(p, m), m->path);
	if (may_skip(p, m))
		return;
	RULE(p, tree_same_content(now, m->source), m->path);
	judge_attributes(p, m, now);
	if (p->copy->operand_count == 1)
		judge_links(p, m, now);
	if (p->copy->remove_sources && !is_dir(m->source))
		RULE(p, !source, m->source->path);
}

void copy_judge(const struct copy *c)
{
	struct plan p;

	make_plan(&p, c);
	for (unsigned int i = 0; i < c->destination_after.count; i++)
		judge_present(&p, &c->destination_after.entries[i]);
	for (unsigned int i = 0; i < c->destination.count; i++)
		judge_old(&p, &c->destination.entries[i]);
	for (unsigned int i = 0; i < c->source.count; i++)
		judge_source(&p, &c->source.entries[i]);
	if (c->dry_run)
		RULE(&p, c->destination_after.count == c->destination.count, "");
	if (c->code != 0 || c->dry_run || c->filtered || p.loose)
		return;
	RULE(&p, !p.bad, "");
	for (unsigned int i = 0; i < p.count; i++)
		judge_mapping(&p, &p.mappings[i]);
}
