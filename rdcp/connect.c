// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * dial -> on_resolved (queues, REQ) -> on_connected (REP) or on_closed, which decides what is next: the same address again
 * with a proof, the next address, or failed(). The endpoint that closed is freed at the end of the round, in on_redial().
 */
#include "connect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/slab.h"
#include "common/util.h"

#define RECEIVES_LOG2 5           /* 32 messages on their way to us */
#define MESSAGES_PINNED (1 * MIB) /* about what is locked beside the slots */

static const struct endpoint_events endpoint_events;

static void give_up(struct connect *c)
{
	c->events->failed(c->owner, &c->fault, c->refusal, c->text);
}

static void dial(struct connect *c)
{
	int r = endpoint_dial(c->transport, c->loop, c->address->ai_addr, c->options->connect_timeout_ns,
			      &endpoint_events, c, &c->ep, &c->fault);

	if (r == 0)
		return;
	c->ep = NULL;
	c->address = c->address->ai_next;
	if (c->address)
		loop_defer(c->loop, &c->redial);
	else
		give_up(c);
}

static void on_redial(struct loop_task *t)
{
	struct connect *c = container_of(t, struct connect, redial);

	endpoint_free(steal_ptr(c->ep));
	if (c->address)
		dial(c);
	else
		give_up(c);
}

static void refuse(struct connect *c, enum status status, const char *text)
{
	c->refusal = status;
	snprintf(c->text, sizeof(c->text), "%s", text);
	endpoint_abort(c->ep, ENDPOINT_PROTOCOL, text);
}

/* ---- asking ------------------------------------------------------------------------------------------------- */

static void clamp_to_device(struct connect *c)
{
	struct endpoint_limits limits;

	endpoint_limits(c->ep, &limits);
	while (c->req.slot_log2 > SLAB_MIN_SLOT_LOG2 && (1ULL << c->req.slot_log2) > limits.max_write)
		c->req.slot_log2--;
	while (c->req.slots_log2 > 0 && (1U << c->req.slots_log2) > limits.max_slots)
		c->req.slots_log2--;
	c->req.receives_log2 = RECEIVES_LOG2;
	while (c->req.receives_log2 > 1 && (1U << c->req.receives_log2) > limits.max_receives)
		c->req.receives_log2--;
}

static void on_resolved(void *owner)
{
	struct connect *c = owner;
	uint8_t blob[WIRE_REQ_SIZE];
	struct endpoint_fault fault;

	if (!c->challenged)
		clamp_to_device(c);
	if (endpoint_open(c->ep, 1U << c->req.slots_log2, 1U << c->req.receives_log2, &fault) < 0) {
		c->address = NULL; /* our own trouble: another address would not help */
		c->fault = fault;
		endpoint_abort(c->ep, fault.kind, fault.text);
		return;
	}
	c->req.flags &= (uint8_t)~WIRE_MAC;
	if (c->challenged)
		c->req.flags |= WIRE_MAC;
	wire_encode_req(&c->req, blob, sizeof(blob));
	if (c->challenged) {
		key_client_proof(c->key, c->challenge, blob, c->req.mac);
		wire_encode_req(&c->req, blob, sizeof(blob));
	}
	endpoint_connect(c->ep, blob, sizeof(blob));
}

/* ---- the answer --------------------------------------------------------------------------------------------- */

static bool daemon_proved(const struct connect *c, const struct wire_rep *rep, const uint8_t *blob)
{
	uint8_t mac[WIRE_MAC_SIZE];

	if (!c->challenged || !(rep->flags & WIRE_MAC))
		return false;
	key_server_proof(c->key, c->challenge, c->req.uuid, blob, mac);
	return key_proof_equal(mac, rep->mac);
}

/* Never more than was asked for: our queues are sized for that. */
static bool grant_is_sane(const struct connect *c, const struct wire_rep *rep)
{
	return rep->slot_log2 <= c->req.slot_log2 && rep->slots_log2 <= c->req.slots_log2 && rep->max_files > 0;
}

static void on_connected(void *owner, const void *blob, size_t len)
{
	struct connect *c = owner;
	struct wire_rep rep;
	unsigned int version;
	int r = wire_decode_rep(blob, len, &rep, &version);

	c->address = NULL; /* whatever is wrong from here on, it is this daemon we wanted */
	if (r < 0 || !grant_is_sane(c, &rep)) {
		refuse(c, r == -EPROTONOSUPPORT ? STATUS_VERSION : STATUS_PROTOCOL,
		       "what answers there is not an rdcpd we know");
		return;
	}
	if (c->key && !daemon_proved(c, &rep, blob)) {
		refuse(c, STATUS_BAD_KEY,
		       c->challenged ? "the daemon did not prove that it has the key"
				     : "the daemon asks for no key and proves none; '-i none' copies without one");
		return;
	}
	c->established = true;
	endpoint_set_credits(c->ep, 1U << rep.receives_log2);
	c->events->connected(c->owner, &rep);
}

/* A REJ of ours: a challenge is answered once, anything else is final. */
static void on_rejected(struct connect *c, const struct endpoint_fault *fault)
{
	struct wire_rej rej;
	unsigned int version;
	int r = wire_decode_rej(fault->blob, fault->blob_len, &rej, &version);

	if (r == 0 && rej.reason == STATUS_AUTH_REQUIRED && c->key && !c->challenged) {
		memcpy(c->challenge, rej.challenge, sizeof(c->challenge));
		c->challenged = true;
		return;
	}
	c->address = NULL;
}

static void on_closed(void *owner, const struct endpoint_fault *fault)
{
	struct connect *c = owner;

	if (c->established) {
		c->events->closed(c->owner, fault);
		return;
	}
	c->fault = *fault;
	if (fault->kind == ENDPOINT_REJECTED)
		on_rejected(c, fault);
	else if (c->address)
		c->address = c->address->ai_next;
	loop_defer(c->loop, &c->redial);
}

static void on_message(void *owner, const uint8_t *records, size_t len)
{
	struct connect *c = owner;

	c->events->message(c->owner, records, len);
}

static void on_writable(void *owner)
{
	struct connect *c = owner;

	c->events->writable(c->owner);
}

static const struct endpoint_events endpoint_events = {
	.resolved = on_resolved,
	.connected = on_connected,
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

/* ---- making and ending -------------------------------------------------------------------------------------- */

/* Memory for a window that is larger than all there is to send would be registered for nothing. */
static void fit_to_bytes(struct wire_req *req, uint64_t bytes)
{
	while (req->slots_log2 > 1 && (1ULL << (req->slot_log2 + req->slots_log2 - 1)) >= bytes)
		req->slots_log2--;
	while (req->slots_log2 == 1 && req->slot_log2 > SLAB_MIN_SLOT_LOG2 && (1ULL << (req->slot_log2 - 1)) >= bytes)
		req->slot_log2--;
}

/* An ordinary user may lock 8 MiB on Debian: a smaller window is slower, and better than none. */
static void fit_to_memlock(struct wire_req *req)
{
	struct rlimit rl;

	if (geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY)
		return;
	while (req->slots_log2 > 1 && (1ULL << (req->slot_log2 + req->slots_log2)) + MESSAGES_PINNED > rl.rlim_cur) {
		req->slots_log2--;
		log_info("the limit of locked memory, %llu bytes, allows for %u slots", (unsigned long long)rl.rlim_cur,
			 1U << req->slots_log2);
	}
}

void connect_start(struct connect *c, struct loop *loop, const struct options *options,
		   const struct addrinfo *addresses, const struct key *key, uint64_t bytes,
		   const struct connect_events *events, void *owner)
{
	*c = (struct connect){
		.loop = loop,
		.options = options,
		.transport = endpoint_transport_find(options_transport_name(options)),
		.events = events,
		.owner = owner,
		.address = addresses,
		.redial.run = on_redial,
		.key = key,
		.req = { .flags = options->pull ? WIRE_PULL : 0,
			 .slot_log2 = (uint8_t)options->slot_log2,
			 .slots_log2 = (uint8_t)options->slots_log2 },
	};
	uuid_generate(c->req.uuid);
	fit_to_bytes(&c->req, bytes);
	if (c->transport == &endpoint_rdma)
		fit_to_memlock(&c->req);
	loop_defer(loop, &c->redial);
}

void connect_abort(struct connect *c)
{
	c->address = NULL;
	if (c->ep)
		endpoint_abort(c->ep, ENDPOINT_CLOSED, "given up");
}

void connect_done(struct connect *c)
{
	loop_undefer(c->loop, &c->redial);
	endpoint_free(steal_ptr(c->ep));
}
