// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* See refusals.h. A second begins with the first refusal in it; the timer that ends it is only set when there is something left to say. */
#include "refusals.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/util.h"
#include "journal.h"

#define SECOND_US 1000000ULL

struct refusals {
	sd_event_source *timer;
	uint64_t began_ns; /* the second */
	unsigned int lines;
	uint64_t left_out;
	char last[NI_MAXHOST]; /* who the last of them was */
};

static const char *peer_text(const struct endpoint_request *rq, char buf[static NI_MAXHOST])
{
	if (getnameinfo((const struct sockaddr *)&rq->peer, sizeof(rq->peer), buf, NI_MAXHOST, NULL, 0, NI_NUMERICHOST))
		snprintf(buf, NI_MAXHOST, "?");
	return buf;
}

static void say_left_out(struct refusals *r)
{
	if (!r->left_out)
		return;
	journal_write(JOURNAL_REFUSED, "refused: %" PRIu64 " more connections within a second, the last from %s",
		      r->left_out, r->last);
	r->left_out = 0;
}

static int on_second_over(sd_event_source *source, uint64_t usec, void *userdata)
{
	say_left_out(userdata);
	return 0;
}

static void leave_out(struct refusals *r, const char *host)
{
	if (!r->left_out++) {
		sd_event_source_set_time_relative(r->timer, SECOND_US);
		sd_event_source_set_enabled(r->timer, SD_EVENT_ONESHOT);
	}
	snprintf(r->last, sizeof(r->last), "%s", host);
}

static bool may_log(struct refusals *r)
{
	uint64_t now = now_ns();

	if (now - r->began_ns >= SEC) {
		say_left_out(r); /* the timer is late */
		r->began_ns = now;
		r->lines = 0;
	}
	return r->lines < REFUSALS_LINES && ++r->lines;
}

void refusals_log(struct refusals *r, const struct endpoint_request *rq, const struct access_refusal *no)
{
	const struct wire_rej *rej = &no->rej;
	char host[NI_MAXHOST], text[WIRE_REJ_TEXT_MAX + 1];

	peer_text(rq, host);
	snprintf(text, sizeof(text), "%.*s", rej->text_len, rej->text);
	if (rej->reason == STATUS_AUTH_REQUIRED) {
		log_debug("%s: refused: %s", host, text);
	} else if (may_log(r)) {
		journal_set_session(&(struct journal_session){ .peer = host, .client = no->client });
		journal_write(JOURNAL_REFUSED, "%s: refused%s%s%s: %s", host, no->client ? ": client '" : "",
			      no->client ? no->client : "", no->client ? "'" : "", no->why ? no->why : text);
		journal_set_session(NULL);
	} else {
		leave_out(r, host);
	}
}

int refusals_new(sd_event *event, struct refusals **ret_refusals)
{
	struct refusals *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return -ENOMEM;
	error = sd_event_add_time_relative(event, &r->timer, CLOCK_MONOTONIC, 0, 0, on_second_over, r);
	if (error >= 0)
		error = sd_event_source_set_enabled(r->timer, SD_EVENT_OFF);
	if (error < 0) {
		refusals_free(r);
		return error;
	}
	*ret_refusals = r;
	return 0;
}

void refusals_free(struct refusals *r)
{
	if (!r)
		return;
	say_left_out(r);
	sd_event_source_disable_unref(r->timer);
	free(r);
}
