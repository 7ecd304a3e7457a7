// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What became of a source, or of what is in it: counted, told, and remembered for the next attempt. Called by push.c and pull.c with
 * each RESULT, on the loop thread.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "once.h"

static enum retry_kind kind_of(enum output_result result)
{
	return result == OUTPUT_COPIED ? RETRY_COPIED : result == OUTPUT_SKIPPED ? RETRY_SKIPPED : RETRY_FAILED;
}

/* By an attempt before. The receiver skips what that has copied. */
static bool is_told(const struct client *c, uint32_t request, const char *path, enum retry_kind kind)
{
	return retry_knows(&c->retry, request, path, kind) ||
	       (kind == RETRY_SKIPPED && retry_knows(&c->retry, request, path, RETRY_COPIED));
}

static enum output_result result_of(enum status status)
{
	return status == STATUS_OK ? OUTPUT_COPIED : status == STATUS_SKIPPED ? OUTPUT_SKIPPED : OUTPUT_FAILED;
}

/* Of what is beneath a directory that could not be made nothing is told but how much it is, when all is known. */
static bool is_beneath_lost(struct client_source *source, const struct client_outcome *o)
{
	return o->below && result_of(o->status) == OUTPUT_FAILED &&
	       subtrees_note(&source->lost, o->below, o->directory);
}

void client_tell_lost(struct client *c, struct client_source *source)
{
	for (const struct subtree *lost = source->lost.newest; lost; lost = lost->next)
		if (lost->entries)
			output_lost(&c->output, source->path, lost->path, lost->entries);
	subtrees_done(&source->lost);
}

static void settle(struct client *c, struct client_source *source, const struct client_outcome *o)
{
	enum output_result result = result_of(o->status);
	uint32_t request = (uint32_t)(source - c->sources);

	if (o->last) {
		source->settled = true;
		source->copied = o->status == STATUS_OK;
		c->settled++;
	}
	if (o->top && o->status == STATUS_OK) {
		free(source->top);
		source->top = strdup(o->destination);
	}
	if (o->status == STATUS_OK && o->directory)
		return;
	if (o->below && is_told(c, request, o->below, kind_of(result)))
		return;
	source->files++;
	source->bytes += o->size;
	if (o->size > o->bytes)
		c->dropped_bytes += o->size - o->bytes;
	if (o->below)
		retry_note(&c->retry, request, o->below, kind_of(result));
	if (status_is_stored(o->status) && !o->directory)
		once_note(c, source, o->below);
	if (o->below && result != OUTPUT_FAILED) {
		c->below_files++;
		c->below_bytes += result == OUTPUT_COPIED ? o->bytes : 0;
	}
	output_file(&c->output, &(struct output_file){ .result = result,
						       .source = source->path,
						       .below = o->below,
						       .destination = o->destination,
						       .bytes = o->bytes,
						       .status = o->status,
						       .told = is_beneath_lost(source, o),
						       .text = o->text });
	if (o->last)
		client_tell_lost(c, source);
}

void client_settle(struct client *c, struct client_source *source, const struct client_outcome *o)
{
	struct client_outcome outcome = *o;

	if (o->status == STATUS_JUST_MADE && once_is_copied(c, source, o->below)) {
		outcome.status = STATUS_SKIPPED;
		outcome.text = "it was copied already";
	}
	settle(c, source, &outcome);
}

enum status client_wants(const struct client *c, uint32_t source, const char *below)
{
	if (retry_knows(&c->retry, source, below, RETRY_COPIED))
		return STATUS_SKIPPED;
	if (!once_is_taken(c, &c->sources[source], below))
		return STATUS_OK;
	return once_is_copied(c, &c->sources[source], below) ? STATUS_SKIPPED : STATUS_JUST_MADE;
}
