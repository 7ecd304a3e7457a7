// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What is said to the peer, in the order of the queue: FILE, then WRITE + DATA for each chunk that is filled, then CLOSE or ABORT,
 * and END behind the last file. Each step goes only as far as there is room for its record; the next pump goes on there.
 */
#include <errno.h>

#include "peer.h"
#include "sender_impl.h"
#include "slab.h"

/* False: it has to wait. */
static bool say_file(struct sender *s, struct send_file *f)
{
	struct wire_record rec = { .type = WIRE_FILE };
	int r;

	rec.file = (struct wire_file){
		.file = s->next_id,
		.request = f->item.request,
		.flags = f->item.flags | (f->in.unsized ? WIRE_FILE_UNSIZED : 0),
		.mode = f->in.stat.st_mode & 07777,
		.size = f->in.unsized ? 0 : (uint64_t)f->in.stat.st_size,
		.mtime_sec = f->in.stat.st_mtim.tv_sec,
		.mtime_nsec = (uint32_t)f->in.stat.st_mtim.tv_nsec,
		.path = wire_text(f->item.target),
		.name = wire_text(f->item.name),
	};
	if (s->by_id[s->next_id % s->max_files])
		return false; /* the peer still has a file in that place */
	r = peer_send(s->peer, &rec);
	if (r == -EAGAIN)
		return false;
	if (r < 0) { /* the name or the target: no record can hold it */
		send_file_fail(f, STATUS_NAME_TOO_LONG, "");
		send_file_maybe_check(f);
		return true;
	}
	f->id = s->next_id++;
	f->begun = true;
	s->by_id[f->id % s->max_files] = f;
	return true;
}

static void pop_chunk(struct sender *s)
{
	s->order_head = (s->order_head + 1) % s->slab->slots;
	s->order_count--;
}

/* The WRITE goes first, then the DATA that names it, in room that was reserved before: no half announcements. */
static bool say_chunk(struct sender *s, struct send_file *f, struct send_chunk *c)
{
	unsigned int slot = (unsigned int)(c - s->chunks);
	struct wire_record rec = { .type = WIRE_DATA };
	uint8_t *room;
	size_t size;

	rec.data = (struct wire_data){
		.file = f->id,
		.slot = (uint16_t)slot,
		.flags = WIRE_DATA_LAST,
		.len = (uint32_t)c->got,
		.offset = c->offset,
		.hash = c->hash,
	};
	size = wire_size(&rec);
	room = endpoint_reserve(s->peer->ep, size);
	if (!room)
		return false;
	c->work.written = send_chunk_on_written;
	if (endpoint_post_write(s->peer->ep, &c->work, slot, 0, (size_t)c->got) < 0) {
		endpoint_commit(s->peer->ep, 0);
		endpoint_abort(s->peer->ep, ENDPOINT_LOST, "posting a write"); /* unless it is ending already */
		return false;
	}
	endpoint_commit(s->peer->ep, (size_t)wire_encode(&rec, room, size));
	c->posted = true;
	digest_add(&f->digest, c->offset, rec.data.len, c->hash);
	f->announced += rec.data.len;
	return true;
}

/* Announces or drops what is filled at the head of the order; false: it has to wait. */
static bool say_chunks(struct sender *s, struct send_file *f)
{
	while (f->unsent) {
		struct send_chunk *c = &s->chunks[s->order[s->order_head]];

		if (!c->filled)
			return false;
		if (f->status != STATUS_OK || c->got <= 0)
			send_chunk_release(c);
		else if (!say_chunk(s, f, c))
			return false;
		f->unsent--;
		pop_chunk(s);
	}
	return true;
}

static bool say_last(struct sender *s, struct send_file *f)
{
	struct wire_record rec;

	if (f->status == STATUS_OK) {
		rec.type = WIRE_CLOSE;
		rec.close.file = f->id;
		rec.close.size = f->announced;
		digest_value(&f->digest, rec.close.digest);
	} else {
		rec.type = WIRE_ABORT;
		rec.abort.file = f->begun ? f->id : WIRE_NO_FILE;
		rec.abort.request = f->item.request;
		rec.abort.status = (uint16_t)f->status;
		rec.abort.text = wire_text(f->text);
	}
	return peer_send(s->peer, &rec) == 0;
}

/* One step with the file at the head of the queue; false: nothing more can be said of it now. */
static bool announce_file(struct sender *s, struct send_file *f)
{
	if (f->state == FILE_OPENING)
		return false;
	if (!f->begun && f->status == STATUS_OK && !say_file(s, f))
		return false;
	if (!say_chunks(s, f) || f->state != FILE_CHECKED || !say_last(s, f))
		return false;
	f->state = FILE_ANNOUNCED;
	return true;
}

static void announce_files(struct sender *s)
{
	struct send_file *f;

	while ((f = s->queue) && announce_file(s, f)) {
		s->queue = f->next;
		if (!s->queue)
			s->queue_tail = &s->queue;
		if (s->filling == f)
			s->filling = s->queue;
		s->opened_ahead--;
		if (!f->begun || f->have_result)
			send_file_finish(f);
	}
}

static void say_end(struct sender *s)
{
	struct wire_record rec = { .type = WIRE_END, .end.files = s->next_id };

	if (!s->end_sent && s->no_more && !s->queue && peer_send(s->peer, &rec) == 0)
		s->end_sent = true;
}

void sender_announce(struct sender *s)
{
	announce_files(s);
	say_end(s);
	endpoint_flush(s->peer->ep); /* what is ready goes now, not after the next bytes were read */
}
