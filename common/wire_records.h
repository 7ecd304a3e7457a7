/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What wire.c knows of each record: a part of it, nobody else's. */
#ifndef RDCP_WIRE_RECORDS_H
#define RDCP_WIRE_RECORDS_H

#include <stdbool.h>

#include "wire_cursor.h"

struct record_kind {
	const char *name;
	void (*put)(struct writer *w, const struct wire_record *rec);
	void (*get)(struct reader *r, struct wire_record *rec);
	bool (*ok)(const struct wire_record *rec); /* every field is within its limits */
};

/* NULL: there is no record of that number. */
const struct record_kind *record_kind(unsigned int type);

#endif
