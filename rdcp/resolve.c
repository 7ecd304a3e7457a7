/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Names into addresses. Called by client.c and doctor_host.c before there is a loop, so it may block, but not for ever:
 * the question runs on glibc's own thread (getaddrinfo_a(3)). When time is up and the question cannot be taken back, what
 * it still writes to stays allocated for the rest of the process. An address is no question and costs no thread (nor does
 * ThreadSanitizer survive glibc's).
 */
#include "resolve.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/util.h"

struct question {
	struct gaicb cb;
	struct addrinfo hints;
	char port[8];
	char host[]; /* for as long as glibc asks */
};

static struct question *ask(const char *host, uint16_t port, int family)
{
	size_t len = strlen(host) + 1;
	struct question *q = calloc(1, sizeof(*q) + len);

	if (!q)
		return NULL;
	memcpy(q->host, host, len);
	snprintf(q->port, sizeof(q->port), "%u", port);
	q->hints = (struct addrinfo){
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | AI_IDN,
	};
	q->cb = (struct gaicb){ .ar_name = q->host, .ar_service = q->port, .ar_request = &q->hints };
	return q;
}

/* EAI_NONAME: it is a name. */
static int read_address(const struct question *q, struct addrinfo **ret_list)
{
	struct addrinfo hints = q->hints;

	hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
	return getaddrinfo(q->host, q->port, &hints, ret_list);
}

/* Takes the question. */
static int wait_for_answer(struct question *q, uint64_t timeout_ns, struct addrinfo **ret_list)
{
	uint64_t now = now_ns(), until = now + timeout_ns;
	const struct gaicb *wait_for[1] = { &q->cb };
	struct gaicb *list[1] = { &q->cb };
	bool interrupted = false;
	int r;

	r = getaddrinfo_a(GAI_NOWAIT, list, 1, NULL);
	if (r != 0) {
		free(q);
		return r;
	}
	while ((r = gai_error(&q->cb)) == EAI_INPROGRESS && now < until) {
		struct timespec ts = { .tv_sec = (time_t)((until - now) / SEC),
				       .tv_nsec = (long)((until - now) % SEC) };

		interrupted = gai_suspend(wait_for, 1, &ts) == EAI_INTR;
		now = interrupted ? until : now_ns();
	}
	if (r == EAI_INPROGRESS) {
		if (gai_cancel(&q->cb) == EAI_CANCELED)
			free(q);
		return interrupted ? EAI_INTR : EAI_AGAIN;
	}
	if (r == 0)
		*ret_list = q->cb.ar_result;
	free(q);
	return r;
}

int resolve_host(const char *host, uint16_t port, int family, uint64_t timeout_ns, struct addrinfo **ret_list)
{
	struct question *q = ask(host, port, family);
	int r;

	if (!q)
		return EAI_MEMORY;
	r = read_address(q, ret_list);
	if (r == EAI_NONAME)
		return wait_for_answer(q, timeout_ns, ret_list);
	free(q);
	return r;
}

char *resolve_show(const struct sockaddr *addr, socklen_t len, char *out, size_t size)
{
	if (getnameinfo(addr, len, out, (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(out, size, "?");
	return out;
}
