// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* See status.h. Only daemon.c calls it; there is nothing that could fail. */
#include "status.h"

#include <stdio.h>

#include "common/util.h"

/* Decimal units, as networks have them. */
static const char *rate(uint64_t bytes, uint64_t ns, char out[static 32])
{
	static const char *const units[] = { "B/s", "kB/s", "MB/s", "GB/s" };
	double value = ns ? (double)bytes * (double)SEC / (double)ns : 0;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1000;
		unit++;
	}
	snprintf(out, 32, value < 10 && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return out;
}

void status_line(const struct status_totals *before, const struct status_totals *now,
		 char ret_text[static STATUS_LINE_SIZE])
{
	uint64_t in = now->in - before->in, out = now->out - before->out, ns = now->time - before->time;
	char in_rate[32], out_rate[32];

	rate(in, ns, in_rate);
	rate(out, ns, out_rate);
	if (!now->listening && !now->sessions)
		snprintf(ret_text, STATUS_LINE_SIZE, "waiting for an address that can be served");
	else
		snprintf(ret_text, STATUS_LINE_SIZE, "%u session%s%s%s%s%s%s%s%s", now->sessions,
			 now->sessions == 1 ? "" : "s", in ? ", " : "", in ? in_rate : "", in ? " in" : "",
			 out ? ", " : "", out ? out_rate : "", out ? " out" : "",
			 now->listening ? "" : "; no address can be served now");
}
