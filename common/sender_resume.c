// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Going on with a file that the receiver holds a part of. Large files are announced with RESUME, and nothing of them is read before
 * HAVE has told what is held as far as that. A chunk whose hash is the receiver's is named, not sent.
 *
 * A piece of which the receiver has anything is read, compared and, if it has to be, sent as a whole, with all the holes in it, and
 * also when it is nothing but a hole: so what is left there can be anything and does no harm. Where the receiver has nothing,
 * holes stay holes as they would without.
 */
#include <errno.h>
#include <stdlib.h>

#include "peer.h"
#include "sender_impl.h"
#include "slab.h"
#include "util.h"

#define WORTH_A_QUESTION (8 * MIB) /* the answer takes a round trip */

/* What is small enough to be opened when it is read is asked for before. */
static bool may_be_left_alone(const struct send_file *f)
{
	return f->item.ask && !(f->item.flags & WIRE_FILE_DRY_RUN) && f->status == STATUS_OK &&
	       (f->packed || f->in.fd >= 0) && !f->in.unsized && !f->item.stream && f->in.stat.st_size > 0;
}

void send_file_ask(struct send_file *f)
{
	uint64_t bytes = f->in.extents.list ? extents_bytes(&f->in.stat) : (uint64_t)f->in.stat.st_size;

	f->resume = f->item.resume && !(f->item.flags & WIRE_FILE_DRY_RUN) && f->status == STATUS_OK && f->in.fd >= 0 &&
		    !f->in.unsized && bytes >= WORTH_A_QUESTION && bytes >= 2 * f->sender->slab->slot_size;
	f->asks = f->resume || may_be_left_alone(f);
}

/* In the holes on the way to the next data there may be pieces of the receiver's. */
bool send_file_must_wait(const struct send_file *f)
{
	if (!f->resume)
		return f->asks && !f->have_all;
	return !f->have_all &&
	       extent_next(&f->in.extents, f->next_offset).start / f->sender->slab->slot_size >= f->have_count;
}

bool send_file_next_held(const struct send_file *f, uint64_t last, uint64_t *ret_offset)
{
	uint64_t size = f->sender->slab->slot_size;

	for (uint64_t i = (f->next_offset + size - 1) / size; i < f->have_count && i * size <= last; i++) {
		if (f->have[i]) {
			*ret_offset = i * size;
			return true;
		}
	}
	return false;
}

/* The next ones are only remembered if there is memory for them, and what is not remembered is sent. */
static int make_room(struct send_file *f, uint64_t pieces, unsigned int more)
{
	struct budget *memory = f->sender->peer->memory;
	uint64_t room = 2 * (f->have_count + more), *grown;
	int r;

	if (f->have_count + more <= f->have_room)
		return 0;
	room = room < pieces ? room : pieces;
	r = budget_take_spare(memory, (size_t)(room - f->have_room) * sizeof(*grown));
	if (r < 0)
		return r;
	grown = reallocarray(f->have, room, sizeof(*grown));
	if (!grown) {
		budget_give(memory, (size_t)(room - f->have_room) * sizeof(*grown));
		return -ENOMEM;
	}
	f->have = grown;
	f->have_room = room;
	return 0;
}

static int append(struct send_file *f, const struct wire_have *have)
{
	uint64_t pieces = (uint64_t)f->in.stat.st_size / f->sender->slab->slot_size;
	bool gap = f->have_count < f->have_heard;

	if (have->first != f->have_heard || have->count > pieces - f->have_heard)
		return -EPROTO;
	f->have_heard += have->count;
	if (gap || make_room(f, pieces, have->count) < 0)
		return 0;
	for (unsigned int i = 0; i < have->count; i++)
		f->have[f->have_count++] = have->hashes[i];
	return 0;
}

int sender_on_have(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;
	struct send_file *f = s->by_id[rec->have.file % s->id_span];
	int r;

	if (!f || f->id != rec->have.file)
		return 0; /* of a file that ended meanwhile */
	if (!f->asks || f->have_all || (!f->resume && rec->have.count) ||
	    (!rec->have.count && !(rec->have.flags & WIRE_HAVE_LAST)))
		return -EPROTO;
	r = append(f, &rec->have);
	f->have_all = rec->have.flags & WIRE_HAVE_LAST;
	f->all_filled |= !send_file_has_more(f);
	sender_schedule(s);
	return r;
}

bool send_file_may_be_held(const struct send_file *f, uint64_t offset)
{
	size_t size = f->sender->slab->slot_size;

	return f->resume && offset % size == 0 && offset / size < f->have_count && f->have[offset / size];
}

bool send_chunk_is_held(const struct send_chunk *c)
{
	size_t size = c->file->sender->slab->slot_size;

	return send_file_may_be_held(c->file, c->offset) && (size_t)c->got == size &&
	       c->file->have[c->offset / size] == c->hash;
}

void send_file_forget_have(struct send_file *f)
{
	budget_give(f->sender ? f->sender->peer->memory : NULL, (size_t)f->have_room * sizeof(*f->have));
	free(f->have);
	f->have = NULL;
	f->have_count = f->have_room = 0;
}
