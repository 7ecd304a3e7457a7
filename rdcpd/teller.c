/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See teller.h. Two timers: the status line, and the metrics, which are also made shortly after a session began or ended. The
 * numbers are looked up when they are wanted; nothing is counted here but refusals and removed files.
 */
#include "teller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/util.h"
#include "metrics.h"
#include "status.h"
#include "status_socket.h"

#define LINE_US (2 * 1000000ULL)
#define METRICS_US (10 * 1000000ULL)
#define METRICS_SOON_US 200000ULL /* many changes in a row are one */

struct teller {
	sd_event *event;                   /* borrowed */
	const struct sessions *sessions;   /* borrowed */
	const struct listeners *listeners; /* borrowed */
	struct config *config;             /* NULL before the first apply */
	struct timespec since;             /* CLOCK_REALTIME */
	uint64_t since_ns;                 /* CLOCK_MONOTONIC */
	bool stopping;

	sd_event_source *line_timer, *metrics_timer;
	struct status_totals shown; /* what the status line was made of, and the line */
	char line[STATUS_LINE_SIZE];
	struct status_socket *socket;
	struct metrics_file *file;
	bool soon;                      /* the metrics timer was moved forward */
	uint64_t refused[REASON_COUNT]; /* by why; `refusals` is their sum */
	uint64_t refusals, challenged;
	uint64_t partials_removed;
};

/* ---- the line --------------------------------------------------------------------------------------------------- */

static int on_line_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct teller *t = userdata;
	struct status_totals now = { .sessions = t->sessions->count };
	char text[STATUS_LINE_SIZE];

	sessions_bytes(t->sessions, &now.in, &now.out);
	now.listening = listeners_served(t->listeners);
	now.time = now_ns();
	status_line(&t->shown, &now, text);
	if (strcmp(text, t->line))
		sd_notifyf(0, "STATUS=%s", strcpy(t->line, text));
	t->shown = now;
	sd_event_source_set_time_relative(source, LINE_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- the socket ------------------------------------------------------------------------------------------------- */

static void render_status(void *owner, bool json, FILE *out)
{
	const struct report_format *format = json ? &report_json : &report_text;
	struct teller *t = owner;
	struct report_daemon report = {
		.since = t->since,
		.seconds = (double)(now_ns() - t->since_ns) / (double)SEC,
		.listening = listeners_served(t->listeners),
		.sessions = t->sessions->count,
		.max_sessions = t->config->max_sessions,
		.pinned = t->sessions->pinned,
		.max_pinned = t->config->max_pinned,
		.refused = t->refusals,
		.challenged = t->challenged,
		.stopping = t->stopping,
	};

	sessions_bytes(t->sessions, &report.in, &report.out);
	format->begin(out, &report);
	sessions_report(t->sessions, format, out);
	format->end(out);
}

/* Without the socket the daemon does all but tell. By hand there is no /run/rdcpd, and nobody has asked for it. */
static void open_socket(struct teller *t)
{
	const char *path = t->config->status_socket ? t->config->status_socket : CONFIG_STATUS_SOCKET;
	int r;

	if (!*path)
		return;
	r = status_socket_new(t->event, path, render_status, t, &t->socket);
	if (r < 0)
		log_write(t->config->status_socket || r != -ENOENT ? LOG_WARNING : LOG_DEBUG,
			  "cannot tell the status at '%s': %s, ignoring", path, strerror(-r));
}

/* ---- the metrics ------------------------------------------------------------------------------------------------ */

static void write_metrics(struct teller *t)
{
	struct metrics m = {
		.start = (double)t->since.tv_sec + (double)t->since.tv_nsec / (double)SEC,
		.max_sessions = t->config->max_sessions,
		.max_pinned = t->config->max_pinned,
		.listening = listeners_served(t->listeners),
		.challenged = t->challenged,
		.partials_removed = t->partials_removed,
	};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	memcpy(m.refused, t->refused, sizeof(m.refused));
	sessions_measure(t->sessions, &m);
	metrics_print(&m, out);
	if (fclose(out)) {
		free(text);
		return;
	}
	metrics_file_write(t->file, text, len);
}

static int on_metrics_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct teller *t = userdata;

	t->soon = false;
	if (!t->file)
		return 0;
	write_metrics(t);
	sd_event_source_set_time_relative(source, METRICS_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void write_soon(struct teller *t)
{
	if (!t->file || t->soon)
		return;
	t->soon = true;
	sd_event_source_set_time_relative(t->metrics_timer, METRICS_SOON_US);
	sd_event_source_set_enabled(t->metrics_timer, SD_EVENT_ONESHOT);
}

static void open_file(struct teller *t)
{
	int r;

	if (!t->config->metrics_file)
		return;
	r = metrics_file_new(t->config->metrics_file, &t->file);
	if (r < 0)
		log_warning("cannot write metrics: %s, ignoring", strerror(-r));
	else
		write_soon(t);
}

/* ---- from the daemon -------------------------------------------------------------------------------------------- */

static bool same_path(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

void teller_apply(struct teller *t, struct config *config)
{
	struct config *old = t->config;

	t->config = config_ref(config);
	if (!t->socket || !same_path(config->status_socket, old->status_socket)) {
		status_socket_free(steal_ptr(t->socket));
		open_socket(t);
	}
	if (!t->file || !same_path(config->metrics_file, old->metrics_file)) {
		metrics_file_free(steal_ptr(t->file));
		open_file(t);
	}
	config_unref(old);
}

void teller_refused(struct teller *t, unsigned int reason)
{
	if (reason == STATUS_AUTH_REQUIRED) { /* with that everybody begins */
		t->challenged++;
		return;
	}
	t->refusals++;
	t->refused[reason < REASON_COUNT ? reason : STATUS_FAILED]++;
}

void teller_changed(struct teller *t)
{
	write_soon(t);
}

void teller_swept(struct teller *t, uint64_t removed)
{
	t->partials_removed += removed;
	if (removed)
		write_soon(t);
}

void teller_stopping(struct teller *t)
{
	t->stopping = true;
}

int teller_new(sd_event *event, const struct sessions *sessions, const struct listeners *listeners,
	       struct teller **ret_teller)
{
	struct teller *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->event = event;
	t->sessions = sessions;
	t->listeners = listeners;
	t->since_ns = now_ns();
	clock_gettime(CLOCK_REALTIME, &t->since);
	r = sd_event_add_time_relative(event, &t->line_timer, CLOCK_MONOTONIC, 0, 0, on_line_time, t);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &t->metrics_timer, CLOCK_MONOTONIC, METRICS_US, 0,
					       on_metrics_time, t);
	if (r < 0) {
		teller_free(t);
		return r;
	}
	*ret_teller = t;
	return 0;
}

void teller_free(struct teller *t)
{
	if (!t)
		return;
	sd_event_source_disable_unref(t->line_timer);
	sd_event_source_disable_unref(t->metrics_timer);
	status_socket_free(t->socket);
	metrics_file_free(t->file);
	config_unref(t->config);
	free(t);
}
