/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Between outfile.c, outfile_commit.c, outfile_resume.c and outfile_direct.c. Only these include this. */
#ifndef RDCP_OUTFILE_IMPL_H
#define RDCP_OUTFILE_IMPL_H

#include "outfile.h"
#include "partial.h"

/* The directory that the temporary is in. */
static inline int outfile_temp_dir(const struct outfile *f)
{
	return f->part_fd >= 0 ? f->part_fd : f->dir_fd;
}

void outfile_name_temp(struct outfile *f,
		       const uint8_t bytes[static PARTIAL_RANDOM]); /* fills f->temp, makes nothing */

/* Whose files are made here. */
uid_t outfile_user(void);

/* `name` in `dir`, or `dir` itself when that is "": 1: it is a symlink to `text`, 0: it is not. As readlink(2). */
int outfile_is_link_to(int dir, const char *name, const char *text);

int outfile_set_size(const struct outfile *f, uint64_t size);

/*
 * 1: the temporary of `id` is open, locked and ours. 0: it is not to be had or somebody else's, and one of any other name, beside the
 * destination, will do. Negative errno, with `part_failed`: the directory for it is not to be had.
 */
int outfile_take_resumable(struct outfile *f);

/* The temporary is gone, or left: and so is its directory, if that is empty now. */
void outfile_close_part_dir(struct outfile *f);

#endif
