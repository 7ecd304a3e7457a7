// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * A session's thread: takes the connection over from the listener, makes its memory and queues, answers with REP, and runs
 * the engine that the direction asks for until the client hangs up, the daemon stops, or a deadline passes.
 *
 * Lives: session_start -> thread_main (set_up, loop, tear_down) -> session_join. The endpoint's closed() and the engine's idle()
 * are what the loop waits for at the end: then nothing is in flight and everything can be freed in one order (tear_down).
 * Failure of anything ends this session only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "common/log.h"
#include "common/util.h"
#include "keys.h"
#include "reason.h"
#include "session_impl.h"

#define TICK_NS SEC

static bool is_pull(const struct session *s)
{
	return s->args.req.flags & WIRE_PULL;
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

static void maybe_over(struct session *s)
{
	if (s->closed && s->idle)
		loop_stop(&s->loop);
}

static void on_idle(void *owner)
{
	struct session *s = owner;

	s->idle = true;
	maybe_over(s);
}

static void log_end(const struct session *s)
{
	const struct peer_end *end = &s->peer.end;
	char text[4 * WIRE_TEXT_MAX + 1];

	escape_name(end->text, text, sizeof(text));
	if (end->status == STATUS_OK)
		journal_write(JOURNAL_SESSION_ENDED, "session ends");
	else if (end->by_connection)
		journal_write(JOURNAL_SESSION_FAILED, "session lost: %s", *text ? text : "the connection broke");
	else
		journal_write(JOURNAL_SESSION_FAILED, "session ends%s: %s%s%s",
			      end->by_peer ? " by the client's word" : "", status_text(end->status), *text ? ": " : "",
			      text);
}

static unsigned int reason_of(const struct peer_end *end)
{
	if (end->by_connection)
		return end->fault == ENDPOINT_TIMEOUT ? STATUS_TIMEOUT : REASON_LOST;
	return (unsigned int)end->status;
}

static void on_closed(void *owner, const struct endpoint_fault *fault)
{
	struct session *s = owner;

	peer_on_closed(&s->peer, fault);
	loop_timer_cancel(&s->loop, &s->handshake);
	loop_timer_cancel(&s->loop, &s->tick);
	log_end(s);
	atomic_store(&s->result, reason_of(&s->peer.end));
	s->closed = true;
	if (!s->engine)
		s->idle = true;
	else if (is_pull(s))
		serve_stop(&s->serve);
	else
		store_stop(&s->store);
	maybe_over(s);
}

/* ---- while it runs ------------------------------------------------------------------------------------------ */

static void apply_limit(struct session *s)
{
	uint64_t rate = atomic_load(&s->max_rate);

	if (is_pull(s))
		sender_limit(s->serve.sender, rate);
	else
		receiver_limit(s->store.receiver, rate);
}

static void on_connected(void *owner, const void *blob, size_t len)
{
	struct session *s = owner;

	peer_start(&s->peer, s->ep);
	apply_limit(s);
	log_debug("connected");
}

static void publish(struct session *s)
{
	counters_set_bytes(&s->counters,
			   is_pull(s) ? sender_acked_bytes(s->serve.sender) : receiver_stored_bytes(s->store.receiver));
}

static const char *current_file(const struct session *s, uint64_t *ret_size)
{
	if (is_pull(s)) {
		const struct send_item *item = sender_current(s->serve.sender, ret_size);

		return item ? item->path : NULL;
	} else {
		const struct receive_place *place = receiver_current(s->store.receiver, ret_size);

		return place ? place->path : NULL;
	}
}

static void on_tick(struct loop_timer *t)
{
	struct session *s = container_of(t, struct session, tick);
	uint64_t size = 0;
	const char *file;

	if (s->closed)
		return;
	publish(s);
	if (s->peer.ep)
		apply_limit(s);
	file = current_file(s, &size);
	counters_set_file(&s->counters, file, size);
	counters_rate(&s->counters, loop_now(&s->loop));
	loop_timer_set(&s->loop, &s->tick, loop_now(&s->loop) + TICK_NS);
}

static void on_message(void *owner, const uint8_t *records, size_t len)
{
	struct session *s = owner;

	loop_timer_cancel(&s->loop, &s->handshake);
	peer_on_message(&s->peer, records, len);
	publish(s);
}

static void on_writable(void *owner)
{
	struct session *s = owner;

	peer_on_writable(&s->peer);
}

static const struct endpoint_events endpoint_events = {
	.connected = on_connected,
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

static int on_record(void *owner, const struct wire_record *rec)
{
	struct session *s = owner;

	return is_pull(s) ? serve_on_record(&s->serve, rec) : store_on_record(&s->store, rec);
}

static void on_peer_writable(void *owner)
{
	struct session *s = owner;

	if (is_pull(s))
		serve_on_writable(&s->serve);
}

static const struct peer_events peer_events = { .record = on_record, .writable = on_peer_writable };

static void on_handshake_expired(struct loop_timer *t)
{
	struct session *s = container_of(t, struct session, handshake);

	endpoint_abort(s->ep, ENDPOINT_TIMEOUT, "the client connected and then said nothing");
}

static void on_stop(struct loop_source *source, uint32_t revents)
{
	struct session *s = container_of(source, struct session, stop_source);

	loop_modify(&s->loop, source, 0);
	if (s->peer.ep)
		peer_end(&s->peer, (enum status)atomic_load(&s->stop_status), true, NULL);
	else
		endpoint_abort(s->ep, ENDPOINT_CLOSED, "the daemon stops");
}

/* ---- making and freeing -------------------------------------------------------------------------------------- */

/* From here on the endpoint is there, and its closed() is what ends the loop. */
static void set_up(struct session *s)
{
	s->handshake.expired = on_handshake_expired;
	s->tick.expired = on_tick;
	s->stop_source = (struct loop_source){ .fd = s->stop_fd, .events = EPOLLIN, .ready = on_stop };
	loop_timer_set(&s->loop, &s->handshake, now_ns() + s->args.grant.config->handshake_timeout);
	if (session_answer(s) == 0)
		loop_timer_set(&s->loop, &s->tick, now_ns() + TICK_NS);
}

/* Removes what is unfinished. */
static int end_engine(void *arg)
{
	struct session *s = arg;

	log_set_context(s->context);
	journal_set_session(&s->fields);
	if (s->engine)
		publish(s);
	if (is_pull(s))
		serve_done(&s->serve);
	else
		store_done(&s->store);
	return 0;
}

static void tear_down(struct session *s)
{
	/* without a thread to spare the daemon does it with its own rights, as far as they go: it only removes what it made */
	if (identity_run(access_grant_identity(&s->args.grant), end_engine, s) < 0)
		end_engine(s);
	endpoint_free(s->ep);
	ioqueue_free(s->io);
	slab_done(&s->slab);
	roots_close(&s->roots);
	peer_done(&s->peer);
	descriptors_give(s->descriptors);
}

static void run(struct session *s)
{
	const struct config *config = s->args.grant.config;
	int r;

	r = loop_init(&s->loop);
	if (r < 0) {
		log_err("cannot make an event loop: %s", strerror(-r));
		session_refuse(s->args.rq, r);
		loop_done(&s->loop);
		return;
	}
	peer_init(&s->peer, &s->loop, config->idle_timeout, &peer_events, s);
	budget_init(&s->memory, config->session_memory, s->args.memory);
	s->peer.memory = &s->memory;
	r = endpoint_request_accept(s->args.rq, &s->loop, config->handshake_timeout, &endpoint_events, s, &s->ep);
	if (r < 0) {
		log_err("cannot take the connection over: %s", strerror(-r));
		session_refuse(s->args.rq, r);
	} else {
		set_up(s);
		r = loop_run(&s->loop);
		if (r < 0)
			log_err("event loop: %s", strerror(-r));
		tear_down(s);
	}
	loop_done(&s->loop);
}

static void account(const struct session *s)
{
	const struct counters *c = &s->counters;
	struct journal_account a = {
		.pull = is_pull(s),
		.files = counters_get(&c->tally.files),
		.failed = counters_get(&c->tally.failed),
		.bytes = counters_get(&c->bytes),
		.seconds = (double)(now_ns() - s->since_ns) / (double)SEC,
		.result = reason_name(atomic_load(&s->result)),
	};

	if (a.failed && atomic_load(&s->result) == STATUS_OK)
		a.result = "partial";
	journal_write_account(&a);
}

static void *thread_main(void *arg)
{
	struct session *s = arg;
	char key[KEYS_FINGERPRINT_SIZE] = "none";
	uint64_t one = 1;

	snprintf(s->context, sizeof(s->context), "%.8s %s", s->id, s->peer_name);
	log_set_context(s->context);
	s->fields =
		(struct journal_session){ s->id, s->peer_name, access_grant_name(&s->args.grant), &s->counters.tally };
	journal_set_session(&s->fields);
	if (s->args.grant.key)
		keys_fingerprint(&s->args.grant.key->key, key);
	journal_write(JOURNAL_SESSION_STARTED, "%s of client '%s', key %s, transfer %s", is_pull(s) ? "pull" : "push",
		      s->fields.client, key, s->id);
	run(s);
	account(s);
	atomic_store(&s->finished, true);
	if (write(s->args.finished_fd, &one, sizeof(one)) < 0)
		log_warning("telling the daemon that this session is over: %m, ignoring");
	return NULL;
}

/* ---- from the daemon's thread ------------------------------------------------------------------------------- */

static void free_session(struct session *s)
{
	access_grant_done(&s->args.grant);
	counters_done(&s->counters);
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	free(s);
}

int session_start(struct session_args *args, struct session **ret_session)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		access_grant_done(&args->grant);
		session_refuse(args->rq, -ENOMEM);
		return -ENOMEM;
	}
	s->args = *args;
	atomic_store(&s->result, STATUS_FAILED); /* until something better is known */
	s->since_ns = now_ns();
	clock_gettime(CLOCK_REALTIME, &s->since);
	counters_init(&s->counters, s->since_ns);
	uuid_unparse_lower(args->req.uuid, s->id);
	if (getnameinfo((struct sockaddr *)&args->rq->peer, sizeof(args->rq->peer), s->peer_name, sizeof(s->peer_name),
			NULL, 0, NI_NUMERICHOST))
		snprintf(s->peer_name, sizeof(s->peer_name), "?");
	s->store.idle = s->serve.idle = on_idle;
	s->store.owner = s->serve.owner = s;
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = s->stop_fd < 0 ? -errno : -pthread_create(&s->thread, NULL, thread_main, s);
	if (r < 0) {
		session_refuse(args->rq, r);
		free_session(s);
		return r;
	}
	*ret_session = s;
	return 0;
}

void session_stop(struct session *s, enum status why)
{
	int none = STATUS_OK;
	uint64_t one = 1;

	atomic_compare_exchange_strong(&s->stop_status, &none, (int)why);
	if (write(s->stop_fd, &one, sizeof(one)) < 0)
		log_warning("asking a session to stop: %m, ignoring");
}

void session_limit(struct session *s, uint64_t bytes_per_second)
{
	atomic_store(&s->max_rate, bytes_per_second);
}

bool session_finished(const struct session *s)
{
	return atomic_load(&s->finished);
}

void session_join(struct session *s)
{
	pthread_join(s->thread, NULL);
	free_session(s);
}

uint64_t session_pinned(const struct session *s)
{
	return s->args.pinned;
}

uint64_t session_bytes(const struct session *s)
{
	return counters_get(&s->counters.bytes);
}

uint64_t session_files(const struct session *s)
{
	return counters_get(&s->counters.tally.files);
}

uint64_t session_failed(const struct session *s)
{
	return counters_get(&s->counters.tally.failed);
}

bool session_is_pull(const struct session *s)
{
	return is_pull(s);
}

unsigned int session_result(const struct session *s)
{
	return atomic_load(&s->result);
}

void session_report(struct session *s, struct report_session *ret_report)
{
	const struct access_grant *grant = &s->args.grant;
	struct counters *c = &s->counters;

	*ret_report = (struct report_session){
		.pull = is_pull(s),
		.since = s->since,
		.seconds = (double)(now_ns() - s->since_ns) / (double)SEC,
		.bytes = counters_get(&c->bytes),
		.rate = counters_get(&c->rate),
		.files = counters_get(&c->tally.files),
		.failed = counters_get(&c->tally.failed),
	};
	ret_report->file_size = counters_get_file(c, ret_report->file);
	snprintf(ret_report->id, sizeof(ret_report->id), "%s", s->id);
	snprintf(ret_report->peer, sizeof(ret_report->peer), "%s", s->peer_name);
	snprintf(ret_report->client, sizeof(ret_report->client), "%s", access_grant_name(grant));
	if (access_grant_identity(grant))
		snprintf(ret_report->user, sizeof(ret_report->user), "%s", grant->client->user);
}

const struct access_grant *session_grant(const struct session *s)
{
	return &s->args.grant;
}
