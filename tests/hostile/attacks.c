/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The attacks that go through the front door: what each does at each station of a connection. */
#include <string.h>

#include "caller.h"
#include "common/error.h"
#include "common/util.h"

/* ---- garbage: REQs that are none, or almost ------------------------------------------------------------------ */

static size_t garbage_request(struct caller *c, uint8_t blob[static WIRE_REQ_SIZE], size_t len)
{
	struct crowd *crowd = c->crowd;

	if (one_in(crowd, 2)) { /* a good one with a few bits wrong */
		for (unsigned int n = 1 + below(crowd, 3); n; n--)
			blob[below(crowd, (unsigned int)len)] ^= (uint8_t)(1U << below(crowd, 8));
		return len;
	}
	for (size_t i = one_in(crowd, 2) ? 0 : 8; i < len; i++) /* behind magic and version, or from the start */
		blob[i] = (uint8_t)crowd_random(crowd);
	return 1 + below(crowd, (unsigned int)len);
}

/* ---- forge: nothing but wrong proofs, which cost the most to look at ------------------------------------------- */

static size_t forge_request(struct caller *c, uint8_t blob[static WIRE_REQ_SIZE], size_t len)
{
	struct wire_req req = c->req;

	req.flags |= WIRE_MAC;
	for (unsigned int i = 0; i < WIRE_MAC_SIZE; i++)
		req.mac[i] = (uint8_t)crowd_random(c->crowd);
	wire_encode_req(&req, blob, len);
	return len;
}

/* ---- flood: REQs without a proof, or with a wrong one --------------------------------------------------------- */

static size_t flood_request(struct caller *c, uint8_t blob[static WIRE_REQ_SIZE], size_t len)
{
	return one_in(c->crowd, 2) ? len : forge_request(c, blob, len);
}

/* ---- leave: gone at any moment of the handshake --------------------------------------------------------------- */

static void leave(struct caller *c)
{
	if (one_in(c->crowd, 2))
		endpoint_abort(c->ep, ENDPOINT_LOST, "gone");
	else
		endpoint_close(c->ep);
}

static void leave_requested(struct caller *c)
{
	if (one_in(c->crowd, 3))
		leave(c);
	else if (one_in(c->crowd, 2))
		caller_wait(c, below(c->crowd, 5));
}

/* ---- silent: let in, and then nothing until the daemon hangs up ------------------------------------------------ */

static void say_nothing(struct caller *c)
{
}

/* ---- mutate: records, spoilt ---------------------------------------------------------------------------------- */

static void say_stream(struct caller *c)
{
	while (c->saying) {
		size_t left = c->stream_len - c->stream_at, n = 1 + below(c->crowd, WIRE_RECORDS_MAX);
		uint8_t *room;

		if (!left) {
			c->saying = false;
			caller_wait(c, below(c->crowd, 100));
			return;
		}
		/* Cut anywhere now and then: a message holds whole records, or it is malformed. */
		n = one_in(c->crowd, 20) ? min_size(n, left) : min_size(WIRE_RECORDS_MAX, left);
		room = endpoint_reserve(c->ep, n);
		if (!room)
			return;
		memcpy(room, c->stream + c->stream_at, n);
		endpoint_commit(c->ep, n);
		c->stream_at += n;
		if (one_in(c->crowd, 2))
			endpoint_flush(c->ep);
	}
}

/* Anywhere in the window as a rule; beside it now and then, which ends the connection. */
static void write_anywhere(struct caller *c)
{
	struct crowd *crowd = c->crowd;
	unsigned int slot = below(crowd, c->slab.slots);
	size_t off = below(crowd, (unsigned int)c->slab.slot_size);

	if (one_in(crowd, 30))
		endpoint_aim(c->ep, c->rep.base + crowd_random(crowd) % (2 * slab_bytes(&c->slab)), c->rep.rkey);
	if (one_in(crowd, 60))
		endpoint_aim(c->ep, c->rep.base, c->rep.rkey ^ (1U << below(crowd, 32)));
	caller_write(c, slot, off, 1 + below(crowd, (unsigned int)(c->slab.slot_size - off)));
}

static void mutate_connected(struct caller *c)
{
	stream_make(c);
	if (c->stream)
		stream_spoil(c);
	if (!c->stream) {
		endpoint_close(c->ep);
		return;
	}
	if (!(c->req.flags & WIRE_PULL) && one_in(c->crowd, 4))
		write_anywhere(c);
	c->saying = true;
	say_stream(c);
}

static void answer(struct caller *c, const struct wire_record *rec)
{
	uint8_t buf[WIRE_RECORDS_MAX];
	size_t n = stream_record(c->crowd, rec, buf);
	uint8_t *room = n && !c->saying ? endpoint_reserve(c->ep, n) : NULL;

	if (!room)
		return;
	memcpy(room, buf, n);
	endpoint_commit(c->ep, n);
}

/* A client of a pull answers more or less as it should. */
static void mutate_record(struct caller *c, const struct wire_record *rec)
{
	struct wire_record out = { .type = WIRE_DONE };

	if (rec->type == WIRE_ERROR) {
		endpoint_close(c->ep);
		return;
	}
	if (!(c->req.flags & WIRE_PULL) || one_in(c->crowd, 30))
		return;
	switch (rec->type) {
	case WIRE_DATA:
		out.type = WIRE_ACK;
		out.ack = (struct wire_ack){ .count = 1, .slots = { rec->data.slot } };
		break;
	case WIRE_FILE:
		if (!one_in(c->crowd, 6))
			return;
		/* fall through */
	case WIRE_CLOSE:
		out.type = WIRE_RESULT;
		out.result = (struct wire_result){ .file = rec->close.file, .text = wire_text("\033[2J") };
		out.result.status = one_in(c->crowd, 4) ? STATUS_IO : STATUS_OK;
		break;
	case WIRE_PING:
		out.type = WIRE_PONG;
		break;
	case WIRE_END:
		break;
	default:
		return;
	}
	answer(c, &out);
}

static const struct attack attacks[] = {
	{ .name = "garbage", .request = garbage_request },
	{ .name = "forge", .request = forge_request },
	{ .name = "flood", .request = flood_request },
	{ .name = "leave", .proves = true, .requested = leave_requested, .connected = leave, .tired = leave },
	{ .name = "silent", .proves = true, .connected = say_nothing },
	{ .name = "mutate",
	  .proves = true,
	  .connected = mutate_connected,
	  .record = mutate_record,
	  .writable = say_stream,
	  .tired = leave },
};

const char attack_names[] = "garbage, forge, flood, leave, silent, mutate, strangers";

const struct attack *attack_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++)
		if (!strcmp(attacks[i].name, name))
			return &attacks[i];
	return NULL;
}
