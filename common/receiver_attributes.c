// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What ATTRIBUTES say, collected piece by piece on the loop thread until CLOSE, and given to the file by the job that finishes it.
 * The memory grows with what was received, up to a limit for each file and one for the session, and goes with the file's
 * entry. Pieces that nobody wants are dropped.
 */
#include <errno.h>

#include "receiver_impl.h"
#include "util.h"

static unsigned int kept_flags(uint32_t wishes)
{
	unsigned int flags = 0;

	if (wishes & WIRE_FILE_OWNER)
		flags |= ATTRIBUTES_OWNER;
	if (wishes & WIRE_FILE_XATTRS)
		flags |= ATTRIBUTES_XATTRS | ATTRIBUTES_ACLS;
	if ((wishes & WIRE_FILE_XATTRS) && (wishes & WIRE_FILE_SPECIAL))
		flags |= ATTRIBUTES_PRIVILEGED;
	return wishes & WIRE_FILE_NUMERIC_IDS ? flags | ATTRIBUTES_NUMERIC_IDS : flags;
}

bool receive_file_keeps(const struct receive_file *f)
{
	return f->said.flags & (WIRE_FILE_OWNER | WIRE_FILE_XATTRS);
}

struct outfile_attrs receive_file_attrs(struct receive_file *f)
{
	const struct wire_file *said = &f->said;

	return (struct outfile_attrs){
		.mode = said->mode & 07777,
		.preserve = said->flags & WIRE_FILE_PRESERVE,
		.mtime = { .tv_sec = said->mtime_sec, .tv_nsec = said->mtime_nsec },
		.special = said->flags & WIRE_FILE_SPECIAL,
		.kept = f->attributes.len ? &f->attributes : NULL,
		.kept_flags = kept_flags(said->flags),
		.why = f->why,
	};
}

int receive_file_add_attributes(struct receive_file *f, const struct wire_attributes *said)
{
	struct receiver *r = f->receiver;
	int error;

	if (f->closed || f->received || said->len > ATTRIBUTES_MAX - f->blob.len ||
	    said->len > WIRE_ATTRIBUTES_ROOM - r->attributes_len)
		return -EPROTO;
	if (!receive_file_keeps(f) || f->status != STATUS_OK)
		return 0;
	error = buffer_add(&f->blob, said->piece, said->len, ATTRIBUTES_MAX);
	if (error == 0)
		r->attributes_len += said->len;
	return error;
}

int receive_file_close_attributes(struct receive_file *f)
{
	return f->blob.len && f->status == STATUS_OK ? attributes_decode(f->blob.data, f->blob.len, &f->attributes) : 0;
}

void receive_file_drop_attributes(struct receive_file *f)
{
	f->receiver->attributes_len -= f->blob.len;
	buffer_done(&f->blob);
	attributes_done(&f->attributes);
}
