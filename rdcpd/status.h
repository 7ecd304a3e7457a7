/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The daemon in one line, as `systemctl status rdcpd` shows it: "3 sessions, 1.2 GB/s in". */
#ifndef RDCPD_STATUS_H
#define RDCPD_STATUS_H

#include <stdint.h>

#define STATUS_LINE_SIZE 128

/* Counted since the daemon started, but for the sessions. */
struct status_totals {
	uint64_t time; /* ns, 0: the beginning */
	unsigned int sessions;
	unsigned int listening; /* addresses */
	uint64_t in, out;       /* bytes of files stored, sent */
};

/* Rates are those between the two. */
void status_line(const struct status_totals *before, const struct status_totals *now,
		 char ret_text[static STATUS_LINE_SIZE]);

#endif
