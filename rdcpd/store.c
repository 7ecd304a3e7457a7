// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* The daemon's side of a push: the receiving engine's owner. See store.h. */
#include "store.h"

#include <errno.h>
#include <stdio.h>

#include "common/log.h"
#include "common/outfile.h"
#include "common/peer.h"
#include "common/util.h"
#include "journal.h"

static enum status on_place(void *owner, const struct wire_file *file, struct receive_place *ret_place, char *text)
{
	struct store *st = owner;
	enum status status;

	snprintf(ret_place->name, sizeof(ret_place->name), "%.*s", file->name.len, file->name.data);
	ret_place->flags = receive_place_flags(file->flags);
	status = roots_locate(st->roots, file->path, true, &ret_place->root, ret_place->path, text);
	if (status == STATUS_OK && (file->flags & WIRE_FILE_SPECIAL) &&
	    !roots_export(st->roots, ret_place->root)->setuid) {
		ret_place->wishes &= ~(uint32_t)WIRE_FILE_SPECIAL;
		ret_place->remark = "set-user-ID, set-group-ID and sticky bits are left out: the export does not say "
				    "'setuid = yes'";
	}
	if (status != STATUS_OK) /* for the log */
		snprintf(ret_place->path, sizeof(ret_place->path), "%.*s", file->path.len, file->path.data);
	return status;
}

__attribute__((noinline)) static void log_unchanged(const char *path)
{
	char shown[ESCAPED_PATH_SIZE];

	log_debug("'%s' stays as it is", escape_name(path, shown, sizeof(shown)));
}

static void on_file_done(void *owner, const struct receive_place *place, uint32_t request, uint64_t bytes,
			 enum status status, const char *text)
{
	struct store *st = owner;
	bool directory = place->wishes & WIRE_FILE_DIRECTORY;

	if (directory && !place->below)
		journal_write_lost(&st->lost, "stored"); /* what is in it is over */
	if (status == STATUS_OK && directory && !receive_place_is_last(place, status))
		return; /* what is in it speaks for it */
	if (status == STATUS_SKIPPED || (place->wishes & WIRE_FILE_DRY_RUN)) {
		if (log_level() >= LOG_DEBUG)
			log_unchanged(place->path);
		return;
	}
	if (status == STATUS_OK)
		journal_write_done(directory ? JOURNAL_TREE_STORED : JOURNAL_FILE_STORED, place->path, bytes, "stored");
	else if (!place->below || !journal_is_lost(&st->lost, place->path, directory))
		journal_write_failed(place->path, bytes, "stored", status, text);
}

/* The client hangs up when it has read DONE. */
static void on_all_done(void *owner)
{
	struct store *st = owner;

	peer_end(st->peer, STATUS_OK, true, NULL);
}

static void on_idle(void *owner)
{
	struct store *st = owner;

	st->idle(st->owner);
}

static const struct receiver_events events = {
	.place = on_place,
	.file_done = on_file_done,
	.done = on_all_done,
	.idle = on_idle,
};

int store_start(struct store *st, struct peer *peer, struct slab *slab, struct ioqueue *io, struct roots *roots,
		unsigned int max_files)
{
	int r;

	st->peer = peer;
	st->roots = roots;
	r = receiver_new(peer, slab, io, &events, st, &st->receiver);
	if (r == 0)
		receiver_set_max_files(st->receiver, max_files);
	return r;
}

int store_on_record(struct store *st, const struct wire_record *rec)
{
	if (rec->type != WIRE_PARTIAL || receiver_keep_partials_in(st->receiver, &rec->partial.name) < 0)
		return -EPROTO;
	return 0;
}

void store_stop(struct store *st)
{
	receiver_stop(st->receiver);
}

void store_done(struct store *st)
{
	journal_write_lost(&st->lost, "stored");
	receiver_free(st->receiver);
	st->receiver = NULL;
}
