/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The raw peer of the stream suites, see endpoint_raw.h. A step that fails fails the test. */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/wire.h"
#include "endpoint_raw.h"

struct pair pair;
struct raw raw;

static void on_raw(struct loop_source *s, uint32_t revents)
{
	ssize_t n = recv(s->fd, raw.buf + raw.got, sizeof(raw.buf) - raw.got, MSG_DONTWAIT);

	if (n > 0)
		raw.got += (size_t)n;
	else if (n == 0 || errno != EAGAIN) {
		raw.ended = true;
		loop_remove(&pair.loop, s);
	}
	pair_check(&pair);
}

void raw_take(int fd)
{
	memset(&raw, 0, sizeof(raw));
	raw.source = (struct loop_source){ .fd = fd, .events = EPOLLIN, .ready = on_raw };
	ck_assert_int_eq(loop_add(&pair.loop, &raw.source), 0);
}

int connect_raw(void)
{
	int fd = socket(pair.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&pair.addr, pair.addr_len), 0);
	return fd;
}

void raw_send(const void *data, size_t len)
{
	ck_assert_int_eq(send(raw.source.fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

void raw_close(void)
{
	loop_remove(&pair.loop, &raw.source);
	close(raw.source.fd);
}

static void put(uint8_t *p, uint64_t value, unsigned int bytes)
{
	for (; bytes--; value >>= 8)
		*p++ = (uint8_t)value;
}

size_t frame(uint8_t *buf, uint8_t type, uint32_t len, uint64_t addr, uint32_t rkey)
{
	memcpy(buf, (uint8_t[]){ 'r', 'd', 1, type }, 4);
	put(buf + 4, len, 4);
	put(buf + 8, addr, 8);
	put(buf + 16, rkey, 4);
	return HEADER;
}

size_t send_frame(uint8_t *buf)
{
	frame(buf, SEND, WIRE_MESSAGE_HEADER + 1, 0, 0);
	memcpy(buf + HEADER, (uint8_t[]){ 1, 0, 0, 0, 'x' }, WIRE_MESSAGE_HEADER + 1);
	return HEADER + WIRE_MESSAGE_HEADER + 1;
}

size_t req_frame(uint8_t *buf)
{
	frame(buf, REQ, 24, 0, 0);
	memset(buf + HEADER, 0, 24);
	memcpy(buf + HEADER, "request!", 8);
	put(buf + HEADER + 20, 16, 4);
	return HEADER + 24;
}

bool raw_ended(struct pair *p)
{
	return raw.ended;
}

bool raw_has_blob(struct pair *p)
{
	return raw.got >= HEADER + 24;
}

bool raw_has_header(struct pair *p)
{
	return raw.got >= HEADER;
}

bool request_kept(struct pair *p)
{
	return p->request;
}

int listen_raw(void)
{
	int fd = socket(pair.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&pair.addr, pair.addr_len), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	return fd;
}

void raw_client(void)
{
	uint8_t buf[64];

	pair_listen(&pair);
	raw_take(connect_raw());
	raw_send(buf, req_frame(buf));
	pair_run(&pair, raw_has_blob);
}
