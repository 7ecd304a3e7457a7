/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See sessions.h. daemon.c owns it; the sessions' threads only write the eventfd. */
#include "sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int sessions_init(struct sessions *s)
{
	*s = (struct sessions){ .finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	return s->finished_fd < 0 ? -errno : 0;
}

void sessions_done(struct sessions *s)
{
	if (s->finished_fd >= 0) {
		sessions_collect(s);
		close(s->finished_fd);
	}
	free(s->list);
	s->list = NULL;
}

int sessions_reserve(struct sessions *s, unsigned int places)
{
	struct session **list;

	if (places <= s->places)
		return 0;
	list = reallocarray(s->list, places, sizeof(struct session *));
	if (!list)
		return -ENOMEM;
	memset(list + s->places, 0, (places - s->places) * sizeof(struct session *));
	s->list = list;
	s->places = places;
	return 0;
}

static struct session **free_place(struct sessions *s)
{
	for (unsigned int i = 0; i < s->places; i++)
		if (!s->list[i])
			return &s->list[i];
	return NULL;
}

int sessions_start(struct sessions *s, struct session_args *args)
{
	uint64_t pinned = args->pinned;
	bool pull = args->req.flags & WIRE_PULL;
	int r;

	args->finished_fd = s->finished_fd;
	args->memory = &s->memory;
	r = session_start(args, free_place(s));
	if (r < 0)
		return r;
	s->count++;
	s->pinned += pinned;
	s->past.started[pull ? METRICS_PULL : METRICS_PUSH]++;
	return 0;
}

/* What it has moved so far. */
static void add_session(struct metrics *m, const struct session *one)
{
	enum metrics_way way = session_is_pull(one) ? METRICS_PULL : METRICS_PUSH;

	m->bytes[way] += session_bytes(one);
	m->files[way] += session_files(one);
	m->failed[way] += session_failed(one);
}

void sessions_collect(struct sessions *s)
{
	eventfd_t value;

	eventfd_read(s->finished_fd, &value);
	for (unsigned int i = 0; i < s->places; i++) {
		struct session *one = s->list[i];

		if (!one || !session_finished(one))
			continue;
		s->pinned -= session_pinned(one);
		add_session(&s->past, one);
		s->past.ended[session_result(one) < REASON_COUNT ? session_result(one) : STATUS_FAILED]++;
		s->count--;
		s->list[i] = NULL;
		session_join(one);
	}
}

void sessions_stop(struct sessions *s, enum status why)
{
	for (unsigned int i = 0; i < s->places; i++)
		if (s->list[i])
			session_stop(s->list[i], why);
}

void sessions_end_unwelcome(struct sessions *s, const struct config *config)
{
	for (unsigned int i = 0; i < s->places; i++)
		if (s->list[i] && !access_grant_stands(session_grant(s->list[i]), config))
			session_stop(s->list[i], STATUS_NOT_ALLOWED);
}

unsigned int sessions_of(const struct sessions *s, const char *client)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->places; i++)
		if (s->list[i] && !strcmp(access_grant_name(session_grant(s->list[i])), client))
			n++;
	return n;
}

void sessions_share_rates(struct sessions *s, const struct config *config)
{
	for (unsigned int i = 0; i < s->places; i++) {
		const struct config_client *client;

		if (!s->list[i])
			continue;
		client = config_client(config, access_grant_name(session_grant(s->list[i])));
		session_limit(s->list[i],
			      client && client->max_rate ? client->max_rate / sessions_of(s, client->name) : 0);
	}
}

void sessions_report(const struct sessions *s, const struct report_format *format, FILE *out)
{
	struct report_session report;
	bool first = true;

	for (unsigned int i = 0; i < s->places; i++) {
		if (!s->list[i] || session_finished(s->list[i]))
			continue;
		session_report(s->list[i], &report);
		format->session(out, &report, first);
		first = false;
	}
}

void sessions_measure(const struct sessions *s, struct metrics *m)
{
	memcpy(m->started, s->past.started, sizeof(m->started));
	memcpy(m->ended, s->past.ended, sizeof(m->ended));
	memcpy(m->bytes, s->past.bytes, sizeof(m->bytes));
	memcpy(m->files, s->past.files, sizeof(m->files));
	memcpy(m->failed, s->past.failed, sizeof(m->failed));
	m->pinned = s->pinned;
	for (unsigned int i = 0; i < s->places; i++) {
		if (!s->list[i])
			continue;
		m->sessions[session_is_pull(s->list[i]) ? METRICS_PULL : METRICS_PUSH]++;
		add_session(m, s->list[i]);
	}
}

void sessions_bytes(const struct sessions *s, uint64_t *ret_in, uint64_t *ret_out)
{
	struct metrics m = { 0 };

	sessions_measure(s, &m);
	*ret_in = m.bytes[METRICS_PUSH];
	*ret_out = m.bytes[METRICS_PULL];
}
