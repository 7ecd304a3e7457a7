// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The sending engine. See sender.h for what it promises.
 *
 * Two walks over one queue of files, both on the loop thread:
 *   fill      takes free slots and starts reading the next bytes into them (sender_fill.c);
 *   announce  follows it in the same order and says what is ready (sender_announce.c).
 * Opening, reading, hashing, checking and closing are jobs; everything else here is state. All that can be in flight is counted
 * (`jobs`), and nothing is freed before the count is zero.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "peer.h"
#include "sender_impl.h"
#include "slab.h"
#include "util.h"

void sender_schedule(struct sender *s)
{
	loop_defer(s->peer->loop, &s->pump_task);
}

void sender_submit(struct sender *s, struct io_job *job, void (*run)(struct io_job *), void (*done)(struct io_job *))
{
	job->run = run;
	job->done = done;
	s->jobs++;
	ioqueue_submit(s->io, job);
}

/* Called first by every done(). False: the sender was stopped, only the counting matters. */
bool sender_job_ended(struct sender *s)
{
	s->jobs--;
	if (!s->stopped) {
		sender_schedule(s);
		return true;
	}
	if (!s->jobs)
		s->events->idle(s->owner);
	return false;
}

void send_file_fail(struct send_file *f, enum status status, const char *text)
{
	if (f->status != STATUS_OK)
		return;
	f->status = status;
	snprintf(f->text, sizeof(f->text), "%s", text);
	f->all_filled = true;
}

void send_file_fail_errno(struct send_file *f, int error)
{
	enum status status = status_from_errno(error);

	send_file_fail(f, status, status == STATUS_FAILED ? strerror(-error) : "");
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
	sender_schedule(s);
}

/* CLOSE or ABORT was said and RESULT heard, or the peer never knew of it: tell the owner. */
void send_file_finish(struct send_file *f)
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
		send_file_fail_errno(f, f->job_result);
	f->state = FILE_READY;
	f->whole = !f->in.unsized && (uint64_t)f->in.stat.st_size <= f->sender->slab->slot_size;
	if (f->status == STATUS_OK && f->in.stat.st_size == 0 && !f->in.unsized)
		f->all_filled = true;
	sender_job_ended(f->sender);
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
	sender_submit(s, &f->job, run_open, on_opened);
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
		send_file_fail_errno(f, f->job_result);
	f->state = FILE_CHECKED;
	sender_job_ended(f->sender);
}

/* All was read, or nothing more will be: no worker has a chunk of it. */
void send_file_maybe_check(struct send_file *f)
{
	if (f->state == FILE_READY && f->all_filled && !f->filling) {
		f->state = FILE_CHECKING;
		if (f->in.fd < 0)
			f->state = FILE_CHECKED;
		else
			sender_submit(f->sender, &f->job, run_check, on_checked);
	}
}

static void pump(struct sender *s)
{
	if (s->stopped || s->peer->ending)
		return;
	pump_next(s);
	sender_fill(s);
	sender_announce(s);
}

static void on_pump_task(struct loop_task *t)
{
	pump(container_of(t, struct sender, pump_task));
}

/* ---- what comes back ---------------------------------------------------------------------------------------- */

void send_chunk_release(struct send_chunk *c)
{
	slab_put(c->sender->slab, (unsigned int)(c - c->sender->chunks));
	c->file = NULL;
	sender_schedule(c->sender);
}

static void chunk_maybe_free(struct send_chunk *c)
{
	if (c->written && c->acked)
		send_chunk_release(c);
}

void send_chunk_on_written(struct endpoint_work *w, int status)
{
	struct send_chunk *c = container_of(w, struct send_chunk, work);

	if (status < 0)
		return; /* the endpoint ends, and the slab with it */
	c->written = true;
	chunk_maybe_free(c);
}

static int on_ack(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;
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

static int on_result(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;
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
		send_file_finish(f);
		return 0;
	}
	send_file_fail(f, STATUS_ABORTED, ""); /* stop reading; ABORT follows */
	send_file_maybe_check(f);
	sender_schedule(s);
	return 0;
}

static int on_done(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;
	char text[WIRE_TEXT_MAX + 1];

	if (!s->end_sent || s->busy_files)
		return -EPROTO;
	snprintf(text, sizeof(text), "%.*s", rec->status.text.len, rec->status.text.data);
	s->events->done(s->owner, (enum status)rec->status.status, text);
	return 0;
}

static void on_writable(void *engine)
{
	sender_schedule(engine);
}

static const struct peer_engine engine_type = {
	.records = { [WIRE_ACK] = on_ack, [WIRE_RESULT] = on_result, [WIRE_DONE] = on_done },
	.writable = on_writable,
};

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
	peer_attach(peer, &engine_type, s);
	*ret_sender = s;
	return 0;
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	loop_undefer(s->peer->loop, &s->pump_task);
	if (s->peer->engine == s)
		peer_detach(s->peer);
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
	sender_schedule(s);
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
