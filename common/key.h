/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shared key of a client and a daemon, and the proofs made with it (HMAC-SHA-256, libsodium).
 * A key file is one line of text: 'rdcp-key-v1 ' and 32 bytes in base64. It must be a regular file, owned by root or
 * by the caller, and closed to group and others except that the group may read it (mode & 0137 is 0).
 */
#ifndef RDCP_KEY_H
#define RDCP_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define KEY_SIZE 32

struct key {
	uint8_t bytes[KEY_SIZE];
};

/*
 * Reads `path` without following a link in its last component.
 * -ENOENT, -EACCES: as open(2). -EPERM: mode or owner too loose. -EINVAL: not a key file. -ELOOP: a symlink.
 * `why` (may be NULL) gets a sentence that names the file and the mend.
 * With a key in it the process leaves no core dump any more (PR_SET_DUMPABLE of prctl(2)).
 */
int key_load(const char *path, struct key *ret_key, char *why, size_t why_size);

/* Makes a new key in `path` (mode 0600, O_EXCL: an existing file is -EEXIST), synced. */
int key_generate(const char *path);
void key_wipe(struct key *k);

/* What each side sends to show that it has the key. `head` is the first WIRE_HEAD_SIZE bytes of the encoded blob. */
void key_client_proof(const struct key *k, const uint8_t challenge[static WIRE_MAC_SIZE],
		      const uint8_t req_head[static WIRE_HEAD_SIZE], uint8_t ret_mac[static WIRE_MAC_SIZE]);
void key_server_proof(const struct key *k, const uint8_t challenge[static WIRE_MAC_SIZE],
		      const uint8_t uuid[static WIRE_UUID_SIZE], const uint8_t rep_head[static WIRE_HEAD_SIZE],
		      uint8_t ret_mac[static WIRE_MAC_SIZE]);

/* Constant-time. */
int key_proof_equal(const uint8_t a[static WIRE_MAC_SIZE], const uint8_t b[static WIRE_MAC_SIZE]);

#endif
