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
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "choose.h"
#include "common/log.h"
#include "common/util.h"
#include "resolve.h"

/* ---- what is told ------------------------------------------------------------------------------------------- */

void client_complain(struct client *c, int exit_code, const char *fmt, ...)
{
	va_list ap;

	progress_clear(&c->progress);
	va_start(ap, fmt);
	log_writev(LOG_ERR, fmt, ap);
	va_end(ap);
	/* A wrong byte outweighs everything, the end of the session outweighs a single file. */
	if (c->exit_code != EXITCODE_CORRUPT && (c->exit_code <= EXITCODE_FAILED || exit_code == EXITCODE_CORRUPT))
		c->exit_code = exit_code;
}

static void tell_copied(struct client *c, const char *name, uint64_t bytes)
{
	char size[16];

	c->copied_files++;
	c->copied_bytes += bytes;
	if (c->options->verbose) {
		progress_clear(&c->progress);
		log_info("'%s' copied, %s", name, format_size(bytes, size));
	}
}

void client_settle(struct client *c, struct client_source *source, const struct client_outcome *o)
{
	char whole[PATH_MAX + NAME_MAX], name[512], why[512];

	if (o->last) {
		source->settled = true;
		c->settled++;
	}
	if (o->status == STATUS_OK && o->directory)
		return;
	snprintf(whole, sizeof(whole), "%s%s%s", source->path, o->below ? "/" : "", o->below ? o->below : "");
	escape_name(whole, name, sizeof(name));
	if (o->status == STATUS_OK) {
		tell_copied(c, name, o->bytes);
		return;
	}
	c->failed_files++;
	client_complain(c, hint_file_exit(o->status), "'%s': %s%s%s", name, status_text(o->status),
			*o->text ? ": " : "", escape_name(o->text, why, sizeof(why)));
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
	if (o->make_path)
		flags |= WIRE_FILE_MAKE_PATH;
	if (source->exact)
		flags |= WIRE_FILE_EXACT;
	else if (o->source_count > 1)
		flags |= WIRE_FILE_INTO_DIR;
	return flags;
}

static void redraw(struct client *c)
{
	const struct options *o = c->options;
	bool over = c->settled == c->source_count;
	const char *name = NULL;
	uint64_t size = 0, done = 0;

	if (c->sender) {
		const struct send_item *item = sender_current(c->sender, &size);

		name = item ? item->name : NULL;
		done = sender_acked_bytes(c->sender);
	} else if (c->receiver) {
		const struct receive_place *place = receiver_current(c->receiver, &size);

		name = place ? place->name : NULL;
		done = receiver_stored_bytes(c->receiver);
		if (place && o->source_count == 1 && !o->recursive) {
			c->total_bytes = size;
			c->sized = true;
		}
	}
	if (over)
		c->total_bytes = done;
	if (o->source_count == 1 && !o->recursive)
		name = c->sources[0].name;
	if (name)
		progress_name(&c->progress, name);
	progress_update(&c->progress, done, c->total_bytes, over || c->sized, now_ns());
}

static void on_redraw(struct loop_timer *t)
{
	struct client *c = container_of(t, struct client, redraw);

	redraw(c);
	loop_timer_set(&c->loop, t, loop_now(&c->loop) + PROGRESS_INTERVAL_NS);
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

static void maybe_over(struct client *c)
{
	if (c->closed && c->idle)
		loop_stop(&c->loop);
}

void client_on_idle(void *owner)
{
	struct client *c = owner;

	c->idle = true;
	maybe_over(c);
}

static void stop_engine(struct client *c)
{
	if (c->sender)
		sender_stop(c->sender);
	else if (c->receiver)
		receiver_stop(c->receiver);
	else
		c->idle = true;
}

static void on_closed(void *owner, const struct endpoint_fault *fault)
{
	struct client *c = owner;
	char text[HINT_SIZE];
	int code;

	peer_on_closed(&c->peer, fault);
	if (!c->promised && !c->told && !c->signal) {
		code = hint_end(&c->hint, &c->peer.end, text, sizeof(text));
		client_complain(c, code == EXITCODE_OK ? EXITCODE_LOST : code, "%s", text);
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
		client_complain(c, code, "%s", out);
	}
	c->closed = c->idle = true;
	loop_stop(&c->loop);
}

/* ---- connected ---------------------------------------------------------------------------------------------- */

static int make_parts(struct client *c, const struct wire_rep *rep, struct endpoint_fault *ret_fault)
{
	int r;

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
	char id[UUID_STR_LEN], text[HINT_SIZE];
	int r;

	uuid_unparse_lower(c->connect.req.uuid, id);
	log_debug("connected, transfer %s, window %u x %u bytes", id, 1U << rep->slots_log2, 1U << rep->slot_log2);
	c->connected = true;
	c->max_files = rep->max_files;
	peer_start(&c->peer, c->connect.ep);
	endpoint_aim(c->connect.ep, rep->base, rep->rkey);
	r = make_parts(c, rep, &fault);
	if (r == 0)
		r = c->options->pull ? pull_start(c) : push_start(c);
	if (r < 0) {
		fault.error = r;
		if (!*fault.text)
			snprintf(fault.text, sizeof(fault.text), "%s", strerror(-r));
		client_complain(c, hint_fault(&c->hint, &fault, text, sizeof(text)), "%s", text);
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
	return -EPROTO; /* a daemon has nothing to tell but to an engine */
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

static void on_signal(struct loop_source *s, uint32_t revents)
{
	struct client *c = container_of(s, struct client, signal_source);
	struct signalfd_siginfo si;

	if (read(s->fd, &si, sizeof(si)) != sizeof(si) || c->signal)
		return;
	c->signal = (int)si.ssi_signo;
	if (c->connected)
		peer_end(&c->peer, STATUS_ABORTED, false, "interrupted by the user");
	else
		connect_abort(&c->connect);
}

/* Blocked for good: worker threads inherit that, and only the loop sees them. */
static int watch_signals(struct client *c)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	c->signal_source = (struct loop_source){ .fd = fd, .events = EPOLLIN, .ready = on_signal };
	return loop_add(&c->loop, &c->signal_source);
}

/* ---- before and after the loop ------------------------------------------------------------------------------- */

static char *last_component(const char *path)
{
	size_t len = strlen(path);
	const char *start;

	while (len > 1 && path[len - 1] == '/')
		len--;
	start = memrchr(path, '/', len);
	start = start && len > 1 ? start + 1 : path;
	return strndup(start, len - (size_t)(start - path));
}

static bool has_no_name(const char *component)
{
	return strcmp(component, ".") == 0 || strcmp(component, "..") == 0 || strcmp(component, "/") == 0;
}

static int list_sources(struct client *c)
{
	const struct options *o = c->options;

	c->source_count = o->source_count;
	c->sources = calloc(o->source_count, sizeof(*c->sources));
	if (!c->sources)
		return -ENOMEM;
	for (unsigned int i = 0; i < o->source_count; i++) {
		c->sources[i].stream = location_is_stream(&o->sources[i]);
		c->sources[i].path = o->pull ? o->sources[i].path : o->sources[i].text;
		if (c->sources[i].stream)
			c->sources[i].path = "standard input";
		c->sources[i].name = last_component(c->sources[i].path);
		if (!c->sources[i].name)
			return -ENOMEM;
		c->sources[i].exact = c->sources[i].stream || has_no_name(c->sources[i].name);
	}
	return 0;
}

/* False: there was a key to use and it cannot be used; told. */
static bool load_key(struct client *c, struct options_key *key)
{
	char why[OPTIONS_WHY_SIZE];
	int r;

	if (!options_find_key(c->options, key))
		return true;
	r = key_load(key->path, &c->key, why, sizeof(why));
	if (r < 0)
		client_complain(c, EXITCODE_USAGE, "%s", why);
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
		client_complain(c, hint_resolve(&c->hint, r, errno, out, sizeof(out)), "%s", out);
	return r == 0;
}

/* Where the file itself goes to standard output, its progress cannot; and not to the terminal where it is shown, either. */
static void start_progress(struct client *c)
{
	enum progress_mode mode = c->options->quiet ? PROGRESS_NEVER : c->options->progress;
	int fd = STDOUT_FILENO;

	if (location_is_stream(&c->options->target)) {
		mode = isatty(fd) ? PROGRESS_NEVER : mode;
		fd = STDERR_FILENO;
	}
	progress_init(&c->progress, fd, mode, now_ns());
}

static void run_loop(struct client *c, const struct addrinfo *addresses)
{
	int r = watch_signals(c);

	if (r == 0) {
		peer_init(&c->peer, &c->loop, c->options->timeout_ns, &peer_events, c);
		c->redraw.expired = on_redraw;
		start_progress(c);
		if (c->progress.fd >= 0)
			loop_timer_set(&c->loop, &c->redraw, now_ns());
		connect_start(&c->connect, &c->loop, c->options, addresses, c->have_key ? &c->key : NULL,
			      c->sized ? c->total_bytes : UINT64_MAX, &connect_events, c);
		r = loop_run(&c->loop);
		redraw(c);
	}
	if (r < 0)
		client_complain(c, EXITCODE_FAILED, "event loop: %s", strerror(-r));
}

static void tear_down(struct client *c)
{
	sender_free(c->sender);
	receiver_free(c->receiver);
	connect_done(&c->connect);
	ioqueue_free(c->io);
	slab_done(&c->slab);
	peer_done(&c->peer);
	if (c->signal_source.fd >= 0)
		close(c->signal_source.fd);
	loop_done(&c->loop);
}

static int verdict(struct client *c)
{
	bool all = c->settled == c->source_count && !c->failed_files;
	bool success = c->exit_code == EXITCODE_OK && !c->signal && all;
	unsigned long long copied = c->copied_files;

	progress_finish(&c->progress, success, now_ns());
	if (c->signal) {
		log_err("interrupted, %llu file%s copied", copied, copied == 1 ? " was" : "s were");
		return 128 + c->signal;
	}
	if (!success && c->exit_code != EXITCODE_USAGE && (c->source_count > 1 || c->options->recursive))
		log_err("%llu file%s copied, %llu failed", copied, copied == 1 ? " was" : "s were",
			(unsigned long long)c->failed_files + c->source_count - c->settled);
	return success || c->exit_code != EXITCODE_OK ? c->exit_code : EXITCODE_FAILED;
}

static void copy(struct client *c)
{
	struct options_key key = { 0 };
	struct addrinfo *addresses;
	int r;

	hint_peer_init(&c->hint, c->options, &key);
	if (!choose_rules(c))
		return;
	if (!c->options->pull)
		push_check_sources(c);
	if (c->settled == c->source_count || !load_key(c, &key) || !resolve(c, &addresses))
		return;
	r = loop_init(&c->loop);
	if (r < 0) {
		client_complain(c, EXITCODE_FAILED, "event loop: %s", strerror(-r));
	} else {
		run_loop(c, addresses);
		tear_down(c);
	}
	freeaddrinfo(addresses);
}

int client_run(const struct options *o)
{
	struct client c = { .options = o, .signal_source.fd = -1, .progress.fd = -1, .stream.cancel_fd = -1 };
	int code = EXITCODE_FAILED;

	if (list_sources(&c) < 0) {
		log_err("out of memory");
	} else {
		copy(&c);
		code = verdict(&c);
	}
	for (unsigned int i = 0; c.sources && i < c.source_count; i++)
		free(c.sources[i].name);
	free(c.sources);
	stream_done(&c.stream);
	filter_done(&c.filter);
	key_wipe(&c.key);
	return code;
}
