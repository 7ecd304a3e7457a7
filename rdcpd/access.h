/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who may connect, and what they may touch. Two questions, asked at different times:
 *
 * access_check(), by the listener for each REQ, on the main thread: is this a client that has a key?
 * Nothing is kept for strangers. A REQ without a proof is refused with a challenge; the REQ that proves a
 * key against that challenge comes in a new connection request, and a REQ has no room to bring the
 * challenge back. So the daemon does not remember it but makes it again:
 *
 *   challenge = HMAC(secret, "challenge" || epoch || client address without port || uuid)
 *
 * The secret is random and lives in this struct; an epoch lasts ACCESS_EPOCH seconds, and the one before
 * counts as well, so that a challenge is good for 30 to 60 seconds. A uuid that was accepted by a key is refused
 * with that key while its challenge could still be made: a REQ that was listened to cannot be used again. With another
 * key it is another uuid: nobody can use up an id that is somebody else's. That memory is bounded. When it is full the secret is replaced, and every challenge under way dies with it: clients have
 * to ask again, nobody gets in twice.
 *
 * A uuid is spent, for its key, when it is accepted, whatever becomes of the session after that. So ask for limits (busy,
 * stopping) first, and a client takes a new uuid for every connection it makes.
 *
 * access_resolve(), by a session for each path its peer sends, on any thread: which export is it in? That
 * is about text only. The answer is opened beneath the export's root (common/beneath.h), which is what
 * holds against symlinks.
 */
#ifndef RDCPD_ACCESS_H
#define RDCPD_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/error.h"
#include "common/key.h"
#include "common/wire.h"
#include "config.h"

#define ACCESS_EPOCH 30          /* seconds */
#define ACCESS_SEEN_MAX 4096     /* uuids remembered */
#define ACCESS_RELATIVE_MAX 4096 /* WIRE_PATH_MAX and a NUL */

struct access;

enum access_verdict {
	ACCESS_ACCEPT, /* the grant is the caller's, to be ended with access_grant_done() */
	ACCESS_REFUSE  /* the refusal is filled */
};

/* What a refused client is told, and what only the log is. */
struct access_refusal {
	struct wire_rej rej;
	const char *client; /* who it was, when a key was right; the configuration's. Else NULL */
	const char *why;    /* instead of the REJ's text; static, or NULL */
};

/* What one accepted client may do. It holds the configuration it was given under, and outlives the access. */
struct access_grant {
	struct config *config;
	const struct config_client *client;   /* NULL: auth = none */
	const struct config_key *key;         /* the one that was proved; NULL: auth = none */
	struct sockaddr_storage peer;         /* where it came from */
	const struct config_export **exports; /* never empty; a path that is not absolute is in the first */
	size_t export_count;
	bool prove; /* the REP has to carry a proof: WIRE_MAC and access_prove() */
	uint8_t challenge[WIRE_MAC_SIZE];
	uint8_t uuid[WIRE_UUID_SIZE];
};

/* Takes a reference to `config`. -ENOMEM; -EIO: no random numbers. */
int access_new(struct config *config, struct access **ret_access);
void access_free(struct access *a); /* wipes; NULL is fine */

/* Judges by `config` (a reference is taken) from now on. Challenges that are out stay good, used uuids stay used. */
void access_reload(struct access *a, struct config *config);

/*
 * Judges a REQ. `req_head` is the first WIRE_HEAD_SIZE bytes of its blob as they came, `peer` whom it came
 * from, `now_sec` a clock that does not go back. Fills *ret_grant or *ret_no, as the verdict says.
 * Refusals are
 *   STATUS_AUTH_REQUIRED  no proof came; `challenge` is what to prove a key against
 *   STATUS_BAD_KEY        the proof fits no client's key, or its challenge is too old; `challenge` is a fresh one
 *   STATUS_NOT_ALLOWED    the proof was right but was used before, or the daemon cannot act as the client's user
 * A right key from an address that is not the client's is refused like a wrong one, in the same words and the same time: only
 * the log knows. With auth = none everybody is accepted, and a proof is not looked at.
 */
enum access_verdict access_check(struct access *a, const struct wire_req *req,
				 const uint8_t req_head[static WIRE_HEAD_SIZE], const struct sockaddr *peer,
				 uint64_t now_sec, struct access_grant *ret_grant, struct access_refusal *ret_no);

/*
 * Whether `config` would still let this client in: by the same key and from the same address, if there is to be a key. What
 * it may touch is not compared: that stays as it was granted.
 */
bool access_grant_stands(const struct access_grant *g, const struct config *config);

/* Whose rights its file calls have; NULL: the daemon's. */
const struct identity *access_grant_identity(const struct access_grant *g);

/* The client's name for log lines; "anybody" with auth = none. */
const char *access_grant_name(const struct access_grant *g);

/* The daemon's proof for a REP, whose first bytes are `rep_head`. Assumes grant->prove. */
void access_prove(const struct access_grant *g, const uint8_t rep_head[static WIRE_HEAD_SIZE],
		  uint8_t ret_mac[static WIRE_MAC_SIZE]);

void access_grant_done(struct access_grant *g); /* fine on a zeroed one, and twice */

/*
 * Finds the export that holds `path`, the longest when one lies in another, and the path within it: plain,
 * relative, "." for the root itself, a trailing slash kept. "" is the root of the first export.
 *
 * STATUS_OK, or with a sentence for the peer in ret_why:
 *   STATUS_NOT_ALLOWED    in no export of this client; a '..' or NUL in it; `need_write` and the export or the client
 *                         is read-only
 *   STATUS_NAME_TOO_LONG  longer than WIRE_PATH_MAX
 */
enum status access_resolve(const struct access_grant *g, struct wire_text path, bool need_write,
			   const struct config_export **ret_export, char ret_relative[static ACCESS_RELATIVE_MAX],
			   char ret_why[static WIRE_TEXT_MAX + 1]);

#endif
