// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The end of a file: attributes, then, for as many files as are whole together, sync, rename, sync of the directories. A file
 * that failed loses its temporary first and is reported then.
 */
#include <string.h>

#include "peer.h"
#include "receiver_impl.h"
#include "util.h"

#define DEVICE_WAIT (200 * 1000ULL) /* ns; what is only memory is synced sooner */

static void run_discard(struct io_job *job)
{
	outfile_discard(&container_of(job, struct receive_file, job)->out);
}

static void on_discarded(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (receiver_job_ended(f->receiver))
		receive_file_report(f);
}

/* The temporary of a failed file goes before the failure is told; of a committed one there is only a directory to close. */
static void discard(struct receive_file *f)
{
	if (f->out.fd < 0 && !f->out.temp[0] && (f->out.dir_fd < 0 || f->out.dir_is_lent)) {
		receive_file_report(f);
		return;
	}
	f->state = FILE_DISCARDING;
	receiver_submit(f->receiver, &f->job, run_discard, on_discarded);
}

static int commit_synced(struct receive_file *f)
{
	int r = outfile_sync(&f->out);

	if (r == 0 && f->out.temp[0])
		r = outfile_commit(&f->out, f->place.flags);
	return r < 0 || f->out.dir_fd < 0 ? r : outfile_sync_dir(&f->out);
}

/* Links and directories have what they shall have since they were made, or get it when they are left. */
void receive_file_finish(struct receive_file *f)
{
	struct outfile_attrs attrs = receive_file_attrs(f);

	if (!receive_file_kind(f))
		f->job_error = outfile_finish(&f->out, f->close.size, &attrs);
	if (f->job_error < 0)
		return;
	if (f->said.flags & WIRE_FILE_SYNC)
		f->job_error = commit_synced(f);
	else if ((f->said.flags & WIRE_FILE_NO_SYNC) && f->out.temp[0])
		f->job_error = outfile_commit(&f->out, f->place.flags);
}

static void run_finish(struct io_job *job)
{
	receive_file_finish(container_of(job, struct receive_file, job));
}

static void stage(struct receive_file *f)
{
	struct receiver *r = f->receiver;

	f->state = FILE_STAGED;
	f->next = NULL;
	*r->staged_tail = f;
	r->staged_tail = &f->next;
	if (!r->staged_count++) {
		r->staged_ns = loop_now(r->peer->loop);
		loop_timer_set(r->peer->loop, &r->flush_timer, r->staged_ns + FLUSH_WAIT);
	}
	receiver_schedule(r);
}

static void settle(struct receive_file *f)
{
	if (f->job_error < 0 && f->out.why)
		receive_file_fail(f, STATUS_FAILED, f->out.why);
	else if (f->job_error < 0 && f->out.named)
		receive_file_fail_unsynced(f, f->job_error);
	else if (f->job_error < 0)
		receive_file_fail_errno(f, f->job_error);
	discard(f); /* of a committed file: only closes */
}

void receive_file_finished(struct receive_file *f)
{
	if (f->job_error < 0 || (f->said.flags & (WIRE_FILE_SYNC | WIRE_FILE_NO_SYNC)))
		settle(f);
	else
		stage(f);
}

static void on_finished(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (receiver_job_ended(f->receiver))
		receive_file_finished(f);
}

bool receive_file_adds_up(const struct receive_file *f)
{
	uint8_t value[WIRE_DIGEST_SIZE];

	digest_value(&f->digest, value);
	if ((f->place.stream || !(f->said.flags & WIRE_FILE_SPARSE)) && f->received != f->close.size)
		return false;
	return f->end <= f->close.size && !memcmp(value, f->close.digest, sizeof(value));
}

/* Nothing of it is with a worker: on to the next station, if it is time. */
void receive_file_maybe_leave_open(struct receive_file *f)
{
	if (f->state != FILE_OPEN || f->pending)
		return;
	if (f->status == STATUS_OK && f->closed && !receive_file_adds_up(f))
		receive_file_fail(f, STATUS_CORRUPT, "the parts do not add up to the file that was read");
	if (f->status != STATUS_OK) {
		discard(f);
	} else if (f->closed && (f->said.flags & (WIRE_FILE_LEAVE | WIRE_FILE_DRY_RUN))) {
		receive_file_report(f); /* synced when it was finished; or nothing was made */
	} else if (f->closed && receive_file_is_to_verify(f) && !f->verified) {
		receive_file_verify(f);
	} else if (f->closed) {
		f->state = FILE_FINISHING;
		receiver_submit(f->receiver, &f->job, run_finish, on_finished);
	}
}

/* ---- making whole files durable, many at once ---------------------------------------------------------------- */

/* The files of one directory share one sync of it. */
static int sync_dir_once(struct receive_file *f, uint64_t flush)
{
	struct receive_dir *dir = f->dir;

	if (!dir)
		return outfile_sync_dir(&f->out);
	if (dir->synced != flush) {
		dir->synced = flush;
		dir->sync_error = outfile_sync_dir(&f->out);
	}
	return dir->sync_error;
}

/*
 * Worker. One file at a time is synced by itself. Where the first shows that there is a device to wait for, the others are sent on their way
 * together: the file system has one transaction to write for them, then, and the device one flush of its cache to do.
 */
static void sync_files(struct receive_file *first)
{
	uint64_t began = now_ns();

	first->job_error = outfile_sync(&first->out);
	if (now_ns() - began > DEVICE_WAIT)
		for (struct receive_file *f = first->next; f; f = f->next)
			outfile_sync_ahead(&f->out);
	for (struct receive_file *f = first->next; f; f = f->next)
		f->job_error = outfile_sync(&f->out);
}

static void run_flush(struct io_job *job)
{
	struct receiver *r = container_of(job, struct receiver, flush_job);

	sync_files(r->flushing);
	for (struct receive_file *f = r->flushing; f; f = f->next)
		if (f->job_error == 0 && f->out.temp[0])
			f->job_error = outfile_commit(&f->out, f->place.flags);
	for (struct receive_file *f = r->flushing; f; f = f->next)
		if (f->job_error == 0 && f->out.dir_fd >= 0)
			f->job_error = sync_dir_once(f, r->flushes);
}

static void on_flushed(struct io_job *job)
{
	struct receiver *r = container_of(job, struct receiver, flush_job);
	struct receive_file *f = r->flushing, *next;

	if (!receiver_job_ended(r))
		return;
	r->flushing = NULL;
	for (; f; f = next) {
		next = f->next;
		settle(f);
	}
}

/*
 * When all that there is waits for it, then so may the sender: it need not have more files open than it has now. Nor does a file wait
 * for long: what the sender does next may have to wait for a RESULT, for room for attributes for instance.
 */
static bool must_flush(const struct receiver *r)
{
	if (r->flushing || !r->staged_count)
		return false;
	return r->end_heard || r->flush_wanted || 2 * r->staged_count >= r->max_files ||
	       r->staged_count == r->busy_files || loop_now(r->peer->loop) - r->staged_ns >= FLUSH_WAIT;
}

static void start_flush(struct receiver *r)
{
	r->flushing = r->staged;
	r->flushes++;
	for (struct receive_file *f = r->flushing; f; f = f->next)
		f->state = FILE_FLUSHING;
	r->staged = NULL;
	r->staged_tail = &r->staged;
	r->staged_count = 0;
	receiver_submit(r, &r->flush_job, run_flush, on_flushed);
}

void receiver_maybe_flush(struct receiver *r)
{
	if (must_flush(r))
		start_flush(r);
}
