/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One client's connection: a thread with everything of its own, that dies alone. The daemon starts it with a request that
 * was judged good, may ask it to stop, and joins it when it says that it is finished. Nothing else is shared.
 */
#ifndef RDCPD_SESSION_H
#define RDCPD_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "common/endpoint.h"
#include "common/wire.h"
#include "report.h"

struct budget;
struct session;

/* What a session pins beside its slab, at most: message buffers and the device's queues. */
#define SESSION_PINNED_EXTRA (2ULL << 20)

struct session_args {
	struct endpoint_request *rq; /* taken */
	struct access_grant grant;   /* taken */
	struct wire_req req;         /* geometry already clamped to what the daemon grants */
	uint64_t pinned;             /* bytes it counts for */
	struct budget *memory;       /* of all sessions, borrowed */
	int finished_fd;             /* borrowed eventfd: written when the thread is about to end */
};

/* Takes what `args` gives, also on failure (the client hears "busy"). -EAGAIN, -ENOMEM, -EMFILE. */
int session_start(struct session_args *args, struct session **ret_session);

/* From the daemon's thread. */
void session_stop(struct session *s, enum status why); /* asks; the client is told why; the first one counts */
void session_limit(struct session *s, uint64_t bytes_per_second); /* within about a second; 0: no limit */
bool session_finished(const struct session *s);                   /* session_join() will not block */
void session_join(struct session *s);                             /* waits for the thread and frees */

uint64_t session_pinned(const struct session *s);     /* bytes it was granted */
uint64_t session_bytes(const struct session *s);      /* of files, moved so far */
uint64_t session_files(const struct session *s);      /* settled well */
uint64_t session_failed(const struct session *s);     /* settled badly */
bool session_is_pull(const struct session *s);        /* we send */
unsigned int session_result(const struct session *s); /* how it ended, see reason.h; counts once it is finished */
void session_report(struct session *s, struct report_session *ret_report); /* as it is now */
const struct access_grant *session_grant(const struct session *s);

#endif
