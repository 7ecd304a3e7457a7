// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The main thread. A request passes, in this order: are we stopping or full; does its blob make sense; who is it (access.h);
 * is there memory for it. Only then does a session exist. Everything before that is arithmetic on the request itself, so that
 * strangers cost nothing.
 */
#include "daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "access.h"
#include "common/log.h"
#include "common/util.h"
#include "listener.h"
#include "session.h"

#define STOP_TIMEOUT_US (10 * 1000000ULL) /* sessions that do not end by themselves are left to the kernel */
#define RELISTEN_INTERVAL_US (5 * 1000000ULL)

struct daemon {
	struct config *config;
	struct access *access;
	const struct endpoint_transport *transport;
	sd_event *event;
	struct listener **listeners; /* one for each config->listen; NULL: not listening now */
	sd_event_source *relisten;
	struct session **sessions; /* max_sessions places, NULL: free */
	unsigned int session_count;
	uint64_t pinned; /* by all of them, bytes */
	int finished_fd; /* eventfd: some session ended */
	bool stopping;
};

/* ---- requests ----------------------------------------------------------------------------------------------- */

static const char *peer_text(const struct endpoint_request *rq, char buf[static NI_MAXHOST])
{
	if (getnameinfo((const struct sockaddr *)&rq->peer, sizeof(rq->peer), buf, NI_MAXHOST, NULL, 0, NI_NUMERICHOST))
		snprintf(buf, NI_MAXHOST, "?");
	return buf;
}

static void reject(struct endpoint_request *rq, struct wire_rej *rej)
{
	uint8_t blob[WIRE_REJ_MAX];
	char host[NI_MAXHOST];
	ssize_t n;

	if (!rej->text_len) {
		snprintf(rej->text, sizeof(rej->text), "%s", status_text(rej->reason));
		rej->text_len = (uint8_t)strlen(rej->text);
	}
	log_write(rej->reason == STATUS_AUTH_REQUIRED ? LOG_DEBUG : LOG_WARNING, "%s: refused: %.*s",
		  peer_text(rq, host), rej->text_len, rej->text);
	n = wire_encode_rej(rej, blob, sizeof(blob));
	endpoint_request_reject(rq, blob, n < 0 ? 0 : (size_t)n);
}

static void reject_with(struct endpoint_request *rq, enum status reason, const char *text)
{
	struct wire_rej rej = { .reason = (uint16_t)reason };

	rej.text_len = (uint8_t)snprintf(rej.text, sizeof(rej.text), "%s", text);
	reject(rq, &rej);
}

static bool decode_request(struct endpoint_request *rq, struct wire_req *ret_req)
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
	reject_with(rq, r == -EPROTONOSUPPORT ? STATUS_VERSION : STATUS_PROTOCOL, text);
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
	while (req->slots_log2 > 1 && d->pinned + pinned_by(req) > d->config->max_pinned)
		req->slots_log2--;
	return d->pinned + pinned_by(req) <= d->config->max_pinned;
}

static struct session **free_place(struct daemon *d)
{
	for (unsigned int i = 0; i < d->config->max_sessions; i++)
		if (!d->sessions[i])
			return &d->sessions[i];
	return NULL;
}

static void admit(struct daemon *d, struct endpoint_request *rq, const struct wire_req *req, struct access_grant *grant)
{
	struct session_args args = {
		.rq = rq,
		.grant = *grant,
		.req = *req,
		.pinned = pinned_by(req),
		.finished_fd = d->finished_fd,
	};
	struct session **place = free_place(d);
	int r = session_start(&args, place);

	if (r < 0) {
		log_err("cannot start a session: %s", strerror(-r));
		return;
	}
	d->session_count++;
	d->pinned += args.pinned;
}

static void on_request(void *owner, struct endpoint_request *rq)
{
	struct daemon *d = owner;
	struct access_grant grant = { 0 };
	struct wire_rej rej = { 0 };
	struct wire_req req;

	if (!decode_request(rq, &req))
		return;
	if (d->stopping) {
		reject_with(rq, STATUS_STOPPING, "the daemon is shutting down");
	} else if (d->session_count == d->config->max_sessions) {
		reject_with(rq, STATUS_BUSY, "busy: the daemon has as many sessions as it allows (max-sessions)");
	} else if (!fit_geometry(d, &req)) {
		reject_with(rq, STATUS_BUSY, "busy: the memory for sessions is used up (max-pinned)");
	} else if (access_check(d->access, &req, rq->blob, (struct sockaddr *)&rq->peer, now_ns() / SEC, &grant,
				&rej) == ACCESS_REFUSE) {
		reject(rq, &rej);
	} else {
		admit(d, rq, &req, &grant);
	}
}

static int on_session_finished(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct daemon *d = userdata;
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0)
		return 0;
	for (unsigned int i = 0; i < d->config->max_sessions; i++) {
		struct session *s = d->sessions[i];

		if (!s || !session_finished(s))
			continue;
		d->pinned -= session_pinned(s);
		d->session_count--;
		d->sessions[i] = NULL;
		session_join(s);
	}
	if (d->stopping && !d->session_count)
		sd_event_exit(d->event, 0);
	return 0;
}

/* ---- listening ---------------------------------------------------------------------------------------------- */

static void on_listener_failed(void *owner, struct listener *l, int error);

static const struct listener_events listener_events = {
	.request = on_request,
	.failed = on_listener_failed,
};

static int on_relisten(sd_event_source *source, uint64_t usec, void *userdata);

static void schedule_relisten(struct daemon *d)
{
	uint64_t now;

	sd_event_now(d->event, CLOCK_MONOTONIC, &now);
	if (!d->relisten)
		sd_event_add_time(d->event, &d->relisten, CLOCK_MONOTONIC, now + RELISTEN_INTERVAL_US, 0, on_relisten,
				  d);
	else
		sd_event_source_set_time(d->relisten, now + RELISTEN_INTERVAL_US);
	sd_event_source_set_enabled(d->relisten, SD_EVENT_ONESHOT);
}

/* Listens wherever it does not yet; returns how many addresses are served. With `first` what fails is told, later not. */
static unsigned int listen_all(struct daemon *d, bool first)
{
	unsigned int served = 0;
	char text[NI_MAXHOST + NI_MAXSERV + 4];

	for (size_t i = 0; i < d->config->listen_count; i++) {
		const struct config_address *address = &d->config->listen[i];
		struct endpoint_fault fault = { 0 };
		int r = 0;

		listener_format(address, text, sizeof(text));
		if (!d->listeners[i]) {
			r = listener_new(d->event, d->transport, address, &listener_events, d, &d->listeners[i],
					 &fault);
			if (r == 0)
				log_notice("listening on %s (%s)", text, d->config->transport);
			else if (first)
				log_write(address->wildcard ? LOG_DEBUG : LOG_WARNING,
					  "cannot listen on %s yet: %s: %s", text, fault.text, strerror(-r));
		}
		served += d->listeners[i] != NULL;
	}
	return served;
}

static void listen_or_wait(struct daemon *d, bool first)
{
	unsigned int served = listen_all(d, first);

	if (first && !served)
		log_warning("no address can be served now, trying again every %llu s",
			    (unsigned long long)(RELISTEN_INTERVAL_US / 1000000));
	if (served < d->config->listen_count)
		schedule_relisten(d);
}

static int on_relisten(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;

	if (!d->stopping)
		listen_or_wait(d, false);
	return 0;
}

static void on_listener_failed(void *owner, struct listener *l, int error)
{
	struct daemon *d = owner;
	char text[NI_MAXHOST + NI_MAXSERV + 4];

	log_warning("no longer listening on %s: %s; waiting for it to come back",
		    listener_format(listener_address(l), text, sizeof(text)), strerror(-error));
	for (size_t i = 0; i < d->config->listen_count; i++)
		if (d->listeners[i] == l)
			d->listeners[i] = NULL;
	listener_free(l);
	schedule_relisten(d);
}

/* ---- stopping ----------------------------------------------------------------------------------------------- */

static int on_stop_timeout(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;

	log_warning("%u sessions did not end in time", d->session_count);
	return sd_event_exit(d->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	struct daemon *d = userdata;

	if (d->stopping)
		return sd_event_exit(d->event, 0);
	d->stopping = true;
	log_notice("stopping, %u sessions to end", d->session_count);
	sd_notify(0, "STOPPING=1");
	if (!d->session_count)
		return sd_event_exit(d->event, 0);
	for (unsigned int i = 0; i < d->config->max_sessions; i++)
		if (d->sessions[i])
			session_stop(d->sessions[i]);
	return sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC, STOP_TIMEOUT_US, 0, on_stop_timeout, d);
}

/* ---- making and ending -------------------------------------------------------------------------------------- */

static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int add_sources(struct daemon *d)
{
	int r = sd_event_default(&d->event);

	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGTERM, on_signal, d);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGINT, on_signal, d);
	d->finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r >= 0 && d->finished_fd < 0)
		r = -errno;
	if (r >= 0)
		r = sd_event_add_io(d->event, NULL, d->finished_fd, EPOLLIN, on_session_finished, d);
	if (r >= 0)
		sd_event_set_watchdog(d->event, true);
	return r;
}

static int set_up(struct daemon *d)
{
	int r;

	d->transport = endpoint_transport_find(d->config->transport);
	d->sessions = calloc(d->config->max_sessions, sizeof(struct session *));
	d->listeners = calloc(d->config->listen_count, sizeof(struct listener *));
	if (!d->transport || !d->sessions || !d->listeners)
		return -ENOMEM;
	r = access_new(d->config, &d->access);
	if (r == 0)
		r = block_signals();
	return r < 0 ? r : add_sources(d);
}

static void tear_down(struct daemon *d)
{
	for (size_t i = 0; d->listeners && i < d->config->listen_count; i++)
		listener_free(d->listeners[i]);
	for (unsigned int i = 0; d->sessions && i < d->config->max_sessions; i++)
		if (d->sessions[i] && session_finished(d->sessions[i]))
			session_join(d->sessions[i]);
	sd_event_source_disable_unref(d->relisten);
	sd_event_unref(d->event);
	if (d->finished_fd >= 0)
		close(d->finished_fd);
	free(d->listeners);
	free(d->sessions);
	access_free(d->access);
	config_unref(d->config);
}

int daemon_run(struct config *config)
{
	struct daemon d = { .config = config_ref(config), .finished_fd = -1 };
	int r = set_up(&d);

	if (r < 0) {
		log_err("cannot start: %s", strerror(-r));
	} else {
		listen_or_wait(&d, true);
		sd_notify(0, "READY=1");
		r = sd_event_loop(d.event);
		if (r < 0)
			log_err("event loop: %s", strerror(-r));
		log_notice("stopped");
	}
	tear_down(&d);
	return r;
}
