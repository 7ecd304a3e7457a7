/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Removes unfinished files that were left behind in the exports that can be written to: when the daemon starts, and once a
 * day. A thread of low priority does it, which is there only while it has something to do.
 */
#ifndef RDCPD_SWEEPER_H
#define RDCPD_SWEEPER_H

#include <systemd/sd-event.h>

#include "config.h"

struct sweeper;

/* `swept` hears on the event loop's thread how many files each run has removed. */
int sweeper_new(sd_event *event, void (*swept)(void *owner, uint64_t removed), void *owner,
		struct sweeper **ret_sweeper);
void sweeper_free(struct sweeper *s); /* ends a run under way; NULL is fine */

/* From now on as `config` (a reference is taken) says; the first time, and when partial-age changes, at once. */
void sweeper_apply(struct sweeper *s, struct config *config);

#endif
