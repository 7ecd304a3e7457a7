// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What is said to the peer, in the order of the queue: FILE, then WRITE + DATA for each chunk that is filled, then CLOSE or ABORT,
 * and END behind the last file. Each step goes only as far as there is room for its record; the next pump goes on there.
 */
#include <errno.h>
#include <string.h>

#include "peer.h"
#include "sender_impl.h"
#include "slab.h"

/* Directories and links have none here. */
static uint64_t send_file_size(const struct send_file *f)
{
	return S_ISREG(f->in.stat.st_mode) ? (uint64_t)f->in.stat.st_size : 0;
}

/* False: it has to wait. */
static bool say_file(struct sender *s, struct send_file *f)
{
	struct wire_record rec = { .type = WIRE_FILE };
	int r;

	rec.file = (struct wire_file){
		.file = s->next_id,
		.request = f->item.request,
		.flags = f->item.flags | (f->in.unsized ? WIRE_FILE_UNSIZED : 0) |
			 (f->in.extents.list ? WIRE_FILE_SPARSE : 0) |
			 (f->resume ? WIRE_FILE_RESUME
			  : f->asks ? WIRE_FILE_ASK
				    : 0) |
			 (f->has_sum ? WIRE_FILE_CHECKSUM : 0),
		.mode = f->in.stat.st_mode & 07777,
		.size = f->in.unsized ? 0 : send_file_size(f),
		.mtime_sec = f->in.stat.st_mtim.tv_sec,
		.mtime_nsec = (uint32_t)f->in.stat.st_mtim.tv_nsec,
		.path = wire_text(f->item.target),
		.name = wire_text(f->item.name),
	};
	if (s->by_id[s->next_id % s->id_span])
		return false; /* the peer still has a file in that place */
	if (!send_file_has_attributes_room(f))
		return false;
	r = peer_send(s->peer, &rec);
	if (r == -EAGAIN)
		return false;
	if (r < 0) { /* the name or the target: no record can hold it */
		send_file_fail(f, STATUS_NAME_TOO_LONG, "");
		send_file_maybe_check(f);
		if (f->item.flags & WIRE_FILE_BELOW)
			sender_tree_lost(s, STATUS_NAME_TOO_LONG);
		return true;
	}
	f->id = s->next_id++;
	f->begun = true;
	send_file_count_attributes(f);
	s->by_id[f->id % s->id_span] = f;
	return true;
}

static bool say_sum(struct sender *s, struct send_file *f)
{
	struct wire_record rec = { .type = WIRE_SUM };

	if (!f->has_sum || f->sum_said || f->status != STATUS_OK)
		return true;
	rec.sum.file = f->id;
	memcpy(rec.sum.sum, f->sum, sizeof(f->sum));
	f->sum_said = peer_send(s->peer, &rec) == 0;
	return f->sum_said;
}

static bool say_link(struct sender *s, struct send_file *f)
{
	struct wire_record rec = { .type = WIRE_LINK };

	if (!f->item.link || f->link_said || f->status != STATUS_OK)
		return true;
	rec.link.file = f->id;
	rec.link.text = wire_text(f->item.link);
	f->link_said = peer_send(s->peer, &rec) == 0;
	return f->link_said;
}

/* Takes the chunk at the head of the order out; a slot of which nothing was said is free with its last one, and so is one
 * whose last chunks were not worth saying, if the peer was faster. */
static void pop_chunk(struct sender *s)
{
	struct send_chunk *c = s->order[s->order_head];

	s->order_head = (s->order_head + 1) % s->order_size;
	s->order_count--;
	c->file->unsent--;
	if (--c->slot->unsaid == 0)
		send_slot_maybe_free(c->slot);
	c->next = s->free_chunks;
	s->free_chunks = c;
}

static bool post_slot(struct sender *s, struct send_slot *slot)
{
	slot->work.written = send_slot_on_written;
	slot->posted = true;
	return endpoint_post_write(s->peer->ep, &slot->work, (unsigned int)(slot - s->slots), 0, slot->used) == 0;
}

/* The WRITE goes first, then the DATA that names it, in room that was reserved before: no half announcements. */
static bool say_chunk(struct sender *s, struct send_file *f, struct send_chunk *c)
{
	struct send_slot *slot = c->slot;
	struct wire_record rec = { .type = WIRE_DATA };
	uint8_t *room;
	size_t size;

	rec.data = (struct wire_data){
		.file = f->id,
		.slot = (uint16_t)(slot - s->slots),
		.slot_off = (uint32_t)c->slot_off,
		.flags = slot->good == 1 ? WIRE_DATA_LAST : 0,
		.len = (uint32_t)c->got,
		.offset = c->offset,
		.hash = c->hash,
	};
	size = wire_size(&rec);
	room = endpoint_reserve(s->peer->ep, size);
	if (!room)
		return false;
	if (slot->count == 1)
		slot->used = (size_t)c->got;
	if (!slot->posted && !post_slot(s, slot)) {
		endpoint_commit(s->peer->ep, 0);
		endpoint_abort(s->peer->ep, ENDPOINT_LOST, "posting a write"); /* unless it is ending already */
		return false;
	}
	endpoint_commit(s->peer->ep, (size_t)wire_encode(&rec, room, size));
	if (send_file_may_be_held(f, c->offset)) /* but was not */
		rate_take(&s->rate, rec.data.len, loop_now(s->peer->loop));
	slot->good--;
	slot->bytes += rec.data.len;
	digest_add(&f->digest, c->offset, rec.data.len, c->hash);
	f->announced += rec.data.len;
	return true;
}

/* What the peer has is only named; nothing of it was written. */
static bool say_held(struct sender *s, struct send_file *f, const struct send_chunk *c)
{
	struct wire_record rec = { .type = WIRE_DATA };

	rec.data = (struct wire_data){
		.file = f->id,
		.flags = WIRE_DATA_HELD,
		.len = (uint32_t)c->got,
		.offset = c->offset,
		.hash = c->hash,
	};
	if (peer_send(s->peer, &rec) < 0)
		return false;
	digest_add(&f->digest, c->offset, rec.data.len, c->hash);
	f->announced += rec.data.len;
	s->acked_bytes += rec.data.len;
	s->held_bytes += rec.data.len;
	peer_moved(s->peer);
	return true;
}

/* Of a file that is lost meanwhile nothing more need be said, but a slot that others share must get its last word. */
static bool is_worth_saying(const struct send_file *f, const struct send_chunk *c)
{
	return c->got > 0 && f->begun && (f->status == STATUS_OK || c->slot->count > 1);
}

/* Announces or drops what is filled at the head of the order; false: it has to wait. */
static bool say_chunks(struct sender *s, struct send_file *f)
{
	while (f->unsent) {
		struct send_chunk *c = s->order[s->order_head];

		if (!c->slot->filled)
			return false;
		if (is_worth_saying(f, c) && !(send_chunk_is_held(c) ? say_held(s, f, c) : say_chunk(s, f, c)))
			return false;
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
		rec.close.size = f->in.unsized || (f->item.flags & WIRE_FILE_DRY_RUN) ? f->announced
										      : send_file_size(f);
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

/* A file in a single job is announced when it is read: all of it fits one message then. */
static bool is_ready(const struct sender *s, const struct send_file *f)
{
	if (f->state == FILE_OPENING)
		return false;
	if (!f->whole || f->status != STATUS_OK)
		return true;
	return f->all_filled && (!f->unsent || s->order[s->order_head]->slot->filled);
}

/* What is below a top the peer knows of: a failure there has to have a name. */
static bool must_begin(const struct send_file *f)
{
	return !f->begun &&
	       (f->status == STATUS_OK || (f->item.flags & WIRE_FILE_BELOW) || f->item.status != STATUS_OK);
}

/* One step with the file at the head of the queue; false: nothing more can be said of it now. */
static bool announce_file(struct sender *s, struct send_file *f)
{
	if (!is_ready(s, f))
		return false;
	if (must_begin(f) && !say_file(s, f))
		return false;
	if (!say_sum(s, f) || !send_file_say_attributes(f) || !say_link(s, f) || !say_chunks(s, f) ||
	    f->state != FILE_CHECKED || !say_last(s, f))
		return false;
	f->state = FILE_ANNOUNCED;
	/* how long it waits for its RESULT is up to the peer */
	send_file_forget_have(f);
	extents_done(&f->in.extents);
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
		if (f->ahead)
			s->opened_ahead--;
		if (!f->begun || f->have_result)
			send_file_finish(f);
	}
}

/* Files whose bytes have to wait for an answer, and directories among them, which hold up nobody. */
static bool may_go_ahead(const struct send_file *f)
{
	const uint32_t kind = WIRE_FILE_BELOW | WIRE_FILE_DIRECTORY;

	if (f->state == FILE_OPENING)
		return false;
	return f->asks || (f->item.ask && f->status == STATUS_OK && (f->item.flags & (kind | WIRE_FILE_LEAVE)) == kind);
}

/* They are announced before their turn: the answer comes while others are sent. */
static void ask_ahead(struct sender *s)
{
	for (struct send_file *f = s->queue; f; f = f->next) {
		if (!f->begun && (!may_go_ahead(f) || !say_file(s, f) || !f->begun))
			return;
		if (f->asks && !say_sum(s, f))
			return;
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
	ask_ahead(s);
	say_end(s);
	endpoint_flush(s->peer->ep); /* what is ready goes now, not after the next bytes were read */
}
