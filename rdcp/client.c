// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * A run of rdcp from the name of a host to an exit status.
 *
 *   look at the sources -> load the key -> resolve the host -> connect (connect.c) -> memory and engine -> the engine runs ->
 *   DONE -> the connection ends -> everything is freed -> verdict
 *
 * The loop ends when the endpoint is closed and the engine idle, whatever happened before. A file without a word from the
 * receiver when the session ends is not copied, and said to be so.
 */
#include "client.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <uuid/uuid.h>

#include "choose.h"
#include "common/descriptors.h"
#include "common/log.h"
#include "common/util.h"
#include "interrupt.h"
#include "remove.h"
#include "resolve.h"

#define LIST_MAX 20 /* sources that are named when a copy of several is interrupted */

/* ---- what is asked for ---------------------------------------------------------------------------------------- */

const char *client_target(const struct client *c, const struct client_source *source)
{
	const struct location *target = &c->options->target;

	if (source->top)
		return source->top;
	return source->target ? source->target : c->options->pull ? target->text : target->path;
}

unsigned int client_file_flags(const struct client *c, const struct client_source *source)
{
	const struct options *o = c->options;
	unsigned int flags = 0;

	if (o->preserve)
		flags |= WIRE_FILE_PRESERVE;
	if (o->archive)
		flags |= WIRE_FILE_OWNER | WIRE_FILE_XATTRS | WIRE_FILE_SPECIAL;
	if (o->archive && o->numeric_ids)
		flags |= WIRE_FILE_NUMERIC_IDS;
	if (o->fsync == OPTIONS_FSYNC_FILE)
		flags |= WIRE_FILE_SYNC;
	if (o->fsync == OPTIONS_FSYNC_NONE)
		flags |= WIRE_FILE_NO_SYNC;
	if (o->no_clobber)
		flags |= WIRE_FILE_NO_CLOBBER;
	if (o->direct)
		flags |= WIRE_FILE_DIRECT;
	if (o->verify)
		flags |= WIRE_FILE_VERIFY;
	if (o->update)
		flags |= WIRE_FILE_UPDATE;
	if (o->skip_held)
		flags |= WIRE_FILE_SKIP_HELD;
	if (o->dry_run)
		flags |= WIRE_FILE_DRY_RUN;
	if (o->make_path || source->target)
		flags |= WIRE_FILE_MAKE_PATH;
	if (source->exact || source->top)
		flags |= WIRE_FILE_EXACT;
	else if (c->source_count > 1 || source->target)
		flags |= WIRE_FILE_INTO_DIR;
	return flags;
}

static void on_redraw(struct loop_timer *t)
{
	struct client *c = container_of(t, struct client, redraw);

	measure(c);
	loop_timer_set(&c->loop, t, loop_now(&c->loop) + PROGRESS_INTERVAL_NS);
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

static void maybe_over(struct client *c)
{
	if (c->closed && c->idle && !c->forecast.busy)
		loop_stop(&c->loop);
}

void client_on_idle(void *owner)
{
	struct client *c = owner;

	c->idle = true;
	maybe_over(c);
}

void client_on_counted(void *owner)
{
	maybe_over(owner);
}

bool client_wants_total(const struct client *c)
{
	return c->output.progress.fd >= 0 && !c->options->dry_run && c->options->action == OPTIONS_COPY;
}

static void stop_engine(struct client *c)
{
	forecast_stop(&c->forecast);
	if (c->sender)
		sender_stop(c->sender);
	else if (c->receiver)
		receiver_stop(c->receiver);
	else
		c->idle = true;
}

static void announce_retry(struct client *c, const char *why)
{
	progress_clear(&c->output.progress);
	log_warning("%s; trying again in %llu s", why, (unsigned long long)(retry_delay_ns(&c->retry) / SEC));
}

static void on_closed(void *owner, const struct endpoint_fault *fault)
{
	struct client *c = owner;
	char text[HINT_SIZE];
	int code;

	peer_on_closed(&c->peer, fault);
	if (!c->promised && !c->told && !c->signal) {
		code = hint_end(&c->hint, &c->peer.end, text, sizeof(text));
		if (retry_after_end(&c->retry, &c->peer.end, measure_bytes(c) > 0))
			announce_retry(c, text);
		else
			output_complain(&c->output, code == EXITCODE_OK ? EXITCODE_LOST : code, "%s", text);
	}
	c->closed = true;
	stop_engine(c);
	maybe_over(c);
}

static void on_failed(void *owner, const struct endpoint_fault *fault, enum status refusal, const char *text)
{
	struct client *c = owner;
	char out[HINT_SIZE];
	int code;

	if (!c->signal) {
		if (refusal == STATUS_OK)
			code = hint_fault(&c->hint, fault, out, sizeof(out));
		else if (refusal == STATUS_BAD_KEY)
			code = hint_unproven(&c->hint, c->connect.challenged, out, sizeof(out));
		else
			code = hint_status(&c->hint, refusal, text, strlen(text), out, sizeof(out));
		if (retry_after_failure(&c->retry, fault, refusal))
			announce_retry(c, out);
		else
			output_complain(&c->output, code, "%s", out);
	}
	c->closed = c->idle = true;
	loop_stop(&c->loop);
}

/* ---- connected ---------------------------------------------------------------------------------------------- */

static int take_descriptors(struct client *c, const struct wire_rep *rep, struct endpoint_fault *ret_fault)
{
	unsigned int files = rep->max_files < RECEIVER_MAX_FILES ? rep->max_files : RECEIVER_MAX_FILES;

	c->descriptors = descriptors_take(DESCRIPTORS_OF_SESSION + RECEIVER_MAX_FILES * DESCRIPTORS_OF_FILE,
					  DESCRIPTORS_LEAST, 1);
	c->max_files = descriptors_files(c->descriptors, files);
	if (c->descriptors)
		return 0;
	snprintf(ret_fault->text, sizeof(ret_fault->text),
		 "%u open files are too few to copy anything; see 'ulimit -Hn'", descriptors_limit());
	return -EMFILE;
}

static int make_parts(struct client *c, const struct wire_rep *rep, struct endpoint_fault *ret_fault)
{
	int r = take_descriptors(c, rep, ret_fault);

	if (r == 0)
		r = slab_init(&c->slab, rep->slot_log2, rep->slots_log2);
	if (r == 0)
		r = endpoint_register(c->connect.ep, &c->slab, c->options->pull, &c->base, &c->rkey, ret_fault);
	if (r == 0)
		r = ioqueue_new(&c->loop, c->options->io_threads, &c->io);
	return r;
}

static void on_connected(void *owner, const struct wire_rep *rep)
{
	struct client *c = owner;
	struct endpoint_fault fault = { .kind = ENDPOINT_RESOURCES };
	char text[HINT_SIZE];
	int r;

	uuid_unparse_lower(c->connect.req.uuid, c->transfer);
	c->end.transfer = c->transfer;
	c->end.connected_ns = now_ns();
	c->end.slots = 1U << rep->slots_log2;
	c->end.slot_size = (size_t)1 << rep->slot_log2;
	log_debug("connected, transfer %s, window %u x %u bytes", c->transfer, 1U << rep->slots_log2,
		  1U << rep->slot_log2);
	c->connected = true;
	peer_start(&c->peer, c->connect.ep);
	endpoint_aim(c->connect.ep, rep->base, rep->rkey);
	r = make_parts(c, rep, &fault);
	if (r == 0)
		r = c->options->pull ? pull_start(c) : push_start(c);
	if (r < 0 && !c->descriptors) {
		output_complain(&c->output, EXITCODE_FAILED, "%s", fault.text);
	} else if (r < 0) {
		fault.error = r;
		if (!*fault.text)
			snprintf(fault.text, sizeof(fault.text), "%s", strerror(-r));
		output_complain(&c->output, hint_fault(&c->hint, &fault, text, sizeof(text)), "%s", text);
	}
	if (r < 0) {
		c->told = true;
		peer_end(&c->peer, STATUS_ABORTED, false, "the client could not set up its side");
	}
}

static void on_message(void *owner, const uint8_t *records, size_t len)
{
	struct client *c = owner;

	peer_on_message(&c->peer, records, len);
}

static void on_writable(void *owner)
{
	struct client *c = owner;

	peer_on_writable(&c->peer);
}

static int on_record(void *owner, const struct wire_record *rec)
{
	struct client *c = owner;

	return c->options->pull ? pull_on_record(c, rec) : -EPROTO;
}

static void on_peer_writable(void *owner)
{
	struct client *c = owner;

	if (c->options->pull)
		pull_on_writable(c);
}

static const struct connect_events connect_events = {
	.connected = on_connected,
	.failed = on_failed,
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

static const struct peer_events peer_events = { .record = on_record, .writable = on_peer_writable };

/* ---- signals ------------------------------------------------------------------------------------------------ */

/* A worker sits in a call that does not return, or the connection does not end: so be it. */
static void on_give_up(struct loop_timer *t)
{
	struct client *c = container_of(t, struct client, give_up);

	c->abandoned = true;
	loop_stop(&c->loop);
}

static void on_interrupt(struct client *c, int n)
{
	c->signal = n;
	loop_timer_set(&c->loop, &c->give_up, loop_now(&c->loop) + INTERRUPT_ORDERLY_NS);
	if (c->waiting)
		loop_stop(&c->loop);
	else if (c->connected)
		peer_end(&c->peer, STATUS_ABORTED, false, "interrupted by the user");
	else
		connect_abort(&c->connect);
}

static void on_signal(struct loop_source *s, uint32_t revents)
{
	struct client *c = container_of(s, struct client, signal_source);
	eventfd_t count;
	int n = interrupt_signal();

	if (eventfd_read(s->fd, &count) < 0)
		return;
	if (interrupt_is_asked()) {
		measure(c);
		output_tell(&c->output);
	}
	if (n && !c->signal)
		on_interrupt(c, n);
}

static int watch_signals(struct client *c)
{
	c->give_up.expired = on_give_up;
	c->signal_source = (struct loop_source){ .fd = interrupt_fd(), .events = EPOLLIN, .ready = on_signal };
	return loop_add(&c->loop, &c->signal_source);
}

/* ---- before and after the loop ------------------------------------------------------------------------------- */

/* False: there was a key to use and it cannot be used; told. */
static bool load_key(struct client *c, struct options_key *key)
{
	char why[OPTIONS_WHY_SIZE];
	int r;

	if (!options_find_key(c->options, key))
		return true;
	r = key_load(key->path, &c->key, why, sizeof(why));
	if (r < 0)
		output_complain(&c->output, EXITCODE_USAGE, "%s", why);
	c->have_key = r == 0;
	return r == 0;
}

static bool resolve(struct client *c, struct addrinfo **ret_addresses)
{
	const struct options *o = c->options;
	char out[HINT_SIZE];
	int r;

	r = resolve_host(c->hint.host, options_port(o), o->family, o->connect_timeout_ns, ret_addresses);
	if (r)
		output_complain(&c->output, hint_resolve(&c->hint, r, errno, out, sizeof(out)), "%s", out);
	return r == 0;
}

static void on_begin(struct loop_timer *t)
{
	struct client *c = container_of(t, struct client, begin);

	c->waiting = false;
	connect_start(&c->connect, &c->loop, c->options, c->addresses, c->have_key ? &c->key : NULL,
		      c->sized ? c->total_bytes : UINT64_MAX, &connect_events, c);
}

static void run_loop(struct client *c, const struct addrinfo *addresses)
{
	int r = watch_signals(c);

	if (r == 0) {
		peer_init(&c->peer, &c->loop, c->options->timeout_ns, &peer_events, c);
		c->redraw.expired = on_redraw;
		output_start(&c->output);
		if (c->output.progress.fd >= 0)
			loop_timer_set(&c->loop, &c->redraw, now_ns());
		c->addresses = addresses;
		c->begin.expired = on_begin;
		c->waiting = true;
		loop_timer_set(&c->loop, &c->begin, now_ns() + (c->retry.again ? retry_delay_ns(&c->retry) : 0));
		c->retry.again = false;
		r = loop_run(&c->loop);
		measure_end(c);
	}
	if (r < 0)
		output_complain(&c->output, EXITCODE_FAILED, "event loop: %s", strerror(-r));
}

static void tear_down(struct client *c)
{
	sender_free(c->sender);
	receiver_free(c->receiver);
	forecast_done(&c->forecast);
	if (c->connect.loop) /* it was begun */
		connect_done(&c->connect);
	ioqueue_free(c->io);
	slab_done(&c->slab);
	descriptors_give(c->descriptors);
	c->descriptors = 0;
	peer_done(&c->peer);
	loop_done(&c->loop);
	c->sender = NULL;
	c->receiver = NULL;
	c->io = NULL;
	c->connect = (struct connect){ 0 };
	c->forecast = (struct forecast){ 0 };
	c->next_source = c->next_rule = 0;
	c->total_heard = c->window_sent = c->gets_ended = c->partial_said = c->connected = c->closed = c->idle =
		c->told = false;
}

/* With several sources it is worth telling which of them need not be copied again. */
static void list_finished(const struct client *c)
{
	char name[ESCAPED_PATH_SIZE];
	unsigned int more = 0, told = 0;

	for (unsigned int i = 0; i < c->source_count; i++) {
		if (!c->sources[i].copied)
			continue;
		if (told == LIST_MAX)
			more++;
		else
			log_err("'%s' was copied", escape_name(c->sources[i].path, name, sizeof(name)));
		told += told < LIST_MAX;
	}
	if (more)
		log_err("and %u more", more);
}

static int verdict(struct client *c)
{
	for (unsigned int i = 0; i < c->source_count; i++) /* those that were not settled */
		client_tell_lost(c, &c->sources[i]);
	if (c->held_bytes)
		log_info("%s: %llu bytes were there from before", c->hint.host, (unsigned long long)c->held_bytes);
	c->end.signal = c->signal;
	c->end.unheard = c->source_count - c->settled;
	c->end.complete = c->settled == c->source_count && !c->output.failed;
	if (c->signal && c->source_count > 1 && !c->options->verbose)
		list_finished(c);
	return output_end(&c->output, &c->end);
}

/* One session, from connecting to the end. False: it was left lying there, and nothing of it may be freed. */
static bool attempt(struct client *c, const struct addrinfo *addresses)
{
	int r = c->options->pull ? pull_choose_sources(c) : 0;

	if (r == 0)
		r = loop_init(&c->loop);
	if (r < 0) {
		c->retry.again = false;
		output_complain(&c->output, EXITCODE_FAILED, "event loop: %s", strerror(-r));
		return true;
	}
	measure_begin(c);
	run_loop(c, addresses);
	if (c->abandoned)
		return false;
	tear_down(c);
	return true;
}

static void copy(struct client *c)
{
	struct options_key key = { 0 };
	struct addrinfo *addresses;

	hint_peer_init(&c->hint, c->options, &key);
	if (!choose_rules(c) || !choose_sources(c))
		return;
	retry_init(&c->retry,
		   c->sources[0].stream || location_is_stream(&c->options->target) ? 0 : c->options->retries);
	if (!c->options->pull)
		push_check_sources(c);
	if (c->settled == c->source_count || !load_key(c, &key) || !resolve(c, &addresses))
		return;
	do {
		if (!attempt(c, addresses))
			return;
	} while (c->retry.again && !c->signal);
	if (c->promised && !c->signal)
		c->signal = remove_sources(c);
	freeaddrinfo(addresses);
}

static void client_free(struct client *c)
{
	ask_done(c);
	choose_done(c);
	remove_done(c);
	free(c->asked);
	retry_done(&c->retry);
	names_done(&c->places);
	stream_done(&c->stream);
	free(c);
}

/* What a worker still uses stays where it is, and known, until the process ends. */
static struct client *abandoned;

int client_run(const struct options *o)
{
	struct client *c = calloc(1, sizeof(*c));
	int code = EXITCODE_FAILED;

	if (c) {
		c->options = o;
		c->stream.cancel_fd = -1;
		output_init(&c->output, o, options_peer(o)->host);
	}
	if (!c) {
		log_err("out of memory");
	} else {
		copy(c);
		code = verdict(c);
		key_wipe(&c->key);
	}
	if (c && c->abandoned)
		abandoned = c;
	if (c && c != abandoned)
		client_free(c);
	return code;
}
