/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The meaning of rdcpd.conf. main.c loads one configuration before anything else starts; access.c and the
 * sessions read it.
 *
 *   config_load: config_tree_read (form) -> apply_sections (one value at a time, through the tables below)
 *                -> check_daemon, check_export, check_client (what belongs together; files and directories)
 *
 * Every step reports what is wrong and goes on, so that one run shows all of it; only a lack of memory or
 * an unreadable file ends the loading early. The loader owns the tree and the half-built configuration.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "common/cleanup.h"
#include "common/slab.h"
#include "common/util.h"
#include "config.h"
#include "config_parse.h"
#include "config_value.h"

#define NAME_LEN_MAX 255
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-"

struct loader {
	struct config_tree tree;
	struct config_report report;
	struct config *config;
};

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

static int read_path(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return config_value_path(value, field, why);
}

/* The names can only be looked up when all exports are known: check_client() does. */
static int read_later(const struct setting *s, const char *value, void *field, struct config_why *why)
{
	return 0;
}

static const struct setting daemon_settings[] = {
	{ "listen", read_listen, offsetof(struct config, listen), 0, 0 },
	{ "auth", read_auth, offsetof(struct config, auth), 0, 0 },
	{ "transport", read_transport, offsetof(struct config, transport), 0, 0 },
	{ "max-sessions", read_count, offsetof(struct config, max_sessions), 1, 4096 },
	{ "max-pinned", read_size, offsetof(struct config, max_pinned), MIB, 1024 * 1024 * GIB },
	{ "handshake-timeout", read_time, offsetof(struct config, handshake_timeout), 100 * MSEC, 600 * SEC },
	{ "idle-timeout", read_time, offsetof(struct config, idle_timeout), SEC, 86400 * SEC },
	{ "max-slot-size", read_log2, offsetof(struct config, slot_log2), 1 << SLAB_MIN_SLOT_LOG2,
	  1 << SLAB_MAX_SLOT_LOG2 },
	{ "max-slots", read_log2, offsetof(struct config, slots_log2), 1, 1 << SLAB_MAX_SLOTS_LOG2 },
	{ "io-threads", read_count, offsetof(struct config, io_threads), 1, 64 },
	{ NULL, NULL, 0, 0, 0 }
};

static const struct setting export_settings[] = { { "path", read_path, offsetof(struct config_export, path), 0, 0 },
						  { "access", read_access, offsetof(struct config_export, writable), 0,
						    0 },
						  { NULL, NULL, 0, 0, 0 } };

static const struct setting client_settings[] = { { "key-file", read_path, offsetof(struct config_client, key_file), 0,
						    0 },
						  { "exports", read_later, 0, 0, 0 },
						  { NULL, NULL, 0, 0, 0 } };

static int apply_settings(struct loader *l, const struct config_section *section, const struct setting *settings,
			  void *target)
{
	for (const struct config_entry *e = section->entries; e; e = e->next) {
		const struct setting *s = settings;
		struct config_why why;
		int err;

		while (s->key && strcmp(s->key, e->key))
			s++;
		if (!s->key) {
			config_complain(&l->report, LOG_ERR, &e->at, "unknown key '%s' in [%s]", e->key, section->kind);
			continue;
		}
		err = s->read(s, e->value, (char *)target + s->offset, &why);
		if (err == -ENOMEM)
			return err;
		if (err < 0)
			config_complain(&l->report, LOG_ERR, &e->at, "%s: %s", e->key, why.text);
	}
	return 0;
}

/* ---- sections into structs -------------------------------------------------------------------------------------- */

/* The name becomes the struct's also when it is wrong, so that later findings have something to call it. */
static int take_name(struct loader *l, const struct config_section *s, char **ret_name)
{
	if (!*s->name)
		config_complain(&l->report, LOG_ERR, &s->at, "[%s] without a name: write [%s NAME]", s->kind, s->kind);
	else if (strlen(s->name) > NAME_LEN_MAX)
		config_complain(&l->report, LOG_ERR, &s->at, "a name of %zu bytes is too long, at most %d",
				strlen(s->name), NAME_LEN_MAX);
	else if (s->name[strspn(s->name, NAME_BYTES)])
		config_complain(&l->report, LOG_ERR, &s->at,
				"the name '%s' has bytes other than letters, digits and '._@-' in it", s->name);
	*ret_name = strdup(s->name);
	return *ret_name ? 0 : -ENOMEM;
}

static int apply_export(struct loader *l, const struct config_section *s)
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

static int apply_client(struct loader *l, const struct config_section *s)
{
	struct config *c = l->config;
	struct config_client *e = calloc(c->client_count + 1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	/* no realloc: it would leave keys behind in freed memory */
	if (c->client_count)
		memcpy(e, c->clients, c->client_count * sizeof(*e));
	free(c->clients);
	c->clients = e;
	e += c->client_count++;
	err = take_name(l, s, &e->name);
	return err < 0 ? err : apply_settings(l, s, client_settings, e);
}

static int apply_daemon(struct loader *l, const struct config_section *s)
{
	if (*s->name)
		config_complain(&l->report, LOG_ERR, &s->at, "[daemon] takes no name");
	return apply_settings(l, s, daemon_settings, l->config);
}

static int apply_sections(struct loader *l)
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

/* ---- what belongs together -------------------------------------------------------------------------------------- */

static const struct config_section *find_section(const struct loader *l, const char *kind)
{
	const struct config_section *s = l->tree.sections;

	while (s && strcmp(s->kind, kind))
		s = s->next;
	return s;
}

static void check_daemon(struct loader *l, const char *path)
{
	const struct config_section *section = find_section(l, "daemon"), *client = find_section(l, "client");
	const struct config_entry *auth = section ? config_section_find(section, "auth") : NULL;
	const struct config_place start = { path, 1 };
	const struct config_place *at = auth ? &auth->at : section ? &section->at : &start;
	const struct config *c = l->config;

	if (!auth)
		config_complain(
			&l->report, LOG_ERR, at,
			"[daemon] does not say who may connect: write 'auth = key' and a [client NAME] section with a "
			"key-file for each client, or 'auth = none' to let everybody in");
	if (c->auth == CONFIG_AUTH_KEY && !client)
		config_complain(
			&l->report, LOG_ERR, at,
			"auth = key, but there is no [client NAME] section with a key-file: nobody could connect");
	if (c->auth == CONFIG_AUTH_NONE && client)
		config_complain(
			&l->report, LOG_WARNING, &client->at,
			"auth = none lets everybody use every export, so [client] sections change nothing, ignoring");
	if (!c->export_count)
		config_complain(&l->report, LOG_ERR, &start,
				"no [export NAME] section: there is nothing to copy from or to");
}

static void check_export(struct loader *l, const struct config_section *s, const struct config_export *e)
{
	const struct config_entry *path = config_section_find(s, "path");
	struct stat st;

	if (!path) {
		config_complain(&l->report, LOG_ERR, &s->at, "export '%s' has no 'path'", e->name);
		return;
	}
	if (!e->path)
		return; /* said already */
	if (stat(e->path, &st) < 0)
		config_complain(&l->report, LOG_ERR, &path->at, "export '%s': '%s': %s", e->name, e->path,
				strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		config_complain(&l->report, LOG_ERR, &path->at, "export '%s': '%s' is not a directory", e->name,
				e->path);
}

static const struct config_export *find_export(const struct config *c, const char *name, size_t len)
{
	for (size_t i = 0; i < c->export_count; i++)
		if (strlen(c->exports[i].name) == len && !memcmp(c->exports[i].name, name, len))
			return &c->exports[i];
	return NULL;
}

/* Two exports of one client with one path: whether it may write would be a matter of luck. */
static void check_paths_differ(struct loader *l, const struct config_place *at, const char *who,
			       const struct config_export *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (list[i]->path && list[k]->path && !strcmp(list[i]->path, list[k]->path))
				config_complain(&l->report, LOG_ERR, at, "%s has '%s' twice, as exports '%s' and '%s'",
						who, list[i]->path, list[k]->name, list[i]->name);
}

static void add_client_export(struct loader *l, const struct config_entry *e, struct config_client *client,
			      const char *name, size_t len)
{
	const struct config_export *export = find_export(l->config, name, len);

	if (!export) {
		config_complain(&l->report, LOG_ERR, &e->at, "client '%s': there is no [export %.*s]", client->name,
				(int)len, name);
		return;
	}
	for (size_t i = 0; i < client->export_count; i++) {
		if (client->exports[i] == export) {
			config_complain(&l->report, LOG_ERR, &e->at, "client '%s': export '%s' is there twice",
					client->name, export->name);
			return;
		}
	}
	client->exports[client->export_count++] = export;
}

static int check_client_exports(struct loader *l, const struct config_section *s, struct config_client *client)
{
	const struct config_entry *e = config_section_find(s, "exports");
	const struct config *c = l->config;
	const char *text, *item;
	char who[NAME_LEN_MAX + 16];
	size_t len;

	client->exports = calloc(c->export_count + 1, sizeof(struct config_export *));
	if (!client->exports)
		return -ENOMEM;
	snprintf(who, sizeof(who), "client '%s'", client->name);
	if (!e) {
		memcpy(client->exports, c->everything, c->export_count * sizeof(struct config_export *));
		client->export_count = c->export_count;
	} else {
		for (text = e->value; (len = config_value_item(&text, &item));)
			add_client_export(l, e, client, item, len);
		if (!client->export_count)
			config_complain(&l->report, LOG_ERR, &e->at, "client '%s' may use no export", client->name);
	}
	check_paths_differ(l, e ? &e->at : &s->at, who, client->exports, client->export_count);
	return 0;
}

/* Keys are compared with those of the clients before it: a proof has to name one client. */
static void check_client_key(struct loader *l, const struct config_section *s, struct config_client *client)
{
	const struct config_entry *e = config_section_find(s, "key-file");
	const struct config *c = l->config;
	char why[1024] = "";
	int err;

	if (!e) {
		config_complain(&l->report, LOG_ERR, &s->at, "client '%s' has no 'key-file'", client->name);
		return;
	}
	if (!client->key_file)
		return;
	err = key_load(client->key_file, &client->key, why, sizeof(why));
	if (err < 0) {
		config_complain(&l->report, LOG_ERR, &e->at, "client '%s': %s", client->name,
				*why ? why : strerror(-err));
		free(client->key_file);
		client->key_file = NULL; /* it has no key to compare with */
		return;
	}
	for (const struct config_client *o = c->clients; o < client; o++)
		if (o->key_file && key_proof_equal(o->key.bytes, client->key.bytes))
			config_complain(&l->report, LOG_ERR, &e->at, "client '%s' has the same key as client '%s'",
					client->name, o->name);
}

/* Sections and structs are in the same order. */
static int check_sections(struct loader *l, const char *path)
{
	struct config *c = l->config;
	const struct config_section *first = find_section(l, "export");
	struct config_export *export = c->exports;
	struct config_client *client = c->clients;
	int err = 0;

	c->everything = calloc(c->export_count + 1, sizeof(struct config_export *));
	if (!c->everything)
		return -ENOMEM;
	for (size_t i = 0; i < c->export_count; i++)
		c->everything[i] = &c->exports[i];
	check_daemon(l, path);
	for (const struct config_section *s = l->tree.sections; s && !err; s = s->next) {
		if (!strcmp(s->kind, "export"))
			check_export(l, s, export ++);
		if (!strcmp(s->kind, "client")) {
			check_client_key(l, s, client);
			err = check_client_exports(l, s, client++);
		}
	}
	if (c->auth == CONFIG_AUTH_NONE && first)
		check_paths_differ(l, &first->at, "auth = none: everybody", c->everything, c->export_count);
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
	c->handshake_timeout = 10 * SEC;
	c->idle_timeout = 60 * SEC;
	c->slot_log2 = 20;
	c->slots_log2 = 6;
	c->io_threads = 4;
	if (config_value_listen("*", &c->listen, &c->listen_count, &why) < 0)
		return config_unref(c);
	return c;
}

int config_load(const char *path, config_say say, void *owner, struct config **ret_config)
{
	struct loader l = { .report = { .say = say, .owner = owner }, .config = config_new() };
	int err = -ENOMEM;

	if (l.config)
		err = config_tree_read(&l.tree, path, &l.report);
	if (!err)
		err = config_tree_read_drop_ins(&l.tree, path, &l.report);
	if (!err)
		err = apply_sections(&l);
	if (!err)
		err = check_sections(&l, path);
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
		key_wipe(&c->clients[i].key);
		free(c->clients[i].name);
		free(c->clients[i].key_file);
		free(c->clients[i].exports);
	}
	free(c->exports);
	free(c->clients);
	free(c->everything);
	free(c->listen);
	free(c);
	return NULL;
}
