/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The meaning of rdcpd.conf. main.c loads one configuration before anything else starts; access.c and the
 * sessions read it.
 *
 *   config_load: config_tree_read (form) -> apply_sections (one value at a time, through the tables below)
 *                -> config_check (what belongs together; files and directories)
 *
 * Every step reports what is wrong and goes on, so that one run shows all of it; only a lack of memory or
 * an unreadable file ends the loading early. The loader owns the tree and the half-built configuration.
 */
#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "common/cleanup.h"
#include "common/slab.h"
#include "common/util.h"
#include "config.h"
#include "config_check.h"
#include "config_parse.h"
#include "config_value.h"

#define SESSIONS_MAX 4096
#define RATE_MIN (64 << 10)
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-"

/* ---- one value: the tables -------------------------------------------------------------------------------------- */

/* How a key of a section is read into the struct of that section. */
struct setting {
	const char *key;
	int (*read)(const struct setting *s, const char *value, void *field, struct config_why *why);
	size_t offset;
	uint64_t min, max; /* in the unit of the field */
};

static int read_count(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	uint64_t n;
	int err = config_value_count(value, s->min, s->max, &n, why);

	if (!err)
		*(unsigned int *)field = (unsigned int)n;
	return err;
}

static int read_size(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return config_value_size(value, s->min, s->max, field, why);
}

static int read_time(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return config_value_time(value, s->min, s->max, field, why);
}

static int read_time_or_never(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	if (strcmp(value, "0"))
		return read_time(s, value, field, why);
	*(uint64_t *)field = 0;
	return 0;
}

/* A size that must be a power of two, kept as its exponent. */
static int read_log2(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	uint64_t n;
	int err = config_value_size(value, s->min, s->max, &n, why);

	if (err < 0)
		return err;
	if (!is_power_of_two(n)) {
		snprintf(why->text, sizeof(why->text), "'%.60s' is not a power of two", value);
		return -EINVAL;
	}
	*(unsigned int *)field = log2_floor(n);
	return 0;
}

/* One of two words. */
static int read_word(const char *value, const char *no, const char *yes, bool *ret, struct config_why *why)
{
	if (strcmp(value, no) && strcmp(value, yes)) {
		snprintf(why->text, sizeof(why->text), "'%.60s' is neither '%s' nor '%s'", value, no, yes);
		return -EINVAL;
	}
	*ret = !strcmp(value, yes);
	return 0;
}

static int read_auth(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	bool none;
	int err = read_word(value, "key", "none", &none, why);

	if (!err)
		*(enum config_auth *)field = none ? CONFIG_AUTH_NONE : CONFIG_AUTH_KEY;
	return err;
}

static int read_transport(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	bool tcp;
	int err = read_word(value, "rdma", "tcp", &tcp, why);

	if (!err)
		*(const char **)field = tcp ? "tcp" : "rdma";
	return err;
}

static int read_access(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return read_word(value, "read-only", "read-write", field, why);
}

static int read_yes(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return read_word(value, "no", "yes", field, why);
}

static int read_listen(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	struct config *c = container_of(field, struct config, listen);
	struct config_address *list;
	size_t count;
	int err = config_value_listen(value, &list, &count, why);

	if (err < 0)
		return err;
	free(c->listen);
	c->listen = list;
	c->listen_count = count;
	return 0;
}

static int set_text(void *field, char *text)
{
	if (!text)
		return -ENOMEM;
	free(*(char **)field);
	*(char **)field = text;
	return 0;
}

static int read_path(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	char *path = NULL;
	int err = config_value_path(value, &path, why);

	return err < 0 ? err : set_text(field, path);
}

/* "none" is "". */
static int read_path_or_none(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return strcmp(value, "none") ? read_path(s, value, field, why) : set_text(field, strdup(""));
}

static int read_text(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return set_text(field, strdup(value));
}

/* Lists that need more than themselves, or whose items are findings of their own: config_check() reads them. */
static int read_later(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return 0;
}

static const struct setting daemon_settings[] = {
	{ "listen", read_listen, offsetof(struct config, listen), 0, 0 },
	{ "auth", read_auth, offsetof(struct config, auth), 0, 0 },
	{ "transport", read_transport, offsetof(struct config, transport), 0, 0 },
	{ "max-sessions", read_count, offsetof(struct config, max_sessions), 1, SESSIONS_MAX },
	{ "max-pinned", read_size, offsetof(struct config, max_pinned), MIB, 1024 * 1024 * GIB },
	{ "session-memory", read_size, offsetof(struct config, session_memory), MIB, 1024 * GIB },
	{ "handshake-timeout", read_time, offsetof(struct config, handshake_timeout), 100 * MSEC, 600 * SEC },
	{ "idle-timeout", read_time, offsetof(struct config, idle_timeout), SEC, 86400 * SEC },
	{ "max-slot-size", read_log2, offsetof(struct config, slot_log2), 1 << SLAB_MIN_SLOT_LOG2,
	  1 << SLAB_MAX_SLOT_LOG2 },
	{ "max-slots", read_log2, offsetof(struct config, slots_log2), 1, 1 << SLAB_MAX_SLOTS_LOG2 },
	{ "io-threads", read_count, offsetof(struct config, io_threads), 1, 64 },
	{ "partial-age", read_time_or_never, offsetof(struct config, partial_age), SEC, 3650 * 86400 * SEC },
	{ "metrics-file", read_path, offsetof(struct config, metrics_file), 0, 0 },
	{ "log-files", read_yes, offsetof(struct config, log_files), 0, 0 },
	{ "status-socket", read_path_or_none, offsetof(struct config, status_socket), 0, 0 },
	{ NULL, NULL, 0, 0, 0 }
};

static const struct setting export_settings[] = { { "path", read_path, offsetof(struct config_export, path), 0, 0 },
						  { "access", read_access, offsetof(struct config_export, writable), 0,
						    0 },
						  { "setuid", read_yes, offsetof(struct config_export, setuid), 0, 0 },
						  { NULL, NULL, 0, 0, 0 } };

static const struct setting client_settings[] = {
	{ "key-file", read_later, 0, 0, 0 },
	{ "exports", read_later, 0, 0, 0 },
	{ "addresses", read_later, 0, 0, 0 },
	{ "access", read_access, offsetof(struct config_client, writes), 0, 0 },
	{ "max-sessions", read_count, offsetof(struct config_client, max_sessions), 1, SESSIONS_MAX },
	{ "max-rate", read_size, offsetof(struct config_client, max_rate), RATE_MIN, 1024 * GIB },
	{ "user", read_text, offsetof(struct config_client, user), 0, 0 },
	{ NULL, NULL, 0, 0, 0 }
};

/* What it replaces comes first, so that a mistake in there is found, too. */
static int apply_entry(struct config_loader *l, const struct config_entry *e, const char *kind,
		       const struct setting *settings, void *target)
{
	const struct setting *s = settings;
	struct config_why why;
	int err = e->replaced ? apply_entry(l, e->replaced, kind, settings, target) : 0;

	if (err < 0)
		return err;
	while (s->key && strcmp(s->key, e->key))
		s++;
	if (!s->key) {
		config_complain(&l->report, LOG_ERR, &e->at, "unknown key '%s' in [%s]", e->key, kind);
		return 0;
	}
	err = s->read(s, e->value, (char *)target + s->offset, &why);
	if (err < 0 && err != -ENOMEM)
		config_complain(&l->report, LOG_ERR, &e->at, "%s: %s", e->key, why.text);
	return err == -ENOMEM ? err : 0;
}

static int apply_settings(struct config_loader *l, const struct config_section *section, const struct setting *settings,
			  void *target)
{
	int err = 0;

	for (const struct config_entry *e = section->entries; e && !err; e = e->next)
		err = apply_entry(l, e, section->kind, settings, target);
	return err;
}

/* ---- sections into structs -------------------------------------------------------------------------------------- */

bool config_name_is_good(const char *name)
{
	return *name && strlen(name) <= CONFIG_NAME_MAX && !name[strspn(name, NAME_BYTES)];
}

/* The name becomes the struct's also when it is wrong, so that later findings have something to call it. */
static int take_name(struct config_loader *l, const struct config_section *s, char **ret_name)
{
	if (!*s->name)
		config_complain(&l->report, LOG_ERR, &s->at, "[%s] without a name: write [%s NAME]", s->kind, s->kind);
	else if (strlen(s->name) > CONFIG_NAME_MAX)
		config_complain(&l->report, LOG_ERR, &s->at, "a name of %zu bytes is too long, at most %d",
				strlen(s->name), CONFIG_NAME_MAX);
	else if (!config_name_is_good(s->name))
		config_complain(&l->report, LOG_ERR, &s->at,
				"the name '%s' has bytes other than letters, digits and '._@-' in it", s->name);
	*ret_name = strdup(s->name);
	return *ret_name ? 0 : -ENOMEM;
}

static int apply_export(struct config_loader *l, const struct config_section *s)
{
	struct config *c = l->config;
	struct config_export *e = reallocarray(c->exports, c->export_count + 1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	c->exports = e;
	e += c->export_count++;
	*e = (struct config_export){ 0 };
	err = take_name(l, s, &e->name);
	return err < 0 ? err : apply_settings(l, s, export_settings, e);
}

static int apply_client(struct config_loader *l, const struct config_section *s)
{
	struct config *c = l->config;
	struct config_client *e = reallocarray(c->clients, c->client_count + 1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	c->clients = e;
	e += c->client_count++;
	*e = (struct config_client){ .writes = true, .max_sessions = SESSIONS_MAX };
	err = take_name(l, s, &e->name);
	return err < 0 ? err : apply_settings(l, s, client_settings, e);
}

static int apply_daemon(struct config_loader *l, const struct config_section *s)
{
	if (*s->name)
		config_complain(&l->report, LOG_ERR, &s->at, "[daemon] takes no name");
	return apply_settings(l, s, daemon_settings, l->config);
}

static int apply_sections(struct config_loader *l)
{
	int err = 0;

	for (const struct config_section *s = l->tree.sections; s && !err; s = s->next) {
		if (!strcmp(s->kind, "daemon"))
			err = apply_daemon(l, s);
		else if (!strcmp(s->kind, "export"))
			err = apply_export(l, s);
		else if (!strcmp(s->kind, "client"))
			err = apply_client(l, s);
		else
			config_complain(&l->report, LOG_ERR, &s->at,
					"unknown section [%s]: there are [daemon], [export NAME] and [client NAME]",
					s->kind);
	}
	return err;
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

static struct config *config_new(void)
{
	struct config *c = calloc(1, sizeof(*c));
	struct config_why why;

	if (!c)
		return NULL;
	c->references = 1;
	c->transport = "rdma";
	c->max_sessions = 32;
	c->max_pinned = 2 * GIB;
	c->session_memory = 256 * MIB;
	c->handshake_timeout = 10 * SEC;
	c->idle_timeout = 60 * SEC;
	c->slot_log2 = 20;
	c->slots_log2 = 6;
	c->io_threads = 4;
	c->partial_age = 7 * 86400 * SEC;
	if (config_value_listen("*", &c->listen, &c->listen_count, &why) < 0)
		return config_unref(c);
	return c;
}

int config_load(const char *path, config_say say, void *owner, struct config **ret_config)
{
	struct config_loader l = { .report = { .say = say, .owner = owner }, .config = config_new() };
	int err = -ENOMEM;

	if (l.config)
		err = config_tree_read(&l.tree, path, &l.report);
	if (!err)
		err = config_tree_read_drop_ins(&l.tree, path, &l.report);
	if (!err)
		err = apply_sections(&l);
	if (!err)
		err = config_check(&l, path);
	if (!err && l.report.errors)
		err = -EINVAL;
	config_tree_done(&l.tree);
	if (err < 0) {
		config_unref(l.config);
		return err;
	}
	*ret_config = l.config;
	return 0;
}

int config_find_status_socket(const char *path, char **ret_socket)
{
	struct config_tree tree = { 0 };
	struct config_report report = { 0 };
	const struct config_section *s;
	const struct config_entry *e = NULL;
	struct config_why why;
	int err = config_tree_read(&tree, path, &report);

	if (!err)
		err = config_tree_read_drop_ins(&tree, path, &report);
	for (s = tree.sections; !err && s && !e; s = s->next)
		if (!strcmp(s->kind, "daemon"))
			e = config_section_find(s, "status-socket");
	if (!err && e && !strcmp(e->value, "none"))
		err = -ENODATA;
	if (!err)
		err = config_value_path(e ? e->value : CONFIG_STATUS_SOCKET, ret_socket, &why);
	config_tree_done(&tree);
	return err;
}

const struct config_client *config_client(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->client_count; i++)
		if (!strcmp(c->clients[i].name, name))
			return &c->clients[i];
	return NULL;
}

struct config *config_ref(struct config *c)
{
	__atomic_add_fetch(&c->references, 1, __ATOMIC_RELAXED);
	return c;
}

struct config *config_unref(struct config *c)
{
	if (!c || __atomic_sub_fetch(&c->references, 1, __ATOMIC_ACQ_REL))
		return NULL;
	for (size_t i = 0; i < c->export_count; i++) {
		free(c->exports[i].name);
		free(c->exports[i].path);
	}
	for (size_t i = 0; i < c->client_count; i++) {
		for (size_t k = 0; k < c->clients[i].key_count; k++) {
			key_wipe(&c->clients[i].keys[k].key);
			free(c->clients[i].keys[k].file);
		}
		free(c->clients[i].keys);
		free(c->clients[i].name);
		free(c->clients[i].exports);
		free(c->clients[i].ranges);
		free(c->clients[i].user);
		identity_done(&c->clients[i].identity);
	}
	free(c->exports);
	free(c->clients);
	free(c->everything);
	free(c->listen);
	free(c->status_socket);
	free(c->metrics_file);
	free(c);
	return NULL;
}
