// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Where files go: the owner says it of single files and tops, what is below a top goes where that went. And who may go there: of two
 * that go to the same place the second waits until it is known what became of the first, see made.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "receiver_impl.h"
#include "util.h"

/* For whoever reads of it: which file it is when the destination is a directory. */
void receive_place_append(struct receive_place *place, const char *name)
{
	size_t len = strlen(place->path);

	if (strcmp(place->path, ".") == 0)
		len = 0;
	if (len && place->path[len - 1] != '/' && len < sizeof(place->path) - 1)
		place->path[len++] = '/';
	snprintf(place->path + len, sizeof(place->path) - len, "%s", name);
}

unsigned int receive_place_flags(uint32_t wishes)
{
	return (wishes & WIRE_FILE_INTO_DIR ? PLACE_INTO_DIR : 0) |
	       (wishes & (WIRE_FILE_NO_CLOBBER | WIRE_FILE_SKIP_HELD) ? PLACE_NO_CLOBBER : 0) |
	       (wishes & WIRE_FILE_EXACT ? PLACE_EXACT : 0) | (wishes & WIRE_FILE_MAKE_PATH ? PLACE_MAKE_PATH : 0);
}

struct receive_dir *receive_dir_new(const struct wire_text *path)
{
	struct receive_dir *dir = calloc(1, sizeof(*dir) + path->len + 1U);

	if (!dir)
		return NULL;
	dir->fd = -1;
	memcpy(dir->path, path->data, path->len);
	return dir;
}

void receive_dir_release(struct receive_dir *dir)
{
	if (!dir || --dir->users)
		return;
	if (dir->fd >= 0)
		close(dir->fd);
	receive_dir_release(dir->top);
	free(dir);
}

/* The directory of an entry: that of the one before, mostly. */
static struct receive_dir *dir_of(struct receiver *r, const struct wire_text *path)
{
	struct receive_dir *dir = r->dir;

	if (!dir || strlen(dir->path) != path->len || memcmp(dir->path, path->data, path->len) != 0) {
		dir = receive_dir_new(path);
		if (!dir)
			return NULL;
		dir->top = r->top;
		dir->top->users++;
		receive_dir_release(r->dir);
		r->dir = dir;
		dir->users = 1;
	}
	dir->users++;
	return dir;
}

static int place_below(struct receiver *r, struct receive_file *f, const struct wire_file *said)
{
	char path[WIRE_PATH_MAX + 1];
	const char *first;
	size_t len;

	if (!r->top || said->request != r->top_request)
		return -EPROTO;
	f->place = r->top_place;
	f->place.wishes |= said->flags & ~(uint32_t)WIRE_FILE_WISHES;
	if (!(said->flags & WIRE_FILE_BELOW)) { /* the top, left */
		f->dir = r->top;
		f->dir->users++;
		return 0;
	}
	snprintf(path, sizeof(path), "%.*s", said->path.len, said->path.data);
	snprintf(f->place.name, sizeof(f->place.name), "%.*s", said->name.len, said->name.data);
	first = *path ? path : f->place.name;
	receive_place_append(&f->place, first);
	len = strlen(f->place.path);
	f->place.below = len - min_size(len, strlen(first));
	if (*path)
		receive_place_append(&f->place, f->place.name);
	f->dir = dir_of(r, &said->path);
	return f->dir ? 0 : -ENOMEM;
}

int receiver_place(struct receiver *r, struct receive_file *f, const struct wire_file *said)
{
	int error;

	f->place.wishes = said->flags;
	if (said->flags & (WIRE_FILE_BELOW | WIRE_FILE_LEAVE)) {
		error = place_below(r, f, said);
		if (error == 0 && !(said->flags & WIRE_FILE_DIRECTORY) && r->events->wanted)
			f->status = r->events->wanted(r->owner, &f->place, said->request);
		f->same = f->status == STATUS_SKIPPED;
	} else {
		error = 0;
		f->status = r->events->place(r->owner, said, &f->place, f->text);
	}
	f->said.flags = (said->flags & ~(uint32_t)WIRE_FILE_WISHES) | (f->place.wishes & WIRE_FILE_WISHES);
	f->place.wishes = f->said.flags;
	f->place.size = said->size;
	return error;
}

/* ---- two for one place --------------------------------------------------------------------------------------- */

/* Where it goes, as far as a path says that. A directory is nobody else's place: trees may be merged. */
static uint64_t place_hash(const struct receive_file *f)
{
	struct receive_place place;

	if ((f->said.flags & (WIRE_FILE_DIRECTORY | WIRE_FILE_DRY_RUN)) || f->place.stream)
		return 0;
	if (f->dir || (f->place.flags & PLACE_EXACT))
		return digest_chunk(f->place.path, strlen(f->place.path));
	place = f->place;
	receive_place_append(&place, place.name);
	return digest_chunk(place.path, strlen(place.path));
}

/*
 * Another one is on its way to the same place: the first source wins, so its end is waited for, and what is made of it is found then.
 * Of one that is queued nothing is known yet; it would wait for this one.
 */
static bool is_place_taken(struct receiver *r, const struct receive_file *f, uint64_t hash)
{
	for (unsigned int i = 0; hash && f->status == STATUS_OK && i < RECEIVER_MAX_FILES; i++) {
		const struct receive_file *other = &r->files[i];

		if (r->places[i] == hash && other != f && other->state >= FILE_OPENING &&
		    other->state <= FILE_FLUSHING) {
			r->flush_wanted = true;
			return true;
		}
	}
	return false;
}

bool receiver_take_place(struct receiver *r, struct receive_file *f)
{
	uint64_t hash = place_hash(f);

	if (is_place_taken(r, f, hash))
		return false;
	r->places[f - r->files] = hash;
	return true;
}
