// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Bytes from files into slots: as far ahead of what is announced as the window allows. A slot's job reads and hashes on a
 * worker, one chunk of a large file, or one small file after the other; `order` remembers the order of filling, so chunks are
 * announced in the order of their offsets even when workers finish in another.
 */
#include "peer.h"
#include "sender_impl.h"
#include "slab.h"
#include "util.h"

static int open_packed(struct send_file *f)
{
	const struct send_item *item = &f->item;
	char path[PATH_MAX];
	int root = item->root, r = 0;

	if (!(item->flags & WIRE_FILE_BELOW))
		r = infile_open_seen(&f->in, root, item->path, true, &item->stat);
	else if (!item->follow)
		r = infile_open_seen(&f->in, root, item->path, false, &item->stat);
	else if ((r = sender_tree_whole_path(f->sender, item->path, &root, path)) == 0)
		r = infile_open_seen(&f->in, root, path, true, &item->stat);
	return r < 0 ? r : send_file_read_attributes(f, f->in.fd, &f->in.stat);
}

static void read_chunk(struct send_chunk *c, uint8_t *to)
{
	struct send_file *f = c->file;

	if (f->packed && f->in.fd < 0)
		c->got = open_packed(f);
	if (c->got < 0)
		return;
	c->got = infile_read(&f->in, to, c->want, c->offset);
	if (c->got > 0)
		c->hash = digest_chunk(to, (size_t)c->got);
	if (f->packed && f->item.checksum && !f->asks) {
		digest_sum(to, (size_t)c->got, f->sum);
		f->has_sum = true;
	}
	if (f->whole) {
		c->check = infile_check(&f->in);
		infile_close(&f->in);
	}
}

static void run_fill(struct io_job *job)
{
	struct send_slot *slot = container_of(job, struct send_slot, job);
	uint8_t *bytes = slab_slot(slot->sender->slab, (unsigned int)(slot - slot->sender->slots));

	for (struct send_chunk *c = slot->chunks; c; c = c->next)
		read_chunk(c, bytes + c->slot_off);
}

static void chunk_filled(struct send_chunk *c)
{
	struct send_file *f = c->file;

	f->filling--;
	if (c->got < 0)
		send_file_fail_errno(f, (int)c->got);
	else if (c->check < 0)
		send_file_fail_errno(f, c->check);
	else if ((size_t)c->got < c->want && !f->in.unsized)
		send_file_fail(f, STATUS_CHANGED, "");
	else if ((size_t)c->got < c->want)
		f->all_filled = true; /* the end of a file that did not know its size */
	if (c->got < 0 || c->check < 0 || (f->status != STATUS_OK && f->packed))
		c->got = 0;
	if (c->got)
		c->slot->good++;
	send_file_maybe_check(f);
}

static void on_filled(struct io_job *job)
{
	struct send_slot *slot = container_of(job, struct send_slot, job);

	slot->filled = true;
	for (struct send_chunk *c = slot->chunks; c; c = c->next)
		chunk_filled(c);
	sender_job_ended(slot->sender);
}

static void start_fill(struct sender *s, struct send_slot *slot)
{
	if (slot->chunks->file->item.stream) { /* nobody knows when there will be something to read */
		sender_submit(s, &slot->job, run_fill, on_filled);
		return;
	}
	slot->job.run = run_fill;
	slot->job.done = on_filled;
	s->jobs++;
	ioqueue_submit_quick(s->io, &slot->job);
}

/* A slot to fill, or NULL: the next acknowledgement brings one. */
static struct send_slot *get_slot(struct sender *s)
{
	struct send_slot *slot;
	int i;

	if (!rate_is_ready(&s->rate, loop_now(s->peer->loop))) {
		loop_timer_set(s->peer->loop, &s->pace, s->rate.ready_ns);
		return NULL;
	}
	if (!window_has_room(&s->window, s->slab->slots - s->slab->free_count))
		return NULL;
	i = slab_get(s->slab);
	if (i < 0)
		return NULL;
	slot = &s->slots[i];
	*slot = (struct send_slot){ .sender = s, .chunks_tail = &slot->chunks };
	return slot;
}

/* The next `want` bytes of the file go into the slot, behind what is in it. */
static void add_chunk(struct send_slot *slot, struct send_file *f, size_t want)
{
	struct sender *s = slot->sender;
	struct send_chunk *c = s->free_chunks;

	s->free_chunks = c->next;
	*c = (struct send_chunk){
		.file = f,
		.slot = slot,
		.slot_off = slot->used,
		.offset = f->next_offset,
		.want = want,
	};
	*slot->chunks_tail = c;
	slot->chunks_tail = &c->next;
	slot->count++;
	slot->unsaid++;
	slot->used += want;
	if (!send_file_may_be_held(f, f->next_offset)) /* else when it turns out that it has to be sent */
		rate_take(&s->rate, want, loop_now(s->peer->loop));
	f->next_offset += want;
	f->filling++;
	f->unsent++;
	if (!send_file_has_more(f))
		f->all_filled = true;
	s->order[(s->order_head + s->order_count++) % s->order_size] = c;
}

static void submit_pack(struct sender *s)
{
	struct send_slot *slot = s->pack;

	s->pack = NULL;
	if (slot)
		start_fill(s, slot);
}

static size_t next_in_pack(const struct send_slot *slot)
{
	return (slot->used + PACK_ALIGN - 1) & ~(size_t)(PACK_ALIGN - 1);
}

static bool fill_packed(struct sender *s, struct send_file *f)
{
	size_t size = (size_t)f->in.stat.st_size;

	if (send_file_must_wait(f))
		return false;
	if (s->pack && (s->pack->count == PACK_FILES || next_in_pack(s->pack) + size > sender_piece(s)))
		submit_pack(s);
	if (!s->pack)
		s->pack = get_slot(s);
	if (!s->pack)
		return false;
	s->pack->used = next_in_pack(s->pack);
	add_chunk(s->pack, f, size);
	return true;
}

/* Holes are skipped; chunks begin and end where they would without any, so that a file is cut the same way each time. */
static size_t next_piece(struct send_file *f)
{
	size_t slot_size = f->sender->slab->slot_size, piece = f->whole ? slot_size : sender_piece(f->sender);
	struct extent data;
	uint64_t cell_end;

	if (f->in.unsized)
		return piece;
	data = extent_next(&f->in.extents, f->next_offset);
	if (send_file_next_held(f, data.start, &f->next_offset))
		return slot_size;
	cell_end = (data.start / piece + 1) * piece;
	f->next_offset = data.start;
	return (size_t)((data.end < cell_end ? data.end : cell_end) - data.start);
}

bool send_file_has_more(const struct send_file *f)
{
	struct extent data;
	uint64_t offset;

	if (f->in.unsized)
		return true;
	data = extent_next(&f->in.extents, f->next_offset);
	if (data.start < data.end)
		return true;
	return f->resume && (!f->have_all || send_file_next_held(f, data.end, &offset));
}

/* Without a size the next chunk starts where the last one turns out to end: one at a time. */
static bool fill_chunk(struct sender *s, struct send_file *f)
{
	struct send_slot *slot = (f->in.unsized && f->filling) || send_file_must_wait(f) ? NULL : get_slot(s);

	if (!slot)
		return false;
	add_chunk(slot, f, next_piece(f));
	start_fill(s, slot);
	return true;
}

void sender_fill(struct sender *s)
{
	struct send_file *f;

	while ((f = s->filling) && f->state != FILE_OPENING) {
		if (f->all_filled) {
			send_file_maybe_check(f);
			s->filling = f->next;
		} else if (!s->free_chunks || !(f->packed ? fill_packed(s, f) : fill_chunk(s, f))) {
			break;
		}
	}
	submit_pack(s);
}
