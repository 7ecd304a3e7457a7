// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What is made at the destination, and in which order. Files queue up in the order of their FILEs and are made at the end of a
 * round, several at once; but a directory is there before anything behind it in the queue is begun, and so is the directory
 * that the next file goes into opened: one at a time, the barrier.
 *
 * Below a top nothing depends on a path any more: entries are made in a directory that was opened beneath the top without
 * following links, under a name that is one component.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "here.h"
#include "outdir.h"
#include "peer.h"
#include "receiver_impl.h"
#include "slab.h"
#include "util.h"

/* ---- made one by one ---------------------------------------------------------------------------------------- */

static void run_open_dir(struct io_job *job)
{
	struct receiver *r = container_of(job, struct receiver, dir_job);
	struct receive_dir *dir = r->queue->dir;

	dir->fd = dir->top->fd < 0 /* of a dry run */ ? -ENOENT
						      : beneath_open_nofollow(dir->top->fd, dir->path,
									      O_PATH | O_DIRECTORY, 0);
	dir->error = dir->fd < 0 ? dir->fd : 0;
}

static void on_dir_opened(struct io_job *job)
{
	struct receiver *r = container_of(job, struct receiver, dir_job);

	r->queue->dir->opened = true;
	r->barrier = false;
	receiver_job_ended(r);
}

static void open_dir(struct receiver *r)
{
	r->barrier = true;
	receiver_submit_quick(r, &r->dir_job, run_open_dir, on_dir_opened);
}

static void run_make_top(struct receive_file *f)
{
	int fd = outdir_make(f->place.root, f->place.path, f->place.name, f->said.mode, f->place.flags, &f->out.dir_fd,
			     &f->dir_made, &f->out.entered);

	f->job_error = fd < 0 ? fd : 0;
	f->top = fd;
	f->here_due = fd >= 0 && here_of(fd, &f->here) == 0;
}

#define NARROW_SIZE 43 /* names.h */

void receiver_forget_narrow(struct receiver *r)
{
	budget_give(r->peer->memory, r->narrow_taken);
	names_done(&r->narrow);
}

/*
 * A directory that was there keeps its mode unless modes are preserved, whatever a sender says when it leaves it: one gets the mode
 * that it was made for, if it could not be filled with that. These are remembered, each with its mode.
 */
static int remember_narrow(struct receive_file *f)
{
	struct receiver *r = f->receiver;
	int error = 0;

	if (!f->dir_made || (f->said.flags & WIRE_FILE_PRESERVE) || !(~f->said.mode & OWNER_MAY))
		return 0;
	if (!r->narrow.max)
		error = names_init(&r->narrow, NAMES_MAX);
	if (error == 0)
		error = budget_take(r->peer->memory, NARROW_SIZE);
	if (error == -ENOBUFS)
		receive_file_fail(f, STATUS_FAILED,
				  "there are more such directories than the memory of a session is enough for");
	if (error == 0)
		r->narrow_taken += NARROW_SIZE;
	if (error == 0)
		error = names_add(&r->narrow, &f->said.mode, sizeof(f->said.mode), f->place.path,
				  strlen(f->place.path));
	return error < 0 ? error : 0;
}

static bool is_narrow(const struct receive_file *f)
{
	return names_contains(&f->receiver->narrow, &f->said.mode, sizeof(f->said.mode), f->place.path,
			      strlen(f->place.path));
}

static void run_leave_dir(struct receive_file *f)
{
	struct outfile_attrs attrs = receive_file_attrs(f);
	bool sync = !(f->said.flags & WIRE_FILE_NO_SYNC);
	char path[PATH_MAX] = "";

	if (!f->sets_mode)
		attrs.mode |= OWNER_MAY; /* nothing to be given to it */
	if (f->dir->top && (size_t)snprintf(path, sizeof(path), "%s%s%s", f->dir->path, *f->dir->path ? "/" : "",
					    f->place.name) >= sizeof(path))
		f->job_error = -ENAMETOOLONG;
	else
		f->job_error =
			outdir_finish(f->dir->top ? f->dir->top->fd : f->dir->fd, path, &attrs, sync, &f->sync_failed);
}

/* Worker: the directory itself, or its attributes when all that is in it is there. */
static void run_make_dir(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (receive_file_is_dry(f)) {
		receive_file_look_at_dir(f);
	} else if (f->said.flags & WIRE_FILE_LEAVE) {
		run_leave_dir(f);
	} else if (f->dir) {
		f->job_error = outdir_make_in(f->dir->fd, f->place.name, f->said.mode);
		f->dir_made = f->job_error > 0;
		f->out.dir_fd = f->dir->fd;
		f->out.dir_is_lent = true;
	} else {
		run_make_top(f);
	}
}

static void fail_in_partial_dir(struct receive_file *f)
{
	char text[WIRE_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "the directory for partial files, '%.160s': %s", f->receiver->partial_dir,
		 f->job_error == -EXDEV ? "it is on another file system" : strerror(-f->job_error));
	receive_file_fail(f, STATUS_FAILED, text);
}

/* Also when there was nothing to make: to the next station. */
static void made(struct receive_file *f)
{
	f->state = FILE_OPEN;
	if (f->out.entered)
		receive_place_append(&f->place, f->place.name);
	if (f->skip)
		receive_file_fail(f, STATUS_SKIPPED, f->skip);
	if (f->out.part_failed)
		fail_in_partial_dir(f);
	if (f->job_error < 0 && f->sync_failed)
		receive_file_fail_unsynced(f, f->job_error);
	if (f->job_error < 0)
		receive_file_fail_at_destination(f, f->job_error);
	receive_file_store_waiting(f);
	receive_file_maybe_leave_open(f);
}

/* What is still under way below the one before keeps that open. */
static int take_top(struct receiver *r, struct receive_file *f)
{
	struct receive_dir *top = receive_dir_new(&(struct wire_text){ .data = "" });

	if (!top) {
		if (f->top >= 0)
			close(f->top);
		return -ENOMEM;
	}
	top->fd = f->top;
	top->opened = true;
	top->made = f->dir_made;
	top->users = 1;
	receive_dir_release(r->top);
	r->top = top;
	r->top_request = f->said.request;
	r->top_place = f->place;
	receive_dir_release(r->dir);
	r->dir = NULL;
	return 0;
}

static void on_dir_made(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);
	struct receiver *r = f->receiver;
	bool is_top = !(f->said.flags & (WIRE_FILE_BELOW | WIRE_FILE_LEAVE));

	r->barrier = false;
	if (is_top && f->job_error == 0 && f->out.entered) {
		receive_place_append(&f->place, f->place.name);
		snprintf(f->text, sizeof(f->text), "%s", f->place.name);
	}
	f->out.entered = false;
	if (is_top && f->job_error == 0)
		f->job_error = take_top(r, f);
	if (f->job_error >= 0 && !(f->said.flags & WIRE_FILE_LEAVE))
		f->job_error = remember_narrow(f);
	if (receiver_job_ended(r))
		made(f);
}

/* A small one would only wait longer. */
static bool goes_direct(const struct receive_file *f)
{
	return (f->said.flags & WIRE_FILE_DIRECT) && f->said.size >= f->receiver->slab->slot_size;
}

static int create(struct receive_file *f)
{
	unsigned int flags = f->place.flags;
	bool closed;
	int r;

	if (f->place.stream) {
		outfile_open_stream(&f->out, f->place.stream);
		return 0;
	}
	if (f->said.flags & WIRE_FILE_RESUME) {
		flags |= OUTFILE_RESUME;
		f->out.id = receive_file_id(&f->said);
		f->out.part_name = *f->receiver->partial_dir ? f->receiver->partial_dir : NULL;
	}
	if (!f->dir)
		return outfile_create(&f->out, f->place.root, f->place.path, f->place.name, flags);
	/* what is to be given to another user, or has ACLs, is closed to everybody meanwhile */
	closed = receive_file_keeps(f) || goes_direct(f);
	r = outfile_create_in(&f->out, f->dir->fd, f->place.name, closed ? 0600 : f->said.mode, flags);
	f->out.has_mode &= !closed;
	return r;
}

/* What is behind the last whole piece of a file with holes would not be compared with anything. */
static int trim_held(struct receive_file *f)
{
	if (!(f->said.flags & WIRE_FILE_SPARSE) || !f->out.held)
		return 0;
	return outfile_trim(&f->out, receive_file_pieces(f) * f->receiver->slab->slot_size);
}

static void run_create(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!receive_file_choose(f))
		return;
	f->job_error = create(f);
	if (f->job_error == 0)
		f->job_error = trim_held(f);
	if (f->job_error == 0 && !(f->said.flags & (WIRE_FILE_UNSIZED | WIRE_FILE_SPARSE)))
		f->job_error = outfile_check_room(&f->out, f->said.size, f->out.held);
	if (f->job_error == 0 && goes_direct(f))
		outfile_go_direct(&f->out);
}

static void on_created(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!receiver_job_ended(f->receiver))
		return;
	if (f->job_error == 0 && (f->said.flags & WIRE_FILE_RESUME))
		receive_file_look_for_held(f);
	made(f);
}

/* ---- links, and files that are here already ------------------------------------------------------------------ */

static int make_link(struct receive_file *f)
{
	struct outfile_attrs attrs = receive_file_attrs(f);

	if (!f->dir)
		return -ENOTSUP;
	if (f->said.flags & WIRE_FILE_HARD_LINK)
		return outfile_hard_link_in(&f->out, f->dir->fd, f->place.name, f->dir->top->fd, f->link,
					    f->place.flags);
	return outfile_symlink_in(&f->out, f->dir->fd, f->place.name, f->link, &attrs, f->place.flags);
}

/* Worker: all of it at once. A failure on the way leaves a temporary, for discard. */
static void run_whole(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!receive_file_choose(f))
		return;
	f->job_error = receive_file_is_link(f) ? make_link(f) : create(f);
	f->at_destination = f->job_error < 0;
	receive_file_write_waiting(f);
	f->out.has_size = f->end == f->close.size && (!f->waiting || !f->waiting->next);
	if (f->job_error == 0)
		receive_file_finish(f);
}

static void on_whole(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!receiver_job_ended(f->receiver))
		return;
	if (f->skip) {
		receive_file_drop_waiting(f);
		made(f);
		return;
	}
	if (f->at_destination)
		receive_file_fail_at_destination(f, f->job_error);
	if (f->out.entered)
		receive_place_append(&f->place, f->place.name);
	receive_file_drop_waiting(f);
	receive_file_finished(f);
}

static bool is_here(const struct receive_file *f)
{
	return f->closed && !(f->said.flags & WIRE_FILE_UNSIZED) && !f->place.stream && !receive_file_is_to_verify(f) &&
	       !receive_file_is_dry(f);
}

/* ---- the queue ---------------------------------------------------------------------------------------------- */

void receiver_queue(struct receiver *r, struct receive_file *f)
{
	f->next = NULL;
	*r->queue_tail = f;
	r->queue_tail = &f->next;
	receiver_schedule(r);
}

/* ---- files that may be left alone, of which the sender asks first ---------------------------------------------- */

static void run_look(struct io_job *job)
{
	receive_file_choose(container_of(job, struct receive_file, job));
}

/* It is wanted: on it goes when there are bytes of it, or its end. */
static void on_looked(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!receiver_job_ended(f->receiver))
		return;
	if (f->skip) {
		made(f);
		return;
	}
	f->looked_at = true;
	f->state = FILE_QUEUED;
	f->parked = true;
	receive_file_look_for_held(f); /* which is nothing, and so told */
	if (f->ended || f->waiting || f->status != STATUS_OK)
		receive_file_unpark(f);
}

void receive_file_unpark(struct receive_file *f)
{
	if (!f->parked)
		return;
	f->parked = false;
	receiver_queue(f->receiver, f);
}

static bool has_component(const char *path, const char *name)
{
	size_t len = strlen(name);

	for (; *path; path += strcspn(path, "/"), path += *path == '/')
		if (strncmp(path, name, len) == 0 && (!path[len] || path[len] == '/'))
			return true;
	return false;
}

/* A directory of that name would be removed with the last of the temporaries; what is beneath it is lost with it. */
static bool is_for_partials(const struct receive_file *f)
{
	const char *name = f->receiver->partial_dir;
	bool named = f->said.flags & WIRE_FILE_BELOW || f->place.flags & PLACE_INTO_DIR;

	if (!*name || f->said.flags & WIRE_FILE_LEAVE)
		return false;
	if (f->said.flags & WIRE_FILE_DIRECTORY && named && strcmp(f->place.name, name) == 0)
		return true;
	return f->dir && has_component(f->dir->path, name);
}

static bool is_asked_for(const struct receive_file *f)
{
	return (f->said.flags & WIRE_FILE_ASK) && !f->looked_at && !f->closed && !f->place.stream;
}

static void begin(struct receiver *r, struct receive_file *f)
{
	if (f->dir && f->dir->error && !(receive_file_is_dry(f) && f->dir->error == -ENOENT))
		receive_file_fail_at_destination(f, f->dir->error);
	if (f->status == STATUS_OK && is_here(f) && !receive_file_adds_up(f))
		receive_file_fail(f, STATUS_CORRUPT, "the parts do not add up to the file that was read");
	if (is_for_partials(f))
		receive_file_fail(f, STATUS_FAILED, "it has the name of the directory for partial files");
	if (f->dir && f->dir->top && f->dir->top->made)
		f->place.flags |= OUTFILE_FRESH;
	if (f->status != STATUS_OK) {
		made(f);
	} else if (f->said.flags & WIRE_FILE_DIRECTORY) {
		f->state = FILE_OPENING;
		f->sets_mode = (f->said.flags & WIRE_FILE_PRESERVE) || is_narrow(f);
		r->barrier = true;
		receiver_submit_quick(r, &f->job, run_make_dir, on_dir_made);
	} else if (is_asked_for(f)) {
		f->state = FILE_OPENING;
		receiver_submit(r, &f->job, run_look, on_looked);
	} else if (is_here(f)) {
		f->state = FILE_FINISHING;
		receiver_submit_quick(r, &f->job, run_whole, on_whole);
	} else {
		f->state = FILE_OPENING;
		receiver_submit(r, &f->job, run_create, on_created);
	}
}

/* Its job reads what is complete only at CLOSE: where a link leads, the attributes of a directory that is left; or SUM. */
static bool is_incomplete(const struct receive_file *f)
{
	if (f->closed || f->status != STATUS_OK)
		return false;
	return receive_file_is_link(f) || (f->said.flags & WIRE_FILE_LEAVE) ||
	       ((f->said.flags & WIRE_FILE_CHECKSUM) && !f->has_sum);
}

void receiver_create_queued(struct receiver *r)
{
	struct receive_file *f;

	r->flush_wanted = false;
	while ((f = r->queue) && !r->barrier) {
		if (f->dir && !f->dir->opened) {
			open_dir(r);
			return;
		}
		if (is_incomplete(f))
			return; /* what is missing, or ABORT, is on its way */
		if (!receiver_take_place(r, f))
			return;
		r->queue = f->next;
		if (!r->queue)
			r->queue_tail = &r->queue;
		begin(r, f);
	}
}
