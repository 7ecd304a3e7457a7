// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The sending engine. See sender.h for what it promises.
 *
 * Two walks over one queue of files, both on the loop thread:
 *   fill      takes free slots and starts reading the next bytes into them (pump_fill), as far ahead as slots allow;
 *   announce  follows it in the same order and says what is ready: FILE, WRITE + DATA per chunk, CLOSE (pump_announce).
 * `chunks` is the order of filling, so chunks are announced in the order of their offsets even when workers finish in another.
 * Opening, reading, hashing, checking and closing are jobs; everything else here is state. All that can be in flight is counted
 * (`jobs`), and nothing is freed before the count is zero.
 */
#include "sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "peer.h"
#include "slab.h"
#include "util.h"
#include "window.h"

#define OPEN_AHEAD 16 /* files opened before their turn */

enum file_state {
	FILE_FREE,
	FILE_OPENING,   /* a worker opens it */
	FILE_READY,     /* open (or failed to), waiting for its turn or being sent */
	FILE_CHECKING,  /* everything was read; a worker looks whether it is still the same file */
	FILE_CHECKED,   /* closed here; CLOSE or ABORT can be said */
	FILE_ANNOUNCED, /* CLOSE or ABORT was said: waits for the RESULT */
};

struct send_file {
	struct sender *sender;
	struct send_file *next; /* in the queue, or among the free */
	struct send_item item;
	enum file_state state;
	struct infile in;
	struct io_job job; /* open, then check and close: one at a time */
	int job_result;    /* the worker's, for its done() */
	struct digest digest;
	uint32_t id;            /* of FILE, once begun */
	bool begun;             /* FILE was said */
	bool all_filled;        /* no further fill will be started */
	bool whole;             /* it fits one slot: read, checked and closed in one job */
	unsigned int filling;   /* chunks a worker has */
	unsigned int unsent;    /* chunks filling, or filled and not announced */
	uint64_t next_offset;   /* first byte not being filled */
	uint64_t announced;     /* bytes named by DATA */
	enum status status;     /* first failure on this side */
	char text[WIRE_TEXT_MAX + 1];
	bool have_result;
	enum status result;
	char result_text[WIRE_TEXT_MAX + 1];
};

/* What is in slot i is chunk i. */
struct send_chunk {
	struct sender *sender;
	struct send_file *file;
	struct io_job job;
	struct endpoint_work work;
	uint64_t offset;
	size_t want;
	ssize_t got; /* bytes read, or negative errno */
	uint64_t hash;
	int check;   /* infile_check() of a whole file */
	bool filled, posted, written, acked;
};

struct sender {
	struct peer *peer;
	struct slab *slab;
	struct ioqueue *io;
	const struct sender_events *events;
	void *owner;
	struct loop_task pump_task;

	unsigned int max_files;
	struct send_file *files; /* max_files of them */
	struct send_file *free_files;
	struct send_file **by_id; /* by FILE id modulo max_files */
	struct send_file *queue, **queue_tail; /* not wholly announced yet, in order */
	struct send_file *filling;             /* whose bytes are read next; within the queue, NULL at its end */
	unsigned int opened_ahead;             /* files in the queue */
	unsigned int busy_files;

	struct window window;
	struct send_chunk *chunks;
	uint16_t *order; /* ring of slot numbers in order of filling; size slab->slots */
	unsigned int order_head, order_count;

	uint32_t next_id;
	unsigned int jobs;
	bool no_more, end_sent, stopped;
	uint64_t acked_bytes;
};

static void pump(struct sender *s);

static void schedule_pump(struct sender *s)
{
	loop_defer(s->peer->loop, &s->pump_task);
}

static void submit(struct sender *s, struct io_job *job, void (*run)(struct io_job *), void (*done)(struct io_job *))
{
	job->run = run;
	job->done = done;
	s->jobs++;
	ioqueue_submit(s->io, job);
}

/* Called first by every done(). False: the sender was stopped, only the counting matters. */
static bool job_ended(struct sender *s)
{
	s->jobs--;
	if (!s->stopped) {
		schedule_pump(s);
		return true;
	}
	if (!s->jobs)
		s->events->idle(s->owner);
	return false;
}

static void file_fail(struct send_file *f, enum status status, const char *text)
{
	if (f->status != STATUS_OK)
		return;
	f->status = status;
	snprintf(f->text, sizeof(f->text), "%s", text);
	f->all_filled = true;
}

/* ---- a file's life: taken, opened ... retired ---------------------------------------------------------------- */

static void free_item(struct send_item *item)
{
	free(item->path);
	free(item->target);
	free(item->name);
	*item = (struct send_item){ 0 };
}

static void file_retire(struct send_file *f)
{
	struct sender *s = f->sender;

	free_item(&f->item);
	f->state = FILE_FREE;
	f->next = s->free_files;
	s->free_files = f;
	s->busy_files--;
	schedule_pump(s);
}

/* CLOSE or ABORT was said and RESULT heard, or the peer never knew of it: tell the owner. */
static void file_finish(struct send_file *f)
{
	struct sender *s = f->sender;
	bool ours = f->status != STATUS_OK && f->status != STATUS_ABORTED;

	if (f->begun)
		s->by_id[f->id % s->max_files] = NULL;
	peer_moved(s->peer);
	if (ours)
		s->events->file_done(s->owner, &f->item, f->announced, f->status, false, f->text);
	else
		s->events->file_done(s->owner, &f->item, f->announced, f->result, true, f->result_text);
	file_retire(f);
}

static void run_open(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	f->job_result = infile_open(&f->in, f->item.root, f->item.path);
}

static void on_opened(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	if (f->job_result < 0)
		file_fail(f, status_from_errno(f->job_result), "");
	f->state = FILE_READY;
	f->whole = !f->in.unsized && (uint64_t)f->in.stat.st_size <= f->sender->slab->slot_size;
	if (f->status == STATUS_OK && f->in.stat.st_size == 0 && !f->in.unsized)
		f->all_filled = true;
	job_ended(f->sender);
}

static void take_file(struct sender *s, const struct send_item *item)
{
	struct send_file *f = s->free_files;
	struct digest digest = f->digest;

	s->free_files = f->next;
	s->busy_files++;
	*f = (struct send_file){ .sender = s, .item = *item, .state = FILE_OPENING, .digest = digest };
	infile_init(&f->in);
	digest_init(&f->digest); /* cannot fail: the state exists */
	*s->queue_tail = f;
	s->queue_tail = &f->next;
	if (!s->filling)
		s->filling = f;
	s->opened_ahead++;
	submit(s, &f->job, run_open, on_opened);
}

static void pump_next(struct sender *s)
{
	struct send_item item;
	int r;

	while (!s->no_more && s->free_files && s->opened_ahead < OPEN_AHEAD) {
		item = (struct send_item){ 0 };
		r = s->events->next(s->owner, &item);
		if (r == -ENODATA)
			s->no_more = true;
		if (r <= 0)
			return;
		take_file(s, &item);
	}
}

static void run_check(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	f->job_result = infile_check(&f->in);
	infile_close(&f->in);
}

static void on_checked(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	if (f->job_result < 0)
		file_fail(f, STATUS_CHANGED, "");
	f->state = FILE_CHECKED;
	job_ended(f->sender);
}

/* All was read, or nothing more will be: no worker has a chunk of it. */
static void maybe_check(struct send_file *f)
{
	if (f->state == FILE_READY && f->all_filled && !f->filling) {
		f->state = FILE_CHECKING;
		if (f->in.fd < 0)
			f->state = FILE_CHECKED;
		else
			submit(f->sender, &f->job, run_check, on_checked);
	}
}

/* ---- filling ------------------------------------------------------------------------------------------------ */

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
		file_fail(f, status_from_errno((int)c->got), "");
	else if (c->check < 0 || ((size_t)c->got < c->want && !f->in.unsized))
		file_fail(f, STATUS_CHANGED, "");
	else if ((size_t)c->got < c->want)
		f->all_filled = true; /* the end of a file that did not know its size */
	maybe_check(f);
	job_ended(f->sender);
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

static void pump_fill(struct sender *s)
{
	int slot;

	while (s->filling && s->filling->state != FILE_OPENING) {
		struct send_file *f = s->filling;

		if (f->all_filled) {
			maybe_check(f);
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

/* ---- announcing --------------------------------------------------------------------------------------------- */

static void on_written(struct endpoint_work *w, int status);

static bool say_file(struct sender *s, struct send_file *f)
{
	struct wire_record rec = { .type = WIRE_FILE };

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
	if (peer_send(s->peer, &rec) < 0)
		return false;
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

static void release_slot(struct send_chunk *c)
{
	slab_put(c->sender->slab, (unsigned int)(c - c->sender->chunks));
	c->file = NULL;
	schedule_pump(c->sender);
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
	c->work.written = on_written;
	if (endpoint_post_write(s->peer->ep, &c->work, slot, 0, (size_t)c->got) < 0) {
		endpoint_commit(s->peer->ep, 0);
		return false; /* the endpoint is ending */
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
			release_slot(c);
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

static void pump_announce(struct sender *s)
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
			file_finish(f);
	}
}

static void say_end(struct sender *s)
{
	struct wire_record rec = { .type = WIRE_END, .end.files = s->next_id };

	if (!s->end_sent && s->no_more && !s->queue && peer_send(s->peer, &rec) == 0)
		s->end_sent = true;
}

static void pump(struct sender *s)
{
	if (s->stopped || s->peer->ending)
		return;
	pump_next(s);
	pump_fill(s);
	pump_announce(s);
	say_end(s);
}

static void on_pump_task(struct loop_task *t)
{
	pump(container_of(t, struct sender, pump_task));
}

/* ---- what comes back ---------------------------------------------------------------------------------------- */

static void chunk_maybe_free(struct send_chunk *c)
{
	if (c->written && c->acked)
		release_slot(c);
}

static void on_written(struct endpoint_work *w, int status)
{
	struct send_chunk *c = container_of(w, struct send_chunk, work);

	if (status < 0)
		return; /* the endpoint ends, and the slab with it */
	c->written = true;
	chunk_maybe_free(c);
}

int sender_on_ack(struct sender *s, const struct wire_record *rec)
{
	for (unsigned int i = 0; i < rec->ack.count; i++) {
		struct send_chunk *c;

		if (rec->ack.slots[i] >= s->slab->slots)
			return -EPROTO;
		c = &s->chunks[rec->ack.slots[i]];
		if (!c->file || !c->posted || c->acked)
			return -EPROTO;
		c->acked = true;
		s->acked_bytes += (uint64_t)c->got;
		window_on_ack(&s->window, loop_now(s->peer->loop));
		chunk_maybe_free(c);
	}
	peer_moved(s->peer);
	return 0;
}

int sender_on_result(struct sender *s, const struct wire_record *rec)
{
	const struct wire_result *result = &rec->result;
	struct send_file *f = s->by_id[result->file % s->max_files];

	if (!f || f->id != result->file || f->have_result)
		return -EPROTO;
	if (result->status == STATUS_OK && f->state != FILE_ANNOUNCED)
		return -EPROTO; /* nothing can be well before CLOSE */
	f->have_result = true;
	f->result = (enum status)result->status;
	snprintf(f->result_text, sizeof(f->result_text), "%.*s", result->text.len, result->text.data);
	if (f->state == FILE_ANNOUNCED) {
		file_finish(f);
		return 0;
	}
	file_fail(f, STATUS_ABORTED, ""); /* stop reading; ABORT follows */
	maybe_check(f);
	schedule_pump(s);
	return 0;
}

int sender_on_done(struct sender *s, const struct wire_record *rec)
{
	char text[WIRE_TEXT_MAX + 1];

	if (!s->end_sent || s->busy_files)
		return -EPROTO;
	snprintf(text, sizeof(text), "%.*s", rec->status.text.len, rec->status.text.data);
	s->events->done(s->owner, (enum status)rec->status.status, text);
	return 0;
}

void sender_on_writable(struct sender *s)
{
	schedule_pump(s);
}

/* ---- making and ending -------------------------------------------------------------------------------------- */

static int init_files(struct sender *s)
{
	s->files = calloc(s->max_files, sizeof(*s->files));
	s->by_id = calloc(s->max_files, sizeof(struct send_file *));
	if (!s->files || !s->by_id)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->max_files; i++)
		infile_init(&s->files[i].in);
	for (unsigned int i = s->max_files; i-- > 0;) {
		if (digest_init(&s->files[i].digest) < 0)
			return -ENOMEM;
		s->files[i].next = s->free_files;
		s->free_files = &s->files[i];
	}
	return 0;
}

int sender_new(struct peer *peer, struct slab *slab, struct ioqueue *io, unsigned int max_files,
	       const struct sender_events *events, void *owner, struct sender **ret_sender)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->peer = peer;
	s->slab = slab;
	s->io = io;
	s->max_files = max_files;
	s->events = events;
	s->owner = owner;
	s->pump_task.run = on_pump_task;
	s->queue_tail = &s->queue;
	window_init(&s->window, slab->slots, slab->slot_size);
	s->chunks = calloc(slab->slots, sizeof(*s->chunks));
	s->order = calloc(slab->slots, sizeof(*s->order));
	if (!s->chunks || !s->order || init_files(s) < 0) {
		sender_free(s);
		return -ENOMEM;
	}
	peer->sender = s;
	*ret_sender = s;
	return 0;
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	loop_undefer(s->peer->loop, &s->pump_task);
	if (s->peer->sender == s)
		s->peer->sender = NULL;
	for (unsigned int i = 0; s->files && i < s->max_files; i++) {
		infile_close(&s->files[i].in);
		free_item(&s->files[i].item);
		digest_done(&s->files[i].digest);
	}
	free(s->files);
	free(s->by_id);
	free(s->chunks);
	free(s->order);
	free(s);
}

void sender_kick(struct sender *s)
{
	schedule_pump(s);
}

void sender_stop(struct sender *s)
{
	if (s->stopped)
		return;
	s->stopped = true;
	if (!s->jobs)
		s->events->idle(s->owner);
}

const struct send_item *sender_current(const struct sender *s, uint64_t *ret_size)
{
	if (!s->queue || s->queue->state == FILE_OPENING)
		return NULL;
	*ret_size = (uint64_t)s->queue->in.stat.st_size;
	return &s->queue->item;
}

uint64_t sender_acked_bytes(const struct sender *s)
{
	return s->acked_bytes;
}
