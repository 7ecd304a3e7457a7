/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The receiver's part of a talk: GETs as a client of a pull, and an answer to each FILE, DATA and CLOSE, the right one as a rule. */
#include <string.h>

#include "common/error.h"
#include "common/util.h"
#include "talk.h"

static enum status some_status(struct talk *t)
{
	static const enum status failures[] = { STATUS_SKIPPED, STATUS_NO_SPACE, STATUS_CORRUPT, STATUS_ATTRIBUTES,
						STATUS_NOT_DIRECTORY };

	return bytes_one_in(t->b, 8) ? bytes_pick(t->b, failures) : STATUS_OK;
}

static void say_result(struct talk *t, uint32_t file)
{
	struct wire_record rec = { .type = WIRE_RESULT };

	if (bytes_one_in(t->b, 16)) {
		rec.type = WIRE_HERE;
		rec.here = (struct wire_here){ .file = file, .dev = 1, .ino = bytes_number(t->b, 1) };
		talk_say(t, &rec);
		rec = (struct wire_record){ .type = WIRE_RESULT };
	}
	rec.result.file = file;
	rec.result.status = (uint16_t)some_status(t);
	rec.result.text = wire_text(bytes_one_in(t->b, 4) ? "a" : "");
	if (!bytes_one_in(t->b, 24))
		talk_say(t, &rec);
}

static void say_have(struct talk *t, uint32_t file)
{
	struct wire_record rec = { .type = WIRE_HAVE };

	rec.have.file = file;
	rec.have.count = (uint16_t)(bytes_one_in(t->b, 3) ? bytes_below(t->b, WIRE_HAVE_MAX + 1) : 0);
	for (unsigned int i = 0; i < rec.have.count; i++)
		rec.have.hashes[i] = i;
	rec.have.flags = bytes_one_in(t->b, 8) ? 0 : WIRE_HAVE_LAST;
	talk_say(t, &rec);
	if (bytes_one_in(t->b, 6)) /* what may be left alone is skipped at once */
		say_result(t, file);
}

static void hear_file(struct talk *t, const struct wire_file *file)
{
	t->count = file->file + 1;
	if (file->flags & (WIRE_FILE_RESUME | WIRE_FILE_ASK))
		say_have(t, file->file);
}

static void hear_data(struct talk *t, const struct wire_data *data)
{
	struct wire_record rec = { .type = WIRE_ACK, .ack = { .count = 1, .slots = { data->slot } } };

	if ((data->flags & WIRE_DATA_LAST) && !(data->flags & WIRE_DATA_HELD) && !bytes_one_in(t->b, 48))
		talk_say(t, &rec);
}

void talk_answer(struct talk *t, const struct wire_record *rec)
{
	struct wire_record done = { .type = WIRE_DONE };

	switch (rec->type) {
	case WIRE_FILE:
		hear_file(t, &rec->file);
		break;
	case WIRE_DATA:
		hear_data(t, &rec->data);
		break;
	case WIRE_CLOSE:
		say_result(t, rec->close.file);
		break;
	case WIRE_ABORT:
		if (rec->abort.file != WIRE_NO_FILE)
			say_result(t, rec->abort.file);
		break;
	case WIRE_END:
		talk_say(t, &done);
		break;
	default:
		break;
	}
}

/* ---- as the client of a pull -------------------------------------------------------------------------------- */

static void say_get(struct talk *t, uint32_t request)
{
	static const char *const paths[] = { "src",      "src/a",     "src/b",   "src/*", "",
					     "src/a/..", "../canary", "src/?/*", ".",     "/etc/passwd" };
	static const uint32_t flags[] = { WIRE_GET_TREE,
					  WIRE_GET_TREE | WIRE_GET_PRESERVE,
					  WIRE_GET_TREE | WIRE_GET_FOLLOW,
					  WIRE_GET_DENSE,
					  WIRE_GET_DIRECT,
					  WIRE_GET_CHECKSUM,
					  WIRE_GET_ASK,
					  WIRE_GET_RESUME,
					  WIRE_GET_TREE | WIRE_GET_PRESERVE | WIRE_GET_OWNER | WIRE_GET_XATTRS |
						  WIRE_GET_HARD_LINKS,
					  WIRE_GET_OWNER | WIRE_GET_NUMERIC_IDS,
					  WIRE_GET_TOTAL,
					  WIRE_GET_DRY_RUN,
					  WIRE_GET_LIST,
					  WIRE_GET_LIST | WIRE_GET_GLOB,
					  WIRE_GET_TREE | WIRE_GET_HARD_LINKS,
					  0 };
	struct wire_record rec = { .type = WIRE_GET };

	rec.get.request = request;
	rec.get.flags = bytes_pick(t->b, flags);
	if (bytes_one_in(t->b, 2))
		rec.get.flags |= bytes_pick(t->b, flags);
	rec.get.path = wire_text(bytes_pick(t->b, paths));
	talk_say(t, &rec);
}

static void say_filter(struct talk *t)
{
	static const char *const patterns[] = { "a", "*", "/b/", "**/c", "[!a]", "b/***" };
	struct wire_record rec = { .type = WIRE_FILTER };

	rec.filter.flags = bytes_below(t->b, 2) ? WIRE_FILTER_INCLUDE : 0;
	rec.filter.pattern = wire_text(bytes_pick(t->b, patterns));
	talk_say(t, &rec);
}

static void say_limit(struct talk *t)
{
	struct wire_record rec = { .type = WIRE_LIMIT };

	rec.limit.bytes_per_second = bytes_one_in(t->b, 4) ? 0 : 1U << 30;
	talk_say(t, &rec);
}

void talk_receive(struct talk *t)
{
	struct wire_record rec = { .type = WIRE_WINDOW, .window = { .base = 4096, .rkey = 1 } };
	uint32_t gets = 0;

	if (!bytes_one_in(t->b, 32))
		talk_say(t, &rec);
	while (bytes_one_in(t->b, 4))
		say_filter(t);
	while (t->b->left && !t->over && gets < 12 && !bytes_one_in(t->b, 6)) {
		say_get(t, gets++);
		if (bytes_one_in(t->b, 8))
			say_limit(t);
		if (bytes_one_in(t->b, 4))
			talk_listen(t, 1);
	}
	rec = (struct wire_record){ .type = WIRE_END, .end.files = gets };
	if (!bytes_one_in(t->b, 16))
		talk_say(t, &rec);
	talk_await(t, WIRE_END, 1);
	talk_flush(t);
}
