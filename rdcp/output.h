/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a run tells, and counts: errors and, with -v, a line for each file to standard error; to standard output the progress line,
 * or the objects of --json, or --stats at the end. Where the copy itself goes to standard output, the others go to standard error.
 * Names are escaped here and nowhere before. The exit status grows here, too: the worst of what was told.
 *
 *   output_init -> [output_complain | output_file] ... -> output_start -> [the same, and o->progress] ... -> output_end
 */
#ifndef RDCP_OUTPUT_H
#define RDCP_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "progress.h"

#define OUTPUT_PATH_SIZE (2 * PATH_MAX + NAME_MAX)

enum output_result { OUTPUT_COPIED, OUTPUT_SKIPPED, OUTPUT_FAILED };

struct output {
	const struct options *options; /* borrowed */
	const char *host;              /* as the user wrote it, borrowed */
	struct progress progress;
	FILE *objects;                    /* of --json, borrowed; NULL: none are wanted, or it broke */
	uint64_t copied, skipped, failed; /* files; directories that went well are not counted */
	uint64_t stored_bytes;            /* the sizes of those that were copied */
	uint64_t kept;                    /* sources that were copied and could not be removed */
	uint64_t remarks;                 /* files that a remark was made on */
	int exit_code;                    /* enum exitcode, the worst so far */
	uint64_t started_ns;
	/* of the line that is being made: SOURCE/BELOW, and what may be shown of it and of the other two */
	char path[OUTPUT_PATH_SIZE], from[4 * OUTPUT_PATH_SIZE], to[4 * OUTPUT_PATH_SIZE];
};

/* What became of one file. All borrowed. */
struct output_file {
	enum output_result result;
	const char *source, *below; /* its path is SOURCE, or SOURCE/BELOW when below is not NULL */
	const char *destination;    /* where it is now; NULL: only what the user said is known */
	uint64_t bytes;
	unsigned int status; /* FAILED: enum status */
	bool told;           /* in what was said of the directory that it was to be in: counted only, and for --json */
	const char *text;    /* and why, or why it was skipped; "" when status says it all */
};

/* What else there is to say at the end. */
struct output_end {
	int signal;              /* that ended it, or 0 */
	const char *transfer;    /* the id, NULL: it did not come to that */
	uint64_t sent_bytes;     /* that went over the network */
	uint64_t connected_ns;   /* when; 0: never */
	unsigned int slots;      /* 0: it did not come to that */
	unsigned int slots_used; /* at most at one time; 0: only the other side knows */
	size_t slot_size;
	bool complete;    /* nothing is missing, if nothing was complained about */
	uint64_t unheard; /* sources of which nothing was heard: counted as failed */
};

void output_init(struct output *o, const struct options *options, const char *host);
void output_start(struct output *o); /* the progress line may be drawn */

/* An error that is not about one file. Raises the exit status. */
void output_complain(struct output *o, int exit_code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void output_file(struct output *o, const struct output_file *f);

/* It was copied, but: the first is told as a warning, with the text, the others are counted. */
void output_remark(struct output *o, const char *source, const char *below, const char *text);

/* So many were told, in that sense, of the directory SOURCE/BELOW. */
void output_lost(struct output *o, const char *source, const char *below, uint64_t entries);

/* How far it is, for who asked by SIGUSR1: the progress is up to date. */
void output_tell(struct output *o);

/* The last word. Returns the exit status. */
int output_end(struct output *o, const struct output_end *e);

#endif
