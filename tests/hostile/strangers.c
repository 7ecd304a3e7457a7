/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * TCP only: connections that send nothing, or half a frame, or bytes that are none, and then wait to be hung up on. The frames are
 * written down here as bytes, on purpose not with the code under test.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "caller.h"
#include "common/util.h"

#define FRAME_HEADER 20
#define GUARD_MS 60000

static size_t some_bytes(struct crowd *crowd, uint8_t buf[static 256])
{
	uint8_t header[FRAME_HEADER] = { 'r', 'd', 1, (uint8_t)below(crowd, 9), (uint8_t)below(crowd, 200) };
	size_t len = FRAME_HEADER + below(crowd, 200);

	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)crowd_random(crowd);
	if (one_in(crowd, 4))
		return 0;
	if (!one_in(crowd, 3))
		memcpy(buf, header, FRAME_HEADER);
	return one_in(crowd, 2) ? len : 1 + below(crowd, FRAME_HEADER);
}

/* -1: the daemon takes no more now. */
static int call(struct crowd *crowd)
{
	int fd = socket(crowd->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = crowd->addr.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	uint8_t buf[256];
	size_t n;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&crowd->addr, len) < 0) {
		close(fd);
		return -1;
	}
	crowd->tally.begun++;
	n = some_bytes(crowd, buf);
	if (n && send(fd, buf, n, MSG_NOSIGNAL) < 0)
		crowd->tally.lost++; /* gone already: read on, and see */
	return fd;
}

/* True: the daemon hung up. */
static bool is_over(int fd)
{
	uint8_t buf[512];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

int strangers_run(struct crowd *crowd)
{
	struct pollfd *fds = calloc(crowd->width, sizeof(*fds));
	unsigned int open = 0;
	int r = fds ? 0 : -ENOMEM;

	while (!r && (crowd->tally.begun < crowd->count || open)) {
		while (open < crowd->width && crowd->tally.begun < crowd->count) {
			int fd = call(crowd);

			if (fd < 0)
				break;
			fds[open++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		}
		if (!open || poll(fds, open, GUARD_MS) <= 0)
			r = -ETIMEDOUT;
		for (unsigned int i = open; i-- > 0 && !r;) {
			if (!fds[i].revents || !is_over(fds[i].fd))
				continue;
			close(fds[i].fd);
			fds[i] = fds[--open];
			crowd->tally.ended++;
		}
	}
	while (open)
		close(fds[--open].fd);
	free(fds);
	return r;
}
