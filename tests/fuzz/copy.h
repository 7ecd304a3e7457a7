/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One run of rdcp for fuzz_copy.c: what is copied, and how; copy_rules.c judges what became of it. */
#ifndef RDCP_FUZZ_COPY_H
#define RDCP_FUZZ_COPY_H

#include "tree.h"

#define COPY_OPERANDS 3

enum copy_skip { COPY_ALL, COPY_UPDATE, COPY_IGNORE_EXISTING, COPY_CHECKSUM, COPY_NO_CLOBBER };

struct copy {
	bool pull, recursive, preserve, archive;
	bool dereference, dry_run, remove_sources, filtered, make_path;
	enum copy_skip skip;
	const char *operands[COPY_OPERANDS]; /* beneath the source tree */
	unsigned int operand_count;
	const char *target; /* beneath the destination tree; "" is its top */

	struct tree source, destination; /* before */
	struct tree source_after, destination_after;
	int code; /* of the run: enum exitcode */
};

/* Ends the process where the run did what it may not do, or said that it did what it did not. */
void copy_judge(const struct copy *c);

#endif
