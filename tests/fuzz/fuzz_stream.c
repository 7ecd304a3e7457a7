/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Bytes as a TCP connection to the daemon brings them. An odd first byte: before any request, so that they are the listener's; else
 * behind a request that was granted, so that they are frames to a session.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arena.h"
#include "fuzz.h"
#include "talk.h"

static int call(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	FUZZ_CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	return fd;
}

static void send_and_hang_up(int fd, const uint8_t *data, size_t len)
{
	char buf[4096];

	/* a connection that was broken off is one of the things that happen */
	if (len && send(fd, data, len, MSG_NOSIGNAL) < 0)
		return;
	shutdown(fd, SHUT_WR);
	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

int fuzz_stream(const uint8_t *data, size_t len)
{
	const struct arena *arena = arena_begin();
	struct bytes b = { data, len };
	uint8_t how = bytes_take(&b);
	struct talk t;
	int fd;

	if (how & 1) {
		fd = call(arena->port);
		send_and_hang_up(fd, b.p, b.left);
		close(fd);
	} else {
		struct bytes none = { 0 };

		if (talk_dial(&t, &none, arena->port, how & 2) == 0)
			send_and_hang_up(t.fd, b.p, b.left);
		talk_done(&t);
	}
	arena_end();
	return 0;
}

FUZZ_ENTRY(stream)
