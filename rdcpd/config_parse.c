/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Files into a tree of sections and keys, each with its place. config.c reads one tree for one load, takes
 * what it needs and drops it. The tree owns all text. A line that cannot be read is reported and skipped;
 * only a file that cannot be read at all, or a lack of memory, ends the reading.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "common/cleanup.h"
#include "common/util.h"
#include "config_parse.h"

#define FILE_MAX MIB
#define SPACES " \t\r\n"

/* Where the reader stands. */
struct reader {
	struct config_tree *tree;
	struct config_report *report;
	struct config_place at;
	struct config_section *section; /* that keys belong to now */
	bool skip;                      /* the section's head was wrong: its keys say nothing */
};

void config_complain(struct config_report *r, int level, const struct config_place *at, const char *fmt, ...)
{
	char text[2048];
	size_t n;
	va_list ap;

	if (level <= LOG_ERR)
		r->errors++;
	if (at->line)
		snprintf(text, sizeof(text), "%s:%u: ", at->file, at->line);
	else
		snprintf(text, sizeof(text), "%s: ", at->file);
	n = strlen(text);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	if (r->say)
		r->say(r->owner, level, text);
}

const struct config_entry *config_section_find(const struct config_section *s, const char *key)
{
	for (const struct config_entry *e = s->entries; e; e = e->next)
		if (!strcmp(e->key, key))
			return e;
	return NULL;
}

/* Places of one file share the pointer to its name. */
static bool same_file(const struct reader *r, const struct config_place *at)
{
	return at->file == r->at.file;
}

static int add_section(struct reader *r, const char *kind, const char *name)
{
	struct config_section **end = &r->tree->sections, *s;

	for (; *end; end = &(*end)->next)
		if (!strcmp((*end)->kind, kind) && !strcmp((*end)->name, name))
			break;
	s = *end;
	if (s && same_file(r, &s->last)) {
		config_complain(r->report, LOG_ERR, &r->at, "section [%s%s%s] is there already, in line %u", kind,
				*name ? " " : "", name, s->last.line);
		r->skip = true;
		return 0;
	}
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		*end = s; /* half-built is fine: the tree frees it */
		s->at = r->at;
		s->kind = strdup(kind);
		s->name = strdup(name);
		if (!s->kind || !s->name)
			return -ENOMEM;
	}
	s->last = r->at;
	r->section = s;
	return 0;
}

/* '[KIND NAME]', with `line` behind the bracket. */
static int read_section(struct reader *r, char *line)
{
	char *end = strchr(line, ']');
	char *kind, *name;

	r->section = NULL;
	r->skip = true;
	if (!end || end[1]) {
		config_complain(r->report, LOG_ERR, &r->at,
				end ? "text after the ']' of a section" : "a section without ']'");
		return 0;
	}
	*end = '\0';
	kind = line + strspn(line, SPACES);
	name = kind + strcspn(kind, SPACES);
	if (*name)
		*name++ = '\0';
	name += strspn(name, SPACES);
	for (end = name + strlen(name); end > name && strchr(SPACES, end[-1]); end--)
		end[-1] = '\0';
	if (!*kind) {
		config_complain(r->report, LOG_ERR, &r->at, "a section without a name");
		return 0;
	}
	r->skip = false;
	return add_section(r, kind, name);
}

static int add_entry(struct reader *r, const char *key, const char *value)
{
	struct config_entry **end = &r->section->entries, *old, *e;

	for (; *end && strcmp((*end)->key, key); end = &(*end)->next)
		;
	old = *end;
	if (old && same_file(r, &old->at)) {
		config_complain(r->report, LOG_ERR, &r->at, "'%s' is there already, in line %u", key, old->at.line);
		return 0;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	*end = e; /* half-built is fine: the tree frees it */
	e->at = r->at;
	e->key = strdup(key);
	e->value = strdup(value);
	if (old) {
		e->next = old->next;
		e->replaced = old;
		old->next = NULL;
	}
	return e->key && e->value ? 0 : -ENOMEM;
}

/* 'KEY = VALUE', no white space around it. */
static int read_entry(struct reader *r, char *line)
{
	char *equals = strchr(line, '=');
	char *end;

	if (r->skip)
		return 0;
	if (!equals || equals == line) {
		config_complain(r->report, LOG_ERR, &r->at, "neither '[SECTION]' nor 'KEY = VALUE'");
		return 0;
	}
	for (end = equals; end > line && strchr(SPACES, end[-1]); end--)
		;
	*end = '\0';
	equals++;
	equals += strspn(equals, SPACES);
	if (!r->section) {
		config_complain(r->report, LOG_ERR, &r->at, "'%s' stands before any [SECTION]", line);
		return 0;
	}
	if (!*equals) {
		config_complain(r->report, LOG_ERR, &r->at, "'%s' has no value", line);
		return 0;
	}
	return add_entry(r, line, equals);
}

static int read_line(struct reader *r, char *line, size_t len)
{
	while (len && strchr(SPACES, line[len - 1]))
		line[--len] = '\0';
	for (size_t i = 0; i < len; i++) {
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f) {
			config_complain(r->report, LOG_ERR, &r->at, "a control character in column %zu", i + 1);
			return 0;
		}
	}
	line += strspn(line, SPACES);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	if (*line == '[')
		return read_section(r, line + 1);
	return read_entry(r, line);
}

static int open_file(const char *path, FILE **ret_file)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	/* a FIFO in place of the file must not hold up the start */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > (off_t)FILE_MAX)
		return -EFBIG;
	*ret_file = fdopen(fd, "r");
	if (!*ret_file)
		return -errno;
	fd = -1; /* the FILE's now */
	return 0;
}

static int read_lines(struct reader *r, FILE *file)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int err = 0;

	while (!err) {
		errno = 0;
		n = getline(&line, &size, file);
		if (n < 0)
			return ferror(file) || errno ? -(errno ? errno : EIO) : 0;
		r->at.line++;
		err = read_line(r, line, (size_t)n);
	}
	return err;
}

int config_tree_read(struct config_tree *t, const char *path, struct config_report *report)
{
	struct config_file *name = calloc(1, sizeof(*name));
	struct reader r = { .tree = t, .report = report, .at.file = path };
	FILE *file = NULL;
	int err = -ENOMEM;

	if (name)
		name->path = strdup(path);
	if (name && name->path) {
		r.at.file = name->path;
		name->next = t->files;
		t->files = name;
		err = open_file(path, &file);
	} else {
		free(name);
	}
	if (file) {
		err = read_lines(&r, file);
		fclose(file);
	}
	if (err < 0) {
		r.at.line = 0;
		config_complain(report, LOG_ERR, &r.at, "cannot be read: %s",
				err == -EINVAL ? "not a regular file" : strerror(-err));
	}
	return err;
}

static int is_drop_in(const struct dirent *d)
{
	size_t len = strlen(d->d_name), suffix = strlen(".conf");

	return d->d_name[0] != '.' && len > suffix && !strcmp(d->d_name + len - suffix, ".conf");
}

/* Not alphasort(3): the order must not depend on a locale. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int config_tree_read_drop_ins(struct config_tree *t, const char *path, struct config_report *report)
{
	_cleanup_free_ char *dir = NULL;
	struct dirent **names = NULL;
	int n, err = 0;

	if (asprintf(&dir, "%s.d", path) < 0) {
		dir = NULL;
		return -ENOMEM;
	}
	n = scandir(dir, &names, is_drop_in, by_bytes);
	if (n < 0) {
		const struct config_place at = { dir, 0 };

		err = -errno;
		if (err == -ENOENT)
			return 0;
		config_complain(report, LOG_ERR, &at, "cannot be read: %s", strerror(-err));
		return err;
	}
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *file = NULL;

		if (!err && asprintf(&file, "%s/%s", dir, names[i]->d_name) < 0) {
			file = NULL;
			err = -ENOMEM;
		}
		if (!err)
			err = config_tree_read(t, file, report);
		free(names[i]);
	}
	free(names);
	return err;
}

static void free_entries(struct config_entry *e)
{
	while (e) {
		struct config_entry *next = e->next;

		free_entries(e->replaced);
		free(e->key);
		free(e->value);
		free(e);
		e = next;
	}
}

void config_tree_done(struct config_tree *t)
{
	while (t->sections) {
		struct config_section *s = t->sections;

		t->sections = s->next;
		free_entries(s->entries);
		free(s->kind);
		free(s->name);
		free(s);
	}
	while (t->files) {
		struct config_file *f = t->files;

		t->files = f->next;
		free(f->path);
		free(f);
	}
}
