/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A directory with a configuration, for the tests of config.c: two exports ('a', 'b'), two key files ('one.key', 'two.key')
 * and 'rdcpd.conf'. The '@' of a '@/' in a text stands for that directory. Use conf_setup() and conf_teardown() as the
 * fixture of each test.
 */
#ifndef RDCP_TEST_CONF_DIR_H
#define RDCP_TEST_CONF_DIR_H

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "common/cleanup.h"
#include "common/key.h"
#include "common/util.h"
#include "rdcpd/config.h"

static char dir[256];
static char conf[300];

/* What was said in the last load. */
static struct {
	char text[16384]; /* a line each */
	unsigned int errors, warnings;
} said;

static inline void say(void *owner, int level, const char *text)
{
	size_t n = strlen(said.text);

	ck_assert_ptr_eq(owner, &said);
	ck_assert(level == LOG_ERR || level == LOG_WARNING);
	said.errors += level == LOG_ERR;
	said.warnings += level == LOG_WARNING;
	snprintf(said.text + n, sizeof(said.text) - n, "%s\n", text);
}

/* `text` with each '@/' replaced; freed by the caller. */
static char *expand(const char *text)
{
	char *out = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	ck_assert_ptr_nonnull(f);
	for (; *text; text++) {
		if (text[0] == '@' && text[1] == '/')
			fputs(dir, f);
		else
			fputc(*text, f);
	}
	fclose(f);
	return out;
}

static inline void put_bytes(const char *name, const void *bytes, size_t len)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

static inline void put(const char *name, const char *text)
{
	_cleanup_free_ char *bytes = expand(text);

	put_bytes(name, bytes, strlen(bytes));
}

static inline void make_dir(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

static inline void conf_setup(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[300];

	snprintf(dir, sizeof(dir), "%s/rdcp-config.XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(conf, sizeof(conf), "%s/rdcpd.conf", dir);
	make_dir("a");
	make_dir("b");
	snprintf(path, sizeof(path), "%s/one.key", dir);
	ck_assert_int_eq(key_generate(path), 0);
	snprintf(path, sizeof(path), "%s/two.key", dir);
	ck_assert_int_eq(key_generate(path), 0);
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void conf_teardown(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int load(struct config **ret)
{
	memset(&said, 0, sizeof(said));
	return config_load(conf, say, &said, ret);
}

static inline struct config *load_good(const char *text)
{
	struct config *c = NULL;
	int err;

	put("rdcpd.conf", text);
	err = load(&c);
	ck_assert_msg(!err, "%s: %s", strerror(-err), said.text);
	ck_assert_uint_eq(said.errors, 0);
	return c;
}

/* The load fails, and one of the lines said is exactly this. */
static inline void expect_said(const char *line)
{
	struct config *c = (struct config *)&said;
	_cleanup_free_ char *want = expand(line);
	size_t len = strlen(want);
	const char *p;

	ck_assert_int_eq(load(&c), -EINVAL);
	ck_assert_ptr_eq(c, &said); /* untouched */
	ck_assert_uint_gt(said.errors, 0);
	for (p = said.text; (p = strstr(p, want)); p++)
		if ((p == said.text || p[-1] == '\n') && p[len] == '\n')
			return;
	ck_abort_msg("not said: %s\nbut: %s", want, said.text);
}

/* As above, and nothing else was wrong. */
static inline void expect_only(const char *text, const char *line)
{
	put("rdcpd.conf", text);
	expect_said(line);
	ck_assert_msg(said.errors == 1, "%s", said.text);
}

#define EXPORT "[export a]\npath = @/a\n"
#define CLIENT "[client one]\nkey-file = @/one.key\n"
#define GOOD "[daemon]\nauth = key\n" EXPORT CLIENT
#define OPEN "[daemon]\nauth = none\n" EXPORT
#define DAEMON(line) "[daemon]\nauth = none\n" line "\n" EXPORT

#endif
