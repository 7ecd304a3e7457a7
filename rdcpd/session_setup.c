/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From an accepted connection to a session at work: queues, memory, workers, exports, engine, in this order, and the answer to
 * the client. Runs once, on the session's thread. What is half made is freed by session.c like what is whole.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/descriptors.h"
#include "common/log.h"
#include "common/util.h"
#include "session_impl.h"

#define SHARING 8       /* a session takes at most this part of the descriptors that are left */
#define RECEIVES_LOG2 5 /* 32 messages on their way to us */

/* What the device can do bounds what the daemon grants. */
static void clamp_geometry(struct session *s)
{
	struct endpoint_limits limits;

	endpoint_limits(s->ep, &limits);
	while (s->args.req.slot_log2 > SLAB_MIN_SLOT_LOG2 && (1ULL << s->args.req.slot_log2) > limits.max_write)
		s->args.req.slot_log2--;
	while (s->args.req.slots_log2 > 0 && (1U << s->args.req.slots_log2) > limits.max_slots)
		s->args.req.slots_log2--;
}

static int make_engine(struct session *s)
{
	unsigned int files = descriptors_files(s->descriptors, RECEIVER_MAX_FILES);
	int r = session_is_pull(s) ? serve_start(&s->serve, &s->peer, &s->slab, s->io, &s->roots, files)
				   : store_start(&s->store, &s->peer, &s->slab, s->io, &s->roots, files);

	s->engine = r == 0;
	return r;
}

/* With the rights of the client's user, which the workers inherit. */
static int open_files_side(void *arg)
{
	struct session *s = arg;
	int r;

	log_set_context(s->context);
	journal_set_session(&s->fields);
	r = ioqueue_new(&s->loop, s->args.grant.config->io_threads, &s->io);
	if (r == 0 && access_grant_identity(&s->args.grant))
		ioqueue_workers_only(s->io);
	return r == 0 ? roots_init(&s->roots, &s->args.grant) : r;
}

/* The more sessions there are, the less is left for one more, but as many as are allowed have some. */
static int take_descriptors(struct session *s, struct endpoint_fault *ret_fault)
{
	unsigned int parts = s->args.grant.config->max_sessions;

	s->descriptors = descriptors_take(DESCRIPTORS_OF_SESSION + RECEIVER_MAX_FILES * DESCRIPTORS_OF_FILE,
					  DESCRIPTORS_LEAST, parts > SHARING ? parts : SHARING);
	if (s->descriptors)
		return 0;
	snprintf(ret_fault->text, sizeof(ret_fault->text),
		 "the sessions have all of %u descriptors, see LimitNOFILE=", descriptors_limit());
	return -EMFILE;
}

static int make_parts(struct session *s, struct endpoint_fault *ret_fault, uint64_t *ret_base, uint32_t *ret_rkey)
{
	const struct wire_req *req = &s->args.req;
	int r = loop_add(&s->loop, &s->stop_source);

	if (r == 0)
		r = take_descriptors(s, ret_fault);
	if (r == 0)
		r = endpoint_open(s->ep, 1U << req->slots_log2, 1U << RECEIVES_LOG2, ret_fault);
	if (r == 0)
		r = slab_init(&s->slab, req->slot_log2, req->slots_log2);
	if (r == 0)
		r = endpoint_register(s->ep, &s->slab, !session_is_pull(s), ret_base, ret_rkey, ret_fault);
	if (r == 0)
		r = identity_run(access_grant_identity(&s->args.grant), open_files_side, s);
	if (r == 0)
		r = make_engine(s);
	return r;
}

/* Whatever is short here comes back when another session ends: try again. Returns the size of the blob. */
static size_t encode_busy(const char *text, uint8_t blob[static WIRE_REJ_MAX])
{
	struct wire_rej rej = { .reason = STATUS_BUSY };
	ssize_t n;

	rej.text_len = (uint8_t)snprintf(rej.text, sizeof(rej.text), "%s", text);
	n = wire_encode_rej(&rej, blob, WIRE_REJ_MAX);
	return n < 0 ? 0 : (size_t)n;
}

static const char *what_is_short(int r)
{
	switch (r) {
	case -EAGAIN: /* pthread_create(3) */
		return "thread";
	case -EMFILE:
	case -ENFILE:
		return "descriptor";
	default:
		return "memory";
	}
}

static size_t encode_short(int r, uint8_t blob[static WIRE_REJ_MAX])
{
	char text[WIRE_REJ_TEXT_MAX];

	snprintf(text, sizeof(text), "it has no %s left for one more session", what_is_short(r));
	return encode_busy(text, blob);
}

void session_refuse(struct endpoint_request *rq, int r)
{
	uint8_t blob[WIRE_REJ_MAX];

	endpoint_request_reject(rq, blob, encode_short(r, blob));
}

static void refuse(struct session *s, const struct endpoint_fault *fault, int error)
{
	uint8_t blob[WIRE_REJ_MAX];
	size_t size;

	if (fault->kind == ENDPOINT_MEMLOCK) {
		log_err("cannot lock %llu bytes of memory: raise LimitMEMLOCK= of rdcpd.service, or lower slots",
			(unsigned long long)fault->need);
		size = encode_busy("it may not lock enough memory for one more session, see its log", blob);
	} else {
		log_err("cannot set up a session: %s%s%s", fault->text, *fault->text ? ": " : "", strerror(-error));
		size = error == -EAGAIN || error == -EMFILE || error == -ENFILE
			       ? encode_short(error, blob)
			       : encode_busy(
					 "its device or system ran out of something for one more session, see its log",
					 blob);
	}
	endpoint_refuse(s->ep, blob, size);
}

static void reply(struct session *s, uint64_t base, uint32_t rkey)
{
	struct wire_rep rep = {
		.slot_log2 = s->args.req.slot_log2,
		.slots_log2 = s->args.req.slots_log2,
		.receives_log2 = RECEIVES_LOG2,
		.base = base,
		.rkey = rkey,
		.max_files = (uint16_t)descriptors_files(s->descriptors, RECEIVER_MAX_FILES),
	};
	uint8_t blob[WIRE_REP_SIZE];

	if (s->args.grant.prove) {
		rep.flags |= WIRE_MAC;
		wire_encode_rep(&rep, blob, sizeof(blob));
		access_prove(&s->args.grant, blob, rep.mac);
	}
	wire_encode_rep(&rep, blob, sizeof(blob));
	endpoint_set_credits(s->ep, 1U << s->args.req.receives_log2);
	endpoint_reply(s->ep, blob, sizeof(blob));
}

int session_answer(struct session *s)
{
	struct endpoint_fault fault = { .kind = ENDPOINT_RESOURCES };
	uint64_t base;
	uint32_t rkey;
	int r;

	clamp_geometry(s);
	r = make_parts(s, &fault, &base, &rkey);
	if (r < 0)
		refuse(s, &fault, r);
	else
		reply(s, base, rkey);
	return r;
}
