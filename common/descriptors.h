/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The descriptors of the process, divided among its sessions: each takes its share before it opens anything, and limits by
 * it how many files are open at once. Any thread may ask.
 */
#ifndef RDCP_DESCRIPTORS_H
#define RDCP_DESCRIPTORS_H

#define DESCRIPTORS_OF_SESSION 16 /* connection, loop, workers, an export, a tree that is walked or made */
#define DESCRIPTORS_OF_FILE 4     /* directory, file, the same past the page cache, directory of temporaries */
#define DESCRIPTORS_LEAST (DESCRIPTORS_OF_SESSION + DESCRIPTORS_OF_FILE)

/*
 * Raises the soft limit to the hard one, once, before all else. Only select(2) cannot live with that, which nothing here uses, and no
 * other program is started that would inherit it.
 */
void descriptors_init(void);

unsigned int descriptors_limit(void); /* of the process */

/* From `least` to `want`, but no more than one of `parts` parts of what is left. 0: not even `least` are left. */
unsigned int descriptors_take(unsigned int want, unsigned int least, unsigned int parts);
void descriptors_give(unsigned int count);

/* How many files a session with that share may have open, at most `most`. */
unsigned int descriptors_files(unsigned int count, unsigned int most);

#endif
