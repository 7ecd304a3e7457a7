// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What is kept of a file beside mode and times: read by the job that opens it, or for links and for directories that are left
 * by one of its own, and said in pieces behind FILE. Memory of a file goes with its last piece. What cannot be read whole
 * is not sent: the file fails, with the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "beneath.h"
#include "cleanup.h"
#include "peer.h"
#include "sender_impl.h"
#include "sys.h"
#include "util.h"

static unsigned int wanted(const struct send_item *item)
{
	const uint32_t flags = item->flags;
	unsigned int kept = 0;

	if ((flags & WIRE_FILE_HARD_LINK) || ((flags & WIRE_FILE_DIRECTORY) && !(flags & WIRE_FILE_LEAVE)))
		return 0; /* has them, or gets them later */
	if (flags & WIRE_FILE_OWNER)
		kept |= ATTRIBUTES_OWNER;
	if (flags & WIRE_FILE_XATTRS)
		kept |= ATTRIBUTES_XATTRS | ATTRIBUTES_PRIVILEGED | ATTRIBUTES_ACLS;
	return kept && (flags & WIRE_FILE_NUMERIC_IDS) ? kept | ATTRIBUTES_NUMERIC_IDS : kept;
}

int send_file_read_attributes(struct send_file *f, int fd, const struct stat *st)
{
	unsigned int flags = wanted(&f->item);
	int r = flags ? attributes_read(fd, st, flags, &f->attributes, f->why) : 0;

	f->attributes_len = f->attributes.len;
	return r;
}

/* ---- links and directories ---------------------------------------------------------------------------------- */

static int read_without_bytes(struct send_file *f)
{
	const char *path = f->item.flags & WIRE_FILE_BELOW ? f->item.path : "";
	_cleanup_close_ int fd = sender_tree_open_below(f->sender, path, O_PATH | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return fd;
	if (sys_fstat(fd, &st) < 0)
		return -errno;
	return send_file_read_attributes(f, fd, &st);
}

static void run_read(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	f->job_result = read_without_bytes(f);
}

static void on_read(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	if (f->job_result < 0)
		send_file_fail_errno(f, f->job_result);
	f->state = FILE_CHECKED;
	sender_job_ended(f->sender);
}

bool send_file_start_attributes(struct send_file *f)
{
	if (f->status != STATUS_OK || !wanted(&f->item))
		return false;
	f->ahead = true;
	f->sender->opened_ahead++;
	sender_submit(f->sender, &f->job, run_read, on_read);
	return true;
}

/* ---- saying them -------------------------------------------------------------------------------------------- */

/*
 * They are counted once FILE is said, or, of a file that was asked for before it was opened, when they are about to be said; and all
 * that was counted is given back, be it what it may.
 */
bool send_file_has_attributes_room(const struct send_file *f)
{
	size_t more = f->attributes_len - f->attributes_counted, all = f->sender->attributes_len;

	return !more || !all || all + more <= WIRE_ATTRIBUTES_ROOM;
}

void send_file_count_attributes(struct send_file *f)
{
	f->sender->attributes_len += f->attributes_len - f->attributes_counted;
	f->attributes_counted = f->attributes_len;
}

bool send_file_say_attributes(struct send_file *f)
{
	struct wire_record rec = { .type = WIRE_ATTRIBUTES };

	if (f->begun && f->status == STATUS_OK) {
		if (!send_file_has_attributes_room(f))
			return false;
		send_file_count_attributes(f);
	}
	while (f->status == STATUS_OK && f->attributes_said < f->attributes.len) {
		rec.attributes.file = f->id;
		rec.attributes.piece = f->attributes.blob + f->attributes_said;
		rec.attributes.len = (uint16_t)min_size(f->attributes.len - f->attributes_said, WIRE_PIECE_MAX);
		if (peer_send(f->sender->peer, &rec) < 0)
			return false;
		f->attributes_said += rec.attributes.len;
	}
	attributes_done(&f->attributes);
	f->attributes_said = 0;
	return true;
}
