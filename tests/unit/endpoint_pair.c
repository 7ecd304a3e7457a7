/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The harness of the endpoint suites, see endpoint_pair.h. A step that fails fails the test. */
#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/util.h"
#include "endpoint_pair.h"

#define GUARD (30 * SEC)
#define STEP_TIMEOUT (5 * SEC)

/* What the set-up blobs carry here. */
struct hello {
	char tag[8];
	uint64_t base;
	uint32_t rkey;
	uint32_t receives;
};

int transports(void)
{
	return getenv("RDCP_TEST_RDMA_ADDR") ? 2 : 1;
}

int first_transport(void)
{
	return getenv("RDCP_TEST_RDMA_ONLY") && transports() == 2;
}

bool is_tcp(const struct pair *p)
{
	return p->transport == &endpoint_stream;
}

bool is_iwarp(const struct pair *p)
{
	const char *kind = getenv("RDCP_LAB_KIND");

	return !is_tcp(p) && kind && strstr(kind, "siw");
}

/* ---- events ------------------------------------------------------------------------------------------------- */

void pair_check(struct pair *p)
{
	if (p->done && p->done(p))
		loop_stop(&p->loop);
}

static struct hello hello_of(const struct side *s, const char *tag)
{
	struct hello h = { .base = s->base, .rkey = s->rkey, .receives = s->receives };

	memcpy(h.tag, tag, sizeof(h.tag));
	return h;
}

static void learn(struct side *s, const void *blob, size_t len, const char *tag)
{
	struct hello h;

	ck_assert_uint_ge(len, sizeof(h));
	memcpy(&h, blob, sizeof(h));
	ck_assert_mem_eq(h.tag, tag, sizeof(h.tag));
	memcpy(s->blob, blob, min_size(len, sizeof(s->blob)));
	s->blob_len = len;
	s->peer_base = h.base;
	s->peer_rkey = h.rkey;
	endpoint_set_credits(s->ep, h.receives);
	endpoint_aim(s->ep, h.base, h.rkey);
}

/* Opens and registers as far as is wanted; true: all of it. */
static bool make(struct side *s)
{
	struct endpoint_fault fault;

	if (s->stop == STOP_RESOLVED)
		return false;
	ck_assert_int_eq(endpoint_open(s->ep, 1U << s->slots_log2, s->receives, &fault), 0);
	if (s->stop == STOP_OPENED)
		return false;
	ck_assert_int_eq(endpoint_register(s->ep, &s->slab, !s->read_only, &s->base, &s->rkey, &fault), 0);
	return s->stop != STOP_REGISTERED;
}

static void on_resolved(void *owner)
{
	struct side *s = owner;
	struct hello h;

	s->resolved++;
	if (s->on_resolved)
		s->on_resolved(s);
	else if (make(s)) {
		h = hello_of(s, "request!");
		endpoint_connect(s->ep, &h, sizeof(h));
	}
	pair_check(s->pair);
}

static void on_connected(void *owner, const void *blob, size_t len)
{
	struct side *s = owner;

	ck_assert_uint_eq(s->messages, 0);
	s->connected++;
	if (s == &s->pair->client)
		learn(s, blob, len, "reply...");
	else
		ck_assert(!blob && !len);
	if (s->on_connected)
		s->on_connected(s);
	pair_check(s->pair);
}

static void on_message(void *owner, const uint8_t *records, size_t len)
{
	struct side *s = owner;

	ck_assert_uint_eq(s->connected, 1);
	ck_assert_uint_eq(s->closed, 0);
	ck_assert_uint_gt(len, 0);
	s->messages++;
	if (s->on_message)
		s->on_message(s, records, len);
	pair_check(s->pair);
}

static void on_writable(void *owner)
{
	struct side *s = owner;

	s->writables++;
	if (s->on_writable)
		s->on_writable(s);
	pair_check(s->pair);
}

static void on_closed(void *owner, const struct endpoint_fault *fault)
{
	struct side *s = owner;

	s->closed++;
	s->fault = *fault;
	ck_assert_uint_eq(s->closed, 1);
	pair_check(s->pair);
}

static const struct endpoint_events events = {
	.resolved = on_resolved,
	.connected = on_connected,
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

/* ---- the passive side --------------------------------------------------------------------------------------- */

struct endpoint_request *steal_request(struct pair *p)
{
	struct endpoint_request *rq = p->request;

	p->request = NULL;
	return rq;
}

void side_accept(struct side *s)
{
	struct pair *p = s->pair;
	struct endpoint_request *rq = p->request;
	uint8_t blob[sizeof(rq->blob)];
	size_t len = rq->blob_len;
	struct hello h;

	memcpy(blob, rq->blob, sizeof(blob));
	p->request = NULL;
	ck_assert_int_eq(endpoint_request_accept(rq, &p->loop, p->timeout_ns, &events, s, &s->ep), 0);
	if (!make(s))
		return;
	learn(s, blob, len, "request!");
	h = hello_of(s, "reply...");
	endpoint_reply(s->ep, &h, sizeof(h));
}

static void on_listener(struct loop_source *source, uint32_t revents)
{
	struct pair *p = container_of(source, struct pair, listener_source);
	struct endpoint_request *rq;
	int r;

	while ((r = endpoint_listener_next(p->listener, &rq)) == 1) {
		ck_assert_ptr_eq(rq->transport, p->transport);
		ck_assert_ptr_null(p->request);
		ck_assert_ptr_null(p->server.ep);
		p->request = rq;
		if (p->server.stop != STOP_REQUESTED)
			side_accept(&p->server);
	}
	ck_assert_int_eq(r, 0);
	pair_check(p);
}

/* ---- the pair ----------------------------------------------------------------------------------------------- */

static void on_guard(struct loop_timer *t)
{
	const struct pair *p = container_of(t, struct pair, guard);
	const struct side *c = &p->client, *s = &p->server;

	ck_abort_msg("nothing came of it in time: client %u %u %u %u %u, server %u %u %u %u %u", c->resolved,
		     c->connected, c->messages, c->writables, c->closed, s->resolved, s->connected, s->messages,
		     s->writables, s->closed);
}

/* A port that is free now, for TCP; good enough for RDMA, too. */
static void pick_port(struct pair *p)
{
	int fd = socket(p->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&p->addr, p->addr_len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&p->addr, &p->addr_len), 0);
	close(fd);
}

static void set_address(struct pair *p, const char *text)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;

	ck_assert_int_eq(getaddrinfo(text, NULL, &hints, &ai), 0);
	memcpy(&p->addr, ai->ai_addr, ai->ai_addrlen);
	p->addr_len = ai->ai_addrlen;
	freeaddrinfo(ai);
}

static void side_init(struct side *s, struct pair *p)
{
	s->pair = p;
	s->slot_log2 = 12;
	s->slots_log2 = 2;
	s->receives = 16;
}

void pair_init(struct pair *p, int transport)
{
	memset(p, 0, sizeof(*p));
	p->transport = transport ? &endpoint_rdma : &endpoint_stream;
	set_address(p, transport ? getenv("RDCP_TEST_RDMA_ADDR") : "127.0.0.1");
	pick_port(p);
	ck_assert_int_eq(loop_init(&p->loop), 0);
	p->timeout_ns = STEP_TIMEOUT;
	p->guard.expired = on_guard;
	loop_timer_set(&p->loop, &p->guard, now_ns() + GUARD);
	side_init(&p->client, p);
	side_init(&p->server, p);
}

static void make_slab(struct side *s)
{
	if (!s->slab.base)
		ck_assert_int_eq(slab_init(&s->slab, s->slot_log2, s->slots_log2), 0);
}

void pair_listen(struct pair *p)
{
	struct endpoint_fault fault;

	make_slab(&p->server);
	ck_assert_int_eq(endpoint_listen(p->transport, (struct sockaddr *)&p->addr, p->addr_len, &p->listener, &fault),
			 0);
	p->listener_source = (struct loop_source){
		.fd = endpoint_listener_fd(p->listener),
		.events = EPOLLIN,
		.ready = on_listener,
	};
	ck_assert_int_eq(loop_add(&p->loop, &p->listener_source), 0);
}

void pair_start(struct pair *p)
{
	struct endpoint_fault fault;

	make_slab(&p->client);
	ck_assert_int_eq(endpoint_dial(p->transport, &p->loop, (struct sockaddr *)&p->addr, p->timeout_ns, &events,
				       &p->client, &p->client.ep, &fault),
			 0);
	ck_assert_uint_eq(p->client.resolved + p->client.closed, 0);
}

void pair_run(struct pair *p, bool (*done)(struct pair *p))
{
	p->done = done;
	if (!done(p))
		ck_assert_int_eq(loop_run(&p->loop), 0);
	p->done = NULL;
	ck_assert(done(p));
}

bool client_closed(struct pair *p)
{
	return p->client.closed;
}

bool server_closed(struct pair *p)
{
	return p->server.closed;
}

bool both_closed(struct pair *p)
{
	return p->client.closed && p->server.closed;
}

bool client_connected(struct pair *p)
{
	return p->client.connected;
}

static bool first_message(struct pair *p)
{
	return p->server.messages;
}

void pair_connect(struct pair *p)
{
	if (!p->listener)
		pair_listen(p);
	pair_start(p);
	pair_run(p, client_connected);
	ck_assert(side_say(&p->client, "!", 1));
	pair_run(p, first_message);
	ck_assert_uint_eq(p->server.connected, 1);
	p->server.messages = p->client.messages = 0;
}

static bool closed_if_made(struct pair *p)
{
	return (!p->client.ep || p->client.closed) && (!p->server.ep || p->server.closed);
}

static void side_done(struct side *s)
{
	if (s->ep)
		ck_assert_uint_eq(s->closed, 1);
	endpoint_free(s->ep);
	s->ep = NULL;
	slab_done(&s->slab);
}

void pair_done(struct pair *p)
{
	if (p->request)
		endpoint_request_reject(p->request, NULL, 0);
	p->request = NULL;
	if (p->client.ep)
		endpoint_close(p->client.ep);
	if (p->server.ep)
		endpoint_close(p->server.ep);
	pair_run(p, closed_if_made);
	side_done(&p->client);
	side_done(&p->server);
	if (p->listener)
		loop_remove(&p->loop, &p->listener_source);
	endpoint_listener_free(p->listener);
	loop_timer_cancel(&p->loop, &p->guard);
	ck_assert_ptr_null(p->loop.timers);
	ck_assert_ptr_null(p->loop.tasks);
	loop_done(&p->loop);
}

/* ---- doing -------------------------------------------------------------------------------------------------- */

bool side_say(struct side *s, const void *records, size_t len)
{
	uint8_t *room = endpoint_reserve(s->ep, len);

	if (!room)
		return false;
	memcpy(room, records, len);
	endpoint_commit(s->ep, len);
	return true;
}

static void on_written(struct endpoint_work *w, int status)
{
	struct post *post = container_of(w, struct post, work);

	post->calls++;
	post->status = status;
	post->after_closed |= post->side->closed;
	if (post->on_written)
		post->on_written(post);
	pair_check(post->side->pair);
}

int side_write(struct side *s, struct post *post, unsigned int slot, size_t off, size_t len)
{
	*post = (struct post){ .side = s, .on_written = post->on_written };
	post->work.written = on_written;
	return endpoint_post_write(s->ep, &post->work, slot, off, len);
}

static uint8_t pattern(unsigned int round, unsigned int slot, size_t i)
{
	return (uint8_t)(i ^ (i >> 8) ^ (slot * 31 + round * 101 + 1));
}

void fill(struct side *s, unsigned int round, unsigned int slot)
{
	for (size_t i = 0; i < s->slab.slot_size; i++)
		slab_slot(&s->slab, slot)[i] = pattern(round, slot, i);
}

void expect_filled(struct side *s, unsigned int round, unsigned int slot)
{
	const uint8_t *p = slab_slot(&s->slab, slot);

	for (size_t i = 0; i < s->slab.slot_size; i++)
		if (p[i] != pattern(round, slot, i))
			ck_abort_msg("round %u slot %u byte %zu is not what was written", round, slot, i);
}

/* An assertion for each byte would cost a system call for each byte. */
bool all_bytes_are(const uint8_t *p, size_t len, uint8_t value)
{
	while (len && *p == value) {
		p++;
		len--;
	}
	return !len;
}

unsigned int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

TCase *endpoint_tcase(const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 60);
	return tc;
}
