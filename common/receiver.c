// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The receiving engine. See receiver.h for what it promises.
 *
 * A file's life is the enum in receiver_impl.h, one function per step: on_file -> its turn to be made (receiver_create.c)
 * -> (on_data -> on_stored)... -> on_close -> on_finished -> flush -> on_flushed -> report. A small file that has arrived whole when
 * its turn comes is made, written and finished in one job. Whatever goes wrong on the way leads to discard() as soon
 * as no worker has a chunk of it, then to report. A file's entry is free again when its RESULT was sent and its CLOSE or ABORT
 * was heard: only then may the sender use the number again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "peer.h"
#include "place.h"
#include "receiver_impl.h"
#include "slab.h"
#include "stream.h"
#include "util.h"

void receiver_schedule(struct receiver *r)
{
	loop_defer(r->peer->loop, &r->step_task);
}

void receiver_submit(struct receiver *r, struct io_job *job, void (*run)(struct io_job *),
		     void (*done)(struct io_job *))
{
	job->run = run;
	job->done = done;
	r->jobs++;
	ioqueue_submit(r->io, job);
}

void receiver_submit_quick(struct receiver *r, struct io_job *job, void (*run)(struct io_job *),
			   void (*done)(struct io_job *))
{
	job->run = run;
	job->done = done;
	r->jobs++;
	ioqueue_submit_quick(r->io, job);
}

/* Called first by every done(). False: the receiver was stopped, only the counting matters. */
bool receiver_job_ended(struct receiver *r)
{
	r->jobs--;
	if (!r->stopped) {
		receiver_schedule(r);
		return true;
	}
	if (!r->jobs)
		r->events->idle(r->owner);
	return false;
}

void receive_file_fail(struct receive_file *f, enum status status, const char *text)
{
	if (f->status != STATUS_OK)
		return;
	f->status = status;
	snprintf(f->text, sizeof(f->text), "%s", text);
	if (f->place.stream)
		stream_cancel(f->place.stream); /* or it would be told when the reader has read */
}

/* What appeared there since it was looked for counts, too. */
static bool is_held(struct receive_file *f, int error)
{
	if (error != -EEXIST || !(f->said.flags & WIRE_FILE_SKIP_HELD))
		return false;
	receive_file_fail(f, STATUS_SKIPPED, "it is there already");
	return true;
}

void receive_file_fail_errno(struct receive_file *f, int error)
{
	enum status status = status_from_errno(error);

	if (!is_held(f, error))
		receive_file_fail(f, status, status == STATUS_FAILED ? strerror(-error) : "");
}

/* Not "failed": the destination is not what it was. */
void receive_file_fail_unsynced(struct receive_file *f, int error)
{
	receive_file_fail(f, STATUS_UNSYNCED, strerror(-error));
}

/* What does not exist, or is no directory, is the destination and not the source. */
void receive_file_fail_at_destination(struct receive_file *f, int error)
{
	enum status status = status_from_errno(error);
	char text[WIRE_TEXT_MAX + 1];

	if (is_held(f, error))
		return;
	snprintf(text, sizeof(text), "%s%sdestination '%.160s'", status == STATUS_FAILED ? strerror(-error) : "",
		 status == STATUS_FAILED ? ", " : "", f->place.path);
	receive_file_fail(f, status, text);
}

/* ---- a file's entry ----------------------------------------------------------------------------------------- */

static void file_free(struct receive_file *f)
{
	struct receiver *r = f->receiver;

	f->state = FILE_FREE;
	r->places[f - r->files] = 0;
	receive_dir_release(f->dir);
	f->dir = NULL;
	receive_file_drop_layout(f);
	free(f->link);
	f->link = NULL;
	receive_file_drop_attributes(f);
	receive_file_forget_held(f);
	if (r->newest == f)
		r->newest = NULL;
	r->busy_files--;
	receiver_schedule(r);
}

/* It is there, but is there something to be said about it? */
static const char *remark_on(const struct receive_file *f)
{
	bool gets_mode = !(f->said.flags & WIRE_FILE_DIRECTORY) || (f->said.flags & WIRE_FILE_LEAVE);

	if (!f->place.remark || !gets_mode || receive_file_is_link(f) || receive_file_is_dry(f) ||
	    !(f->said.mode & OUTFILE_SPECIAL))
		return f->text;
	return f->place.remark;
}

static bool say_here(struct receive_file *f)
{
	struct wire_record rec = { .type = WIRE_HERE, .here = f->here };

	if (!f->here_due || f->status != STATUS_OK)
		return true;
	rec.here.file = f->said.file;
	f->here_due = peer_send(f->receiver->peer, &rec) < 0;
	return !f->here_due;
}

void receive_file_report(struct receive_file *f)
{
	struct receiver *r = f->receiver;

	f->state = FILE_REPORTING;
	if (*f->why) /* it is there all the same */
		receive_file_fail(f, STATUS_ATTRIBUTES, f->why);
	f->next = NULL;
	*r->reports_tail = f;
	r->reports_tail = &f->next;
	receiver_schedule(r);
}

/* ---- the step at the end of a round: what is due to the peer -------------------------------------------------- */

/* False: there is no room now. */
static bool say_report(struct receive_file *f)
{
	struct receiver *r = f->receiver;
	struct wire_record rec = { .type = WIRE_RESULT };

	rec.result.file = f->said.file;
	rec.result.status = (uint16_t)f->status;
	rec.result.flags = f->status == STATUS_SKIPPED && f->same ? WIRE_RESULT_SAME : 0;
	if (!r->discreet)
		rec.result.text = wire_text(f->status == STATUS_OK ? remark_on(f) : f->text);
	if (!say_here(f) || peer_send(r->peer, &rec) < 0)
		return false;
	peer_moved(r->peer);
	r->reports = f->next;
	if (!r->reports)
		r->reports_tail = &r->reports;
	r->events->file_done(r->owner, &f->place, f->said.request, receive_file_is_dry(f) ? f->said.size : f->received,
			     f->status, f->text);
	f->state = FILE_REPORTED;
	if (f->ended)
		file_free(f);
	return true;
}

/* In the order in which they came: what became of a directory is known before what became of its entries. */
static void say_reports(struct receiver *r)
{
	while (r->reports && !(receiver_keeps_back(r) && r->reports->status == STATUS_OK) && say_report(r->reports))
		;
}

/* A sender that was faster than LIMIT says, or than it could hear of it, has to wait for this. */
static void send_done(struct receiver *r)
{
	struct wire_record rec = { .type = WIRE_DONE, .status.status = STATUS_OK };

	if (!r->end_heard || r->busy_files || r->done_sent || receiver_must_wait(r) || peer_send(r->peer, &rec) < 0)
		return;
	r->done_sent = true;
	r->events->done(r->owner);
}

static void step(struct receiver *r)
{
	if (r->stopped || r->peer->ending)
		return;
	receiver_say_limit(r);
	receiver_create_queued(r);
	receiver_say_held(r);
	receiver_send_acks(r);
	say_reports(r);
	receiver_maybe_flush(r);
	send_done(r);
}

static void on_step_task(struct loop_task *t)
{
	step(container_of(t, struct receiver, step_task));
}

/* ---- records ------------------------------------------------------------------------------------------------ */

static struct receive_file *find_file(struct receiver *r, uint32_t number)
{
	struct receive_file *f = &r->files[number % RECEIVER_MAX_FILES];

	return f->state != FILE_FREE && f->said.file == number && !f->ended ? f : NULL;
}

static int on_file(void *engine, const struct wire_record *rec)
{
	struct receiver *r = engine;
	const struct wire_file *said = &rec->file;
	struct receive_file *f = &r->files[said->file % RECEIVER_MAX_FILES];
	struct digest digest = f->digest;
	int error;

	if (r->end_heard || said->file != r->next_file || f->state != FILE_FREE || r->busy_files >= r->max_files)
		return -EPROTO;
	r->next_file++;
	r->busy_files++;
	r->newest = f;
	if (!(said->flags & WIRE_FILE_DIRECTORY)) {
		r->found_files++;
		r->found_bytes += said->size;
	}
	*f = (struct receive_file){ .receiver = r, .state = FILE_QUEUED, .said = *said, .digest = digest };
	f->said.path = f->said.name = (struct wire_text){ 0 };
	f->waiting_tail = &f->waiting;
	outfile_init(&f->out);
	f->out.made = &r->made;
	digest_init(&f->digest); /* cannot fail: the state exists */
	error = receiver_place(r, f, said);
	if (error < 0)
		return error;
	if (f->status == STATUS_OK)
		receiver_queue(r, f);
	else
		receive_file_report(f);
	return 0;
}

static int on_sum(void *engine, const struct wire_record *rec)
{
	struct receiver *r = engine;
	struct receive_file *f = find_file(r, rec->sum.file);

	if (!f || f->closed || f->has_sum || f->received || !(f->said.flags & WIRE_FILE_CHECKSUM))
		return -EPROTO;
	f->has_sum = true;
	memcpy(f->sum, rec->sum.sum, sizeof(f->sum));
	return 0;
}

static int on_link(void *engine, const struct wire_record *rec)
{
	struct receiver *r = engine;
	struct receive_file *f = find_file(r, rec->link.file);

	if (!f || f->closed || f->link || !receive_file_is_link(f))
		return -EPROTO;
	f->link = strndup(rec->link.text.data, rec->link.text.len);
	return f->link ? 0 : -ENOMEM;
}

static int on_attributes(void *engine, const struct wire_record *rec)
{
	struct receive_file *f = find_file(engine, rec->attributes.file);

	return f ? receive_file_add_attributes(f, &rec->attributes) : -EPROTO;
}

/*
 * What is stored is bounded by what was acknowledged: a slot is named from its start to its end, once, and then the sender has to wait
 * for its ACK, which may be kept back.
 */
static bool data_is_sane(const struct receiver *r, const struct wire_data *d)
{
	const struct receive_slot *slot;

	if (r->end_heard || d->slot >= r->slab->slots)
		return false;
	slot = &r->slots[d->slot];
	if (slot->last || slot->due || d->slot_off < slot->used)
		return false;
	return d->slot_off <= r->slab->slot_size && d->len <= r->slab->slot_size - d->slot_off;
}

static void announced(struct receive_file *f, const struct wire_data *data)
{
	f->received += data->len;
	if (f->end < data->offset + data->len)
		f->end = data->offset + data->len;
	digest_add(&f->digest, data->offset, data->len, data->hash);
	receive_file_note_piece(f, data->offset, data->len);
}

static int on_held(struct receiver *r, struct receive_file *f, const struct wire_data *data)
{
	int error = receive_file_take_held(f, data);

	if (error < 0)
		return error;
	announced(f, data);
	peer_moved(r->peer);
	return 0;
}

static int on_data(void *engine, const struct wire_record *rec)
{
	struct receiver *r = engine;
	struct receive_file *f = find_file(r, rec->data.file);
	struct receive_chunk *c = r->free_chunks;

	if (!f || f->closed || receive_file_kind(f) || receive_file_is_dry(f))
		return -EPROTO;
	if (f->place.stream && rec->data.offset != f->end)
		return -EPROTO;
	if (rec->data.flags & WIRE_DATA_HELD)
		return on_held(r, f, &rec->data);
	if (!c || !data_is_sane(r, &rec->data))
		return -EPROTO;
	r->free_chunks = c->next;
	*c = (struct receive_chunk){ .receiver = r, .file = f, .data = rec->data };
	f->pending++;
	announced(f, &c->data);
	rate_take(&r->rate, c->data.len, loop_now(r->peer->loop));
	r->slots[c->data.slot].pending++;
	r->slots[c->data.slot].used = c->data.slot_off + (size_t)c->data.len;
	if (c->data.flags & WIRE_DATA_LAST)
		r->slots[c->data.slot].last = true;
	if ((f->state != FILE_OPENING && f->state != FILE_QUEUED) || f->status != STATUS_OK) {
		receive_chunk_store(c);
		return 0;
	}
	*f->waiting_tail = c;
	f->waiting_tail = &c->next;
	receive_file_unpark(f);
	return 0;
}

static void file_ended(struct receive_file *f)
{
	f->ended = true;
	if (f->state == FILE_REPORTED)
		file_free(f);
	else if (f->parked)
		receive_file_unpark(f);
	else if (f->state == FILE_QUEUED)
		receiver_schedule(f->receiver); /* it may be what the queue waits for */
	else
		receive_file_maybe_leave_open(f);
}

static int on_close(void *engine, const struct wire_record *rec)
{
	struct receiver *r = engine;
	struct receive_file *f = find_file(r, rec->close.file);

	if (!f || f->closed || (receive_file_is_link(f) && !f->link))
		return -EPROTO;
	if (receive_file_close_attributes(f) < 0)
		return -EPROTO;
	f->closed = true;
	f->close = rec->close;
	file_ended(f);
	return 0;
}

static int on_abort(void *engine, const struct wire_record *rec)
{
	struct receiver *r = engine;
	struct receive_file *f;
	char text[WIRE_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "%.*s", rec->abort.text.len, rec->abort.text.data);
	if (rec->abort.file == WIRE_NO_FILE)
		return r->events->refused
			       ? r->events->refused(r->owner, rec->abort.request, (enum status)rec->abort.status, text)
			       : 0;
	f = find_file(r, rec->abort.file);
	if (!f)
		return -EPROTO;
	receive_file_fail(f, rec->abort.status ? (enum status)rec->abort.status : STATUS_ABORTED, text);
	file_ended(f);
	return 0;
}

static int on_end(void *engine, const struct wire_record *rec)
{
	struct receiver *r = engine;
	if (r->end_heard || rec->end.files != r->next_file)
		return -EPROTO;
	r->end_heard = true;
	receiver_schedule(r);
	return 0;
}

static void on_flush_timer(struct loop_timer *t)
{
	receiver_schedule(container_of(t, struct receiver, flush_timer));
}

static void on_writable(void *engine)
{
	receiver_schedule(engine);
}

static bool waits(void *engine)
{
	struct receiver *r = engine;

	return !rate_is_ready(&r->rate, loop_now(r->peer->loop));
}

static const struct peer_engine engine_type = {
	.records = { [WIRE_FILE] = on_file,
		     [WIRE_DATA] = on_data,
		     [WIRE_LINK] = on_link,
		     [WIRE_SUM] = on_sum,
		     [WIRE_ATTRIBUTES] = on_attributes,
		     [WIRE_CLOSE] = on_close,
		     [WIRE_ABORT] = on_abort,
		     [WIRE_END] = on_end },
	.writable = on_writable,
	.waits = waits,
};

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
	made_init(&r->made, peer->memory);
	r->slab = slab;
	r->io = io;
	r->events = events;
	r->owner = owner;
	r->max_files = RECEIVER_MAX_FILES;
	r->step_task.run = on_step_task;
	r->pace.expired = receiver_on_pace;
	r->flush_timer.expired = on_flush_timer;
	r->staged_tail = &r->staged;
	r->queue_tail = &r->queue;
	r->reports_tail = &r->reports;
	for (unsigned int i = 0; i < RECEIVER_MAX_FILES; i++)
		outfile_init(&r->files[i].out);
	if (init_chunks(r) < 0 || init_files(r) < 0) {
		receiver_free(r);
		return -ENOMEM;
	}
	peer_attach(peer, &engine_type, r, io);
	*ret_receiver = r;
	return 0;
}

void receiver_set_max_files(struct receiver *r, unsigned int max_files)
{
	r->max_files = max_files;
}

void receiver_free(struct receiver *r)
{
	if (!r)
		return;
	loop_undefer(r->peer->loop, &r->step_task);
	loop_timer_cancel(r->peer->loop, &r->pace);
	loop_timer_cancel(r->peer->loop, &r->flush_timer);
	if (r->peer->engine == r)
		peer_detach(r->peer);
	for (unsigned int i = 0; i < RECEIVER_MAX_FILES; i++) {
		outfile_leave(&r->files[i].out);
		receive_file_forget_held(&r->files[i]);
		receive_dir_release(r->files[i].dir);
		free(r->files[i].link);
		buffer_done(&r->files[i].blob);
		digest_done(&r->files[i].digest);
		layout_done(&r->files[i].layout);
	}
	receive_dir_release(r->dir);
	receive_dir_release(r->top);
	receiver_forget_narrow(r);
	made_done(&r->made);
	free(r->chunks);
	free(r->slots);
	free(r->acks);
	free(r);
}

void receiver_be_discreet(struct receiver *r)
{
	r->discreet = true;
}

int receiver_keep_partials_in(struct receiver *r, const struct wire_text *name)
{
	char dir[sizeof(r->partial_dir)];
	int error;

	snprintf(dir, sizeof(dir), "%.*s", (int)min_size(name->len, sizeof(dir) - 1), name->data);
	error = place_check_name(dir);
	if (error < 0)
		return error;
	if (r->next_file || *r->partial_dir)
		return -EALREADY;
	memcpy(r->partial_dir, dir, sizeof(dir));
	return 0;
}

void receiver_stop(struct receiver *r)
{
	if (r->stopped)
		return;
	r->stopped = true;
	for (unsigned int i = 0; i < RECEIVER_MAX_FILES; i++)
		if (r->files[i].state != FILE_FREE && r->files[i].place.stream)
			stream_cancel(r->files[i].place.stream);
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

void receiver_found(const struct receiver *r, uint64_t *ret_files, uint64_t *ret_bytes)
{
	*ret_files = r->found_files;
	*ret_bytes = r->found_bytes;
}

uint64_t receiver_held_bytes(const struct receiver *r)
{
	return r->held_bytes;
}
