// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * How fast a sender may be: it is told, and one that does not comply, or could not hear of it in time, waits for acknowledgements and
 * results until its bytes are paid for. Called by the other files of the receiver, on the loop's thread.
 */
#include "peer.h"
#include "receiver_impl.h"
#include "util.h"

bool receiver_must_wait(struct receiver *r)
{
	if (rate_is_ready(&r->rate, loop_now(r->peer->loop)))
		return false;
	loop_timer_set(r->peer->loop, &r->pace, r->rate.ready_ns);
	return true;
}

/* From a sender that is too fast: it gets neither room nor the good news. At the end there is only DONE to keep back. */
bool receiver_keeps_back(struct receiver *r)
{
	return !r->end_heard && receiver_must_wait(r);
}

void receiver_say_limit(struct receiver *r)
{
	struct wire_record rec = { .type = WIRE_LIMIT, .limit.bytes_per_second = r->rate.bytes_per_second };

	if (r->limit_due && peer_send(r->peer, &rec) == 0)
		r->limit_due = false;
}

void receiver_on_pace(struct loop_timer *t)
{
	receiver_schedule(container_of(t, struct receiver, pace));
}

void receiver_limit(struct receiver *r, uint64_t bytes_per_second)
{
	if (bytes_per_second == r->rate.bytes_per_second)
		return;
	rate_set(&r->rate, bytes_per_second);
	r->limit_due = true;
	receiver_say_limit(r);
}
