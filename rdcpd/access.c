/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Proofs and paths: see access.h. The main thread owns the struct access; grants are independent of it and
 * each belongs to its session. Nothing in here blocks, does I/O or logs: a refusal is a value that the
 * caller sends and logs.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"

static_assert(ACCESS_RELATIVE_MAX > WIRE_PATH_MAX, "a relative path is never longer than what came");

#define PROVER_SIZE 16

/*
 * An accepted uuid, and whose key proved it: ids travel in the clear, so one client may know that of another and must not be able to
 * use it up. Its challenge was of `epoch` or the epoch before.
 */
struct seen {
	uint64_t epoch;
	uint8_t uuid[WIRE_UUID_SIZE];
	uint8_t prover[PROVER_SIZE]; /* stands for the key */
};

struct access {
	struct config *config;
	uint8_t secret[crypto_auth_hmacsha256_KEYBYTES];
	size_t seen_count;
	struct seen seen[ACCESS_SEEN_MAX]; /* in order of acceptance */
};

/* ---- challenges ------------------------------------------------------------------------------------------------- */

/* What of an address makes it another host: never the port, which is new in each connection. */
struct origin {
	uint8_t family; /* 4, 6, or 0 for anything that has no address, such as a socket pair */
	uint8_t addr[16];
	uint8_t scope[4]; /* the interface, where an address is only good on one */
};

static void origin_of(const struct sockaddr *peer, struct origin *ret)
{
	*ret = (struct origin){ 0 };
	if (peer->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

		ret->family = 4;
		memcpy(ret->addr, &in->sin_addr, 4);
	} else if (peer->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)peer;

		ret->family = 6;
		memcpy(ret->addr, &in->sin6_addr, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr))
			for (int i = 0; i < 4; i++)
				ret->scope[i] = (uint8_t)(in->sin6_scope_id >> 8 * i);
	}
}

static void make_challenge(const struct access *a, uint64_t epoch, const struct origin *from,
			   const uint8_t uuid[static WIRE_UUID_SIZE], uint8_t ret[static WIRE_MAC_SIZE])
{
	static const uint8_t label[9] = "challenge"; /* without the NUL */
	crypto_auth_hmacsha256_state state;
	uint8_t when[8];

	for (int i = 0; i < 8; i++)
		when[i] = (uint8_t)(epoch >> 8 * i);
	crypto_auth_hmacsha256_init(&state, a->secret, sizeof(a->secret));
	crypto_auth_hmacsha256_update(&state, label, sizeof(label));
	crypto_auth_hmacsha256_update(&state, when, sizeof(when));
	crypto_auth_hmacsha256_update(&state, &from->family, sizeof(from->family));
	crypto_auth_hmacsha256_update(&state, from->addr, sizeof(from->addr));
	crypto_auth_hmacsha256_update(&state, from->scope, sizeof(from->scope));
	crypto_auth_hmacsha256_update(&state, uuid, WIRE_UUID_SIZE);
	crypto_auth_hmacsha256_final(&state, ret);
	sodium_memzero(&state, sizeof(state));
}

/* Whose key it was, against which challenge. */
struct match {
	const struct config_client *client; /* NULL: nobody's */
	const struct config_key *key;
	const uint8_t *challenge;
};

/* All keys are tried, also after the right one: how long it takes must not tell whether there was one. */
static struct match find_client(const struct config *config, const struct wire_req *req,
				const uint8_t req_head[static WIRE_HEAD_SIZE],
				const uint8_t challenges[static 2][WIRE_MAC_SIZE])
{
	struct match found = { NULL, NULL, NULL };

	for (size_t i = 0; i < config->client_count; i++) {
		const struct config_client *c = &config->clients[i];

		for (size_t k = 0; k < 2 * c->key_count; k++) {
			uint8_t mac[WIRE_MAC_SIZE];

			key_client_proof(&c->keys[k / 2].key, challenges[k % 2], req_head, mac);
			if (key_proof_equal(mac, req->mac))
				found = (struct match){ c, &c->keys[k / 2], challenges[k % 2] };
		}
	}
	return found;
}

static bool comes_from_home(const struct config_client *client, const struct sockaddr *peer)
{
	return !client->range_count || ranges_hold(client->ranges, client->range_count, peer);
}

/* ---- uuids ------------------------------------------------------------------------------------------------------ */

/* What was accepted in epoch E proves against challenges of E and E - 1, and those count until E + 1 is over. */
static void forget_old(struct access *a, uint64_t epoch)
{
	size_t old = 0;

	while (old < a->seen_count && a->seen[old].epoch + 1 < epoch)
		old++;
	a->seen_count -= old;
	memmove(a->seen, a->seen + old, a->seen_count * sizeof(a->seen[0]));
}

/* What stands for a key, without being one. Good until the secret is replaced, with which all that was seen is forgotten. */
static void make_prover(const struct access *a, const struct key *key, uint8_t ret[static PROVER_SIZE])
{
	static const uint8_t label[6] = "prover"; /* without the NUL */
	crypto_auth_hmacsha256_state state;
	uint8_t mac[crypto_auth_hmacsha256_BYTES];

	crypto_auth_hmacsha256_init(&state, a->secret, sizeof(a->secret));
	crypto_auth_hmacsha256_update(&state, label, sizeof(label));
	crypto_auth_hmacsha256_update(&state, key->bytes, sizeof(key->bytes));
	crypto_auth_hmacsha256_final(&state, mac);
	memcpy(ret, mac, PROVER_SIZE);
	sodium_memzero(&state, sizeof(state));
}

static bool was_seen(const struct access *a, const uint8_t uuid[static WIRE_UUID_SIZE], const struct key *key)
{
	uint8_t prover[PROVER_SIZE];

	make_prover(a, key, prover);
	for (size_t i = 0; i < a->seen_count; i++)
		if (!memcmp(a->seen[i].uuid, uuid, WIRE_UUID_SIZE) && !memcmp(a->seen[i].prover, prover, PROVER_SIZE))
			return true;
	return false;
}

static void remember(struct access *a, uint64_t epoch, const uint8_t uuid[static WIRE_UUID_SIZE], const struct key *key)
{
	struct seen *s;

	/* a new secret: nothing that was proved before can be proved again, so there is nothing to remember */
	if (a->seen_count == ACCESS_SEEN_MAX) {
		randombytes_buf(a->secret, sizeof(a->secret));
		a->seen_count = 0;
		return;
	}
	s = &a->seen[a->seen_count++];
	s->epoch = epoch;
	memcpy(s->uuid, uuid, WIRE_UUID_SIZE);
	make_prover(a, key, s->prover);
}

/* ---- REQ -------------------------------------------------------------------------------------------------------- */

static enum access_verdict refuse(struct access_refusal *no, enum status reason, const char *text)
{
	struct wire_rej *rej = &no->rej;

	rej->reason = (uint16_t)reason;
	rej->text_len = (uint8_t)strnlen(text, sizeof(rej->text));
	memcpy(rej->text, text, rej->text_len);
	return ACCESS_REFUSE;
}

/* `match` is empty with auth = none. */
static enum access_verdict grant(const struct access *a, const struct match *match, const struct wire_req *req,
				 const struct sockaddr *peer, struct access_grant *ret)
{
	const struct config_client *client = match->client;
	struct config *config = config_ref(a->config);

	*ret = (struct access_grant){ .config = config, .client = client, .key = match->key, .prove = client != NULL };
	ret->exports = client ? client->exports : config->everything;
	ret->export_count = client ? client->export_count : config->export_count;
	memcpy(ret->uuid, req->uuid, sizeof(ret->uuid));
	if (match->challenge)
		memcpy(ret->challenge, match->challenge, sizeof(ret->challenge));
	if (peer->sa_family == AF_INET)
		memcpy(&ret->peer, peer, sizeof(struct sockaddr_in));
	else if (peer->sa_family == AF_INET6)
		memcpy(&ret->peer, peer, sizeof(struct sockaddr_in6));
	return ACCESS_ACCEPT;
}

/* The REQ brought a proof. */
static enum access_verdict check_proof(struct access *a, const struct wire_req *req,
				       const uint8_t req_head[static WIRE_HEAD_SIZE], const struct sockaddr *peer,
				       uint64_t epoch, const uint8_t challenges[static 2][WIRE_MAC_SIZE],
				       struct match *ret_match, struct access_refusal *no)
{
	struct match match = find_client(a->config, req, req_head, challenges);
	bool home = match.client && comes_from_home(match.client, peer);

	if (!home) {
		no->client = match.client ? match.client->name : NULL;
		no->why = match.client ? "the key is right, but the address is not one of this client's" : NULL;
		return refuse(no, STATUS_BAD_KEY,
			      "the key is not one of this daemon's clients, or its challenge expired");
	}
	if (match.client->unable) {
		no->client = match.client->name;
		return refuse(no, STATUS_NOT_ALLOWED, "the daemon may not act as your user there: see its log");
	}
	/* only now: a stranger can neither fill the memory nor ask what is in it */
	forget_old(a, epoch);
	if (was_seen(a, req->uuid, &match.key->key)) {
		no->client = match.client->name;
		memset(no->rej.challenge, 0, WIRE_MAC_SIZE);
		return refuse(no, STATUS_NOT_ALLOWED, "this transfer id was used before: connect with a new one");
	}
	*ret_match = match;
	return ACCESS_ACCEPT;
}

enum access_verdict access_check(struct access *a, const struct wire_req *req,
				 const uint8_t req_head[static WIRE_HEAD_SIZE], const struct sockaddr *peer,
				 uint64_t now_sec, struct access_grant *ret_grant, struct access_refusal *ret_no)
{
	uint64_t epoch = now_sec / ACCESS_EPOCH;
	uint8_t challenges[2][WIRE_MAC_SIZE]; /* of this epoch and of the one before */
	struct match match = { NULL, NULL, NULL };
	struct origin from;

	if (a->config->auth == CONFIG_AUTH_NONE)
		return grant(a, &match, req, peer, ret_grant);

	*ret_no = (struct access_refusal){ 0 };
	origin_of(peer, &from);
	make_challenge(a, epoch, &from, req->uuid, challenges[0]);
	memcpy(ret_no->rej.challenge, challenges[0], WIRE_MAC_SIZE);
	if (!(req->flags & WIRE_MAC))
		return refuse(ret_no, STATUS_AUTH_REQUIRED, "a key is required");

	make_challenge(a, epoch - 1, &from, req->uuid, challenges[1]);
	if (check_proof(a, req, req_head, peer, epoch, challenges, &match, ret_no) == ACCESS_REFUSE)
		return ACCESS_REFUSE;
	remember(a, epoch, req->uuid, &match.key->key);
	return grant(a, &match, req, peer, ret_grant);
}

int access_new(struct config *config, struct access **ret_access)
{
	struct access *a;

	if (sodium_init() < 0)
		return -EIO;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	randombytes_buf(a->secret, sizeof(a->secret));
	a->config = config_ref(config);
	*ret_access = a;
	return 0;
}

void access_free(struct access *a)
{
	if (!a)
		return;
	config_unref(a->config);
	sodium_memzero(a, sizeof(*a));
	free(a);
}

void access_reload(struct access *a, struct config *config)
{
	config_ref(config);
	config_unref(a->config);
	a->config = config;
}

bool access_grant_stands(const struct access_grant *g, const struct config *config)
{
	if (config->auth == CONFIG_AUTH_NONE)
		return true;
	for (size_t i = 0; g->key && i < config->client_count; i++) {
		const struct config_client *c = &config->clients[i];

		for (size_t k = 0; k < c->key_count; k++)
			if (key_proof_equal(c->keys[k].key.bytes, g->key->key.bytes))
				return comes_from_home(c, (const struct sockaddr *)&g->peer);
	}
	return false;
}

const char *access_grant_name(const struct access_grant *g)
{
	return g->client ? g->client->name : "anybody";
}

const struct identity *access_grant_identity(const struct access_grant *g)
{
	return g->client && g->client->user ? &g->client->identity : NULL;
}

void access_prove(const struct access_grant *g, const uint8_t rep_head[static WIRE_HEAD_SIZE],
		  uint8_t ret_mac[static WIRE_MAC_SIZE])
{
	key_server_proof(&g->key->key, g->challenge, g->uuid, rep_head, ret_mac);
}

void access_grant_done(struct access_grant *g)
{
	config_unref(g->config);
	sodium_memzero(g, sizeof(*g));
}

/* ---- paths ------------------------------------------------------------------------------------------------------ */

/* A path under construction, long enough for an export's path and what a peer may add. */
struct plain {
	char text[PATH_MAX + ACCESS_RELATIVE_MAX];
	size_t len;
};

/* Adds the components of `path` that mean something, each with a '/' in front. False: there is a '..'. */
static bool add_components(struct plain *p, const char *path, size_t len)
{
	const char *end = path + len;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t n = (size_t)((slash ? slash : end) - path);

		if (n == 2 && !memcmp(path, "..", 2))
			return false;
		if (n && !(n == 1 && *path == '.')) {
			p->text[p->len++] = '/';
			memcpy(p->text + p->len, path, n);
			p->len += n;
		}
		path += n + (slash != NULL);
	}
	p->text[p->len] = '\0';
	return true;
}

/* What of `p` is behind the export's path, or NULL when it is not in there. "/srv/x2" is not in "/srv/x". */
static const char *within(const struct config_export *e, const struct plain *p)
{
	size_t len = strlen(e->path);

	if (len == 1) /* "/": everything */
		len = 0;
	if (strncmp(p->text, e->path, len) || (p->text[len] && p->text[len] != '/'))
		return NULL;
	return p->text + len + (p->text[len] == '/');
}

static const struct config_export *find_export(const struct access_grant *g, const struct plain *p,
					       const char **ret_rest)
{
	const struct config_export *best = NULL;

	for (size_t i = 0; i < g->export_count; i++) {
		const char *rest = within(g->exports[i], p);

		if (rest && (!best || strlen(g->exports[i]->path) > strlen(best->path))) {
			best = g->exports[i];
			*ret_rest = rest;
		}
	}
	return best;
}

static bool ends_in(struct wire_text t, const char *tail)
{
	size_t n = strlen(tail);

	return t.len >= n && !memcmp(t.data + t.len - n, tail, n);
}

static enum status __attribute__((format(printf, 3, 4)))
deny(enum status status, char why[static WIRE_TEXT_MAX + 1], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, WIRE_TEXT_MAX + 1, fmt, ap);
	va_end(ap);
	return status;
}

enum status access_resolve(const struct access_grant *g, struct wire_text path, bool need_write,
			   const struct config_export **ret_export, char ret_relative[static ACCESS_RELATIVE_MAX],
			   char ret_why[static WIRE_TEXT_MAX + 1])
{
	const struct config_export *export = g->exports[0];
	const char *rest = NULL;
	struct plain p = { .len = 0 };

	if (path.len > WIRE_PATH_MAX)
		return deny(STATUS_NAME_TOO_LONG, ret_why, "path too long");
	if (path.len && memchr(path.data, '\0', path.len))
		return deny(STATUS_NOT_ALLOWED, ret_why, "a path with a NUL in it");
	/* A relative path gets the export's own in front and is looked up like any other: an export inside an
	 * export must have its say however it is reached. */
	if (!path.len || path.data[0] != '/')
		add_components(&p, export->path, strlen(export->path));
	if (!add_components(&p, path.data, path.len))
		return deny(STATUS_NOT_ALLOWED, ret_why, "'..' is not allowed in a path");
	export = find_export(g, &p, &rest);
	if (!export)
		return deny(
			STATUS_NOT_ALLOWED, ret_why,
			"in no export of this client; a path that does not begin with '/' is looked up in export '%s'",
			g->exports[0]->name);
	if (need_write && !export->writable)
		return deny(STATUS_NOT_ALLOWED, ret_why, "export '%s' is read-only", export->name);
	if (need_write && g->client && !g->client->writes)
		return deny(STATUS_NOT_ALLOWED, ret_why, "client '%s' is read-only", g->client->name);
	*ret_export = export;
	if (!*rest)
		memcpy(ret_relative, ".", 2);
	else
		snprintf(ret_relative, ACCESS_RELATIVE_MAX, "%s%s", rest,
			 ends_in(path, "/") || ends_in(path, "/.") ? "/" : "");
	return STATUS_OK;
}
