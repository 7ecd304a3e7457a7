// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Local files to a host: the sending engine's owner in the client. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "common/attributes.h"
#include "once.h"
#include "remove.h"

/* What can be known before connecting is told before connecting: also when there is no daemon to talk to. */
static int look_at(struct client *c, struct client_source *source)
{
	struct stat *st = &source->stat;

	if (source->stream) {
		*st = (struct stat){ 0 };
		return stream_init(&c->stream, STDIN_FILENO);
	}
	if (stat(source->path, st) < 0)
		return -errno;
	if (!c->options->archive)
		st->st_mode = attributes_mode_in(AT_FDCWD, source->path, st->st_mode);
	if (S_ISDIR(st->st_mode) && !c->options->recursive)
		return -EISDIR;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return -ENOTSUP;
	return faccessat(AT_FDCWD, source->path, R_OK, AT_EACCESS) < 0 ? -errno : 0;
}

void push_check_sources(struct client *c)
{
	c->sized = true;
	once_drop_repeated(c);
	for (unsigned int i = 0; i < c->source_count; i++) {
		struct client_source *source = &c->sources[i];
		int r;

		if (source->settled)
			continue;
		r = look_at(c, source);
		c->plain_sources += r < 0 || !S_ISDIR(source->stat.st_mode);
		if (r < 0)
			client_settle(c, source,
				      &(struct client_outcome){ .last = true,
								.status = status_from_errno(r),
								.text = r == -EISDIR ? "-r copies it" : "" });
		else if (S_ISDIR(source->stat.st_mode) || source->stream)
			c->sized = false;
		else
			c->total_bytes += forecast_bytes(&source->stat, c->options->dense);
	}
}

/* Before the first FILE. */
static bool say_partial(struct client *c)
{
	struct wire_record rec = { .type = WIRE_PARTIAL };

	if (!c->options->partial_dir || c->partial_said)
		return true;
	rec.partial.name = wire_text(c->options->partial_dir);
	c->partial_said = peer_send(&c->peer, &rec) == 0;
	return c->partial_said;
}

static struct send_item item_of(struct client *c, unsigned int i)
{
	const struct client_source *source = &c->sources[i];

	return (struct send_item){
		.root = AT_FDCWD,
		.request = i,
		.flags = client_file_flags(c, source),
		.recurse = S_ISDIR(source->stat.st_mode),
		.filter = c->filter.count ? &c->filter : NULL,
		.dense = c->options->dense,
		.ask = client_may_skip(c->options),
		.checksum = c->options->checksum,
		.follow = c->options->follow,
		.hard_links = c->options->archive,
		.resume = !c->options->no_resume,
		.seen = S_ISREG(source->stat.st_mode),
		.stat = source->stat,
		.stream = source->stream ? &c->stream : NULL,
	};
}

static bool is_settled(struct client *c, struct client_source *source)
{
	if (!source->settled && !S_ISDIR(source->stat.st_mode) && once_is_taken(c, source, NULL))
		client_settle(c, source,
			      &(struct client_outcome){ .last = true, .status = STATUS_JUST_MADE, .text = "" });
	return source->settled;
}

static int on_next(void *owner, struct send_item *ret_item)
{
	struct client *c = owner;
	struct client_source *source;

	if (!say_partial(c))
		return 0;
	while (c->next_source < c->source_count && is_settled(c, &c->sources[c->next_source]))
		c->next_source++;
	if (c->next_source == c->source_count)
		return -ENODATA;
	source = &c->sources[c->next_source];
	*ret_item = item_of(c, c->next_source++);
	ret_item->path = strdup(source->path);
	ret_item->target = strdup(client_target(c, source));
	ret_item->name = strdup(source->exact ? "-" : source->name);
	return 1;
}

static enum status is_wanted(void *owner, uint32_t request, const char *path)
{
	return client_wants(owner, request, path);
}

/* Those that could be sent, also what an attempt before has sent of them. */
static void count_directories(struct client *c)
{
	for (unsigned int i = 0; i < c->source_count; i++) {
		const struct client_source *source = &c->sources[i];
		struct send_item item = item_of(c, i);

		item.path = (char *)source->path; /* borrowed: a forecast takes a copy */
		if (item.recurse && (!source->settled || source->top))
			forecast_add(&c->forecast, &item);
	}
}

static void on_file_done(void *owner, const struct send_item *item, uint64_t bytes, enum status status, bool by_peer,
			 const char *text)
{
	struct client *c = owner;
	bool top = item->recurse && (item->flags & WIRE_FILE_DIRECTORY) &&
		   !(item->flags & (WIRE_FILE_BELOW | WIRE_FILE_LEAVE));
	char where[WIRE_PATH_MAX + WIRE_TEXT_MAX + 2];

	if (status == STATUS_OK && *text && !top)
		output_remark(&c->output, c->sources[item->request].path,
			      item->flags & WIRE_FILE_BELOW ? item->path : NULL, text);
	snprintf(where, sizeof(where), "%s%s%s", item->target, *text ? "/" : "", text);
	if (item->stream && by_peer && status == STATUS_IS_DIRECTORY)
		text = "standard input has no name: name the file in it as HOST:PATH";
	if (status == STATUS_OK && c->options->remove_sources && !c->options->dry_run)
		remove_later(c, item);
	client_settle(c, &c->sources[item->request],
		      &(struct client_outcome){ .below = item->flags & WIRE_FILE_BELOW ? item->path : NULL,
						.destination = top ? where : NULL,
						.top = top,
						.directory = item->flags & WIRE_FILE_DIRECTORY,
						.last = send_item_is_last(item, status),
						.bytes = bytes,
						.size = forecast_bytes(&item->stat, c->options->dense),
						.status = status,
						.text = text });
}

static void on_done(void *owner, enum status status, const char *text)
{
	struct client *c = owner;

	c->promised = status == STATUS_OK;
	c->told = !c->promised;
	if (c->told)
		output_complain(&c->output, EXITCODE_FAILED, "%s: the daemon could not finish: %s", c->hint.host,
				status_text(status));
	peer_end(&c->peer, STATUS_OK, false, NULL);
}

static const struct sender_events events = {
	.next = on_next,
	.wanted = is_wanted,
	.file_done = on_file_done,
	.done = on_done,
	.idle = client_on_idle,
};

int push_start(struct client *c)
{
	int r = sender_new(&c->peer, &c->slab, c->io, c->max_files, &events, c, &c->sender);

	if (r < 0)
		return r;
	forecast_init(&c->forecast, c->io, client_on_counted, c);
	if (client_wants_total(c))
		count_directories(c);
	sender_limit(c->sender, c->options->limit_rate);
	sender_kick(c->sender);
	return 0;
}
