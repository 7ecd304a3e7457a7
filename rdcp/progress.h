/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How far the copy is, for a person who watches: one line that redraws itself on a terminal.
 *
 *   progress_init -> [progress_name | progress_files | progress_update | progress_clear] ... -> progress_finish
 *
 * On a terminal: at most five lines a second, never wider than the window, cut by columns, no colours. Elsewhere nothing
 * unless asked for (PROGRESS_ALWAYS): then whole lines without any control character, at most one a second.
 * It never blocks and never fails: a terminal that takes no bytes (^S) misses a line, one that broke is left alone.
 * Names come from anywhere and are shown escaped.
 *
 * Wide characters need setlocale(LC_CTYPE, "") by main; without it they are shown as octal.
 */
#ifndef RDCP_PROGRESS_H
#define RDCP_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_INTERVAL_NS 200000000ULL /* call progress_update() about that often, also when nothing moves */

enum progress_mode {
	PROGRESS_AUTO, /* on a terminal, when this is its foreground job */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER
};

/* What a line says; times in nanoseconds of one clock. */
struct progress_state {
	const char *name;     /* of the file that moves, borrowed, unescaped; NULL: "" */
	uint64_t done, total; /* bytes */
	bool sized;           /* total counts */
	bool many;            /* files are counted, too: */
	uint64_t files, files_found;
	bool files_known; /* no more will be found */
	bool finished;    /* time is what it took, not what is left */
	bool stalled;     /* nothing moved for a while */
	uint64_t rate;    /* bytes a second, smoothed; 0: not known */
	uint64_t elapsed_ns;

	/* progress_sample()'s memory */
	uint64_t started_ns, sampled_ns, moved_ns, sampled_done;
};

struct progress {
	int fd;        /* borrowed; -1: shows nothing */
	bool terminal; /* redraw in place */
	bool on_screen;
	unsigned int columns; /* how wide the line on the screen is */
	uint64_t shown_ns;
	struct progress_state state;
};

/* `fd` is where to draw, the standard output as a rule. */
void progress_init(struct progress *p, int fd, enum progress_mode mode, uint64_t now);

void progress_name(struct progress *p, const char *name); /* borrowed until the next, or NULL */

/* So many bytes of `total` are safe with the receiver; `sized` false: how many there will be is not known. */
void progress_update(struct progress *p, uint64_t done, uint64_t total, bool sized, uint64_t now);

/* The line counts files, too: so many are done with, of those found so far; `known`: there are no others. */
void progress_files(struct progress *p, uint64_t done, uint64_t found, bool known);

/* Takes the line off the screen, so that a message can be written. The next update draws it again. */
void progress_clear(struct progress *p);

/* The last line stays: with `success` it says what was copied how fast, without it is only taken away. */
void progress_finish(struct progress *p, bool success, uint64_t now);

/* ---- pure, for the above and for the tests ---- */

/* Notes that `done` bytes are done at `now` and brings rate, elapsed_ns and stalled up to date. */
void progress_sample(struct progress_state *s, uint64_t done, uint64_t now);

/*
 * One line of at most `width` columns, without a newline, terminated. What does not fit goes, in this order: time, rate, files, bytes,
 * name, percentage. Returns its length in bytes; it is less than `size`, and no character is cut in half.
 */
size_t progress_format(char *buf, size_t size, unsigned int width, const struct progress_state *s);

/* The same for whoever asks once (SIGUSR1): as wide as it gets, nothing padded, no newline. Returns `buf`. */
#define PROGRESS_TELL_SIZE (4 * 4096 + 256) /* holds the longest path */
char *progress_tell(char *buf, size_t size, const struct progress_state *s);

#endif
