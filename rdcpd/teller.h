/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * All ways in which the daemon tells what it does: the line in `systemctl status`, the status socket, the metrics file. It
 * only looks. Belongs to the daemon's thread; what cannot be told is logged, and changes nothing else.
 */
#ifndef RDCPD_TELLER_H
#define RDCPD_TELLER_H

#include <systemd/sd-event.h>

#include "listeners.h"
#include "sessions.h"

struct teller;

/* Borrows both, and the event loop, which has to live longer. -ENOMEM. */
int teller_new(sd_event *event, const struct sessions *sessions, const struct listeners *listeners,
	       struct teller **ret_teller);
void teller_free(struct teller *t); /* NULL is fine */

/* From now on where `config` (a reference is taken) says. */
void teller_apply(struct teller *t, struct config *config);

/* What it cannot see by itself. */
void teller_refused(struct teller *t, unsigned int reason); /* or only challenged, see reason.h */
void teller_changed(struct teller *t);                      /* a session began or ended */
void teller_swept(struct teller *t, uint64_t removed);      /* unfinished files */
void teller_stopping(struct teller *t);

#endif
