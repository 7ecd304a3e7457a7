/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Frames of the stream transport, messages in them, and credits, see talk.h. */
#include "talk.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/endpoint_stream.h"
#include "common/util.h"
#include "fuzz.h"

#define RECEIVES_LOG2 5
#define PATIENCE_MS 100 /* for what has to come, and does not when something was spoilt */
#define STEP_MS 5
#define ROUNDS 5

/* ---- frames ------------------------------------------------------------------------------------------------- */

static void send_all(struct talk *t, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len && !t->over) {
		ssize_t n = send(t->fd, p, len, MSG_NOSIGNAL);

		if (n <= 0) {
			t->over = true;
			return;
		}
		p += n;
		len -= (size_t)n;
	}
}

static void send_frame(struct talk *t, const struct stream_frame *f, const void *body)
{
	uint8_t header[STREAM_HEADER];

	stream_encode_header(f, header);
	send_all(t, header, sizeof(header));
	send_all(t, body, f->len);
}

static bool read_all(struct talk *t, void *buf, size_t len)
{
	if (len && recv(t->fd, buf, len, MSG_WAITALL) != (ssize_t)len)
		t->over = true;
	return !t->over;
}

/* Its body, if it fits; else it is thrown away. */
static bool read_frame(struct talk *t, struct stream_frame *ret_f, uint8_t body[static WIRE_MESSAGE_MAX])
{
	uint8_t header[STREAM_HEADER];

	if (!read_all(t, header, sizeof(header)))
		return false;
	FUZZ_CHECK(stream_decode_header(header, ret_f) == 0); /* the engine says nothing that is no frame */
	for (size_t left = ret_f->len; left;) {
		size_t n = min_size(left, WIRE_MESSAGE_MAX);

		if (!read_all(t, body, n))
			return false;
		left -= n;
	}
	return true;
}

static void tune(struct talk *t)
{
	struct timeval patience = { .tv_sec = 5 };

	stream_tune(t->fd);
	setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(t->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* ---- connecting --------------------------------------------------------------------------------------------- */

int talk_dial(struct talk *t, struct bytes *b, uint16_t port, bool pull)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons(port) };
	struct wire_req req = { .flags = pull ? WIRE_PULL : 0,
				.slot_log2 = TALK_SLOT_LOG2,
				.slots_log2 = (uint8_t)bytes_below(b, TALK_SLOTS_LOG2 + 1),
				.receives_log2 = RECEIVES_LOG2 };
	uint8_t blob[WIRE_REQ_SIZE], body[WIRE_MESSAGE_MAX];
	struct stream_frame f = { .type = STREAM_REQ, .len = sizeof(blob) };
	struct wire_rep rep;

	*t = (struct talk){ .b = b, .sender = !pull };
	t->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(t->fd >= 0);
	tune(t);
	FUZZ_CHECK(wire_encode_req(&req, blob, sizeof(blob)) == sizeof(blob));
	if (connect(t->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -1;
	send_frame(t, &f, blob);
	if (!read_frame(t, &f, body) || f.type != STREAM_REP || wire_decode_rep(body, f.len, &rep, NULL) < 0)
		return -1;
	t->base = rep.base;
	t->rkey = rep.rkey;
	t->slots = 1U << rep.slots_log2;
	t->slot_size = (size_t)1 << rep.slot_log2;
	t->credits = 1U << rep.receives_log2;
	return 0;
}

int talk_take(struct talk *t, struct bytes *b, int listen_fd, bool *ret_pull)
{
	struct wire_rep rep = { .slot_log2 = TALK_SLOT_LOG2, .receives_log2 = RECEIVES_LOG2, .max_files = 8 };
	uint8_t blob[WIRE_REP_SIZE], body[WIRE_MESSAGE_MAX];
	struct stream_frame f;
	struct wire_req req;

	*t = (struct talk){ .b = b };
	t->fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (t->fd < 0)
		return -1;
	tune(t);
	if (!read_frame(t, &f, body) || f.type != STREAM_REQ || wire_decode_req(body, f.len, &req, NULL) < 0)
		return -1;
	*ret_pull = t->sender = req.flags & WIRE_PULL;
	rep.slots_log2 = (uint8_t)min_size(req.slots_log2, TALK_SLOTS_LOG2);
	rep.slot_log2 = (uint8_t)min_size(req.slot_log2, TALK_SLOT_LOG2);
	rep.base = *ret_pull ? 0 : STREAM_WINDOW_BASE;
	FUZZ_CHECK(wire_encode_rep(&rep, blob, sizeof(blob)) == sizeof(blob));
	f = (struct stream_frame){ .type = STREAM_REP, .len = sizeof(blob) };
	send_frame(t, &f, blob);
	t->slots = 1U << rep.slots_log2;
	t->slot_size = (size_t)1 << rep.slot_log2;
	t->credits = 1U << req.receives_log2;
	return 0;
}

void talk_done(struct talk *t)
{
	struct stream_frame f = { .type = STREAM_CLOSE };

	if (t->fd >= 0 && bytes_below(t->b, 2))
		send_frame(t, &f, NULL);
	if (t->fd >= 0)
		close(t->fd);
	for (unsigned int i = 0; i < TALK_FILES; i++)
		digest_done(&t->files[i].digest);
}

/* ---- speaking ----------------------------------------------------------------------------------------------- */

void talk_flush(struct talk *t)
{
	uint8_t message[WIRE_MESSAGE_MAX];
	struct stream_frame f = { .type = STREAM_SEND, .len = (uint32_t)(WIRE_MESSAGE_HEADER + t->out_len) };

	if (!t->out_len || t->over)
		return;
	for (unsigned int i = 0; i < PATIENCE_MS / STEP_MS && t->credits < 2 && !t->over; i++)
		talk_listen(t, STEP_MS);
	if (t->over || !t->out_len) /* answered meanwhile */
		return;
	f.len = (uint32_t)(WIRE_MESSAGE_HEADER + t->out_len);
	wire_encode_message_header(message, (uint16_t)t->out_len, (uint16_t)t->credits_back);
	memcpy(message + WIRE_MESSAGE_HEADER, t->out, t->out_len);
	t->credits_back = 0;
	t->out_len = 0;
	t->credits -= t->credits > 0;
	send_frame(t, &f, message);
}

static void spoil(struct bytes *b, uint8_t *buf, size_t len)
{
	static const uint8_t extremes[] = { 0, 1, 0x7f, 0x80, 0xff, 2 };

	for (unsigned int n = 1 + bytes_below(b, 3); n && len; n--)
		buf[bytes_number(b, 2) % len] ^= bytes_pick(b, extremes);
}

void talk_say(struct talk *t, const struct wire_record *rec)
{
	uint8_t buf[WIRE_RECORDS_MAX];
	ssize_t n = wire_encode(rec, buf, sizeof(buf));

	if (n < 0 || t->over)
		return;
	if (bytes_one_in(t->b, 48)) /* of the body: a broken header ends it all */
		spoil(t->b, buf + WIRE_RECORD_HEADER, (size_t)n - WIRE_RECORD_HEADER);
	if (t->out_len + (size_t)n > sizeof(t->out))
		talk_flush(t);
	memcpy(t->out + t->out_len, buf, (size_t)n);
	t->out_len += (size_t)n;
	if (bytes_one_in(t->b, 4))
		talk_flush(t);
}

void talk_write(struct talk *t, unsigned int slot, size_t off, const void *bytes, size_t len)
{
	struct stream_frame f = {
		.type = STREAM_WRITE, .len = (uint32_t)len, .addr = t->base + slot * t->slot_size + off, .rkey = t->rkey
	};

	send_frame(t, &f, bytes);
}

/* ---- listening ---------------------------------------------------------------------------------------------- */

static void hear_get(struct talk *t, const struct wire_get *get)
{
	if (t->get_count == TALK_GETS)
		return;
	t->gets[t->get_count] = get->request;
	t->get_flags[t->get_count++] = get->flags;
}

static void hear(struct talk *t, const struct wire_record *rec)
{
	struct wire_record pong = { .type = WIRE_PONG };

	t->heard[rec->type]++;
	if (rec->type == WIRE_ERROR || rec->type == WIRE_DONE) {
		t->over = true; /* it only waits for us to hang up */
	} else if (rec->type == WIRE_PING) {
		pong.ping = rec->ping;
		talk_say(t, &pong);
	} else if (rec->type == WIRE_WINDOW) {
		t->base = rec->window.base;
		t->rkey = rec->window.rkey;
	} else if (rec->type == WIRE_GET) {
		hear_get(t, &rec->get);
	} else if (!t->sender) {
		talk_answer(t, rec);
	}
}

static void hear_message(struct talk *t, const uint8_t *message, size_t len)
{
	uint16_t records, credits;
	const uint8_t *p = message + WIRE_MESSAGE_HEADER;
	struct wire_record rec;
	size_t left;

	FUZZ_CHECK(wire_decode_message_header(message, len, &records, &credits) == 0);
	t->credits += credits;
	t->credits_back++;
	left = records;
	while (left) {
		/* the engine says nothing that it would not take itself */
		FUZZ_CHECK(wire_decode(&p, &left, &rec) == 0);
		hear(t, &rec);
	}
}

void talk_listen(struct talk *t, int ms)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	uint8_t body[WIRE_MESSAGE_MAX];
	struct stream_frame f;

	while (!t->over && poll(&p, 1, ms) > 0) {
		if (!read_frame(t, &f, body))
			return;
		if (f.type == STREAM_SEND)
			hear_message(t, body, f.len);
		else if (f.type != STREAM_WRITE)
			t->over = true;
		ms = 0;
	}
}

/* The engine has looked at everything before: it answers a PING. */
static void ask_for_pong(struct talk *t)
{
	struct wire_record ping = { .type = WIRE_PING };
	unsigned int pongs = t->heard[WIRE_PONG];

	talk_say(t, &ping);
	talk_flush(t);
	for (unsigned int i = 0; i < PATIENCE_MS / STEP_MS && t->heard[WIRE_PONG] == pongs && !t->over; i++)
		talk_listen(t, STEP_MS);
}

void talk_await(struct talk *t, enum wire_type type, unsigned int count)
{
	/* some rounds, as workers have their part in most answers */
	for (unsigned int i = 0; i < ROUNDS && t->heard[type] < count && !t->over; i++) {
		ask_for_pong(t);
		talk_flush(t);
		if (t->heard[type] < count)
			usleep(200U << i);
	}
}
