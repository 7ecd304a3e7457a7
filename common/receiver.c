// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The receiving engine. See receiver.h for what it promises.
 *
 * A file's life is the enum below, one function per step: receiver_on_file -> on_opened -> (receiver_on_data -> on_stored)... ->
 * receiver_on_close -> on_finished -> flush -> on_flushed -> report. Whatever goes wrong on the way leads to discard() as soon
 * as no worker has a chunk of it, then to report. A file's entry is free again when its RESULT was sent and its CLOSE or ABORT
 * was heard: only then may the sender use the number again.
 */
#include "receiver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "log.h"
#include "outfile.h"
#include "peer.h"
#include "slab.h"
#include "util.h"

#define FLUSH_BATCH (RECEIVER_MAX_FILES / 2) /* whole files that wait before they are made durable together */

enum file_state {
	FILE_FREE,
	FILE_OPENING,    /* a worker makes the temporary; chunks wait */
	FILE_OPEN,       /* chunks are stored as they come */
	FILE_FINISHING,  /* a worker gives it size and attributes */
	FILE_STAGED,     /* whole, under its temporary name */
	FILE_FLUSHING,   /* a worker syncs and renames it, with others */
	FILE_DISCARDING, /* a worker removes the temporary */
	FILE_REPORTING,  /* RESULT is to be sent */
	FILE_REPORTED    /* RESULT was sent; CLOSE or ABORT is yet to come */
};

struct receive_chunk {
	struct receiver *receiver;
	struct receive_file *file;
	struct receive_chunk *next; /* waiting for the file to open, or free */
	struct io_job job;
	struct wire_data data;
	enum status result;
	int error; /* negative errno behind `result`, or 0 */
};

struct receive_file {
	struct receiver *receiver;
	enum file_state state;
	struct receive_place place;
	struct wire_file said; /* its texts are not kept */
	struct outfile out;
	struct io_job job;
	int job_error;
	struct receive_file *next; /* staged, or in a flush */
	struct digest digest;
	struct receive_chunk *waiting, **waiting_tail;
	unsigned int pending; /* chunks with a worker or waiting */
	uint64_t received;    /* bytes announced by DATA */
	bool closed, ended;   /* CLOSE was heard; CLOSE or ABORT was */
	struct wire_close close;
	enum status status; /* first failure */
	char text[WIRE_TEXT_MAX + 1];
};

struct receive_slot {
	uint16_t pending; /* chunks in it not stored yet */
	bool last;        /* the peer said that no more will be named */
};

struct receiver {
	struct peer *peer;
	struct slab *slab;
	struct ioqueue *io;
	const struct receiver_events *events;
	void *owner;
	struct loop_task step_task;

	struct receive_file files[RECEIVER_MAX_FILES]; /* by number modulo this */
	unsigned int busy_files;
	uint32_t next_file; /* FILE numbers count up */
	struct receive_file *newest;
	struct receive_file *staged, **staged_tail;
	unsigned int staged_count;
	struct receive_file *flushing;
	struct io_job flush_job;

	struct receive_chunk *chunks, *free_chunks;
	struct receive_slot *slots;
	uint16_t *acks; /* slots to acknowledge */
	unsigned int ack_count;

	unsigned int jobs;
	bool end_heard, done_sent, stopped;
	uint64_t stored_bytes;
};

static void step(struct receiver *r);
static void maybe_leave_open(struct receive_file *f);

static void schedule_step(struct receiver *r)
{
	loop_defer(r->peer->loop, &r->step_task);
}

static void submit(struct receiver *r, struct io_job *job, void (*run)(struct io_job *), void (*done)(struct io_job *))
{
	job->run = run;
	job->done = done;
	r->jobs++;
	ioqueue_submit(r->io, job);
}

/* Called first by every done(). False: the receiver was stopped, only the counting matters. */
static bool job_ended(struct receiver *r)
{
	r->jobs--;
	if (!r->stopped) {
		schedule_step(r);
		return true;
	}
	if (!r->jobs)
		r->events->idle(r->owner);
	return false;
}

static void file_fail(struct receive_file *f, enum status status, const char *text)
{
	if (f->status != STATUS_OK)
		return;
	f->status = status;
	snprintf(f->text, sizeof(f->text), "%s", text);
}

/* ---- slots and chunks --------------------------------------------------------------------------------------- */

static void slot_maybe_ack(struct receiver *r, unsigned int slot)
{
	if (r->slots[slot].pending || !r->slots[slot].last)
		return;
	r->slots[slot].last = false;
	r->acks[r->ack_count++] = (uint16_t)slot;
	schedule_step(r);
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
static void run_store(struct io_job *job)
{
	struct receive_chunk *c = container_of(job, struct receive_chunk, job);
	const uint8_t *bytes = slab_slot(c->receiver->slab, c->data.slot) + c->data.slot_off;

	if (digest_chunk(bytes, c->data.len) != c->data.hash) {
		c->result = STATUS_CORRUPT;
		return;
	}
	c->error = outfile_write(&c->file->out, bytes, c->data.len, c->data.offset);
	if (c->error < 0)
		c->result = status_from_errno(c->error);
}

static void on_stored(struct io_job *job)
{
	struct receive_chunk *c = container_of(job, struct receive_chunk, job);
	struct receive_file *f = c->file;

	if (!job_ended(c->receiver))
		return;
	if (c->result == STATUS_CORRUPT)
		file_fail(f, STATUS_CORRUPT, "");
	else if (c->result != STATUS_OK)
		file_fail(f, c->result, c->result == STATUS_FAILED ? strerror(-c->error) : "");
	else
		f->receiver->stored_bytes += c->data.len;
	chunk_release(c);
	maybe_leave_open(f);
}

static void submit_store(struct receive_chunk *c)
{
	c->job.run = run_store;
	c->job.done = on_stored;
	c->receiver->jobs++;
	ioqueue_submit_quick(c->receiver->io, &c->job);
}

static void start_store(struct receive_chunk *c)
{
	if (c->file->status == STATUS_OK)
		submit_store(c);
	else
		chunk_release(c); /* of a file that is lost: dropped, the slot is free again */
}

static void start_waiting(struct receive_file *f)
{
	struct receive_chunk *c;

	while ((c = f->waiting)) {
		f->waiting = c->next;
		start_store(c);
	}
	f->waiting_tail = &f->waiting;
}

/* ---- a file's life ------------------------------------------------------------------------------------------ */

static void file_free(struct receive_file *f)
{
	struct receiver *r = f->receiver;

	f->state = FILE_FREE;
	if (r->newest == f)
		r->newest = NULL;
	r->busy_files--;
	schedule_step(r);
}

static void report(struct receive_file *f)
{
	struct receiver *r = f->receiver;
	struct wire_record rec = { .type = WIRE_RESULT };

	f->state = FILE_REPORTING;
	rec.result.file = f->said.file;
	rec.result.status = (uint16_t)f->status;
	rec.result.text = wire_text(f->text);
	if (peer_send(r->peer, &rec) < 0)
		return; /* step() tries again when there is room */
	peer_moved(r->peer);
	r->events->file_done(r->owner, &f->place, f->said.request, f->received, f->status, f->text);
	f->state = FILE_REPORTED;
	if (f->ended)
		file_free(f);
}

static void run_discard(struct io_job *job)
{
	outfile_discard(&container_of(job, struct receive_file, job)->out);
}

static void on_discarded(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (job_ended(f->receiver))
		report(f);
}

/* A failed file, no chunk of it with a worker: the temporary goes before the failure is told. */
static void discard(struct receive_file *f)
{
	f->state = FILE_DISCARDING;
	submit(f->receiver, &f->job, run_discard, on_discarded);
}

static struct outfile_attrs attrs_of(const struct wire_file *said)
{
	return (struct outfile_attrs){
		.mode = said->mode & 07777,
		.preserve = said->flags & WIRE_FILE_PRESERVE,
		.mtime = { .tv_sec = said->mtime_sec, .tv_nsec = said->mtime_nsec },
	};
}

static int commit_synced(struct receive_file *f)
{
	int r = outfile_sync(&f->out);

	if (r == 0)
		r = outfile_commit(&f->out, f->place.flags);
	return r < 0 ? r : outfile_sync_dir(&f->out);
}

/* Worker: whole and named, or whole and waiting for a flush. */
static void run_finish(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);
	struct outfile_attrs attrs = attrs_of(&f->said);

	f->job_error = outfile_finish(&f->out, f->close.size, &attrs);
	if (f->job_error < 0)
		return;
	if (f->said.flags & WIRE_FILE_SYNC)
		f->job_error = commit_synced(f);
	else if (f->said.flags & WIRE_FILE_NO_SYNC)
		f->job_error = outfile_commit(&f->out, f->place.flags);
}

static void stage(struct receive_file *f)
{
	struct receiver *r = f->receiver;

	f->state = FILE_STAGED;
	f->next = NULL;
	*r->staged_tail = f;
	r->staged_tail = &f->next;
	r->staged_count++;
	schedule_step(r);
}

static void settle(struct receive_file *f)
{
	if (f->job_error < 0)
		file_fail(f, status_from_errno(f->job_error), status_from_errno(f->job_error) == STATUS_FAILED ?
							      strerror(-f->job_error) :
							      "");
	discard(f); /* of a committed file: only closes */
}

static void on_finished(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!job_ended(f->receiver))
		return;
	if (f->job_error < 0 || (f->said.flags & (WIRE_FILE_SYNC | WIRE_FILE_NO_SYNC)))
		settle(f);
	else
		stage(f);
}

static bool digest_matches(const struct receive_file *f)
{
	uint8_t value[WIRE_DIGEST_SIZE];

	digest_value(&f->digest, value);
	return f->received == f->close.size && !memcmp(value, f->close.digest, sizeof(value));
}

/* Nothing of it is with a worker: on to the next station, if it is time. */
static void maybe_leave_open(struct receive_file *f)
{
	if (f->state != FILE_OPEN || f->pending)
		return;
	if (f->status == STATUS_OK && f->closed && !digest_matches(f))
		file_fail(f, STATUS_CORRUPT, "the parts do not add up to the file that was read");
	if (f->status != STATUS_OK) {
		discard(f);
	} else if (f->closed) {
		f->state = FILE_FINISHING;
		submit(f->receiver, &f->job, run_finish, on_finished);
	}
}

static void run_create(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	f->job_error = outfile_create(&f->out, f->place.root, f->place.path, f->place.name, f->place.flags);
}

static void on_created(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!job_ended(f->receiver))
		return;
	f->state = FILE_OPEN;
	if (f->job_error < 0)
		file_fail(f, status_from_errno(f->job_error), status_from_errno(f->job_error) == STATUS_FAILED ?
							      strerror(-f->job_error) :
							      "");
	start_waiting(f);
	maybe_leave_open(f);
}

/* ---- making whole files durable, many at once ---------------------------------------------------------------- */

/* Worker. One file at a time is synced by itself; what many of them share, the device's cache flush, the file system merges. */
static void run_flush(struct io_job *job)
{
	struct receiver *r = container_of(job, struct receiver, flush_job);

	for (struct receive_file *f = r->flushing; f; f = f->next)
		f->job_error = outfile_sync(&f->out);
	for (struct receive_file *f = r->flushing; f; f = f->next)
		if (f->job_error == 0)
			f->job_error = outfile_commit(&f->out, f->place.flags);
	for (struct receive_file *f = r->flushing; f; f = f->next)
		if (f->job_error == 0)
			f->job_error = outfile_sync_dir(&f->out);
}

static void on_flushed(struct io_job *job)
{
	struct receiver *r = container_of(job, struct receiver, flush_job);
	struct receive_file *f = r->flushing, *next;

	if (!job_ended(r))
		return;
	r->flushing = NULL;
	for (; f; f = next) {
		next = f->next;
		settle(f);
	}
}

static bool must_flush(const struct receiver *r)
{
	if (r->flushing || !r->staged_count)
		return false;
	return r->end_heard || r->staged_count >= FLUSH_BATCH;
}

static void start_flush(struct receiver *r)
{
	r->flushing = r->staged;
	for (struct receive_file *f = r->flushing; f; f = f->next)
		f->state = FILE_FLUSHING;
	r->staged = NULL;
	r->staged_tail = &r->staged;
	r->staged_count = 0;
	submit(r, &r->flush_job, run_flush, on_flushed);
}

/* ---- the step at the end of a round: what is due to the peer -------------------------------------------------- */

static void send_acks(struct receiver *r)
{
	struct wire_record rec = { .type = WIRE_ACK };
	unsigned int n = r->ack_count < WIRE_ACK_MAX ? r->ack_count : WIRE_ACK_MAX;

	if (!n)
		return;
	rec.ack.count = (uint16_t)n;
	memcpy(rec.ack.slots, r->acks, n * sizeof(*r->acks));
	if (peer_send(r->peer, &rec) < 0)
		return;
	peer_moved(r->peer);
	r->ack_count -= n;
	memmove(r->acks, r->acks + n, r->ack_count * sizeof(*r->acks));
}

static void retry_reports(struct receiver *r)
{
	for (unsigned int i = 0; i < RECEIVER_MAX_FILES; i++)
		if (r->files[i].state == FILE_REPORTING)
			report(&r->files[i]);
}

static void send_done(struct receiver *r)
{
	struct wire_record rec = { .type = WIRE_DONE, .status.status = STATUS_OK };

	if (!r->end_heard || r->busy_files || r->done_sent || peer_send(r->peer, &rec) < 0)
		return;
	r->done_sent = true;
	r->events->done(r->owner);
}

static void step(struct receiver *r)
{
	if (r->stopped || r->peer->ending)
		return;
	send_acks(r);
	retry_reports(r);
	if (must_flush(r))
		start_flush(r);
	send_done(r);
}

static void on_step_task(struct loop_task *t)
{
	step(container_of(t, struct receiver, step_task));
}

void receiver_on_writable(struct receiver *r)
{
	schedule_step(r);
}

/* ---- records ------------------------------------------------------------------------------------------------ */

static struct receive_file *find_file(struct receiver *r, uint32_t number)
{
	struct receive_file *f = &r->files[number % RECEIVER_MAX_FILES];

	return f->state != FILE_FREE && f->said.file == number && !f->ended ? f : NULL;
}

int receiver_on_file(struct receiver *r, const struct wire_record *rec)
{
	const struct wire_file *said = &rec->file;
	struct receive_file *f = &r->files[said->file % RECEIVER_MAX_FILES];
	struct digest digest = f->digest;
	enum status status;

	if (r->end_heard || said->file != r->next_file || f->state != FILE_FREE)
		return -EPROTO;
	r->next_file++;
	r->busy_files++;
	r->newest = f;
	*f = (struct receive_file){ .receiver = r, .state = FILE_OPENING, .said = *said, .digest = digest };
	f->said.path = f->said.name = (struct wire_text){ 0 };
	f->waiting_tail = &f->waiting;
	outfile_init(&f->out);
	digest_init(&f->digest); /* cannot fail: the state exists */
	status = r->events->place(r->owner, said, &f->place, f->text);
	if (status == STATUS_OK) {
		submit(r, &f->job, run_create, on_created);
	} else {
		f->status = status;
		report(f);
	}
	return 0;
}

static bool data_is_sane(const struct receiver *r, const struct wire_data *d)
{
	if (d->slot >= r->slab->slots || r->slots[d->slot].last)
		return false;
	return d->slot_off <= r->slab->slot_size && d->len <= r->slab->slot_size - d->slot_off;
}

int receiver_on_data(struct receiver *r, const struct wire_record *rec)
{
	struct receive_file *f = find_file(r, rec->data.file);
	struct receive_chunk *c = r->free_chunks;

	if (!f || f->closed || !c || !data_is_sane(r, &rec->data))
		return -EPROTO;
	r->free_chunks = c->next;
	*c = (struct receive_chunk){ .receiver = r, .file = f, .data = rec->data };
	f->pending++;
	f->received += c->data.len;
	digest_add(&f->digest, c->data.offset, c->data.len, c->data.hash);
	r->slots[c->data.slot].pending++;
	if (c->data.flags & WIRE_DATA_LAST)
		r->slots[c->data.slot].last = true;
	if (f->state != FILE_OPENING || f->status != STATUS_OK) {
		start_store(c);
		return 0;
	}
	*f->waiting_tail = c;
	f->waiting_tail = &c->next;
	return 0;
}

static void file_ended(struct receive_file *f)
{
	f->ended = true;
	if (f->state == FILE_REPORTED)
		file_free(f);
	else
		maybe_leave_open(f);
}

int receiver_on_close(struct receiver *r, const struct wire_record *rec)
{
	struct receive_file *f = find_file(r, rec->close.file);

	if (!f || f->closed)
		return -EPROTO;
	f->closed = true;
	f->close = rec->close;
	file_ended(f);
	return 0;
}

int receiver_on_abort(struct receiver *r, const struct wire_record *rec)
{
	struct receive_file *f;
	char text[WIRE_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "%.*s", rec->abort.text.len, rec->abort.text.data);
	if (rec->abort.file == WIRE_NO_FILE)
		return r->events->refused ?
			       r->events->refused(r->owner, rec->abort.request, (enum status)rec->abort.status, text) :
			       0;
	f = find_file(r, rec->abort.file);
	if (!f)
		return -EPROTO;
	file_fail(f, rec->abort.status ? (enum status)rec->abort.status : STATUS_ABORTED, text);
	file_ended(f);
	return 0;
}

int receiver_on_end(struct receiver *r, const struct wire_record *rec)
{
	if (r->end_heard || rec->end.files != r->next_file)
		return -EPROTO;
	r->end_heard = true;
	schedule_step(r);
	return 0;
}

/* ---- making and ending -------------------------------------------------------------------------------------- */

/* A chunk in each slot, and one more for each file: a slot may hold the chunks of many small files. */
static int init_chunks(struct receiver *r)
{
	unsigned int count = r->slab->slots + RECEIVER_MAX_FILES;

	r->chunks = calloc(count, sizeof(*r->chunks));
	r->slots = calloc(r->slab->slots, sizeof(*r->slots));
	r->acks = calloc(r->slab->slots, sizeof(*r->acks));
	if (!r->chunks || !r->slots || !r->acks)
		return -ENOMEM;
	for (unsigned int i = count; i-- > 0;) {
		r->chunks[i].next = r->free_chunks;
		r->free_chunks = &r->chunks[i];
	}
	return 0;
}

static int init_files(struct receiver *r)
{
	for (unsigned int i = 0; i < RECEIVER_MAX_FILES; i++)
		if (digest_init(&r->files[i].digest) < 0)
			return -ENOMEM;
	return 0;
}

int receiver_new(struct peer *peer, struct slab *slab, struct ioqueue *io, const struct receiver_events *events,
		 void *owner, struct receiver **ret_receiver)
{
	struct receiver *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->peer = peer;
	r->slab = slab;
	r->io = io;
	r->events = events;
	r->owner = owner;
	r->step_task.run = on_step_task;
	r->staged_tail = &r->staged;
	for (unsigned int i = 0; i < RECEIVER_MAX_FILES; i++)
		outfile_init(&r->files[i].out);
	if (init_chunks(r) < 0 || init_files(r) < 0) {
		receiver_free(r);
		return -ENOMEM;
	}
	peer->receiver = r;
	*ret_receiver = r;
	return 0;
}

void receiver_free(struct receiver *r)
{
	if (!r)
		return;
	loop_undefer(r->peer->loop, &r->step_task);
	if (r->peer->receiver == r)
		r->peer->receiver = NULL;
	for (unsigned int i = 0; i < RECEIVER_MAX_FILES; i++) {
		outfile_discard(&r->files[i].out);
		digest_done(&r->files[i].digest);
	}
	free(r->chunks);
	free(r->slots);
	free(r->acks);
	free(r);
}

void receiver_stop(struct receiver *r)
{
	if (r->stopped)
		return;
	r->stopped = true;
	if (!r->jobs)
		r->events->idle(r->owner);
}

const struct receive_place *receiver_current(const struct receiver *r, uint64_t *ret_size)
{
	if (!r->newest)
		return NULL;
	*ret_size = r->newest->said.size;
	return &r->newest->place;
}

uint64_t receiver_stored_bytes(const struct receiver *r)
{
	return r->stored_bytes;
}
