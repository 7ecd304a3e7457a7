// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * WIRE_FILE_VERIFY: a file that is whole is read again, from where it is stored and not from the page cache, before it gets its name.
 * Its pieces are hashed as they came, so that the digest of the sender is what there is to compare with; which they were is
 * kept in a layout. Read in slices, a job each, so that other files have their turn and the session is seen to move.
 */
#include <errno.h>
#include <stdlib.h>

#include "peer.h"
#include "receiver_impl.h"
#include "sys.h"
#include "util.h"

#define SLICE (64 * MIB)
#define RUNS_MAX (1U << 20) /* of all files of a session together: 16 MiB */

void receive_file_note_piece(struct receive_file *f, uint64_t offset, uint32_t len)
{
	struct receiver *r = f->receiver;
	int added;

	if (!receive_file_is_to_verify(f) || f->status != STATUS_OK)
		return;
	added = r->layout_runs < RUNS_MAX ? layout_add(&f->layout, offset, len) : -E2BIG;
	if (added == -E2BIG)
		receive_file_fail(f, STATUS_FAILED, "it is in too many pieces to be verified");
	else if (added < 0)
		receive_file_fail_errno(f, added);
	else
		r->layout_runs += (unsigned int)added;
}

void receive_file_drop_layout(struct receive_file *f)
{
	f->receiver->layout_runs -= f->layout.count;
	layout_done(&f->layout);
}

static int read_slice(struct receive_file *f, uint8_t *buf)
{
	uint64_t done = 0, offset;
	const void *bytes;
	uint32_t len;

	while (done < SLICE && layout_next(&f->layout, &f->verify_at, &offset, &len)) {
		int r = outfile_reread(&f->out, buf, len, offset, &bytes);

		if (r < 0)
			return r;
		digest_add(&f->digest, offset, len, digest_chunk(bytes, len));
		done += len;
	}
	f->verified = done < SLICE;
	return 0;
}

static void run_verify(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);
	/* a piece begins and ends in the middle of a block at worst */
	size_t room = (f->layout.longest / DIRECT_BLOCK + 3) * DIRECT_BLOCK;
	uint8_t *buf = aligned_alloc(DIRECT_BLOCK, room);

	f->job_error = buf ? 0 : -ENOMEM;
	if (f->job_error == 0 && !f->verify_at.run && !f->verify_at.piece) {
		digest_init(&f->digest); /* starts over, cannot fail */
		f->job_error = outfile_begin_reread(&f->out);
	}
	if (f->job_error == 0)
		f->job_error = read_slice(f, buf);
	if (f->job_error < 0 || f->verified)
		outfile_end_reread(&f->out);
	free(buf);
}

static void on_verified(struct io_job *job)
{
	struct receive_file *f = container_of(job, struct receive_file, job);

	if (!receiver_job_ended(f->receiver))
		return;
	peer_moved(f->receiver->peer);
	if (f->job_error == 0 && !f->verified) {
		receive_file_verify(f);
		return;
	}
	if (f->job_error == -EILSEQ || (f->job_error == 0 && !receive_file_adds_up(f)))
		receive_file_fail(f, STATUS_CORRUPT, "read again, it is not what was stored");
	else if (f->job_error < 0)
		receive_file_fail_errno(f, f->job_error);
	f->state = FILE_OPEN;
	receive_file_maybe_leave_open(f);
}

void receive_file_verify(struct receive_file *f)
{
	f->state = FILE_VERIFYING;
	receiver_submit(f->receiver, &f->job, run_verify, on_verified);
}
