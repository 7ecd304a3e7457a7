/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What no single value of rdcpd.conf can tell: what is missing, what contradicts, what files and directories there are. The
 * second half of config_load(), see config.c; everything wrong is said, at the place that has to change.
 */
#include "config_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "common/cleanup.h"
#include "config_value.h"
#include "nesting.h"

#define CONFIG_KEYS_MAX 8

static const struct config_section *find_section(const struct config_loader *l, const char *kind)
{
	const struct config_section *s = l->tree.sections;

	while (s && strcmp(s->kind, kind))
		s = s->next;
	return s;
}

static void check_daemon(struct config_loader *l, const char *path)
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

static void check_export(struct config_loader *l, const struct config_section *s, const struct config_export *e)
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

/* Two exports of one client with one path: which of them counts would be a matter of luck. */
static void check_paths_differ(struct config_loader *l, const struct config_place *at, const char *who,
			       const struct config_export *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (list[i]->path && list[k]->path && !strcmp(list[i]->path, list[k]->path))
				config_complain(&l->report, LOG_ERR, at, "%s has '%s' twice, as exports '%s' and '%s'",
						who, list[i]->path, list[k]->name, list[i]->name);
}

/* ---- exports in exports ----------------------------------------------------------------------------------------- */

static bool has_export(const struct config_export *const *list, size_t count, const struct config_export *export)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == export)
			return true;
	return false;
}

static bool have_same_rights(const struct config_export *a, const struct config_export *b)
{
	return a->writable == b->writable && a->setuid == b->setuid;
}

static const char *rights_of(const struct config_export *e)
{
	static const char *const words[] = { "read-only", "read-write", "read-only, setuid", "read-write, setuid" };

	return words[e->writable + 2 * e->setuid];
}

/* Of one client's exports. */
static void check_nested(struct config_loader *l, const struct config_place *at, const char *who,
			 const struct config_export *const *list, size_t count, const struct config_export *outer,
			 const struct config_export *inner)
{
	if (has_export(list, count, outer) && has_export(list, count, inner))
		config_complain(&l->report, LOG_ERR, at,
				"%s has export '%s' ('%s', %s) in export '%s' ('%s', %s): what is in the one can be "
				"reached through the other; give both the same rights, or leave one of them out",
				who, inner->name, inner->path, rights_of(inner), outer->name, outer->path,
				rights_of(outer));
}

/* A client that writes nowhere has the same rights everywhere. */
static void check_nested_of_clients(struct config_loader *l, const struct config_export *outer,
				    const struct config_export *inner)
{
	const struct config *c = l->config;
	const struct config_client *client = c->clients;
	char who[CONFIG_NAME_MAX + 16];

	for (const struct config_section *s = l->tree.sections; s; s = s->next) {
		const struct config_entry *e = config_section_find(s, "exports");

		if (!strcmp(s->kind, "client")) {
			snprintf(who, sizeof(who), "client '%s'", client->name);
			if (client->writes)
				check_nested(l, e ? &e->at : &s->at, who, client->exports, client->export_count, outer,
					     inner);
			client++;
		}
	}
}

/* What an export allows would depend on the way by which its files are reached. */
static int check_nesting(struct config_loader *l)
{
	const struct config *c = l->config;
	const struct config_section *first = find_section(l, "export");
	struct nesting *n;
	int err = nesting_new(c, &n);

	if (err < 0)
		return err;
	for (size_t i = 0; i < c->export_count; i++) {
		for (size_t k = 0; k < c->export_count; k++) {
			const struct config_export *outer = &c->exports[i], *inner = &c->exports[k];

			if (have_same_rights(outer, inner) || !nesting_holds(n, i, k))
				continue;
			if (!strcmp(outer->path, inner->path))
				continue; /* said already */
			if (nesting_holds(n, k, i) && k < i)
				continue; /* the same directory: said once */
			if (c->auth == CONFIG_AUTH_NONE)
				check_nested(l, &first->at, "auth = none: everybody", c->everything, c->export_count,
					     outer, inner);
			else
				check_nested_of_clients(l, outer, inner);
		}
	}
	nesting_free(n);
	return 0;
}

/* ---- clients ---------------------------------------------------------------------------------------------------- */

static void add_client_export(struct config_loader *l, const struct config_entry *e, struct config_client *client,
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

static int check_client_exports(struct config_loader *l, const struct config_section *s, struct config_client *client)
{
	const struct config_entry *e = config_section_find(s, "exports");
	const struct config *c = l->config;
	const char *text, *item;
	char who[CONFIG_NAME_MAX + 16];
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

/* A proof has to name one client: keys are compared with all that were read before. */
static void check_key_is_new(struct config_loader *l, const struct config_entry *e, const struct config_client *client,
			     const struct key *key)
{
	const struct config *c = l->config;

	for (const struct config_client *o = c->clients; o <= client; o++) {
		for (size_t i = 0; i < o->key_count; i++) {
			if (!key_proof_equal(o->keys[i].key.bytes, key->bytes))
				continue;
			if (o == client)
				config_complain(&l->report, LOG_ERR, &e->at, "client '%s' has the same key twice",
						client->name);
			else
				config_complain(&l->report, LOG_ERR, &e->at,
						"client '%s' has the same key as client '%s'", client->name, o->name);
		}
	}
}

/* There is room for the key in the client's list. */
static int add_client_key(struct config_loader *l, const struct config_entry *e, struct config_client *client,
			  const char *item, size_t len)
{
	_cleanup_free_ char *text = strndup(item, len);
	struct config_key *key = &client->keys[client->key_count];
	struct config_why why;
	char sentence[1024] = "";
	int err;

	if (!text)
		return -ENOMEM;
	err = config_value_path(text, &key->file, &why);
	if (err == -EINVAL)
		config_complain(&l->report, LOG_ERR, &e->at, "key-file: %s", why.text);
	if (err < 0)
		return err == -ENOMEM ? err : 0;
	err = key_load(key->file, &key->key, sentence, sizeof(sentence));
	if (err < 0) {
		config_complain(&l->report, LOG_ERR, &e->at, "client '%s': %s", client->name,
				*sentence ? sentence : strerror(-err));
		free(steal_ptr(key->file)); /* it has no key to compare with */
		return 0;
	}
	check_key_is_new(l, e, client, &key->key);
	client->key_count++;
	return 0;
}

static int check_client_keys(struct config_loader *l, const struct config_section *s, struct config_client *client)
{
	const struct config_entry *e = config_section_find(s, "key-file");
	const char *text = e ? e->value : "", *item;
	size_t len, count = 0;
	int err = 0;

	if (!e) {
		config_complain(&l->report, LOG_ERR, &s->at, "client '%s' has no 'key-file'", client->name);
		return 0;
	}
	while (config_value_item(&text, &item))
		count++;
	if (!count || count > CONFIG_KEYS_MAX) {
		config_complain(&l->report, LOG_ERR, &e->at, "client '%s' has %zu key files, it takes 1 to %d",
				client->name, count, CONFIG_KEYS_MAX);
		return 0;
	}
	client->keys = calloc(count, sizeof(*client->keys));
	if (!client->keys)
		return -ENOMEM;
	for (text = e->value; !err && (len = config_value_item(&text, &item));)
		err = add_client_key(l, e, client, item, len);
	return err;
}

static int check_client_addresses(struct config_loader *l, const struct config_section *s, struct config_client *client)
{
	const struct config_entry *e = config_section_find(s, "addresses");
	const char *text, *item;
	char why[256];
	size_t len;

	if (!e)
		return 0;
	for (text = e->value; (len = config_value_item(&text, &item));) {
		struct range *list = reallocarray(client->ranges, client->range_count + 1, sizeof(*list));

		if (!list)
			return -ENOMEM;
		client->ranges = list;
		if (range_parse(item, len, &list[client->range_count], why, sizeof(why)) < 0)
			config_complain(&l->report, LOG_ERR, &e->at, "addresses: %s", why);
		else
			client->range_count++;
	}
	if (!client->range_count) /* which would be anywhere */
		config_complain(&l->report, LOG_ERR, &e->at, "client '%s' may connect from no address", client->name);
	return 0;
}

/* Whether the daemon may act as the user is found out by doing it: capabilities, the user namespace and a filter of system
 * calls all have a say. Where it may not, others are served all the same. */
static int check_client_user(struct config_loader *l, const struct config_section *s, struct config_client *client)
{
	const struct config_entry *e = config_section_find(s, "user");
	int err;

	if (!e)
		return 0;
	err = identity_load(client->user, &client->identity);
	if (err == -ENOMEM)
		return err;
	if (err < 0) {
		config_complain(&l->report, LOG_ERR, &e->at, "client '%s': user '%s': %s", client->name, client->user,
				err == -ENOENT  ? "there is no such user"
				: err == -EPERM ? "that is root, whose rights no client gets"
						: strerror(-err));
		return 0;
	}
	err = identity_try(&client->identity);
	client->unable = err < 0;
	if (err < 0)
		config_complain(&l->report, LOG_WARNING, &e->at,
				"client '%s': the daemon may not act as user '%s' (%s), so this client is refused: "
				"see user in rdcpd.conf(5), ignoring",
				client->name, client->user, strerror(-err));
	return 0;
}

static int check_client(struct config_loader *l, const struct config_section *s, struct config_client *client)
{
	int err = check_client_keys(l, s, client);

	if (!err)
		err = check_client_addresses(l, s, client);
	if (!err)
		err = check_client_user(l, s, client);
	return err < 0 ? err : check_client_exports(l, s, client);
}

/* Sections and structs are in the same order. */
int config_check(struct config_loader *l, const char *path)
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
		if (!strcmp(s->kind, "client"))
			err = check_client(l, s, client++);
	}
	if (c->auth == CONFIG_AUTH_NONE && first)
		check_paths_differ(l, &first->at, "auth = none: everybody", c->everything, c->export_count);
	return err < 0 ? err : check_nesting(l);
}
