// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The main thread. A request passes, in this order: are we stopping or full; does its blob make sense; who is it (access.h);
 * is there memory for it. Only then does a session exist. Everything before that is arithmetic on the request itself, so that
 * strangers cost little; and what is due to the administrator, signals, watchdog and status, is done before the next of them.
 */
#include "daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "access.h"
#include "common/log.h"
#include "common/util.h"
#include "journal.h"
#include "listeners.h"
#include "refusals.h"
#include "sessions.h"
#include "sweeper.h"
#include "teller.h"

#define STOP_TIMEOUT_US (10 * 1000000ULL) /* sessions that do not end by themselves are left to the kernel */

struct daemon {
	struct config *config;
	const char *config_path; /* borrowed */
	struct access *access;
	sd_event *event;
	struct listeners *listeners;
	struct refusals *refusals;
	struct sessions sessions;
	struct teller *teller;
	struct sweeper *sweeper;
	bool stopping;
};

/* ---- requests ----------------------------------------------------------------------------------------------- */

static void reject(struct daemon *d, struct endpoint_request *rq, struct access_refusal *no)
{
	struct wire_rej *rej = &no->rej;
	uint8_t blob[WIRE_REJ_MAX];
	ssize_t n;

	if (!rej->text_len) {
		snprintf(rej->text, sizeof(rej->text), "%s", status_text(rej->reason));
		rej->text_len = (uint8_t)strlen(rej->text);
	}
	teller_refused(d->teller, rej->reason);
	refusals_log(d->refusals, rq, no);
	n = wire_encode_rej(rej, blob, sizeof(blob));
	endpoint_request_reject(rq, blob, n < 0 ? 0 : (size_t)n);
}

static void reject_with(struct daemon *d, struct endpoint_request *rq, enum status reason, const char *client,
			const char *text)
{
	struct access_refusal no = { .rej.reason = (uint16_t)reason, .client = client };

	no.rej.text_len = (uint8_t)snprintf(no.rej.text, sizeof(no.rej.text), "%s", text);
	reject(d, rq, &no);
}

static bool decode_request(struct daemon *d, struct endpoint_request *rq, struct wire_req *ret_req)
{
	char text[WIRE_REJ_TEXT_MAX];
	unsigned int version = 0;
	int r = wire_decode_req(rq->blob, rq->blob_len, ret_req, &version);

	if (r == 0)
		return true;
	if (r == -EPROTONOSUPPORT)
		snprintf(text, sizeof(text), "this daemon speaks version %d of the protocol, not %u", WIRE_VERSION,
			 version);
	else
		snprintf(text, sizeof(text), "that was no request of rdcp");
	reject_with(d, rq, r == -EPROTONOSUPPORT ? STATUS_VERSION : STATUS_PROTOCOL, NULL, text);
	return false;
}

static uint64_t pinned_by(const struct wire_req *req)
{
	return (1ULL << (req->slot_log2 + req->slots_log2)) + SESSION_PINNED_EXTRA;
}

/* What is granted is what was asked for, within the configuration, and within what memory is left: a smaller window is
 * slower, and better than none. */
static bool fit_geometry(const struct daemon *d, struct wire_req *req)
{
	if (req->slot_log2 > d->config->slot_log2)
		req->slot_log2 = (uint8_t)d->config->slot_log2;
	if (req->slots_log2 > d->config->slots_log2)
		req->slots_log2 = (uint8_t)d->config->slots_log2;
	while (req->slots_log2 > 1 && d->sessions.pinned + pinned_by(req) > d->config->max_pinned)
		req->slots_log2--;
	return d->sessions.pinned + pinned_by(req) <= d->config->max_pinned;
}

static void admit(struct daemon *d, struct endpoint_request *rq, const struct wire_req *req, struct access_grant *grant)
{
	struct session_args args = {
		.rq = rq,
		.grant = *grant,
		.req = *req,
		.pinned = pinned_by(req),
	};
	int r = sessions_start(&d->sessions, &args);

	if (r < 0) {
		log_err("cannot start a session: %s", strerror(-r));
		return;
	}
	sessions_share_rates(&d->sessions, d->config);
	teller_changed(d->teller);
}

static void on_request(void *owner, struct endpoint_request *rq)
{
	struct daemon *d = owner;
	struct access_grant grant = { 0 };
	struct access_refusal no = { 0 };
	struct wire_req req;

	if (!decode_request(d, rq, &req))
		return;
	if (d->stopping) {
		reject_with(d, rq, STATUS_STOPPING, NULL, "the daemon is shutting down");
	} else if (d->sessions.count >= d->config->max_sessions) {
		reject_with(d, rq, STATUS_BUSY, NULL,
			    "busy: the daemon has as many sessions as it allows (max-sessions)");
	} else if (!fit_geometry(d, &req)) {
		reject_with(d, rq, STATUS_BUSY, NULL, "busy: the memory for sessions is used up (max-pinned)");
	} else if (access_check(d->access, &req, rq->blob, (struct sockaddr *)&rq->peer, now_ns() / SEC, &grant, &no) ==
		   ACCESS_REFUSE) {
		reject(d, rq, &no);
	} else if (grant.client && sessions_of(&d->sessions, grant.client->name) >= grant.client->max_sessions) {
		reject_with(d, rq, STATUS_BUSY, grant.client->name,
			    "busy: you have as many sessions as you may have (max-sessions of the client)");
		access_grant_done(&grant);
	} else {
		admit(d, rq, &req, &grant);
	}
}

static int on_session_finished(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct daemon *d = userdata;

	sessions_collect(&d->sessions);
	sessions_share_rates(&d->sessions, d->config);
	teller_changed(d->teller);
	if (d->stopping && !d->sessions.count)
		sd_event_exit(d->event, 0);
	return 0;
}

/* ---- reloading ---------------------------------------------------------------------------------------------- */

static void say(void *owner, int level, const char *text)
{
	log_write(level, "%s", text);
}

/* Takes the reference. From here on for new clients; sessions go on under what they were granted, but those of clients whose
 * key is gone, and who have to go as well. */
static int apply(struct daemon *d, struct config *config)
{
	int r = sessions_reserve(&d->sessions, config->max_sessions);

	if (r == 0)
		r = listeners_apply(d->listeners, config);
	if (r < 0) {
		config_unref(config);
		return r;
	}
	access_reload(d->access, config);
	teller_apply(d->teller, config);
	sweeper_apply(d->sweeper, config);
	journal_log_files(config->log_files);
	config_unref(d->config);
	d->config = config;
	atomic_store(&d->sessions.memory.max, config->max_pinned);
	sessions_end_unwelcome(&d->sessions, config);
	sessions_share_rates(&d->sessions, config);
	return 0;
}

/* sd_notify(3): RELOADING=1 wants to know when, READY=1 ends it whatever came out. */
static int on_reload(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	struct daemon *d = userdata;
	struct config *config;
	int r;

	if (d->stopping)
		return 0;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_ns() / 1000);
	r = config_load(d->config_path, say, NULL, &config);
	if (r == 0)
		r = apply(d, config);
	if (r < 0)
		journal_write(JOURNAL_CONFIG_KEPT, "the new configuration cannot be used, keeping the old one: %s",
			      r == -EINVAL ? "it has errors" : strerror(-r));
	else
		log_notice("configuration reloaded");
	sd_notify(0, "READY=1");
	return 0;
}

/* ---- stopping ----------------------------------------------------------------------------------------------- */

static int on_stop_timeout(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;

	log_warning("%u sessions did not end in time", d->sessions.count);
	return sd_event_exit(d->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	struct daemon *d = userdata;

	if (d->stopping)
		return sd_event_exit(d->event, 0);
	d->stopping = true;
	teller_stopping(d->teller);
	log_notice("stopping, %u sessions to end", d->sessions.count);
	sd_notify(0, "STOPPING=1");
	if (!d->sessions.count)
		return sd_event_exit(d->event, 0);
	sessions_stop(&d->sessions, STATUS_STOPPING);
	return sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC, STOP_TIMEOUT_US, 0, on_stop_timeout, d);
}

/* ---- making and ending -------------------------------------------------------------------------------------- */

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Before anything else that is due; those who want to connect come last (listener.c). */
static int add_signal(struct daemon *d, int signal, sd_event_signal_handler_t handler)
{
	sd_event_source *source = NULL;
	int r = sd_event_add_signal(d->event, &source, signal, handler, d);

	if (r >= 0)
		r = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = sd_event_source_set_floating(source, true);
	sd_event_source_unref(source);
	return r;
}

static int add_sources(struct daemon *d)
{
	int r = sd_event_default(&d->event);

	if (r >= 0)
		r = add_signal(d, SIGTERM, on_signal);
	if (r >= 0)
		r = add_signal(d, SIGINT, on_signal);
	if (r >= 0)
		r = add_signal(d, SIGHUP, on_reload);
	if (r >= 0)
		r = sd_event_add_io(d->event, NULL, d->sessions.finished_fd, EPOLLIN, on_session_finished, d);
	if (r >= 0)
		sd_event_set_watchdog(d->event, true);
	return r;
}

static void on_swept(void *owner, uint64_t removed)
{
	struct daemon *d = owner;

	teller_swept(d->teller, removed);
}

static int set_up(struct daemon *d)
{
	int r = sessions_init(&d->sessions);

	if (r == 0)
		r = sessions_reserve(&d->sessions, d->config->max_sessions);
	atomic_store(&d->sessions.memory.max, d->config->max_pinned);
	if (r == 0)
		r = access_new(d->config, &d->access);
	if (r == 0)
		r = block_signals();
	if (r == 0)
		r = add_sources(d);
	if (r >= 0)
		r = refusals_new(d->event, &d->refusals);
	if (r >= 0)
		r = listeners_new(d->event, on_request, d, &d->listeners);
	if (r >= 0)
		r = listeners_apply(d->listeners, d->config);
	if (r >= 0)
		r = teller_new(d->event, &d->sessions, d->listeners, &d->teller);
	if (r >= 0)
		r = sweeper_new(d->event, on_swept, d, &d->sweeper);
	if (r < 0)
		return r;
	teller_apply(d->teller, d->config);
	sweeper_apply(d->sweeper, d->config);
	journal_log_files(d->config->log_files);
	return 0;
}

static void tear_down(struct daemon *d)
{
	sweeper_free(d->sweeper);
	teller_free(d->teller);
	listeners_free(d->listeners);
	refusals_free(d->refusals);
	sd_event_unref(d->event);
	sessions_done(&d->sessions);
	access_free(d->access);
	config_unref(d->config);
}

int daemon_run(struct config *config, const char *config_path)
{
	struct daemon d = { .config = config_ref(config), .config_path = config_path, .sessions.finished_fd = -1 };
	int r = set_up(&d);

	if (r < 0) {
		log_err("cannot start: %s", strerror(-r));
	} else {
		sd_notify(0, "READY=1");
		r = sd_event_loop(d.event);
		if (r < 0)
			log_err("event loop: %s", strerror(-r));
		log_notice("stopped");
	}
	tear_down(&d);
	return r;
}
