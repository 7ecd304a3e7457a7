/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The stream transport's frames: the queue of those that go out, the reading of those that come in.
 *
 * Called by endpoint_stream.c from loop callbacks. Out: frames borrow their bodies (a slot, a send buffer) until the socket
 * took them, in order; as on RDMA a write is reported with the message behind it. In: one readv takes the rest of a body
 * straight to where it belongs and whatever follows into `stage`, where headers and small bodies are parsed.
 * Posted receives and the write window are checked as a device would. A broken rule fails the endpoint, and so does the
 * end of the stream.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "endpoint_stream.h"
#include "error.h"
#include "sys.h"
#include "util.h"
#include "wire_cursor.h"

#define CONTROL_FRAMES 4 /* REQ or REP, CLOSE or NAK */
#define PUSH_IOVECS 64
#define CALLS_PER_EVENT 16 /* system calls before others have their turn */
#define VERSION 1

/* ---- headers ------------------------------------------------------------------------------------------------ */

void stream_encode_header(const struct stream_frame *f, uint8_t buf[static STREAM_HEADER])
{
	struct writer w = { .buf = buf, .size = STREAM_HEADER };

	put_u8(&w, 'r');
	put_u8(&w, 'd');
	put_u8(&w, VERSION);
	put_u8(&w, (uint8_t)f->type);
	put_u32(&w, f->len);
	put_u64(&w, f->addr);
	put_u32(&w, f->rkey);
}

int stream_decode_header(const uint8_t buf[static STREAM_HEADER], struct stream_frame *ret_frame)
{
	struct reader r = { .p = buf, .left = STREAM_HEADER };
	uint8_t type;

	if (get_u8(&r) != 'r' || get_u8(&r) != 'd' || get_u8(&r) != VERSION)
		return -EBADMSG;
	type = get_u8(&r);
	if (type < STREAM_REQ || type >= STREAM_TYPE_END)
		return -EBADMSG;
	ret_frame->type = (enum stream_type)type;
	ret_frame->len = get_u32(&r);
	ret_frame->addr = get_u64(&r);
	ret_frame->rkey = get_u32(&r);
	return 0;
}

/* ---- out ---------------------------------------------------------------------------------------------------- */

int stream_make_queue(struct stream_endpoint *s, unsigned int slots)
{
	unsigned int depth = 2U << log2_floor(slots + ENDPOINT_SENDS + CONTROL_FRAMES);

	s->queue = calloc(depth, sizeof(*s->queue));
	if (!s->queue)
		return fail(-ENOMEM, "queue of %u frames", depth);
	s->depth = depth;
	s->slots = slots;
	return 0;
}

static struct stream_queued *queued_at(struct stream_endpoint *s, uint64_t position)
{
	return &s->queue[position & (s->depth - 1)];
}

int stream_queue(struct stream_endpoint *s, const struct stream_frame *f, const void *body, struct endpoint_work *work,
		 unsigned int message)
{
	struct stream_queued *q;

	if (s->tail - s->head >= s->depth)
		return -ENOBUFS;
	q = queued_at(s, s->tail++);
	*q = (struct stream_queued){
		.type = f->type,
		.message = (uint16_t)message,
		.work = work,
		.body = body,
		.len = f->len,
	};
	stream_encode_header(f, q->header);
	if (!s->blocked)
		loop_defer(s->base.loop, &s->push_task);
	return 0;
}

static void park(struct stream_endpoint *s, struct endpoint_work *w)
{
	w->next = NULL;
	*s->parked_tail = w;
	s->parked_tail = &w->next;
}

static void tell_parked(struct stream_endpoint *s, int status)
{
	struct endpoint_work *w;

	while ((w = s->parked)) {
		s->parked = w->next;
		if (!s->parked)
			s->parked_tail = &s->parked;
		s->writes--;
		endpoint_on_written(w, status);
	}
}

void stream_drop_queue(struct stream_endpoint *s)
{
	uint64_t keep = s->head_sent ? s->head + 1 : s->head;

	for (uint64_t i = s->head; i < s->tail; i++) {
		struct stream_queued *q = queued_at(s, i);

		if (q->work)
			park(s, q->work);
		q->work = NULL;
	}
	s->tail = keep;
	tell_parked(s, -ECANCELED);
}

static void on_frame_sent(struct stream_endpoint *s, enum stream_type type, struct endpoint_work *work,
			  unsigned int message)
{
	switch (type) {
	case STREAM_WRITE:
		if (work)
			park(s, work);
		break;
	case STREAM_SEND:
		tell_parked(s, 0);
		endpoint_on_sent(&s->base, message);
		break;
	case STREAM_REP:
		endpoint_on_connected(&s->base, NULL, 0);
		break;
	case STREAM_CLOSE:
		tell_parked(s, 0);
		break;
	default:
		break;
	}
}

static void on_bytes_sent(struct stream_endpoint *s, size_t n)
{
	s->head_sent += n;
	while (s->head != s->tail) {
		struct stream_queued *q = queued_at(s, s->head);
		size_t size = STREAM_HEADER + (size_t)q->len;

		if (s->head_sent < size)
			break;
		s->head_sent -= size;
		s->head++;
		on_frame_sent(s, q->type, q->work, q->message);
	}
}

static ssize_t send_some(struct stream_endpoint *s)
{
	struct iovec iov[PUSH_IOVECS];
	struct msghdr msg = { .msg_iov = iov };
	size_t skip = s->head_sent;
	ssize_t n;

	for (uint64_t i = s->head; i < s->tail && msg.msg_iovlen + 2 <= PUSH_IOVECS; i++) {
		struct stream_queued *q = queued_at(s, i);
		size_t header_gone = min_size(skip, STREAM_HEADER), body_gone = skip - header_gone;

		if (header_gone < STREAM_HEADER)
			iov[msg.msg_iovlen++] = (struct iovec){ q->header + header_gone, STREAM_HEADER - header_gone };
		if (body_gone < q->len)
			iov[msg.msg_iovlen++] = (struct iovec){ (void *)(q->body + body_gone), q->len - body_gone };
		skip = 0;
	}
	do {
		n = sendmsg(s->source.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* A peer that went away may have said why (NAK, CLOSE, a last message): then reading on tells, and ends the endpoint. */
static void on_send_error(struct stream_endpoint *s, int r)
{
	s->broken = r;
	if (r != -EPIPE && r != -ECONNRESET)
		endpoint_fail(&s->base, ENDPOINT_LOST, r, "sending to the peer");
	if (s->phase == STREAM_LINGERING)
		stream_end(s);
}

void stream_push(struct stream_endpoint *s)
{
	ssize_t n = 0;

	if (s->connecting || s->phase == STREAM_ENDED)
		return;
	for (unsigned int i = 0; i < CALLS_PER_EVENT && s->head != s->tail && !s->broken && n >= 0; i++) {
		/* A failure just marked: the shutdown at the end of this round decides what still goes out. */
		if (s->base.failed && s->phase == STREAM_RUNNING)
			return;
		n = send_some(s);
		if (n >= 0)
			on_bytes_sent(s, (size_t)n);
		else if (n != -EAGAIN)
			on_send_error(s, (int)n);
	}
	s->blocked = s->head != s->tail && !s->broken;
	if (s->phase == STREAM_LINGERING && s->head == s->tail && !s->shut) {
		s->shut = true;
		shutdown(s->source.fd, SHUT_WR);
	}
	stream_watch(s);
}

/* ---- in ----------------------------------------------------------------------------------------------------- */

static const struct {
	uint32_t min, max; /* bytes of body */
	bool known;        /* false: never legal here */
	bool talking;      /* legal after the handshake, else during it at the active side */
} rules[STREAM_TYPE_END] = {
	[STREAM_REP] = { 0, WIRE_REP_MAX, true, false },
	[STREAM_REJ] = { 0, WIRE_REJ_MAX, true, false },
	[STREAM_SEND] = { 1, WIRE_MESSAGE_MAX, true, true },
	[STREAM_WRITE] = { 1, UINT32_MAX, true, true },
	[STREAM_NAK] = { 0, 0, true, true },
	[STREAM_CLOSE] = { 0, 0, true, true },
};

static bool legal(const struct stream_endpoint *s, enum stream_type type)
{
	if (!rules[type].known || rules[type].talking != s->talking)
		return false;
	return s->talking || (s->base.active && s->base.state == ENDPOINT_CONNECTING);
}

static void break_rule(struct stream_endpoint *s, const char *what)
{
	endpoint_fail(&s->base, ENDPOINT_PROTOCOL, -EPROTO, "%s", what);
}

/* Receives the peer was not told of yet do not count: a message that lives off them shows that its credits are wrong, where a
 * device would stall now and then. */
static void aim_send(struct stream_endpoint *s)
{
	if (s->receive_count <= s->base.owed) {
		break_rule(s, "a message came for which no receive was posted");
		return;
	}
	s->in_receive = s->receives[--s->receive_count];
	s->in_at = endpoint_receive_buffer(&s->base, s->in_receive);
}

static void aim_write(struct stream_endpoint *s)
{
	const struct stream_frame *f = &s->in;
	uint64_t at = f->addr - STREAM_WINDOW_BASE;

	if (!s->window || f->rkey != s->window_rkey || f->addr < STREAM_WINDOW_BASE || at > s->window_size ||
	    f->len > s->window_size - at) {
		s->refused_write = true;
		break_rule(s, "the peer wrote outside of what it may write to");
		return;
	}
	s->in_at = s->window + at;
}

/* Decides where the body goes; marks the endpoint failed when it may not come. */
static void begin_frame(struct stream_endpoint *s, const uint8_t *header)
{
	struct stream_frame *f = &s->in;

	if (stream_decode_header(header, f) < 0) {
		break_rule(s, "something came that is no frame");
		return;
	}
	if (!legal(s, f->type) || f->len < rules[f->type].min || f->len > rules[f->type].max) {
		break_rule(s, "a frame came out of turn, or of a wrong length");
		return;
	}
	s->in_frame = true;
	s->in_left = f->len;
	s->in_at = s->blob_in;
	if (f->type == STREAM_SEND)
		aim_send(s);
	else if (f->type == STREAM_WRITE)
		aim_write(s);
}

static void on_rejected(struct stream_endpoint *s)
{
	struct endpoint_fault *fault = &s->base.fault;

	memcpy(fault->blob, s->blob_in, s->in.len);
	fault->blob_len = s->in.len;
	endpoint_fail(&s->base, ENDPOINT_REJECTED, -ECONNREFUSED, NULL);
}

static void on_frame(struct stream_endpoint *s)
{
	s->in_frame = false;
	switch (s->in.type) {
	case STREAM_REP:
		s->talking = true;
		endpoint_on_connected(&s->base, s->blob_in, s->in.len);
		break;
	case STREAM_REJ:
		on_rejected(s);
		break;
	case STREAM_SEND:
		endpoint_on_received(&s->base, s->in_receive, s->in.len);
		break;
	case STREAM_NAK:
		endpoint_fail(&s->base, ENDPOINT_REFUSED_WRITE, -EACCES, NULL);
		break;
	case STREAM_CLOSE:
		s->peer_closed = true;
		endpoint_fail(&s->base, ENDPOINT_CLOSED, 0, "the peer closed");
		break;
	default: /* a WRITE is complete when its bytes are there; REQ is not legal here */
		break;
	}
}

static void take_staged(struct stream_endpoint *s)
{
	size_t at = 0, n;

	while (!s->base.failed) {
		if (!s->in_frame) {
			if (s->staged - at < STREAM_HEADER)
				break;
			begin_frame(s, s->stage + at);
			at += STREAM_HEADER;
			if (s->base.failed)
				break;
		}
		n = min_size(s->in_left, s->staged - at);
		if (n)
			memcpy(s->in_at, s->stage + at, n);
		s->in_at += n;
		s->in_left -= n;
		at += n;
		if (s->in_left)
			break;
		on_frame(s);
	}
	s->staged -= at;
	memmove(s->stage, s->stage + at, s->staged);
}

/* For tests: a piece of the body or the header, and never what follows. */
static void drip(const struct stream_endpoint *s, struct iovec iov[static 2])
{
	iov[0].iov_len = min_size(iov[0].iov_len, sys_drip());
	iov[1].iov_len = s->in_frame ? 0 : min_size(STREAM_HEADER - s->staged, sys_drip());
}

/* The rest of a body, and what follows it. *ret_all: there was more room than bytes, so the socket is empty. */
static ssize_t receive_some(struct stream_endpoint *s, bool *ret_all)
{
	struct iovec iov[2] = {
		{ s->in_at, s->in_frame ? s->in_left : 0 },
		{ s->stage + s->staged, sizeof(s->stage) - s->staged },
	};
	size_t body;
	ssize_t n;

	if (sys_drip())
		drip(s, iov);
	do {
		n = readv(s->source.fd, iov, 2);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	*ret_all = (size_t)n < iov[0].iov_len + iov[1].iov_len;
	body = min_size((size_t)n, iov[0].iov_len);
	if (body) {
		s->in_at += body;
		s->in_left -= body;
	}
	s->staged += (size_t)n - body;
	return n;
}

static void on_stream_end(struct stream_endpoint *s, int r)
{
	int error = r < 0 ? r : s->broken < 0 ? s->broken : -ECONNRESET;

	endpoint_fail(&s->base, ENDPOINT_LOST, error, "%s",
		      s->talking ? "the connection ended in the middle" : "the connection ended before an answer came");
}

static void discard(struct stream_endpoint *s)
{
	ssize_t n;

	for (unsigned int i = 0; i < CALLS_PER_EVENT; i++) {
		n = recv(s->source.fd, s->stage, sizeof(s->stage), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			stream_end(s);
			return;
		}
	}
}

void stream_pull(struct stream_endpoint *s)
{
	unsigned int calls = sys_drip() ? 1 : CALLS_PER_EVENT;
	bool all = false;
	ssize_t n;

	if (s->phase == STREAM_LINGERING)
		discard(s);
	else if (!s->in_frame && sys_drip_pause())
		return;
	for (unsigned int i = 0; i < calls && s->phase == STREAM_RUNNING && !s->base.failed && !all; i++) {
		n = receive_some(s, &all);
		if (n == -EAGAIN)
			return;
		if (n <= 0)
			on_stream_end(s, (int)n);
		else
			take_staged(s);
	}
}
