/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The log lines about connections that never became a session. Anybody can cause one, so their number is limited, in sum: the
 * first few of a second have a line each, the rest share one at its end. They are counted elsewhere, each of them.
 * Belongs to the daemon's thread.
 */
#ifndef RDCPD_REFUSALS_H
#define RDCPD_REFUSALS_H

#include <systemd/sd-event.h>

#include "access.h"
#include "common/endpoint.h"

#define REFUSALS_LINES 4 /* a second, besides the one that says how many have none */

struct refusals;

/* Borrows the event loop, which has to live longer. -ENOMEM. */
int refusals_new(sd_event *event, struct refusals **ret_refusals);
void refusals_free(struct refusals *r); /* says what it still owes; NULL is fine */

/* What the log says may be more than what the client is told. A first request without a proof is only worth a debug line. */
void refusals_log(struct refusals *r, const struct endpoint_request *rq, const struct access_refusal *no);

#endif
