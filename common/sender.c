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
#include "stream.h"
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
	if (f->item.stream)
		stream_cancel(f->item.stream); /* nothing of it is wanted any more */
}

void send_file_fail_errno(struct send_file *f, int error)
{
	enum status status = status_from_errno(error);

	if (*f->why)
		send_file_fail(f, STATUS_FAILED, f->why);
	send_file_fail(f, status, status == STATUS_FAILED ? strerror(-error) : "");
}

/* ---- a file's life: taken, opened ... retired ---------------------------------------------------------------- */

void send_item_done(struct send_item *item)
{
	free(item->path);
	free(item->target);
	free(item->name);
	free(item->link);
	*item = (struct send_item){ 0 };
}

static void file_retire(struct send_file *f)
{
	struct sender *s = f->sender;

	infile_done(&f->in);
	attributes_done(&f->attributes);
	send_file_forget_have(f);
	send_item_done(&f->item);
	f->state = FILE_FREE;
	f->next = s->free_files;
	s->free_files = f;
	s->busy_files--;
	sender_schedule(s);
}

static bool is_tree_top(const struct send_item *item)
{
	return item->recurse && (item->flags & WIRE_FILE_DIRECTORY) && !(item->flags & WIRE_FILE_LEAVE);
}

static bool is_directory_below(const struct send_item *item)
{
	return (item->flags & WIRE_FILE_BELOW) && (item->flags & WIRE_FILE_DIRECTORY) &&
	       !(item->flags & WIRE_FILE_LEAVE);
}

static uint64_t dry_bytes(const struct send_file *f)
{
	return S_ISREG(f->in.stat.st_mode) ? (uint64_t)f->in.stat.st_size : 0;
}

/* CLOSE or ABORT was said and RESULT heard, or the peer never knew of it: tell the owner. */
void send_file_finish(struct send_file *f)
{
	struct sender *s = f->sender;
	bool ours = f->status != STATUS_OK && f->status != STATUS_ABORTED;
	enum status status = ours ? f->status : f->result;

	if (f->begun) {
		s->by_id[f->id % s->id_span] = NULL;
		s->attributes_len -= f->attributes_counted;
	}
	if (f->item.first)
		sender_tree_first_done(&f->item, status, f->result_same);
	peer_moved(s->peer);
	if (is_directory_below(&f->item) && !ours && status != STATUS_OK)
		sender_tree_dir_refused(f);
	if (is_tree_top(&f->item))
		sender_tree_top_done(s, status == STATUS_OK);
	s->events->file_done(s->owner, &f->item, send_file_is_dry(f) ? dry_bytes(f) : f->announced, status, !ours,
			     ours ? f->text : f->result_text);
	file_retire(f);
}

/* Directories, links and what cannot be sent have no bytes. */
static bool has_bytes(const struct send_item *item)
{
	const uint32_t others = WIRE_FILE_DIRECTORY | WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK;

	return item->status == STATUS_OK && !(item->flags & others);
}

/*
 * Half a slot: two that are larger would not share one. What may not know its size (/proc, /sys) is opened like a large file.
 * A file that no FILE can name would leave a hole in the slot.
 */
static bool may_pack(const struct sender *s, const struct send_item *item)
{
	return item->seen && !(item->flags & WIRE_FILE_DRY_RUN) && !infile_may_be_unsized(&item->stat) &&
	       !(item->ask && item->checksum) && /* the sum is to be known before */
	       (uint64_t)item->stat.st_size <= sender_piece(s) / 2 &&
	       (item->dense || extents_bytes(&item->stat) == (uint64_t)item->stat.st_size) &&
	       strlen(item->name) <= WIRE_NAME_MAX && strlen(item->target) <= WIRE_PATH_MAX;
}

/* Opens it, unless that comes later or never. */
static void start_file(struct sender *s, struct send_file *f)
{
	f->in.stat = f->item.stat;
	f->in.extents.size = (uint64_t)f->item.stat.st_size;
	if (!has_bytes(&f->item)) {
		if (f->item.status != STATUS_OK)
			send_file_fail(f, f->item.status, f->item.why ? f->item.why : "");
		f->all_filled = true;
		if (!send_file_start_attributes(f))
			f->state = FILE_CHECKED;
	} else if (may_pack(s, &f->item)) {
		f->packed = f->whole = true;
		f->state = FILE_READY;
		send_file_ask(f);
	} else if (f->item.recurse && sender_tree_new(s, &f->item) < 0) {
		send_file_fail_errno(f, -ENOMEM);
		f->state = FILE_CHECKED;
	} else {
		if (f->item.recurse)
			s->opening = f;
		f->ahead = true;
		s->opened_ahead++;
		send_file_open(f);
	}
}

static void take_file(struct sender *s, const struct send_item *item)
{
	struct send_file *f = s->free_files;
	struct digest digest = f->digest;

	s->free_files = f->next;
	s->busy_files++;
	if ((item->flags & WIRE_FILE_BELOW) && !(item->flags & WIRE_FILE_DIRECTORY)) {
		s->found_files++;
		s->found_bytes += item->seen ? (uint64_t)item->stat.st_size : 0;
	}
	*f = (struct send_file){ .sender = s, .item = *item, .state = FILE_OPENING, .digest = digest };
	infile_init(&f->in);
	digest_init(&f->digest); /* cannot fail: the state exists */
	*s->queue_tail = f;
	s->queue_tail = &f->next;
	if (!s->filling)
		s->filling = f;
	start_file(s, f);
}

static void pump_next(struct sender *s)
{
	struct send_item item;
	bool below;
	int r;

	while (!s->no_more && s->free_files && s->opened_ahead < OPEN_AHEAD && !s->opening) {
		item = (struct send_item){ 0 };
		below = s->tree;
		r = below ? sender_tree_next(s, &item) : s->events->next(s->owner, &item);
		if (r > 0) {
			take_file(s, &item);
		} else if (below && r < 0) { /* the tree is over; or an entry is lost for want of memory */
			if (r == -ENOMEM || r == -ENOBUFS)
				sender_tree_lost_for(s, r);
			send_item_done(&item);
		} else {
			s->no_more = r == -ENODATA;
			return;
		}
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

void send_slot_maybe_free(struct send_slot *slot)
{
	struct sender *s = slot->sender;

	if (slot->unsaid || (slot->posted && !(slot->written && slot->acked)))
		return;
	slab_put(s->slab, (unsigned int)(slot - s->slots));
	sender_schedule(s);
}

void send_slot_on_written(struct endpoint_work *w, int status)
{
	struct send_slot *slot = container_of(w, struct send_slot, work);

	if (status < 0)
		return; /* the endpoint ends, and the slab with it */
	slot->written = true;
	send_slot_maybe_free(slot);
}

static int on_ack(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;

	for (unsigned int i = 0; i < rec->ack.count; i++) {
		struct send_slot *slot;

		if (rec->ack.slots[i] >= s->slab->slots)
			return -EPROTO;
		slot = &s->slots[rec->ack.slots[i]];
		if (!slot->posted || slot->good || slot->acked) /* `good`: its last DATA is yet to be said */
			return -EPROTO;
		slot->acked = true;
		s->acked_bytes += slot->bytes;
		window_on_ack(&s->window, loop_now(s->peer->loop));
		send_slot_maybe_free(slot);
	}
	peer_moved(s->peer);
	return 0;
}

static int on_result(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;
	const struct wire_result *result = &rec->result;
	struct send_file *f = s->by_id[result->file % s->id_span];

	if (!f || f->id != result->file || f->have_result)
		return -EPROTO;
	if (result->status == STATUS_OK && f->state != FILE_ANNOUNCED)
		return -EPROTO; /* nothing can be well before CLOSE */
	f->have_result = true;
	f->result = (enum status)result->status;
	f->result_same = result->flags & WIRE_RESULT_SAME;
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

static void apply_limits(struct sender *s)
{
	bool peer = s->peer_limit && (!s->own_limit || s->peer_limit < s->own_limit);

	rate_set(&s->rate, peer ? s->peer_limit : s->own_limit);
	sender_schedule(s);
}

static int on_limit(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;

	s->peer_limit = rec->limit.bytes_per_second;
	apply_limits(s);
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

static void on_pace(struct loop_timer *t)
{
	sender_schedule(container_of(t, struct sender, pace));
}

static void on_writable(void *engine)
{
	sender_schedule(engine);
}

static bool waits(void *engine)
{
	struct sender *s = engine;

	return !rate_is_ready(&s->rate, loop_now(s->peer->loop));
}

static const struct peer_engine engine_type = {
	.records = { [WIRE_ACK] = on_ack,
		     [WIRE_RESULT] = on_result,
		     [WIRE_DONE] = on_done,
		     [WIRE_HAVE] = sender_on_have,
		     [WIRE_LIMIT] = on_limit,
		     [WIRE_HERE] = sender_on_here },
	.writable = on_writable,
	.waits = waits,
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

/* A chunk for each slot, and one more for each file: small ones share slots. */
static int init_chunks(struct sender *s)
{
	s->order_size = s->slab->slots + s->max_files;
	s->slots = calloc(s->slab->slots, sizeof(*s->slots));
	s->chunks = calloc(s->order_size, sizeof(*s->chunks));
	s->order = calloc(s->order_size, sizeof(struct send_chunk *));
	if (!s->slots || !s->chunks || !s->order)
		return -ENOMEM;
	for (unsigned int i = s->order_size; i-- > 0;) {
		s->chunks[i].next = s->free_chunks;
		s->free_chunks = &s->chunks[i];
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
	s->max_files = s->id_span = max_files;
	s->events = events;
	s->owner = owner;
	s->pump_task.run = on_pump_task;
	s->pace.expired = on_pace;
	s->queue_tail = &s->queue;
	window_init(&s->window, slab->slots, slab->slot_size);
	if (init_chunks(s) < 0 || init_files(s) < 0) {
		sender_free(s);
		return -ENOMEM;
	}
	peer_attach(peer, &engine_type, s, io);
	*ret_sender = s;
	return 0;
}

void sender_set_max_files(struct sender *s, unsigned int max_files)
{
	struct send_file *last = s->free_files;

	if (!max_files || max_files >= s->id_span)
		return;
	s->id_span = max_files;
	for (unsigned int i = 1; last && i < max_files; i++)
		last = last->next;
	if (last)
		last->next = NULL; /* those that are left over go with the array */
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	loop_undefer(s->peer->loop, &s->pump_task);
	loop_timer_cancel(s->peer->loop, &s->pace);
	if (s->peer->engine == s)
		peer_detach(s->peer);
	for (unsigned int i = 0; s->files && i < s->max_files; i++) {
		infile_done(&s->files[i].in);
		attributes_done(&s->files[i].attributes);
		send_file_forget_have(&s->files[i]);
		send_item_done(&s->files[i].item);
		digest_done(&s->files[i].digest);
	}
	free(s->files);
	free(s->by_id);
	sender_tree_free(s);
	free(s->slots);
	free(s->chunks);
	free(s->order);
	free(s);
}

void sender_kick(struct sender *s)
{
	sender_schedule(s);
}

void sender_limit(struct sender *s, uint64_t bytes_per_second)
{
	s->own_limit = bytes_per_second;
	apply_limits(s);
}

void sender_stop(struct sender *s)
{
	if (s->stopped)
		return;
	s->stopped = true;
	for (unsigned int i = 0; i < s->max_files; i++)
		if (s->files[i].item.stream)
			stream_cancel(s->files[i].item.stream);
	sender_tree_cancel(s);
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

bool sender_found(const struct sender *s, uint64_t *ret_files, uint64_t *ret_bytes)
{
	*ret_files = s->found_files;
	*ret_bytes = s->found_bytes;
	return !s->opening && sender_tree_is_walked(s);
}

uint64_t sender_held_bytes(const struct sender *s)
{
	return s->held_bytes;
}
