/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Another attempt after the connection broke: which ends are worth one, how long to wait before it, and what is done already. Faults
 * of the transport and a daemon that is restarted are; errors of files are not, and neither is a daemon that cannot be reached in the
 * first place.
 */
#ifndef RDCP_RETRY_H
#define RDCP_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/endpoint.h"
#include "common/error.h"
#include "common/names.h"
#include "common/peer.h"

enum retry_kind { RETRY_COPIED, RETRY_SKIPPED, RETRY_FAILED };

struct retry {
	unsigned int most;   /* attempts in a row without progress, besides the first */
	unsigned int failed; /* so many were */
	bool again;          /* the attempt that ends now is to be followed by another */
	/* what of trees is copied: by request and path; what was skipped or failed: by these and the kind */
	struct names done;
};

void retry_init(struct retry *r, unsigned int most);
void retry_done(struct retry *r);

/* Why a session, or an attempt to connect, ended; `moved`: it brought something. True: there will be another, after retry_delay_ns(). */
bool retry_after_end(struct retry *r, const struct peer_end *end, bool moved);
bool retry_after_failure(struct retry *r, const struct endpoint_fault *fault, enum status refusal);
uint64_t retry_delay_ns(const struct retry *r);

/*
 * What became of the trees: by the number of the source and the path in it. What was copied need not be sent again; what was skipped or
 * failed is tried again, but need not be told again. What cannot be remembered is copied again.
 */
bool retry_knows(const struct retry *r, uint32_t request, const char *path, enum retry_kind kind);
void retry_note(struct retry *r, uint32_t request, const char *path, enum retry_kind kind);

#endif
