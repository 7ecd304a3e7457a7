/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The life of a hostile connection: dial, REQ, [challenge, dial, REQ with a proof], REP, and then whatever the attack does, until the
 * endpoint is closed. A crowd keeps `width` of them going. Nothing a daemon does is believed: what it sends is decoded, and counted
 * when it is malformed. A crowd in which nothing ends for GUARD gives up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "common/error.h"
#include "common/util.h"

#define GUARD (60 * SEC)
#define STEP_TIMEOUT (20 * SEC)

uint64_t crowd_random(struct crowd *crowd)
{
	uint64_t z = crowd->random += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void caller_free(struct caller *c)
{
	struct crowd *crowd = c->crowd;

	loop_timer_cancel(&crowd->loop, &c->timer);
	endpoint_free(c->ep);
	slab_done(&c->slab);
	free(c->stream);
	free(c);
	crowd->tally.ended++;
	loop_timer_set(&crowd->loop, &crowd->guard, now_ns() + GUARD);
	loop_defer(&crowd->loop, &crowd->refill);
}

static const struct endpoint_events events;

static void dial(struct caller *c)
{
	struct endpoint_fault fault;

	if (endpoint_dial(c->crowd->transport, &c->crowd->loop, (struct sockaddr *)&c->crowd->addr, STEP_TIMEOUT,
			  &events, c, &c->ep, &fault) == 0)
		return;
	c->ep = NULL;
	c->over = true;
	c->crowd->tally.lost++;
	loop_defer(&c->crowd->loop, &c->again);
}

static void on_again(struct loop_task *t)
{
	struct caller *c = container_of(t, struct caller, again);

	if (c->over) {
		caller_free(c);
		return;
	}
	endpoint_free(c->ep);
	dial(c);
}

static void on_tired(struct loop_timer *t)
{
	struct caller *c = container_of(t, struct caller, timer);

	if (c->crowd->attack->tired)
		c->crowd->attack->tired(c);
}

void caller_wait(struct caller *c, unsigned int ms)
{
	loop_timer_set(&c->crowd->loop, &c->timer, now_ns() + ms * MSEC);
}

/* ---- the handshake ------------------------------------------------------------------------------------------ */

static void on_resolved(void *owner)
{
	struct caller *c = owner;
	const struct attack *attack = c->crowd->attack;
	uint8_t blob[WIRE_REQ_SIZE];
	struct endpoint_fault fault;
	size_t len = sizeof(blob);

	if (endpoint_open(c->ep, 1U << c->req.slots_log2, 1U << c->req.receives_log2, &fault) < 0) {
		endpoint_abort(c->ep, ENDPOINT_RESOURCES, "no queues");
		return;
	}
	wire_encode_req(&c->req, blob, len);
	if (c->challenged) {
		c->req.flags |= WIRE_MAC;
		wire_encode_req(&c->req, blob, len);
		key_client_proof(&c->crowd->key, c->challenge, blob, c->req.mac);
		wire_encode_req(&c->req, blob, len);
	}
	if (attack->request)
		len = attack->request(c, blob, len);
	endpoint_connect(c->ep, blob, len);
	if (attack->requested)
		attack->requested(c);
}

/* Memory and aim, as a client of either direction would. False: the endpoint ends. */
static bool make_window(struct caller *c)
{
	struct endpoint_fault fault;

	if (slab_init(&c->slab, c->rep.slot_log2, c->rep.slots_log2) < 0 ||
	    endpoint_register(c->ep, &c->slab, c->req.flags & WIRE_PULL, &c->base, &c->rkey, &fault) < 0) {
		endpoint_abort(c->ep, ENDPOINT_RESOURCES, "no memory");
		return false;
	}
	endpoint_set_credits(c->ep, 1U << c->rep.receives_log2);
	endpoint_aim(c->ep, c->rep.base, c->rep.rkey);
	return true;
}

static void on_connected(void *owner, const void *blob, size_t len)
{
	struct caller *c = owner;

	c->crowd->tally.connected++;
	if (wire_decode_rep(blob, len, &c->rep, NULL) < 0 || c->rep.slots_log2 > c->req.slots_log2 ||
	    c->rep.slot_log2 > c->req.slot_log2) {
		c->crowd->tally.malformed++;
		endpoint_abort(c->ep, ENDPOINT_PROTOCOL, "no REP");
		return;
	}
	if (!make_window(c))
		return;
	if (c->crowd->attack->connected)
		c->crowd->attack->connected(c);
	else
		endpoint_close(c->ep);
}

static void on_rejected(struct caller *c, const struct endpoint_fault *fault)
{
	struct tally *tally = &c->crowd->tally;
	struct wire_rej rej;

	if (wire_decode_rej(fault->blob, fault->blob_len, &rej, NULL) < 0) {
		/* siw: a reset looks like a REJ without a blob */
		if (fault->blob_len)
			tally->malformed++;
		else
			tally->lost++;
		return;
	}
	if (rej.reason != STATUS_AUTH_REQUIRED) {
		tally->refused++;
		return;
	}
	tally->challenged++;
	if (!c->crowd->attack->proves || c->challenged)
		return;
	memcpy(c->challenge, rej.challenge, sizeof(c->challenge));
	c->challenged = true;
	c->over = false;
}

static void on_closed(void *owner, const struct endpoint_fault *fault)
{
	struct caller *c = owner;

	c->over = true;
	loop_timer_cancel(&c->crowd->loop, &c->timer);
	if (fault->kind == ENDPOINT_REJECTED)
		on_rejected(c, fault);
	else if (fault->kind != ENDPOINT_CLOSED)
		c->crowd->tally.lost++;
	loop_defer(&c->crowd->loop, &c->again);
}

/* ---- talking ------------------------------------------------------------------------------------------------ */

static void on_message(void *owner, const uint8_t *records, size_t len)
{
	struct caller *c = owner;
	struct wire_record rec;

	while (len) {
		if (wire_decode(&records, &len, &rec) < 0) {
			c->crowd->tally.malformed++;
			return;
		}
		c->crowd->tally.heard[rec.type]++;
		if (c->crowd->attack->record)
			c->crowd->attack->record(c, &rec);
	}
}

static void on_writable(void *owner)
{
	struct caller *c = owner;

	if (c->crowd->attack->writable)
		c->crowd->attack->writable(c);
}

static const struct endpoint_events events = {
	.resolved = on_resolved,
	.connected = on_connected,
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

static void on_written(struct endpoint_work *w, int status)
{
	container_of(w, struct hostile_write, work)->busy = false;
}

void caller_write(struct caller *c, unsigned int slot, size_t off, size_t len)
{
	for (unsigned int i = 0; i < WRITES; i++) {
		struct hostile_write *w = &c->writes[i];

		if (w->busy)
			continue;
		w->work.written = on_written;
		w->busy = endpoint_post_write(c->ep, &w->work, slot, off, len) == 0;
		return;
	}
}

/* ---- the crowd ---------------------------------------------------------------------------------------------- */

static void make_request(struct crowd *crowd, struct wire_req *req)
{
	*req = (struct wire_req){
		.flags = one_in(crowd, 2) ? WIRE_PULL : 0,
		.slot_log2 = (uint8_t)(SLAB_MIN_SLOT_LOG2 + below(crowd, 3)),
		.slots_log2 = (uint8_t)below(crowd, 4),
		.receives_log2 = (uint8_t)(WIRE_MIN_RECEIVES_LOG2 + below(crowd, 4)),
	};
	for (unsigned int i = 0; i < WIRE_UUID_SIZE; i++)
		req->uuid[i] = (uint8_t)crowd_random(crowd);
}

static void on_refill(struct loop_task *t)
{
	struct crowd *crowd = container_of(t, struct crowd, refill);
	struct caller *c;

	while (crowd->tally.begun < crowd->count && crowd->tally.begun - crowd->tally.ended < crowd->width) {
		c = calloc(1, sizeof(*c));
		if (!c)
			break;
		c->crowd = crowd;
		c->again.run = on_again;
		c->timer.expired = on_tired;
		make_request(crowd, &c->req);
		crowd->tally.begun++;
		dial(c);
	}
	if (crowd->tally.begun == crowd->tally.ended)
		loop_stop(&crowd->loop);
}

static void on_guard(struct loop_timer *t)
{
	struct crowd *crowd = container_of(t, struct crowd, guard);

	crowd->stuck = true;
	loop_stop(&crowd->loop);
}

int crowd_run(struct crowd *crowd)
{
	int r = loop_init(&crowd->loop);

	if (r < 0)
		return r;
	crowd->refill.run = on_refill;
	crowd->guard.expired = on_guard;
	loop_timer_set(&crowd->loop, &crowd->guard, now_ns() + GUARD);
	loop_defer(&crowd->loop, &crowd->refill);
	r = loop_run(&crowd->loop);
	loop_timer_cancel(&crowd->loop, &crowd->guard);
	loop_done(&crowd->loop);
	return r < 0 ? r : crowd->stuck ? -ETIMEDOUT : 0;
}
