// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Bytes from files into slots: as far ahead of what is announced as the window allows. A chunk's job reads and hashes on a
 * worker; `order` remembers the order of filling, so chunks are announced in the order of their offsets even when workers
 * finish in another.
 */
#include "peer.h"
#include "sender_impl.h"
#include "slab.h"
#include "util.h"

static void run_fill(struct io_job *job)
{
	struct send_chunk *c = container_of(job, struct send_chunk, job);
	struct sender *s = c->sender;
	uint8_t *slot = slab_slot(s->slab, (unsigned int)(c - s->chunks));

	c->got = infile_read(&c->file->in, slot, c->want, c->offset);
	if (c->got > 0)
		c->hash = digest_chunk(slot, (size_t)c->got);
	if (c->file->whole) {
		c->check = infile_check(&c->file->in);
		infile_close(&c->file->in);
	}
}

static void on_filled(struct io_job *job)
{
	struct send_chunk *c = container_of(job, struct send_chunk, job);
	struct send_file *f = c->file;

	c->filled = true;
	f->filling--;
	if (c->got < 0)
		send_file_fail_errno(f, (int)c->got);
	else if (c->check < 0)
		send_file_fail_errno(f, c->check);
	else if ((size_t)c->got < c->want && !f->in.unsized)
		send_file_fail(f, STATUS_CHANGED, "");
	else if ((size_t)c->got < c->want)
		f->all_filled = true; /* the end of a file that did not know its size */
	send_file_maybe_check(f);
	sender_job_ended(f->sender);
}

static void start_fill(struct sender *s, struct send_file *f, unsigned int slot)
{
	struct send_chunk *c = &s->chunks[slot];
	uint64_t left = f->in.unsized ? UINT64_MAX : (uint64_t)f->in.stat.st_size - f->next_offset;

	*c = (struct send_chunk){ .sender = s, .file = f, .offset = f->next_offset };
	c->want = left < s->slab->slot_size ? (size_t)left : s->slab->slot_size;
	f->next_offset += c->want;
	f->filling++;
	f->unsent++;
	if (!f->in.unsized && f->next_offset == (uint64_t)f->in.stat.st_size)
		f->all_filled = true;
	s->order[(s->order_head + s->order_count++) % s->slab->slots] = (uint16_t)slot;
	c->job.run = run_fill;
	c->job.done = on_filled;
	s->jobs++;
	ioqueue_submit_quick(s->io, &c->job);
}

/* Without a size the next chunk starts where the last one turns out to end: one at a time. */
static bool may_fill(const struct send_file *f)
{
	return !f->all_filled && !(f->in.unsized && f->filling);
}

void sender_fill(struct sender *s)
{
	int slot;

	while (s->filling && s->filling->state != FILE_OPENING) {
		struct send_file *f = s->filling;

		if (f->all_filled) {
			send_file_maybe_check(f);
			s->filling = f->next;
			continue;
		}
		if (!may_fill(f) || !window_has_room(&s->window, s->slab->slots - s->slab->free_count))
			return;
		slot = slab_get(s->slab);
		if (slot < 0)
			return;
		start_fill(s, f, (unsigned int)slot);
	}
}
