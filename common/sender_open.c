// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Opening what is to be sent, in a job: the file or the top of a tree, its attributes, its holes, and its sum if that is asked
 * for. sender.c starts it; when it has ended it is known what the file is.
 */
#include <errno.h>
#include <limits.h>

#include "peer.h"
#include "sender_impl.h"
#include "slab.h"
#include "util.h"

static int open_source(struct send_file *f)
{
	const struct send_item *item = &f->item;
	char path[PATH_MAX];
	int root, r;

	if (!item->follow || !(item->flags & WIRE_FILE_BELOW))
		return infile_open(&f->in, item->root, item->path);
	r = sender_tree_whole_path(f->sender, item->path, &root, path);
	return r < 0 ? r : infile_open(&f->in, root, path);
}

/* A small file would only take longer. */
static bool may_go_direct(const struct send_file *f)
{
	size_t slot_size = f->sender->slab->slot_size;

	return (f->item.flags & WIRE_FILE_DIRECT) && (uint64_t)f->in.stat.st_size >= slot_size;
}

/* Without one it is sent like any other. */
static int add_sum(struct send_file *f)
{
	int r = infile_sum(&f->in, &f->sender->stopped, &f->sender->peer->worked, f->sum);

	f->has_sum = r == 0;
	return r == -EFBIG ? 0 : r;
}

static void run_open(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	if (f->item.stream) {
		infile_open_stream(&f->in, f->item.stream);
		f->job_result = 0;
		return;
	}
	f->job_result = f->item.recurse ? sender_tree_open(f->sender, f) : -ENOTDIR;
	if (f->job_result == -ENOTDIR)
		f->job_result = open_source(f);
	if (f->job_result == 0 && f->in.fd >= 0 && !(f->item.flags & WIRE_FILE_XATTRS))
		f->in.stat.st_mode = attributes_mode(f->in.fd, f->in.stat.st_mode);
	if (f->job_result == 0 && f->in.fd >= 0)
		f->job_result = send_file_read_attributes(f, f->in.fd, &f->in.stat);
	if (f->job_result == 0 && f->in.fd >= 0 && !f->item.dense)
		f->job_result = infile_find_holes(&f->in);
	if (f->job_result == 0 && f->in.fd >= 0 && !f->in.unsized && f->item.checksum)
		f->job_result = add_sum(f);
	if (f->job_result == 0 && may_go_direct(f))
		infile_go_direct(&f->in);
}

/* Now it is known what it is: a tree goes on in sender_tree.c. */
static void settle_recursion(struct sender *s, struct send_file *f)
{
	s->opening = NULL;
	if (f->job_result == 0 && f->in.fd < 0)
		sender_tree_begin(s, f);
	else
		sender_tree_free(s);
}

/* One that was opened to be asked for can be packed with others all the same, see may_pack(). */
static bool may_share(const struct send_file *f)
{
	return f->item.ask && f->whole && !f->in.extents.list && f->in.stat.st_size > 0 &&
	       (uint64_t)f->in.stat.st_size <= sender_piece(f->sender) / 2;
}

static void on_opened(struct io_job *job)
{
	struct send_file *f = container_of(job, struct send_file, job);

	if (f->job_result < 0)
		send_file_fail_errno(f, f->job_result);
	f->state = FILE_READY;
	if (f->item.recurse)
		settle_recursion(f->sender, f);
	f->whole = f->in.fd >= 0 && !f->in.unsized && (uint64_t)f->in.stat.st_size <= sender_piece(f->sender);
	f->packed = may_share(f);
	send_file_ask(f);
	if (f->status == STATUS_OK && (send_file_is_dry(f) || !send_file_has_more(f)))
		f->all_filled = true;
	sender_job_ended(f->sender);
}

void send_file_open(struct send_file *f)
{
	sender_submit(f->sender, &f->job, run_open, on_opened);
}
