// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The daemon's side of a pull: the sending engine's owner. A GET that no export allows is refused at once, with an ABORT that
 * names the request; all others wait in a bounded queue for the sender to take them.
 */
#include "serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/peer.h"
#include "common/receiver.h"
#include "common/util.h"
#include "journal.h"

struct serve_get {
	struct serve_get *next;
	uint32_t flags; /* enum wire_get_flags */
	struct send_item item;
	enum status status; /* not OK: to be refused, with text */
	char *text;
	struct budget *memory; /* of the session: `size` bytes of it */
	size_t size;
};

static void free_get(struct serve_get *get)
{
	budget_give(get->memory, get->size);
	free(get->item.path);
	free(get->item.target);
	free(get->item.name);
	free(get->text);
	free(get);
}

/* With a copy of the path for the sender, one for the forecast, and a reason why not. */
#define GET_SIZE(path_len) (2 * sizeof(struct serve_get) + 2U * (path_len) + 512)

static uint32_t file_flags(uint32_t get_flags)
{
	return (get_flags & WIRE_GET_PRESERVE ? WIRE_FILE_PRESERVE : 0) |
	       (get_flags & WIRE_GET_DIRECT ? WIRE_FILE_DIRECT : 0) |
	       (get_flags & WIRE_GET_OWNER ? WIRE_FILE_OWNER : 0) |
	       (get_flags & WIRE_GET_XATTRS ? WIRE_FILE_XATTRS : 0) |
	       (get_flags & WIRE_GET_NUMERIC_IDS ? WIRE_FILE_NUMERIC_IDS : 0) |
	       (get_flags & WIRE_GET_DRY_RUN ? WIRE_FILE_DRY_RUN : 0);
}

static struct serve_get *new_get(struct serve *sv, const struct wire_get *said)
{
	char relative[ACCESS_RELATIVE_MAX], why[WIRE_TEXT_MAX + 1] = "";
	struct serve_get *get = calloc(1, sizeof(*get));

	if (!get)
		return NULL;
	get->memory = sv->peer->memory;
	get->size = GET_SIZE(said->path.len);
	get->status = roots_locate(sv->roots, said->path, false, &get->item.root, relative, why);
	get->item.request = said->request;
	get->flags = said->flags;
	get->item.filter = sv->filter.count ? &sv->filter : NULL;
	get->item.recurse = said->flags & WIRE_GET_TREE;
	get->item.resume = said->flags & WIRE_GET_RESUME;
	get->item.ask = said->flags & WIRE_GET_ASK;
	get->item.checksum = said->flags & WIRE_GET_CHECKSUM;
	get->item.dense = said->flags & WIRE_GET_DENSE;
	get->item.follow = said->flags & WIRE_GET_FOLLOW;
	get->item.hard_links = said->flags & WIRE_GET_HARD_LINKS;
	get->item.flags = file_flags(said->flags);
	get->item.path = get->status == STATUS_OK ? strdup(relative) : strndup(said->path.data, said->path.len);
	get->item.target = strdup("");
	/* For the client's information; an export itself has none, and "/" will fail. */
	if (get->item.path)
		get->item.name = last_component(strcmp(get->item.path, ".") != 0 ? get->item.path : "-");
	get->text = strdup(why);
	if (get->item.path && get->item.target && get->item.name && get->text)
		return get;
	get->size = 0; /* the caller's again */
	free_get(get);
	return NULL;
}

/* When all was asked for and counted. No room: a client that is told late is told soon enough. */
static void maybe_say_total(struct serve *sv)
{
	struct wire_record rec = { .type = WIRE_TOTAL };

	if (!sv->total_wanted || sv->total_said || !sv->ended || sv->stopped || !forecast_is_known(&sv->forecast))
		return;
	rec.total.files = sv->forecast.files;
	rec.total.bytes = sv->forecast.bytes;
	sv->total_said = peer_send(sv->peer, &rec) == 0;
}

/* The queue has the limit of the GETs that wait; counting may be slower than they are answered. */
static void count(struct serve *sv, const struct serve_get *get)
{
	if (!(get->flags & WIRE_GET_TOTAL) || (get->flags & WIRE_GET_LIST) || get->status != STATUS_OK)
		return;
	sv->total_wanted = true;
	if (sv->forecast.waiting < WIRE_GETS_MAX)
		forecast_add(&sv->forecast, &get->item);
	else
		sv->forecast.failed = true;
}

static int on_get(struct serve *sv, const struct wire_get *said)
{
	struct serve_get *get;

	if (!sv->aimed || sv->ended || said->request != sv->get_count || sv->waiting == WIRE_GETS_MAX)
		return -EPROTO;
	if (budget_take(sv->peer->memory, GET_SIZE(said->path.len)) < 0) {
		peer_end(sv->peer, STATUS_BUSY, true, "the memory of the session is used up");
		return 0;
	}
	get = new_get(sv, said);
	if (!get) {
		budget_give(sv->peer->memory, GET_SIZE(said->path.len));
		return -ENOMEM;
	}
	sv->get_count++;
	sv->waiting++;
	*sv->gets_tail = get;
	sv->gets_tail = &get->next;
	count(sv, get);
	sender_kick(sv->sender);
	return 0;
}

static int on_window(struct serve *sv, const struct wire_window *window)
{
	if (sv->aimed)
		return -EPROTO;
	sv->aimed = true;
	endpoint_aim(sv->peer->ep, window->base, window->rkey);
	sender_set_max_files(sv->sender, window->max_files);
	return 0;
}

/* The client has counted, too: more rules than a filter takes are a breach of protocol. */
static int on_filter(struct serve *sv, const struct wire_filter *said)
{
	_cleanup_free_ char *pattern = strndup(said->pattern.data, said->pattern.len);

	if (!sv->aimed || sv->ended || sv->get_count)
		return -EPROTO;
	return pattern ? filter_add(&sv->filter, pattern, said->flags & WIRE_FILTER_INCLUDE) : -ENOMEM;
}

int serve_on_record(struct serve *sv, const struct wire_record *rec)
{
	switch (rec->type) {
	case WIRE_WINDOW:
		return on_window(sv, &rec->window);
	case WIRE_FILTER:
		return on_filter(sv, &rec->filter);
	case WIRE_GET:
		return on_get(sv, &rec->get);
	case WIRE_END:
		if (sv->ended || rec->end.files != sv->get_count)
			return -EPROTO;
		sv->ended = true;
		maybe_say_total(sv);
		sender_kick(sv->sender);
		return 0;
	default:
		return -EPROTO;
	}
}

/* ---- the sender's owner ------------------------------------------------------------------------------------- */

static struct serve_get *pop_get(struct serve *sv)
{
	struct serve_get *get = sv->gets;

	sv->gets = get->next;
	if (!sv->gets)
		sv->gets_tail = &sv->gets;
	sv->waiting--;
	return get;
}

/* false: no room to say it now. */
static bool refuse(struct serve *sv, const struct serve_get *get)
{
	struct wire_record rec = { .type = WIRE_ABORT };

	rec.abort.file = WIRE_NO_FILE;
	rec.abort.request = get->item.request;
	rec.abort.status = (uint16_t)get->status;
	rec.abort.text = wire_text(get->text);
	return peer_send(sv->peer, &rec) == 0;
}

/* ---- names instead of files --------------------------------------------------------------------------------- */

static void run_listing(struct io_job *job)
{
	struct serve *sv = container_of(job, struct serve, listing_job);
	const struct serve_get *get = sv->gets;

	sv->listing_error = get->flags & WIRE_GET_GLOB ? listing_glob(&sv->listing, get->item.root, get->item.path)
						       : listing_read(&sv->listing, get->item.root, get->item.path);
}

static void maybe_idle(struct serve *sv)
{
	if (sv->sender_idle && !sv->listing_busy && !sv->forecast.busy)
		sv->idle(sv->owner);
}

static void on_listed(struct io_job *job)
{
	struct serve *sv = container_of(job, struct serve, listing_job);

	sv->listing_busy = false;
	sv->listed = true;
	if (sv->stopped)
		maybe_idle(sv);
	else
		sender_kick(sv->sender);
}

static void on_forecast_rested(void *owner)
{
	struct serve *sv = owner;

	if (sv->stopped)
		maybe_idle(sv);
	else
		maybe_say_total(sv);
}

void serve_on_writable(struct serve *sv)
{
	maybe_say_total(sv);
}

static bool say_entry(struct serve *sv, const struct serve_get *get, const struct listing_entry *e)
{
	struct wire_record rec = { .type = WIRE_ENTRY };

	rec.entry.request = get->item.request;
	rec.entry.flags = !e ? WIRE_ENTRY_LAST : e->directory ? WIRE_ENTRY_DIRECTORY : 0;
	rec.entry.path = wire_text(e ? e->path : "");
	return peer_send(sv->peer, &rec) != -EAGAIN; /* one that no record can hold cannot be asked for, either */
}

/* True: all was said, or the GET is to be refused. */
static bool answer_listing(struct serve *sv, struct serve_get *get)
{
	struct listing *l = &sv->listing;

	if (!sv->listed && !sv->listing_busy) {
		sv->listing_busy = true;
		sv->listing_said = 0;
		sv->listing_job.run = run_listing;
		sv->listing_job.done = on_listed;
		ioqueue_submit(sv->io, &sv->listing_job);
	}
	if (!sv->listed)
		return false;
	for (; sv->listing_error == 0 && sv->listing_said < l->count; sv->listing_said++)
		if (!say_entry(sv, get, &l->entries[sv->listing_said]))
			return false;
	if (sv->listing_error == 0 && !say_entry(sv, get, NULL))
		return false;
	get->status = status_from_errno(sv->listing_error);
	if (sv->listing_error == -ENOBUFS || sv->listing_error == -E2BIG) {
		char *text = strdup("there are too many names");

		if (text) {
			free(get->text);
			get->text = text;
		}
	}
	peer_moved(sv->peer);
	sv->listed = false;
	listing_done(l);
	return true;
}

enum answer { LATER, ANSWERED, NO_LISTING };

/* NO_LISTING: files are asked for, or it is to be refused. ANSWERED: the GET is gone. */
static enum answer try_listing(struct serve *sv, struct serve_get *get)
{
	char shown[ESCAPED_PATH_SIZE];

	if (!(get->flags & WIRE_GET_LIST) || get->status != STATUS_OK)
		return NO_LISTING;
	if (!answer_listing(sv, get))
		return LATER;
	if (get->status != STATUS_OK)
		return NO_LISTING;
	log_debug("told the names in '%s'", escape_name(get->item.path, shown, sizeof(shown)));
	free_get(pop_get(sv));
	return ANSWERED;
}

static int on_next(void *owner, struct send_item *ret_item)
{
	struct serve *sv = owner;
	struct serve_get *get;

	while ((get = sv->gets)) {
		enum answer answer = try_listing(sv, get);

		if (answer == LATER)
			return 0;
		if (answer == ANSWERED)
			continue;
		if (get->status == STATUS_OK) {
			*ret_item = get->item;
			memset(&get->item, 0, sizeof(get->item));
			free_get(pop_get(sv));
			return 1;
		}
		if (!refuse(sv, get))
			return 0;
		journal_write_failed(get->item.path, 0, "sent", get->status, get->text);
		free_get(pop_get(sv));
	}
	return sv->ended ? -ENODATA : 0;
}

/* Entries of a tree are logged with the path of its top in front. */
static const char *path_of(struct serve *sv, const struct send_item *item, char path[static PATH_MAX])
{
	if (!(item->flags & WIRE_FILE_BELOW)) {
		free(sv->top);
		sv->top = strdup(item->path);
		return item->path;
	}
	snprintf(path, PATH_MAX, "%s/%s", sv->top ? sv->top : "", item->path);
	return path;
}

__attribute__((noinline)) static void log_unchanged(const char *path)
{
	char shown[ESCAPED_PATH_SIZE];

	log_debug("nothing sent of '%s'", escape_name(path, shown, sizeof(shown)));
}

static void on_file_done(void *owner, const struct send_item *item, uint64_t bytes, enum status status, bool by_peer,
			 const char *text)
{
	char whole[PATH_MAX];
	const char *path = path_of(owner, item, whole);
	struct serve *sv = owner;
	bool below = item->flags & WIRE_FILE_BELOW, directory = item->flags & WIRE_FILE_DIRECTORY;

	if (directory && !below)
		journal_write_lost(&sv->lost, "sent"); /* what is in it is over */
	if ((status == STATUS_SKIPPED || (item->flags & WIRE_FILE_DRY_RUN)) && log_level() < LOG_DEBUG)
		return;
	if (status == STATUS_SKIPPED || (item->flags & WIRE_FILE_DRY_RUN))
		log_unchanged(path);
	else if (status != STATUS_OK && below && journal_is_lost(&sv->lost, path, directory))
		return;
	else if (status != STATUS_OK)
		journal_write_failed(path, bytes, "sent", status, text);
	else if (!directory || send_item_is_last(item, status))
		journal_write_done(directory ? JOURNAL_TREE_SENT : JOURNAL_FILE_SENT, path, bytes, "sent");
}

/* The client has all it wants. */
static void on_done(void *owner, enum status status, const char *text)
{
	struct serve *sv = owner;

	peer_end(sv->peer, STATUS_OK, false, NULL);
}

static void on_idle(void *owner)
{
	struct serve *sv = owner;

	sv->sender_idle = true;
	maybe_idle(sv);
}

static const struct sender_events events = {
	.next = on_next,
	.file_done = on_file_done,
	.done = on_done,
	.idle = on_idle,
};

int serve_start(struct serve *sv, struct peer *peer, struct slab *slab, struct ioqueue *io, struct roots *roots,
		unsigned int max_files)
{
	sv->peer = peer;
	sv->io = io;
	sv->roots = roots;
	sv->gets_tail = &sv->gets;
	sv->listing.memory = peer->memory;
	forecast_init(&sv->forecast, io, on_forecast_rested, sv);
	sv->forecast.walk.memory = sv->forecast.links.memory = peer->memory;
	return sender_new(peer, slab, io, max_files, &events, sv, &sv->sender);
}

void serve_stop(struct serve *sv)
{
	sv->stopped = true;
	atomic_store(&sv->listing.cancelled, true);
	forecast_stop(&sv->forecast);
	sender_stop(sv->sender);
}

void serve_done(struct serve *sv)
{
	journal_write_lost(&sv->lost, "sent");
	sender_free(sv->sender);
	sv->sender = NULL;
	while (sv->gets)
		free_get(pop_get(sv));
	free(sv->top);
	sv->top = NULL;
	forecast_done(&sv->forecast);
	filter_done(&sv->filter);
	listing_done(&sv->listing);
}
