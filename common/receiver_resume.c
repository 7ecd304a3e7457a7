// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What is left of a file that came before but not to its end. A FILE with RESUME is answered with the hashes of the pieces that
 * its temporary holds, a batch read on a worker while the sender already goes on behind the one before; the sender compares them
 * with the file's own and names equal ones with DATA_HELD. Nothing that is held is trusted unless it was compared so; where there is
 * nothing but a hole there is nothing to compare, and the sender is told so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "digest.h"
#include "peer.h"
#include "receiver_impl.h"
#include "slab.h"
#include "util.h"

#define BATCH_BYTES (64 * MIB) /* read in one job: the sender hears of it within a moment */

struct receive_held {
	struct receive_file *file;
	struct io_job job;
	uint64_t pieces; /* whole ones in the temporary */
	uint64_t first;  /* piece of the batch */
	unsigned int count;
	int error;
	struct receive_held *next; /* in the receiver's list of those whose batch is to be said */
	uint64_t hashes[WIRE_HAVE_MAX];
};

uint64_t receive_file_id(const struct wire_file *said)
{
	const uint64_t words[] = { said->size, (uint64_t)said->mtime_sec, said->mtime_nsec };

	return digest_chunk(words, sizeof(words));
}

static void set_due(struct receive_held *h)
{
	h->next = h->file->receiver->held_due;
	h->file->receiver->held_due = h;
	receiver_schedule(h->file->receiver);
}

static void clear_due(struct receive_held *h)
{
	struct receive_held **p = &h->file->receiver->held_due;

	while (*p && *p != h)
		p = &(*p)->next;
	if (*p)
		*p = h->next;
}

static void held_done(struct receive_file *f)
{
	clear_due(f->held);
	free(f->held);
	f->held = NULL;
}

/* 0 says that nothing is there; a hash that happens to be 0 is only one that no piece has. */
static int hash_piece(const struct outfile *out, void *buf, size_t size, uint64_t offset, uint64_t *ret_hash)
{
	int r;

	*ret_hash = 0;
	if (outfile_is_hole(out, size, offset))
		return 0;
	r = outfile_read(out, buf, size, offset);
	if (r == 0) {
		*ret_hash = digest_chunk(buf, size);
		*ret_hash += !*ret_hash;
	}
	return r;
}

static void run_hash(struct io_job *job)
{
	struct receive_held *h = container_of(job, struct receive_held, job);
	size_t size = h->file->receiver->slab->slot_size;
	_cleanup_free_ void *buf = malloc(size);

	h->error = buf ? 0 : -ENOMEM;
	for (unsigned int i = 0; i < h->count && h->error == 0; i++)
		h->error = hash_piece(&h->file->out, buf, size, (h->first + i) * size, &h->hashes[i]);
}

static void on_hashed(struct io_job *job)
{
	struct receive_held *h = container_of(job, struct receive_held, job);
	struct receive_file *f = h->file;

	if (!receiver_job_ended(f->receiver))
		return;
	f->pending--;
	set_due(h);
	if (h->error < 0)
		receive_file_fail_errno(f, h->error);
	receive_file_maybe_leave_open(f);
}

static unsigned int batch_size(const struct receive_held *h)
{
	uint64_t left = h->pieces - h->first, most = BATCH_BYTES / h->file->receiver->slab->slot_size;

	most = most < 1 ? 1 : most > WIRE_HAVE_MAX ? WIRE_HAVE_MAX : most;
	return (unsigned int)(left < most ? left : most);
}

static void hash_next(struct receive_held *h)
{
	struct receiver *r = h->file->receiver;

	h->count = batch_size(h);
	if (!h->count) {
		set_due(h);
		return;
	}
	h->file->pending++;
	receiver_submit(r, &h->job, run_hash, on_hashed);
}

uint64_t receive_file_pieces(const struct receive_file *f)
{
	uint64_t bytes = f->out.held < f->said.size ? f->out.held : f->said.size;
	uint64_t pieces = bytes / f->receiver->slab->slot_size;

	return pieces < WIRE_PIECES_MAX ? pieces : WIRE_PIECES_MAX;
}

void receive_file_look_for_held(struct receive_file *f)
{
	struct receive_held *h;

	if (receive_file_is_dry(f) || f->status != STATUS_OK)
		return;
	h = calloc(1, sizeof(*h));
	if (!h) {
		receive_file_fail_errno(f, -ENOMEM);
		return;
	}
	f->held = h;
	f->held_pieces = receive_file_pieces(f);
	h->file = f;
	h->pieces = f->held_pieces;
	hash_next(h);
}

static void say_held(struct receive_file *f)
{
	struct receive_held *h = f->held;
	struct wire_record rec = { .type = WIRE_HAVE };
	bool last = h->first + h->count == h->pieces;

	rec.have.file = f->said.file;
	rec.have.flags = last ? WIRE_HAVE_LAST : 0;
	rec.have.first = h->first;
	rec.have.count = (uint16_t)h->count;
	memcpy(rec.have.hashes, h->hashes, h->count * sizeof(*h->hashes));
	if (peer_send(f->receiver->peer, &rec) < 0)
		return; /* the next step tries again */
	peer_moved(f->receiver->peer);
	clear_due(h);
	h->first += h->count;
	if (last)
		held_done(f);
	else
		hash_next(h);
}

void receiver_say_held(struct receiver *r)
{
	struct receive_held *next;

	for (struct receive_held *h = r->held_due; h; h = next) {
		struct receive_file *f = h->file;

		next = h->next;
		if (f->status == STATUS_OK && !f->ended)
			say_held(f);
		else
			held_done(f);
	}
}

int receive_file_take_held(struct receive_file *f, const struct wire_data *data)
{
	size_t size = f->receiver->slab->slot_size;

	if (data->len != size || data->offset % size || data->offset / size >= f->held_pieces)
		return -EPROTO;
	if (f->status == STATUS_OK) {
		f->receiver->stored_bytes += data->len;
		f->receiver->held_bytes += data->len;
	}
	return 0;
}

void receive_file_forget_held(struct receive_file *f)
{
	if (f->held)
		held_done(f);
}
