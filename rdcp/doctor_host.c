/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way to a host, step by step with timings: resolve the name, then for each address what a copy does before its
 * first byte. Called by doctor.c. A probe is one connection: dial, register memory, REQ, and REP or REJ; a daemon that
 * asks for a key gets a second probe with the proof. A REP is followed by an END without files, whose DONE shows that
 * messages travel both ways; nothing is written at the daemon.
 *
 * A probe owns its loop, endpoint and slab; each step is bounded by --connect-timeout, all together by `deadline`.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#include "common/cleanup.h"
#include "common/endpoint.h"
#include "common/error.h"
#include "common/key.h"
#include "common/loop.h"
#include "common/slab.h"
#include "common/util.h"
#include "common/wire.h"
#include "doctor.h"
#include "hint.h"
#include "resolve.h"

#define MAX_ADDRESSES 8
#define RECEIVES_LOG2 2

struct probe {
	const struct options *o;
	const char *shown; /* the address */
	struct loop loop;
	struct loop_timer deadline;
	struct endpoint *ep;
	struct slab slab;
	struct wire_req req;
	uint8_t blob[WIRE_REQ_SIZE];

	const struct key *key; /* to prove in this REQ; NULL: none */
	bool have_key;         /* there is one, for when it is asked for */
	uint8_t challenge[WIRE_MAC_SIZE];

	uint64_t step_ns; /* when the step began that is under way */
	bool quiet;       /* steps that went well were said by the probe before */
	bool unproven, answered;
	enum status status;               /* of DONE or ERROR */
	struct endpoint_fault fault, own; /* the end; what failed on our side of the seam before it */
	bool failed_here;
};

static void say_step(struct probe *p, const char *what)
{
	uint64_t now = now_ns();

	if (!p->quiet)
		doctor_say(DOCTOR_OK, "%s: %s (%.1f ms)", p->shown, what, (double)(now - p->step_ns) / MSEC);
	p->step_ns = now;
}

/* ---- the connection's events -------------------------------------------------------------------------------- */

static void clamp_geometry(struct probe *p)
{
	struct endpoint_limits limits;

	endpoint_limits(p->ep, &limits);
	while (p->req.slot_log2 > SLAB_MIN_SLOT_LOG2 && 1ULL << p->req.slot_log2 > limits.max_write)
		p->req.slot_log2--;
	while (p->req.slots_log2 > 0 && 1U << p->req.slots_log2 > limits.max_slots)
		p->req.slots_log2--;
}

static int prepare(struct probe *p)
{
	uint64_t base;
	uint32_t rkey;
	int r;

	clamp_geometry(p);
	r = endpoint_open(p->ep, 1U << p->req.slots_log2, 1U << RECEIVES_LOG2, &p->own);
	if (r == 0)
		r = slab_init(&p->slab, p->req.slot_log2, p->req.slots_log2);
	if (r == 0)
		r = endpoint_register(p->ep, &p->slab, false, &base, &rkey, &p->own);
	return r;
}

static void on_resolved(void *owner)
{
	struct probe *p = owner;
	char what[64], size[16];

	if (p->o->transport == OPTIONS_RDMA)
		say_step(p, "an RDMA device leads there");
	p->own = (struct endpoint_fault){ .kind = ENDPOINT_RESOURCES };
	if (prepare(p) < 0) {
		p->failed_here = true;
		endpoint_abort(p->ep, p->own.kind, p->own.text);
		return;
	}
	if (p->o->transport == OPTIONS_RDMA) {
		snprintf(what, sizeof(what), "%s of memory registered", format_size(slab_bytes(&p->slab), size));
		say_step(p, what);
	}
	if (wire_encode_req(&p->req, p->blob, sizeof(p->blob)) < 0) {
		endpoint_abort(p->ep, ENDPOINT_PROTOCOL, "encoding the request");
		return;
	}
	if (p->key) {
		key_client_proof(p->key, p->challenge, p->blob, p->req.mac);
		wire_encode_req(&p->req, p->blob, sizeof(p->blob));
	}
	endpoint_connect(p->ep, p->blob, sizeof(p->blob));
}

/* Who has a key wants to know who answers. */
static bool is_genuine(const struct probe *p, const void *blob, const struct wire_rep *rep)
{
	uint8_t mac[WIRE_MAC_SIZE];

	if (!p->key)
		return !p->have_key;
	key_server_proof(p->key, p->challenge, p->req.uuid, blob, mac);
	return (rep->flags & WIRE_MAC) && key_proof_equal(mac, rep->mac);
}

static void send_end(struct probe *p)
{
	const struct wire_record rec = { .type = WIRE_END, .end = { .files = 0 } };
	size_t size = wire_size(&rec);
	uint8_t *room = endpoint_reserve(p->ep, size);
	ssize_t n;

	if (!room) {
		endpoint_abort(p->ep, ENDPOINT_PROTOCOL, "no credit for a first message");
		return;
	}
	n = wire_encode(&rec, room, size);
	endpoint_commit(p->ep, n < 0 ? 0 : (size_t)n);
}

static void on_connected(void *owner, const void *blob, size_t len)
{
	struct probe *p = owner;
	struct wire_rep rep;
	char what[128], size[16];

	if (wire_decode_rep(blob, len, &rep, NULL) < 0) {
		endpoint_abort(p->ep, ENDPOINT_PROTOCOL, "its answer is not an rdcpd's");
		return;
	}
	if (!is_genuine(p, blob, &rep)) {
		p->unproven = true;
		endpoint_abort(p->ep, ENDPOINT_PROTOCOL, "it did not prove that it has the key");
		return;
	}
	p->quiet = false;
	snprintf(what, sizeof(what), "rdcpd accepts%s, and grants %u slots of %s",
		 p->key ? " the key and proves that it has it" : " (it wants no key)", 1U << (rep.slots_log2 & 31),
		 format_size(1ULL << (rep.slot_log2 & 63), size));
	say_step(p, what);
	endpoint_set_credits(p->ep, 1U << (rep.receives_log2 & 15));
	send_end(p);
}

static void on_message(void *owner, const uint8_t *records, size_t len)
{
	struct probe *p = owner;
	struct wire_record rec;

	while (len > 0 && !p->answered) {
		if (wire_decode(&records, &len, &rec) < 0) {
			endpoint_abort(p->ep, ENDPOINT_PROTOCOL, "a record that makes no sense");
			return;
		}
		if (rec.type != WIRE_DONE && rec.type != WIRE_ERROR)
			continue;
		p->answered = true;
		p->status = rec.status.status;
		if (p->status == STATUS_OK)
			say_step(p, "messages travel both ways");
		endpoint_close(p->ep);
	}
}

static void on_writable(void *owner)
{
}

static void on_closed(void *owner, const struct endpoint_fault *fault)
{
	struct probe *p = owner;

	p->fault = p->failed_here ? p->own : *fault;
	loop_stop(&p->loop);
}

static const struct endpoint_events events = {
	.resolved = on_resolved,
	.connected = on_connected,
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

static void on_deadline(struct loop_timer *t)
{
	struct probe *p = container_of(t, struct probe, deadline);

	endpoint_abort(p->ep, ENDPOINT_TIMEOUT, "no answer");
}

/* ---- one probe ---------------------------------------------------------------------------------------------- */

/* Runs it to its end; the outcome is in the probe. */
static int run_probe(struct probe *p, const struct sockaddr *addr)
{
	const struct endpoint_transport *transport = endpoint_transport_find(options_transport_name(p->o));
	int r;

	p->req.slot_log2 = (uint8_t)p->o->slot_log2;
	p->req.slots_log2 = (uint8_t)p->o->slots_log2;
	p->req.receives_log2 = RECEIVES_LOG2;
	p->req.flags = p->key ? WIRE_MAC : 0;
	if (!transport)
		return -ENOTSUP;
	r = loop_init(&p->loop);
	if (r < 0)
		return r;
	p->step_ns = now_ns();
	r = endpoint_dial(transport, &p->loop, addr, p->o->connect_timeout_ns, &events, p, &p->ep, &p->fault);
	if (r == 0) {
		p->deadline.expired = on_deadline;
		loop_timer_set(&p->loop, &p->deadline, p->step_ns + 4 * p->o->connect_timeout_ns);
		r = loop_run(&p->loop);
		loop_timer_cancel(&p->loop, &p->deadline);
		endpoint_free(p->ep);
		slab_done(&p->slab);
	} else {
		r = 0; /* the fault says it */
	}
	loop_done(&p->loop);
	return r;
}

/* Is it a REJ that says `wanted`? */
static bool was_refused(const struct probe *p, enum status wanted, struct wire_rej *ret_rej)
{
	return p->fault.kind == ENDPOINT_REJECTED &&
	       wire_decode_rej(p->fault.blob, p->fault.blob_len, ret_rej, NULL) == 0 && ret_rej->reason == wanted;
}

static bool judge(const struct probe *p, const struct options_key *where, uint16_t port)
{
	const struct hint_peer peer = { .host = p->shown,
					.port = port,
					.tcp = p->o->transport == OPTIONS_TCP,
					.window = 1ULL << (p->req.slot_log2 + p->req.slots_log2),
					.family = p->o->family,
					.key = where };
	char line[HINT_SIZE];

	if (p->answered && p->status == STATUS_OK)
		return true;
	if (p->unproven)
		hint_unproven(&peer, p->key != NULL, line, sizeof(line));
	else if (p->answered)
		hint_status(&peer, p->status, "", 0, line, sizeof(line));
	else
		hint_fault(&peer, &p->fault, line, sizeof(line));
	return doctor_say(DOCTOR_FAIL, "%s", line);
}

static bool try_address(const struct options *o, const struct addrinfo *ai, uint16_t port,
			const struct options_key *where, const struct key *key)
{
	char shown[NI_MAXHOST];
	struct probe first = { .o = o, .shown = shown, .have_key = key != NULL };
	struct probe second = { .o = o, .shown = shown, .key = key, .quiet = true };
	struct wire_rej rej;
	int r;

	resolve_show(ai->ai_addr, ai->ai_addrlen, shown, sizeof(shown));
	uuid_generate_random(first.req.uuid);
	r = run_probe(&first, ai->ai_addr);
	if (r < 0)
		return doctor_say(DOCTOR_FAIL, "%s: %s", shown, strerror(-r));
	if (!key || !was_refused(&first, STATUS_AUTH_REQUIRED, &rej))
		return judge(&first, where, port);

	/* The challenge is made of the uuid, so it stays. */
	say_step(&first, "an rdcpd answers and wants a key");
	memcpy(second.req.uuid, first.req.uuid, sizeof(second.req.uuid));
	memcpy(second.challenge, rej.challenge, sizeof(second.challenge));
	r = run_probe(&second, ai->ai_addr);
	if (r < 0)
		return doctor_say(DOCTOR_FAIL, "%s: %s", shown, strerror(-r));
	return judge(&second, where, port);
}

/* ---- the host ----------------------------------------------------------------------------------------------- */

static struct addrinfo *find_addresses(const struct options *o, const struct location *host, uint16_t port)
{
	const struct hint_peer peer = { .host = host->host, .port = port, .family = o->family };
	uint64_t began = now_ns();
	struct addrinfo *list;
	char line[HINT_SIZE], shown[NI_MAXHOST], name[256];
	int r;

	r = resolve_host(host->host, port, o->family, o->connect_timeout_ns, &list);
	if (r != 0) {
		hint_resolve(&peer, r, errno, line, sizeof(line));
		doctor_say(DOCTOR_FAIL, "%s", line);
		return NULL;
	}
	line[0] = '\0';
	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		resolve_show(ai->ai_addr, ai->ai_addrlen, shown, sizeof(shown));
		if (strlen(line) + strlen(shown) + 2 < 200)
			strcat(strcat(line, " "), shown);
	}
	doctor_say(DOCTOR_OK, "%s is%s (%.1f ms)", escape_name(host->host, name, sizeof(name)), line,
		   (double)(now_ns() - began) / MSEC);
	return list;
}

bool doctor_host(const struct options *o, const struct location *host, const struct options_key *where)
{
	uint16_t port = options_port(o);
	struct addrinfo *list = find_addresses(o, host, port);
	struct key key;
	bool have_key = where->path[0] && key_load(where->path, &key, NULL, 0) == 0;
	bool works = false;
	unsigned int tried = 0;

	for (const struct addrinfo *ai = list; ai && tried < MAX_ADDRESSES; ai = ai->ai_next, tried++)
		works |= try_address(o, ai, port, where, have_key ? &key : NULL);
	if (list)
		freeaddrinfo(list);
	if (have_key)
		key_wipe(&key);
	return works;
}
