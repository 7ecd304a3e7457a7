/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The harness of the engine suites, see engine_pair.h. A step that fails fails the test. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/digest.h"
#include "common/outfile.h"
#include "engine_pair.h"
#include "tests/fault.h"

#define SILENCE (5 * SEC)

static struct session_end *end_of(struct side *side)
{
	struct session *s = container_of(side->pair, struct session, pair);

	return side == &s->pair.client ? &s->client : &s->server;
}

/* ---- the owners of the engines ------------------------------------------------------------------------------ */

static void settle(struct session_end *e, uint32_t i, uint64_t bytes, enum status status, bool by_peer,
		   const char *text)
{
	struct verdict *v;

	ck_assert_uint_lt(i, SESSION_FILES);
	v = &e->verdicts[i];
	v->calls++;
	v->status = status;
	v->bytes = bytes;
	v->by_peer = by_peer;
	snprintf(v->text, sizeof(v->text), "%s", text);
}

static void note_entry(struct session_end *e, const char *path, enum status status, const char *text)
{
	e->entries++;
	if (status == STATUS_OK)
		return;
	e->failed_entries++;
	e->entry_status = status;
	snprintf(e->entry_path, sizeof(e->entry_path), "%s", path);
	snprintf(e->entry_text, sizeof(e->entry_text), "%s", text);
}

static void on_idle(void *owner)
{
	struct session_end *e = owner;

	ck_assert(!e->idle);
	e->idle = true;
	pair_check(&e->session->pair);
}

static int on_next(void *owner, struct send_item *ret_item)
{
	struct session_end *e = owner;
	struct session *s = e->session;
	const struct session_file *f = &s->files[s->next];
	const char *slash = strrchr(f->from, '/');

	if (s->next == s->count)
		return -ENODATA;
	*ret_item = (struct send_item){
		.root = AT_FDCWD,
		.path = strdup(f->from),
		.target = strdup(f->target ? f->target : f->to),
		.name = strdup(f->name ? f->name
			       : slash ? slash + 1
				       : f->from),
		.request = s->next++,
		.flags = f->flags,
		.recurse = f->recurse,
		.follow = f->follow,
		.hard_links = f->hard_links,
		.resume = f->resume,
		.ask = f->ask,
		.dense = f->dense,
		.seen = f->seen,
	};
	if (f->seen)
		ret_item->stat = *f->seen;
	return 1;
}

static void on_sent(void *owner, const struct send_item *item, uint64_t bytes, enum status status, bool by_peer,
		    const char *text)
{
	if (send_item_is_last(item, status))
		settle(owner, item->request, bytes, status, by_peer, text);
	else
		note_entry(owner, item->path, status, text);
}

static void on_send_done(void *owner, enum status status, const char *text)
{
	struct session_end *e = owner;

	e->done++;
	e->done_status = status;
	peer_end(&e->peer, STATUS_OK, false, NULL);
}

static const struct sender_events sender_events = {
	.next = on_next,
	.file_done = on_sent,
	.done = on_send_done,
	.idle = on_idle,
};

static enum status on_place(void *owner, const struct wire_file *file, struct receive_place *ret_place, char *text)
{
	struct session_end *e = owner;
	enum status status = e->session->place ? e->session->place(e->session, file, text) : STATUS_OK;

	ret_place->root = e->session->root;
	ret_place->stream = e->session->stream;
	snprintf(ret_place->path, sizeof(ret_place->path), "%.*s", file->path.len, file->path.data);
	snprintf(ret_place->name, sizeof(ret_place->name), "%.*s", file->name.len, file->name.data);
	ret_place->flags = receive_place_flags(file->flags);
	return status;
}

static void on_stored(void *owner, const struct receive_place *place, uint32_t request, uint64_t bytes,
		      enum status status, const char *text)
{
	if (receive_place_is_last(place, status))
		settle(owner, request, bytes, status, false, text);
	else
		note_entry(owner, place->path + place->below, status, text);
}

static int on_refused(void *owner, uint32_t request, enum status status, const char *text)
{
	struct session_end *e = owner;

	if (request >= e->session->count)
		return -EPROTO;
	settle(e, request, 0, status, true, text);
	return 0;
}

static void on_receive_done(void *owner)
{
	struct session_end *e = owner;

	e->done++;
	peer_end(&e->peer, STATUS_OK, true, NULL);
}

static const struct receiver_events receiver_events = {
	.place = on_place,
	.file_done = on_stored,
	.refused = on_refused,
	.done = on_receive_done,
	.idle = on_idle,
};

/* ---- actors ------------------------------------------------------------------------------------------------- */

static void note(char *out, size_t size, struct wire_text text)
{
	snprintf(out, size, "%.*s", text.len, text.data);
}

static void hear(struct session_end *e, const struct wire_record *rec)
{
	e->heard[rec->type]++;
	if (rec->type == WIRE_RESULT) {
		char text[WIRE_TEXT_MAX + 1];

		note(text, sizeof(text), rec->result.text);
		settle(e, rec->result.file % SESSION_FILES, 0, (enum status)rec->result.status, true, text);
	}
	if (rec->type == WIRE_ERROR) {
		e->error = (enum status)rec->status.status;
		note(e->error_text, sizeof(e->error_text), rec->status.text);
	}
	if ((rec->type == WIRE_ERROR || rec->type == WIRE_DONE) && !e->stays)
		endpoint_close(e->side->ep);
	else if (e->react)
		e->react(e, rec);
}

void actor_say_bytes(struct session_end *e, const void *bytes, size_t len)
{
	ck_assert(side_say(e->side, bytes, len));
}

void actor_say(struct session_end *e, const struct wire_record *rec)
{
	uint8_t buf[WIRE_MESSAGE_MAX];
	ssize_t n = wire_encode(rec, buf, sizeof(buf));

	ck_assert_int_gt(n, 0);
	actor_say_bytes(e, buf, (size_t)n);
}

void actor_say_file(struct session_end *e, uint32_t number, const char *to, uint32_t flags)
{
	struct wire_record rec = { .type = WIRE_FILE };

	rec.file = (struct wire_file){
		.file = number,
		.request = number % SESSION_FILES,
		.flags = flags,
		.mode = 0644,
		.path = wire_text(to),
		.name = wire_text("name"),
	};
	actor_say(e, &rec);
}

struct wire_record actor_data(struct session_end *e, uint32_t file, unsigned int slot, const void *bytes, size_t len)
{
	struct wire_record rec = { .type = WIRE_DATA };

	memcpy(slab_slot(&e->side->slab, slot), bytes, len);
	ck_assert_int_eq(side_write(e->side, &e->posts[slot], slot, 0, len), 0);
	rec.data = (struct wire_data){
		.file = file,
		.slot = (uint16_t)slot,
		.flags = WIRE_DATA_LAST,
		.len = (uint32_t)len,
		.hash = digest_chunk(bytes, len),
	};
	return rec;
}

struct wire_record actor_close(uint32_t file, const struct wire_record *data)
{
	struct wire_record rec = { .type = WIRE_CLOSE, .close.file = file };
	struct digest digest = { 0 };

	ck_assert_int_eq(digest_init(&digest), 0);
	if (data) {
		digest_add(&digest, data->data.offset, data->data.len, data->data.hash);
		rec.close.size = data->data.offset + data->data.len;
	}
	digest_value(&digest, rec.close.digest);
	digest_done(&digest);
	return rec;
}

void actor_say_end(struct session_end *e, uint64_t files)
{
	const struct wire_record rec = { .type = WIRE_END, .end.files = files };

	actor_say(e, &rec);
}

/* ---- the session -------------------------------------------------------------------------------------------- */

static void on_message(struct side *side, const uint8_t *records, size_t len)
{
	struct session_end *e = end_of(side);
	struct wire_record rec;

	if (e->role != END_ACTOR) {
		peer_on_message(&e->peer, records, len);
		return;
	}
	while (len) {
		ck_assert_int_eq(wire_decode(&records, &len, &rec), 0);
		hear(e, &rec);
	}
}

static void on_writable(struct side *side)
{
	struct session_end *e = end_of(side);

	if (e->role != END_ACTOR)
		peer_on_writable(&e->peer);
}

/* What a receiver's owner does, see rdcpd/store.c. */
static int on_record(void *owner, const struct wire_record *rec)
{
	struct session_end *e = owner;

	if (e->role != END_RECEIVER || rec->type != WIRE_PARTIAL ||
	    receiver_keep_partials_in(e->receiver, &rec->partial.name) < 0)
		return -EPROTO;
	return 0;
}

static const struct peer_events peer_events = { .record = on_record };

static void on_closed(struct session_end *e)
{
	if (!e->side->closed || e->told_closed)
		return;
	e->told_closed = true;
	if (e->role == END_ACTOR) {
		e->idle = true;
		return;
	}
	peer_on_closed(&e->peer, &e->side->fault);
	if (e->sender)
		sender_stop(e->sender);
	else
		receiver_stop(e->receiver);
}

/* Looked at after every event of the endpoints, so this is where their end is told. */
static bool over(struct pair *p)
{
	struct session *s = container_of(p, struct session, pair);

	on_closed(&s->client);
	on_closed(&s->server);
	return s->client.told_closed && s->client.idle && s->server.told_closed && s->server.idle;
}

static void end_start(struct session_end *e)
{
	struct session *s = e->session;

	e->side->on_message = on_message;
	e->side->on_writable = on_writable;
	if (e->role == END_ACTOR)
		return;
	peer_init(&e->peer, &s->pair.loop, s->silence_ns, &peer_events, e);
	e->peer.memory = s->memory;
	ck_assert_int_eq(ioqueue_new(&s->pair.loop, s->threads, &e->io), 0);
	if (e->role == END_SENDER)
		ck_assert_int_eq(
			sender_new(&e->peer, &e->side->slab, e->io, s->max_files, &sender_events, e, &e->sender), 0);
	else
		ck_assert_int_eq(receiver_new(&e->peer, &e->side->slab, e->io, &receiver_events, e, &e->receiver), 0);
	peer_start(&e->peer, e->side->ep);
	if (e->receiver)
		receiver_limit(e->receiver, s->receiver_limit);
	if (e->sender) {
		sender_limit(e->sender, s->sender_limit);
		sender_kick(e->sender);
	}
}

static void end_done(struct session_end *e)
{
	if (e->role == END_ACTOR)
		return;
	sender_free(e->sender);
	receiver_free(e->receiver);
	ioqueue_free(e->io);
	peer_done(&e->peer);
}

void session_init(struct session *s, int transport, int root, bool server_sends, enum end_role from, enum end_role to)
{
	memset(s, 0, sizeof(*s));
	pair_init(&s->pair, transport);
	s->root = root;
	s->threads = 2;
	s->max_files = RECEIVER_MAX_FILES;
	s->silence_ns = SILENCE;
	s->client = (struct session_end){ .session = s, .side = &s->pair.client, .role = server_sends ? to : from };
	s->server = (struct session_end){ .session = s, .side = &s->pair.server, .role = server_sends ? from : to };
	s->from = server_sends ? &s->server : &s->client;
	s->to = server_sends ? &s->client : &s->server;
}

void session_add(struct session *s, const char *from, const char *to, uint32_t flags)
{
	struct session_file *f = &s->files[s->count++];

	ck_assert_uint_le(s->count, SESSION_FILES);
	snprintf(f->from, sizeof(f->from), "%s", from);
	snprintf(f->to, sizeof(f->to), "%s", to);
	f->flags = flags;
}

void session_add_tree(struct session *s, const char *from, const char *to, uint32_t flags)
{
	session_add(s, from, to, flags);
	s->files[s->count - 1].recurse = true;
}

void session_run(struct session *s)
{
	pair_connect(&s->pair);
	end_start(&s->client);
	end_start(&s->server);
#ifdef RDCP_FAULTS
	fault_set(s->fault, s->fault_error);
#endif
	if (s->from->begin)
		s->from->begin(s->from);
	if (s->to->begin)
		s->to->begin(s->to);
	pair_run(&s->pair, over);
}

void session_done(struct session *s)
{
	end_done(&s->client);
	end_done(&s->server);
	pair_done(&s->pair);
}

/* ---- what is expected --------------------------------------------------------------------------------------- */

void end_expect(const struct session_end *e, enum status status)
{
	ck_assert_msg(e->peer.end.status == status && !e->peer.end.by_peer && !e->peer.end.by_connection,
		      "ended with status %d%s%s: %s", e->peer.end.status, e->peer.end.by_peer ? " by the peer" : "",
		      e->peer.end.by_connection ? " by the connection" : "", e->peer.end.text);
}

void session_expect(const struct session *s, unsigned int i, enum status status)
{
	const struct verdict *from = &s->from->verdicts[i], *to = &s->to->verdicts[i];

	ck_assert_msg(from->calls == 1 && from->status == status, "sender of '%s': %u verdicts, status %d: %s",
		      s->files[i].from, from->calls, from->status, from->text);
	ck_assert_msg(to->calls == 1 && to->status == status, "receiver of '%s': %u verdicts, status %d: %s",
		      s->files[i].from, to->calls, to->status, to->text);
}

void session_expect_orderly(const struct session *s)
{
	end_expect(s->from, STATUS_OK);
	end_expect(s->to, STATUS_OK);
	ck_assert_uint_eq(s->from->done, 1);
	ck_assert_uint_eq(s->to->done, 1);
	for (unsigned int i = 0; i < s->count; i++)
		session_expect(s, i, s->from->verdicts[i].status);
	ck_assert_uint_eq(s->from->side->slab.free_count, s->from->side->slab.slots);
	ck_assert_uint_eq(s->to->side->slab.free_count, s->to->side->slab.slots);
}

/* ---- files -------------------------------------------------------------------------------------------------- */

void make_file(const char *path, size_t size, unsigned int seed)
{
	FILE *f = fopen(path, "we");

	ck_assert_msg(f != NULL, "'%s': %s", path, strerror(errno));
	for (size_t i = 0; i < size; i++)
		putc((int)((i ^ (i >> 8) ^ (i >> 16) ^ (seed * 37 + 1)) & 0xff), f);
	ck_assert_int_eq(fclose(f), 0);
}

bool same_file(const char *a, const char *b)
{
	char x[4096], y[4096];
	FILE *f = fopen(a, "re"), *g = fopen(b, "re");
	bool same = f && g;
	size_t n;

	do {
		n = same ? fread(x, 1, sizeof(x), f) : 0;
		same = same && fread(y, 1, sizeof(y), g) == n && !memcmp(x, y, n);
	} while (same && n);
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	return same;
}

void expect_same_file(const char *a, const char *b)
{
	ck_assert_msg(same_file(a, b), "'%s' and '%s' differ", a, b);
}

unsigned int count_temps(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int n = 0;
	struct dirent *e;
	char sub[512];

	ck_assert_ptr_nonnull(dir);
	while ((e = readdir(dir))) {
		n += strstr(e->d_name, ".rdcp-part") != NULL;
		if (e->d_type == DT_DIR && e->d_name[0] != '.') {
			snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
			n += count_temps(sub);
		}
	}
	closedir(dir);
	return n;
}
