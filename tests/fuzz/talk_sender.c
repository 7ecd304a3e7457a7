/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The sender's part of a talk: files, their bytes and attributes, links, trees. Each step is one that a sender may take in that
 * state, as a rule; which one, and where the rule is broken, is the bytes' to decide.
 */
#include <string.h>

#include "common/error.h"
#include "common/util.h"
#include "talk.h"

#define STEPS 64

static struct talk_file *file_at(struct talk *t, uint32_t number)
{
	return &t->files[number % TALK_FILES];
}

/* A file that is open, if there is one; the latest as a rule. */
static uint32_t some_file(struct talk *t)
{
	uint32_t back = bytes_one_in(t->b, 4) ? bytes_below(t->b, 8) : 0;

	for (uint32_t i = t->count; i-- > 0 && t->count - i <= TALK_FILES;)
		if (file_at(t, i)->open && !back--)
			return i;
	return t->count ? t->count - 1 : 0;
}

/* ---- records ------------------------------------------------------------------------------------------------ */

static uint32_t some_flags(struct talk *t)
{
	static const uint32_t flags[] = {
		0,
		WIRE_FILE_PRESERVE,
		WIRE_FILE_SYNC,
		WIRE_FILE_NO_SYNC,
		WIRE_FILE_UNSIZED,
		WIRE_FILE_INTO_DIR,
		WIRE_FILE_NO_CLOBBER,
		WIRE_FILE_BELOW,
		WIRE_FILE_EXACT,
		WIRE_FILE_MAKE_PATH,
		WIRE_FILE_SPARSE,
		WIRE_FILE_RESUME,
		WIRE_FILE_DIRECT,
		WIRE_FILE_VERIFY,
		WIRE_FILE_ASK,
		WIRE_FILE_OWNER,
		WIRE_FILE_XATTRS,
		WIRE_FILE_OWNER | WIRE_FILE_XATTRS | WIRE_FILE_SPECIAL | WIRE_FILE_PRESERVE,
		WIRE_FILE_UPDATE,
		WIRE_FILE_SKIP_HELD,
		WIRE_FILE_CHECKSUM | WIRE_FILE_ASK,
		WIRE_FILE_DRY_RUN,
		WIRE_FILE_LEAVE,
		WIRE_FILE_DIRECTORY,
		WIRE_FILE_SYMLINK,
		WIRE_FILE_HARD_LINK,
	};
	uint32_t f = bytes_pick(t->b, flags);

	while (bytes_one_in(t->b, 2))
		f |= bytes_pick(t->b, flags);
	return f;
}

static uint32_t some_request(struct talk *t)
{
	if (!t->get_count)
		return 0;
	if (bytes_one_in(t->b, 4) && t->next_get + 1 < t->get_count)
		t->next_get++;
	return t->gets[t->next_get];
}

static void say_file(struct talk *t, uint32_t flags, const char *path, const char *name)
{
	struct wire_record rec = { .type = WIRE_FILE };
	struct talk_file *f = file_at(t, t->count);

	rec.file = (struct wire_file){
		.file = t->count,
		.request = some_request(t),
		.flags = flags,
		.mode = 0755 ^ bytes_take(t->b),
		.size = flags & (WIRE_FILE_DIRECTORY | WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK)
				? 0
				: bytes_number(t->b, bytes_one_in(t->b, 16) ? 7 : 2),
		.mtime_sec = 1700000000 + bytes_below(t->b, 3),
		.path = wire_text(path),
		.name = wire_text(name),
	};
	digest_init(&f->digest);
	f->flags = flags;
	f->request = rec.file.request;
	f->offset = 0;
	f->open = true;
	t->count++;
	talk_say(t, &rec);
}

static void say_data(struct talk *t, uint32_t number)
{
	static uint8_t bytes[1U << TALK_SLOT_LOG2];
	struct talk_file *f = file_at(t, number);
	struct wire_record rec = { .type = WIRE_DATA };
	uint32_t len =
		(uint32_t)(1 + bytes_number(t->b, 2) % (t->slot_size < sizeof(bytes) ? t->slot_size : sizeof(bytes)));
	bool held = (f->flags & WIRE_FILE_RESUME) && bytes_one_in(t->b, 2);

	memset(bytes, (int)(number + 1), len);
	if (bytes_one_in(t->b, 6)) /* a hole, or somewhere else */
		f->offset += bytes_number(t->b, bytes_one_in(t->b, 8) ? 8 : 3) & INT64_MAX;
	rec.data = (struct wire_data){ .file = number, .len = len, .offset = f->offset, .flags = WIRE_DATA_LAST };
	rec.data.hash = bytes_one_in(t->b, 32) ? 1 : digest_chunk(bytes, len);
	if (held) {
		rec.data.flags |= WIRE_DATA_HELD;
	} else {
		rec.data.slot = (uint16_t)(t->slot++ % t->slots);
		if (t->slot > t->slots) /* it is free again when it is acknowledged */
			talk_await(t, WIRE_ACK, t->slot - t->slots);
		talk_flush(t);
		talk_write(t, rec.data.slot, 0, bytes, len);
	}
	if (f->digest.state)
		digest_add(&f->digest, f->offset, len, rec.data.hash);
	f->offset += len;
	talk_say(t, &rec);
}

static void say_close(struct talk *t, uint32_t number)
{
	struct talk_file *f = file_at(t, number);
	struct wire_record rec = { .type = WIRE_CLOSE };

	rec.close.file = number;
	rec.close.size = f->offset;
	if (f->digest.state && !(f->flags & (WIRE_FILE_DIRECTORY | WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK)))
		digest_value(&f->digest, rec.close.digest);
	f->open = false;
	talk_say(t, &rec);
}

static void say_abort(struct talk *t, uint32_t number)
{
	struct wire_record rec = { .type = WIRE_ABORT };

	rec.abort.file = bytes_one_in(t->b, 4) ? WIRE_NO_FILE : number;
	rec.abort.request = some_request(t);
	rec.abort.status = STATUS_IO;
	rec.abort.text = wire_text("\033[2Jno");
	if (rec.abort.file == number)
		file_at(t, number)->open = false;
	talk_say(t, &rec);
}

static void say_link(struct talk *t, uint32_t number)
{
	static const char *const texts[] = { "a", "b", "../x", "/etc/passwd", "d/a", "nowhere", "a/../../../canary" };
	struct wire_record rec = { .type = WIRE_LINK };

	rec.link.file = number;
	rec.link.text = wire_text(bytes_pick(t->b, texts));
	talk_say(t, &rec);
}

/* Owner and one extended attribute, as attributes_blob.c has them; in one piece or more. */
static void say_attributes(struct talk *t, uint32_t number)
{
	static const uint8_t blob[] = "RA\1\3\0\0\0\0\0\0\0\0\14\0\0\0\0\0\0\0"
				      "\6\1\0\0\0user.ab";
	size_t len = sizeof(blob) - 1, half = bytes_one_in(t->b, 2) ? 10 : len;
	struct wire_record rec = { .type = WIRE_ATTRIBUTES };

	rec.attributes = (struct wire_attributes){ .file = number, .piece = blob, .len = (uint16_t)half };
	talk_say(t, &rec);
	rec.attributes.piece += half;
	rec.attributes.len = (uint16_t)(len - half);
	if (rec.attributes.len)
		talk_say(t, &rec);
}

static void say_sum(struct talk *t, uint32_t number)
{
	struct wire_record rec = { .type = WIRE_SUM };

	rec.sum.file = number;
	talk_say(t, &rec);
}

static void say_other(struct talk *t)
{
	struct wire_record rec = { 0 };

	switch (bytes_below(t->b, 5)) {
	case 0:
		rec.type = WIRE_PING;
		rec.ping.token = bytes_take(t->b);
		break;
	case 1:
		rec.type = WIRE_PARTIAL;
		rec.partial.name = wire_text(bytes_one_in(t->b, 2) ? ".part" : "a");
		break;
	case 2:
		rec.type = WIRE_TOTAL;
		rec.total.files = bytes_number(t->b, 8) >> 1;
		break;
	case 3:
		rec.type = WIRE_ENTRY;
		rec.entry.request = some_request(t);
		rec.entry.flags = bytes_below(t->b, 2) ? WIRE_ENTRY_LAST : WIRE_ENTRY_DIRECTORY;
		rec.entry.path = wire_text(rec.entry.flags & WIRE_ENTRY_LAST ? "" : "x/../../y");
		break;
	default:
		rec.type = bytes_below(t->b, 2) ? WIRE_DONE : WIRE_ERROR;
		rec.status.status = bytes_take(t->b);
		break;
	}
	talk_say(t, &rec);
}

/* ---- files and trees ---------------------------------------------------------------------------------------- */

static const char *some_path(struct talk *t)
{
	static const char *const paths[] = { "dst", "dst/a", "dst/b", "dst/new", "dst/a/b", "", "../x", "/etc/x", "." };

	return bytes_pick(t->b, paths);
}

static const char *some_name(struct talk *t)
{
	static const char *const names[] = { "a", "b", "c", "d", ".rdcp-part", "f\n\xff" };

	return bytes_pick(t->b, names);
}

/* What follows FILE, as its flags ask for it. */
static void say_body(struct talk *t, uint32_t number)
{
	uint32_t flags = file_at(t, number)->flags;

	if (flags & WIRE_FILE_CHECKSUM)
		say_sum(t, number);
	if (flags & (WIRE_FILE_OWNER | WIRE_FILE_XATTRS) && !bytes_one_in(t->b, 8))
		say_attributes(t, number);
	if (flags & (WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK))
		say_link(t, number);
	if (flags & (WIRE_FILE_RESUME | WIRE_FILE_ASK) && !bytes_one_in(t->b, 4))
		talk_await(t, WIRE_HAVE, 1);
	if (!(flags & (WIRE_FILE_DIRECTORY | WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK | WIRE_FILE_DRY_RUN)))
		while (bytes_one_in(t->b, 2))
			say_data(t, number);
}

static void say_whole_file(struct talk *t, uint32_t flags, const char *path, const char *name)
{
	uint32_t number = t->count;

	say_file(t, flags, path, name);
	say_body(t, number);
	if (bytes_one_in(t->b, 8))
		say_abort(t, number);
	else
		say_close(t, number);
}

static void say_tree(struct talk *t)
{
	static const uint32_t kinds[] = { 0, 0, WIRE_FILE_DIRECTORY, WIRE_FILE_SYMLINK, WIRE_FILE_HARD_LINK };
	static const char *const below[] = { "", "", "d", "a", "b" };
	uint32_t wishes = some_flags(t) & WIRE_FILE_WISHES;
	uint32_t first = t->count;

	say_whole_file(t, WIRE_FILE_DIRECTORY | wishes, some_path(t), "t");
	if (!bytes_one_in(t->b, 8))
		talk_await(t, WIRE_RESULT, first + 1);
	for (unsigned int n = bytes_below(t->b, 8); n && !t->over; n--)
		say_whole_file(t, bytes_pick(t->b, kinds) | WIRE_FILE_BELOW | wishes, bytes_pick(t->b, below),
			       some_name(t));
	if (!bytes_one_in(t->b, 8))
		talk_await(t, WIRE_RESULT, t->count);
	if (bytes_below(t->b, 2))
		say_whole_file(t, WIRE_FILE_DIRECTORY | WIRE_FILE_BELOW | WIRE_FILE_LEAVE | wishes, "", "d");
	say_whole_file(t, WIRE_FILE_DIRECTORY | WIRE_FILE_LEAVE | wishes, "", "t");
}

static void step(struct talk *t)
{
	switch (bytes_below(t->b, 16)) {
	case 0:
	case 1:
		say_file(t, some_flags(t), some_path(t), some_name(t));
		break;
	case 2:
	case 3:
		say_data(t, some_file(t));
		break;
	case 4:
		say_close(t, some_file(t));
		break;
	case 5:
		say_abort(t, some_file(t));
		break;
	case 6:
		say_link(t, some_file(t));
		break;
	case 7:
		say_attributes(t, some_file(t));
		break;
	case 8:
		say_sum(t, some_file(t));
		break;
	case 9:
		say_other(t);
		break;
	case 10:
		talk_flush(t);
		talk_listen(t, 2);
		break;
	case 11:
	case 12:
		say_tree(t);
		break;
	default:
		say_whole_file(t, some_flags(t), some_path(t), some_name(t));
	}
}

void talk_send(struct talk *t)
{
	struct wire_record end = { .type = WIRE_END };

	for (unsigned int i = 0; i < STEPS && t->b->left && !t->over; i++) {
		step(t);
		if (!bytes_one_in(t->b, 4))
			talk_listen(t, 0);
	}
	for (uint32_t i = 0; i < t->count; i++)
		if (t->count - i <= TALK_FILES && file_at(t, i)->open && !bytes_one_in(t->b, 8))
			say_close(t, i);
	end.end.files = t->count;
	talk_say(t, &end);
	talk_await(t, WIRE_DONE, 1);
}
