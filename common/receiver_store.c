// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Bytes from slots into files. A chunk's job compares its hash and writes it, on a worker; its slot is acknowledged when every
 * chunk in it was dealt with. Chunks of a file that is lost are dropped, and acknowledged all the same.
 */
#include <errno.h>
#include <string.h>

#include "peer.h"
#include "receiver_impl.h"
#include "slab.h"
#include "util.h"

#define SYNC_AHEAD (64 * MIB) /* a device is busy with that for some time, and asking for it costs nothing beside it */

static void slot_maybe_ack(struct receiver *r, unsigned int slot)
{
	if (r->slots[slot].pending || !r->slots[slot].last)
		return;
	r->slots[slot].last = false;
	r->slots[slot].due = true;
	r->acks[r->ack_count++] = (uint16_t)slot;
	receiver_schedule(r);
}

static void chunk_release(struct receive_chunk *c)
{
	struct receiver *r = c->receiver;

	c->file->pending--;
	r->slots[c->data.slot].pending--;
	slot_maybe_ack(r, c->data.slot);
	c->next = r->free_chunks;
	r->free_chunks = c;
}

/* Worker: the bytes count only if they are what was read at the other end. */
static void store(struct receive_chunk *c)
{
	const uint8_t *bytes = slab_slot(c->receiver->slab, c->data.slot) + c->data.slot_off;

	if (digest_chunk(bytes, c->data.len) != c->data.hash) {
		c->result = STATUS_CORRUPT;
		return;
	}
	c->error = outfile_write(&c->file->out, bytes, c->data.len, c->data.offset);
	if (c->error < 0)
		c->result = status_from_errno(c->error);
}

static void run_store(struct io_job *job)
{
	store(container_of(job, struct receive_chunk, job));
}

/* What came of it, and its place in the slot is free. */
static void chunk_stored(struct receive_chunk *c)
{
	struct receive_file *f = c->file;

	if (c->result == STATUS_CORRUPT)
		receive_file_fail(f, STATUS_CORRUPT, "");
	else if (c->result != STATUS_OK && f->place.stream)
		receive_file_fail_at_destination(f, c->error);
	else if (c->result != STATUS_OK)
		receive_file_fail_errno(f, c->error);
	else
		f->receiver->stored_bytes += c->data.len;
	chunk_release(c);
}

/* ---- large files: the device gets to work before the end ------------------------------------------------------ */

static void run_ahead(struct io_job *job)
{
	outfile_sync_ahead(&container_of(job, struct receive_file, ahead)->out);
}

static void on_ahead(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, ahead);

	f->ahead_busy = false;
	f->pending--;
	if (receiver_job_ended(f->receiver))
		receive_file_maybe_leave_open(f);
}

static void sync_ahead(struct receive_file *f, size_t stored)
{
	f->unsynced += stored;
	if (f->unsynced < SYNC_AHEAD || f->ahead_busy || f->status != STATUS_OK || (f->said.flags & WIRE_FILE_NO_SYNC))
		return;
	f->unsynced = 0;
	f->ahead_busy = true;
	f->pending++;
	receiver_submit(f->receiver, &f->ahead, run_ahead, on_ahead);
}

/* ---- storing ------------------------------------------------------------------------------------------------- */

static void store_next(struct receive_file *f);

static void on_stored(struct io_job *job)
{
	struct receive_chunk *c = container_of(job, struct receive_chunk, job);
	struct receive_file *f = c->file;

	if (!receiver_job_ended(c->receiver))
		return;
	sync_ahead(f, c->data.len);
	chunk_stored(c);
	if (f->storing) {
		f->storing = false;
		store_next(f);
	}
	receive_file_maybe_leave_open(f);
}

/* Of a stream: one after the other, as they came. A worker does it, the reader may take its time. */
static void store_next(struct receive_file *f)
{
	struct receive_chunk *c;

	while (!f->storing && (c = f->waiting)) {
		f->waiting = c->next;
		if (!f->waiting)
			f->waiting_tail = &f->waiting;
		if (f->status == STATUS_OK) {
			f->storing = true;
			receiver_submit(f->receiver, &c->job, run_store, on_stored);
		} else {
			chunk_release(c);
		}
	}
}

void receive_chunk_store(struct receive_chunk *c)
{
	if (c->file->place.stream) {
		c->next = NULL;
		*c->file->waiting_tail = c;
		c->file->waiting_tail = &c->next;
		store_next(c->file);
		return;
	}
	if (c->file->status == STATUS_OK)
		receiver_submit_quick(c->receiver, &c->job, run_store, on_stored);
	else
		chunk_release(c); /* of a file that is lost: dropped, the slot is free again */
}

void receive_file_store_waiting(struct receive_file *f)
{
	struct receive_chunk *c;

	if (f->place.stream) {
		store_next(f);
		return;
	}
	while ((c = f->waiting)) {
		f->waiting = c->next;
		receive_chunk_store(c);
	}
	f->waiting_tail = &f->waiting;
}

void receive_file_write_waiting(struct receive_file *f)
{
	for (struct receive_chunk *c = f->waiting; c && f->job_error == 0; c = c->next) {
		store(c);
		if (c->result != STATUS_OK)
			f->job_error = c->error ? c->error : -EBADMSG;
	}
}

void receive_file_drop_waiting(struct receive_file *f)
{
	struct receive_chunk *c;

	while ((c = f->waiting)) {
		f->waiting = c->next;
		chunk_stored(c);
	}
	f->waiting_tail = &f->waiting;
}

void receiver_send_acks(struct receiver *r)
{
	struct wire_record rec = { .type = WIRE_ACK };
	unsigned int n = r->ack_count < WIRE_ACK_MAX ? r->ack_count : WIRE_ACK_MAX;

	if (!n || receiver_keeps_back(r))
		return;
	rec.ack.count = (uint16_t)n;
	memcpy(rec.ack.slots, r->acks, n * sizeof(*r->acks));
	if (peer_send(r->peer, &rec) < 0)
		return;
	peer_moved(r->peer);
	for (unsigned int i = 0; i < n; i++)
		r->slots[r->acks[i]] = (struct receive_slot){ 0 };
	r->ack_count -= n;
	memmove(r->acks, r->acks + n, r->ack_count * sizeof(*r->acks));
}
