/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why it did not work, and what to do about it: from the faults of a connection and the words of a daemon to one line
 * for a person and an exit status for a script. Each function fills `out` with "HOST: cause; hint" (the log adds the
 * program's name), everything from outside escaped, and returns an enum exitcode. Tables in hint.c hold all the texts.
 */
#ifndef RDCP_HINT_H
#define RDCP_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/endpoint.h"
#include "common/peer.h"
#include "exitcode.h"
#include "options.h"

#define HINT_SIZE 2048 /* every line fits, whatever the peer says */

/* What the texts speak of. All borrowed. */
struct hint_peer {
	const char *host; /* as the user wrote it, unescaped */
	uint16_t port;
	bool tcp;                      /* --transport=tcp */
	uint64_t window;               /* bytes that a copy registers beside its messages; 0: not known */
	int family;                    /* AF_INET, AF_INET6: the user wanted only these */
	const struct options_key *key; /* where the key is from; NULL: not known */
	const char *shadow;            /* the operand, when a local file has the same name; else NULL */
	const char *addresses;         /* of the local RDMA devices; NULL: looked up when a text needs them */
};

/* Assumes options_peer(o) != NULL. `key` may be NULL. */
void hint_peer_init(struct hint_peer *p, const struct options *o, const struct options_key *key);

/* The connection could not be made, or ended. A REJ in the fault is read, and its reason counts. */
int hint_fault(const struct hint_peer *p, const struct endpoint_fault *fault, char *out, size_t size);

/* The daemon ended the session, or refused it: enum status and its sentence (may be empty; not terminated). */
int hint_status(const struct hint_peer *p, unsigned int status, const char *text, size_t text_len, char *out,
		size_t size);

/* The daemon did not prove that it has our key: it failed to (`asked`: it did ask us to prove ours), or asks nobody for one. */
int hint_unproven(const struct hint_peer *p, bool asked, char *out, size_t size);

/* A session ended so. EXITCODE_OK and "" when it ended well. */
int hint_end(const struct hint_peer *p, const struct peer_end *end, char *out, size_t size);

/* The name could not be resolved: what getaddrinfo(3) returned, and errno with EAI_SYSTEM. */
int hint_resolve(const struct hint_peer *p, int gai_error, int error, char *out, size_t size);

/* What the end of one file means for the exit status: OK, FAILED or CORRUPT. */
int hint_file_exit(unsigned int status);

#endif
