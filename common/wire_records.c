// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * The records of wire.h, one after the other: for each stand side by side its layout, put, get, and one predicate that says what
 * is in range, for encoder and decoder alike. Reserved bytes and unknown flags are refused: what they come to mean needs
 * a new version. Called by wire.c; allocates nothing, keeps nothing.
 */
#include "wire_records.h"

#include <assert.h>
#include <string.h>

#include "util.h"

#define FILE_KINDS (WIRE_FILE_DIRECTORY | WIRE_FILE_SYMLINK | WIRE_FILE_HARD_LINK)
#define FILE_FLAGS                                                                                    \
	(WIRE_FILE_WISHES | WIRE_FILE_UNSIZED | WIRE_FILE_SPARSE | WIRE_FILE_RESUME | WIRE_FILE_ASK | \
	 WIRE_FILE_CHECKSUM | FILE_KINDS | WIRE_FILE_BELOW | WIRE_FILE_LEAVE)
#define GET_FLAGS                                                                                                    \
	(WIRE_GET_TREE | WIRE_GET_PRESERVE | WIRE_GET_CHECKSUM | WIRE_GET_DENSE | WIRE_GET_DIRECT | WIRE_GET_OWNER | \
	 WIRE_GET_XATTRS | WIRE_GET_NUMERIC_IDS | WIRE_GET_HARD_LINKS | WIRE_GET_FOLLOW | WIRE_GET_DRY_RUN |         \
	 WIRE_GET_LIST | WIRE_GET_GLOB | WIRE_GET_RESUME | WIRE_GET_TOTAL | WIRE_GET_ASK)
#define ENTRY_FLAGS (WIRE_ENTRY_DIRECTORY | WIRE_ENTRY_LAST)
#define FILE_FIXED_SIZE 38

static_assert(WIRE_RECORD_HEADER + FILE_FIXED_SIZE + WIRE_PATH_MAX + WIRE_NAME_MAX <= WIRE_RECORDS_MAX,
	      "the longest record fits a message");
static_assert(WIRE_RECORD_HEADER + 2 + 2 * WIRE_ACK_MAX <= WIRE_RECORDS_MAX, "the longest ACK fits a message");
static_assert(WIRE_RECORDS_MAX <= UINT16_MAX, "lengths of records and messages are u16");

/* The text of a status: cut, because a sentence that is too long must not cost the status it explains. */
static void put_status_text(struct writer *w, struct wire_text t)
{
	put_bytes(w, t.data, min_size(t.len, WIRE_TEXT_MAX));
}

static bool text_ok(struct wire_text t, size_t least, size_t most)
{
	return t.len >= least && t.len <= most && (!t.len || !memchr(t.data, '\0', t.len));
}

static bool status_text_ok(struct wire_text t)
{
	return !t.len || !memchr(t.data, '\0', min_size(t.len, WIRE_TEXT_MAX));
}

/* FILE: 0 file u32, 4 request u32, 8 flags u32, 12 mode u32, 16 size u64, 24 mtime_sec i64, 32 mtime_nsec u32,
 * 36 path_len u16, 38 path[path_len], the rest is name */
static void put_file(struct writer *w, const struct wire_record *rec)
{
	const struct wire_file *f = &rec->file;

	put_u32(w, f->file);
	put_u32(w, f->request);
	put_u32(w, f->flags);
	put_u32(w, f->mode);
	put_u64(w, f->size);
	put_u64(w, (uint64_t)f->mtime_sec);
	put_u32(w, f->mtime_nsec);
	put_u16(w, f->path.len);
	put_bytes(w, f->path.data, f->path.len);
	put_bytes(w, f->name.data, f->name.len);
}

static void get_file(struct reader *r, struct wire_record *rec)
{
	struct wire_file *f = &rec->file;

	f->file = get_u32(r);
	f->request = get_u32(r);
	f->flags = get_u32(r);
	f->mode = get_u32(r);
	f->size = get_u64(r);
	f->mtime_sec = (int64_t)get_u64(r);
	f->mtime_nsec = get_u32(r);
	f->path = get_text(r, get_u16(r));
	f->name = get_rest(r, WIRE_NAME_MAX);
}

/* One component that can be a name. */
static bool name_ok(struct wire_text n)
{
	if (!text_ok(n, 1, WIRE_NAME_MAX) || memchr(n.data, '/', n.len))
		return false;
	return !(n.data[0] == '.' && (n.len == 1 || (n.len == 2 && n.data[1] == '.')));
}

static bool kind_ok(const struct wire_file *f)
{
	uint32_t kind = f->flags & FILE_KINDS;

	if (kind & (kind - 1)) /* two of them */
		return false;
	if ((f->flags & WIRE_FILE_RESUME) && (f->flags & WIRE_FILE_ASK)) /* one HAVE would be two */
		return false;
	if ((f->flags & WIRE_FILE_LEAVE) && kind != WIRE_FILE_DIRECTORY)
		return false;
	if (kind == WIRE_FILE_HARD_LINK && !(f->flags & WIRE_FILE_BELOW))
		return false;
	return !kind ||
	       (!f->size && !(f->flags & (WIRE_FILE_UNSIZED | WIRE_FILE_SPARSE | WIRE_FILE_RESUME | WIRE_FILE_ASK)));
}

static bool file_ok(const struct wire_record *rec)
{
	const struct wire_file *f = &rec->file;

	if ((f->flags & ~(uint32_t)FILE_FLAGS) || f->mode > 07777)
		return false;
	if (f->size > INT64_MAX || f->mtime_nsec >= SEC || !kind_ok(f))
		return false;
	return text_ok(f->path, 0, WIRE_PATH_MAX) && name_ok(f->name);
}

/* DATA: 0 file u32, 4 slot u16, 6 flags u16, 8 slot_off u32, 12 len u32, 16 offset u64, 24 hash u64 */
static void put_data(struct writer *w, const struct wire_record *rec)
{
	const struct wire_data *d = &rec->data;

	put_u32(w, d->file);
	put_u16(w, d->slot);
	put_u16(w, d->flags);
	put_u32(w, d->slot_off);
	put_u32(w, d->len);
	put_u64(w, d->offset);
	put_u64(w, d->hash);
}

static void get_data(struct reader *r, struct wire_record *rec)
{
	struct wire_data *d = &rec->data;

	d->file = get_u32(r);
	d->slot = get_u16(r);
	d->flags = get_u16(r);
	d->slot_off = get_u32(r);
	d->len = get_u32(r);
	d->offset = get_u64(r);
	d->hash = get_u64(r);
}

static bool data_ok(const struct wire_record *rec)
{
	const struct wire_data *d = &rec->data;

	if ((d->flags & WIRE_DATA_HELD) && (d->slot || d->slot_off || (d->flags & WIRE_DATA_LAST)))
		return false;
	return !(d->flags & ~(WIRE_DATA_LAST | WIRE_DATA_HELD)) && d->len && d->offset <= (uint64_t)INT64_MAX - d->len;
}

/* CLOSE: 0 file u32, 4 size u64, 12 digest[16] */
static void put_close(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->close.file);
	put_u64(w, rec->close.size);
	put_bytes(w, rec->close.digest, sizeof(rec->close.digest));
}

static void get_close(struct reader *r, struct wire_record *rec)
{
	rec->close.file = get_u32(r);
	rec->close.size = get_u64(r);
	get_copy(r, rec->close.digest, sizeof(rec->close.digest));
}

static bool close_ok(const struct wire_record *rec)
{
	return rec->close.size <= INT64_MAX;
}

/* ABORT: 0 file u32, 4 request u32, 8 status u16, the rest is text */
static void put_abort(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->abort.file);
	put_u32(w, rec->abort.request);
	put_u16(w, rec->abort.status);
	put_status_text(w, rec->abort.text);
}

static void get_abort(struct reader *r, struct wire_record *rec)
{
	rec->abort.file = get_u32(r);
	rec->abort.request = get_u32(r);
	rec->abort.status = get_u16(r);
	rec->abort.text = get_rest(r, WIRE_TEXT_MAX);
}

static bool abort_ok(const struct wire_record *rec)
{
	return status_text_ok(rec->abort.text);
}

/* END: 0 files u64 */
static void put_end(struct writer *w, const struct wire_record *rec)
{
	put_u64(w, rec->end.files);
}

static void get_end(struct reader *r, struct wire_record *rec)
{
	rec->end.files = get_u64(r);
}

/* ACK: 0 count u16, 2 slots[count] u16 */
static void put_ack(struct writer *w, const struct wire_record *rec)
{
	put_u16(w, rec->ack.count);
	for (unsigned int i = 0; i < rec->ack.count; i++)
		put_u16(w, rec->ack.slots[i]);
}

static void get_ack(struct reader *r, struct wire_record *rec)
{
	rec->ack.count = get_u16(r);
	for (unsigned int i = 0; i < rec->ack.count && i < WIRE_ACK_MAX; i++)
		rec->ack.slots[i] = get_u16(r);
}

static bool ack_ok(const struct wire_record *rec)
{
	return rec->ack.count >= 1 && rec->ack.count <= WIRE_ACK_MAX;
}

/* RESULT: 0 file u32, 4 status u16, the rest is text */
static void put_result(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->result.file);
	put_u16(w, rec->result.status);
	put_u16(w, rec->result.flags);
	put_status_text(w, rec->result.text);
}

static void get_result(struct reader *r, struct wire_record *rec)
{
	rec->result.file = get_u32(r);
	rec->result.status = get_u16(r);
	rec->result.flags = get_u16(r);
	rec->result.text = get_rest(r, WIRE_TEXT_MAX);
}

static bool result_ok(const struct wire_record *rec)
{
	return status_text_ok(rec->result.text);
}

/* WINDOW: 0 base u64, 8 rkey u32, 12 max_files u16 */
static void put_window(struct writer *w, const struct wire_record *rec)
{
	put_u64(w, rec->window.base);
	put_u32(w, rec->window.rkey);
	put_u16(w, rec->window.max_files);
}

static void get_window(struct reader *r, struct wire_record *rec)
{
	rec->window.base = get_u64(r);
	rec->window.rkey = get_u32(r);
	rec->window.max_files = get_u16(r);
}

/* GET: 0 request u32, 4 flags u32, the rest is path */
static void put_get(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->get.request);
	put_u32(w, rec->get.flags);
	put_bytes(w, rec->get.path.data, rec->get.path.len);
}

static void get_get(struct reader *r, struct wire_record *rec)
{
	rec->get.request = get_u32(r);
	rec->get.flags = get_u32(r);
	rec->get.path = get_rest(r, WIRE_PATH_MAX);
}

static bool get_ok(const struct wire_record *rec)
{
	if ((rec->get.flags & ~(uint32_t)GET_FLAGS) ||
	    ((rec->get.flags & WIRE_GET_GLOB) && !(rec->get.flags & WIRE_GET_LIST)))
		return false;
	return text_ok(rec->get.path, 1, WIRE_PATH_MAX);
}

/* LINK: 0 file u32, the rest is text */
static void put_link(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->link.file);
	put_bytes(w, rec->link.text.data, rec->link.text.len);
}

static void get_link(struct reader *r, struct wire_record *rec)
{
	rec->link.file = get_u32(r);
	rec->link.text = get_rest(r, WIRE_PATH_MAX);
}

static bool link_ok(const struct wire_record *rec)
{
	return text_ok(rec->link.text, 1, WIRE_PATH_MAX);
}

/* FILTER: 0 flags u32, the rest is pattern */
static void put_filter(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->filter.flags);
	put_bytes(w, rec->filter.pattern.data, rec->filter.pattern.len);
}

static void get_filter(struct reader *r, struct wire_record *rec)
{
	rec->filter.flags = get_u32(r);
	rec->filter.pattern = get_rest(r, WIRE_PATH_MAX);
}

static bool filter_ok(const struct wire_record *rec)
{
	return !(rec->filter.flags & ~(uint32_t)WIRE_FILTER_INCLUDE) && text_ok(rec->filter.pattern, 1, WIRE_PATH_MAX);
}

/* ENTRY: 0 request u32, 4 flags u32, the rest is path */
static void put_entry(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->entry.request);
	put_u32(w, rec->entry.flags);
	put_bytes(w, rec->entry.path.data, rec->entry.path.len);
}

static void get_entry(struct reader *r, struct wire_record *rec)
{
	rec->entry.request = get_u32(r);
	rec->entry.flags = get_u32(r);
	rec->entry.path = get_rest(r, WIRE_PATH_MAX);
}

static bool entry_ok(const struct wire_record *rec)
{
	const struct wire_entry *e = &rec->entry;

	if (e->flags & WIRE_ENTRY_LAST)
		return e->flags == WIRE_ENTRY_LAST && !e->path.len;
	return !(e->flags & ~(uint32_t)ENTRY_FLAGS) && text_ok(e->path, 1, WIRE_PATH_MAX) && e->path.data[0] != '/';
}

/* LIMIT: 0 bytes_per_second u64 (0: no limit any more) */
static void put_limit(struct writer *w, const struct wire_record *rec)
{
	put_u64(w, rec->limit.bytes_per_second);
}

static void get_limit(struct reader *r, struct wire_record *rec)
{
	rec->limit.bytes_per_second = get_u64(r);
}

/* PARTIAL: all of it is name */
static void put_partial(struct writer *w, const struct wire_record *rec)
{
	put_bytes(w, rec->partial.name.data, rec->partial.name.len);
}

static void get_partial(struct reader *r, struct wire_record *rec)
{
	rec->partial.name = get_rest(r, WIRE_NAME_MAX);
}

static bool partial_ok(const struct wire_record *rec)
{
	return name_ok(rec->partial.name);
}

/* ATTRIBUTES: 0 file u32, the rest is piece */
static void put_attributes(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->attributes.file);
	put_bytes(w, rec->attributes.piece, rec->attributes.len);
}

static void get_attributes(struct reader *r, struct wire_record *rec)
{
	rec->attributes.file = get_u32(r);
	rec->attributes.len = (uint16_t)min_size(r->left, UINT16_MAX);
	rec->attributes.piece = get_bytes(r, r->left);
}

static bool attributes_ok(const struct wire_record *rec)
{
	return rec->attributes.len && rec->attributes.len <= WIRE_PIECE_MAX;
}

/* PING, PONG: 0 token u64, 8 worked u64, 16 flags u16 */
static void put_ping(struct writer *w, const struct wire_record *rec)
{
	put_u64(w, rec->ping.token);
	put_u64(w, rec->ping.worked);
	put_u16(w, rec->ping.flags);
}

static void get_ping(struct reader *r, struct wire_record *rec)
{
	rec->ping.token = get_u64(r);
	rec->ping.worked = get_u64(r);
	rec->ping.flags = get_u16(r);
}

/* DONE, ERROR: 0 status u16, the rest is text */
static void put_status(struct writer *w, const struct wire_record *rec)
{
	put_u16(w, rec->status.status);
	put_status_text(w, rec->status.text);
}

static void get_status(struct reader *r, struct wire_record *rec)
{
	rec->status.status = get_u16(r);
	rec->status.text = get_rest(r, WIRE_TEXT_MAX);
}

static bool status_ok(const struct wire_record *rec)
{
	return status_text_ok(rec->status.text);
}

static bool any_ok(const struct wire_record *rec)
{
	return true;
}

/* HAVE: 0 file u32, 4 flags u16, 6 count u16, 8 first u64, 16 hashes[count] u64 */
static void put_have(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->have.file);
	put_u16(w, rec->have.flags);
	put_u16(w, rec->have.count);
	put_u64(w, rec->have.first);
	for (unsigned int i = 0; i < rec->have.count; i++)
		put_u64(w, rec->have.hashes[i]);
}

static void get_have(struct reader *r, struct wire_record *rec)
{
	rec->have.file = get_u32(r);
	rec->have.flags = get_u16(r);
	rec->have.count = get_u16(r);
	rec->have.first = get_u64(r);
	for (unsigned int i = 0; i < rec->have.count && i < WIRE_HAVE_MAX; i++)
		rec->have.hashes[i] = get_u64(r);
}

static bool have_ok(const struct wire_record *rec)
{
	const struct wire_have *h = &rec->have;

	return !(h->flags & ~WIRE_HAVE_LAST) && h->count <= WIRE_HAVE_MAX && h->first <= WIRE_PIECES_MAX - h->count;
}

/* SUM: 0 file u32, 4 sum[16] */
static void put_sum(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->sum.file);
	put_bytes(w, rec->sum.sum, sizeof(rec->sum.sum));
}

static void get_sum(struct reader *r, struct wire_record *rec)
{
	rec->sum.file = get_u32(r);
	get_copy(r, rec->sum.sum, sizeof(rec->sum.sum));
}

/* TOTAL: 0 files u64, 8 bytes u64 */
static void put_total(struct writer *w, const struct wire_record *rec)
{
	put_u64(w, rec->total.files);
	put_u64(w, rec->total.bytes);
}

static void get_total(struct reader *r, struct wire_record *rec)
{
	rec->total.files = get_u64(r);
	rec->total.bytes = get_u64(r);
}

static bool total_ok(const struct wire_record *rec)
{
	return rec->total.files <= INT64_MAX && rec->total.bytes <= INT64_MAX;
}

/* HERE: 0 file u32, 4 dev u64, 12 ino u64, 20 started_ns i64 */
static void put_here(struct writer *w, const struct wire_record *rec)
{
	put_u32(w, rec->here.file);
	put_u64(w, rec->here.dev);
	put_u64(w, rec->here.ino);
	put_u64(w, (uint64_t)rec->here.started_ns);
}

static void get_here(struct reader *r, struct wire_record *rec)
{
	rec->here.file = get_u32(r);
	rec->here.dev = get_u64(r);
	rec->here.ino = get_u64(r);
	rec->here.started_ns = (int64_t)get_u64(r);
}

static const struct record_kind kinds[WIRE_TYPE_END] = {
	[WIRE_FILE] = { "FILE", put_file, get_file, file_ok },
	[WIRE_DATA] = { "DATA", put_data, get_data, data_ok },
	[WIRE_CLOSE] = { "CLOSE", put_close, get_close, close_ok },
	[WIRE_ABORT] = { "ABORT", put_abort, get_abort, abort_ok },
	[WIRE_END] = { "END", put_end, get_end, any_ok },
	[WIRE_ACK] = { "ACK", put_ack, get_ack, ack_ok },
	[WIRE_RESULT] = { "RESULT", put_result, get_result, result_ok },
	[WIRE_DONE] = { "DONE", put_status, get_status, status_ok },
	[WIRE_WINDOW] = { "WINDOW", put_window, get_window, any_ok },
	[WIRE_GET] = { "GET", put_get, get_get, get_ok },
	[WIRE_PING] = { "PING", put_ping, get_ping, any_ok },
	[WIRE_PONG] = { "PONG", put_ping, get_ping, any_ok },
	[WIRE_ERROR] = { "ERROR", put_status, get_status, status_ok },
	[WIRE_LINK] = { "LINK", put_link, get_link, link_ok },
	[WIRE_HAVE] = { "HAVE", put_have, get_have, have_ok },
	[WIRE_ATTRIBUTES] = { "ATTRIBUTES", put_attributes, get_attributes, attributes_ok },
	[WIRE_FILTER] = { "FILTER", put_filter, get_filter, filter_ok },
	[WIRE_ENTRY] = { "ENTRY", put_entry, get_entry, entry_ok },
	[WIRE_LIMIT] = { "LIMIT", put_limit, get_limit, any_ok },
	[WIRE_SUM] = { "SUM", put_sum, get_sum, any_ok },
	[WIRE_PARTIAL] = { "PARTIAL", put_partial, get_partial, partial_ok },
	[WIRE_TOTAL] = { "TOTAL", put_total, get_total, total_ok },
	[WIRE_HERE] = { "HERE", put_here, get_here, any_ok },
};

const struct record_kind *record_kind(unsigned int type)
{
	return type < WIRE_TYPE_END && kinds[type].name ? &kinds[type] : NULL;
}
