/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The stream transport's listener: accepted sockets wait here, unpaid for, until they have sent a whole REQ.
 *
 * Called by the listener's owner through the table in endpoint_stream.c, on its own thread. The listener's descriptor is an
 * epoll set of the listening socket, a timer and the strangers, so one poll covers them all. A stranger costs a
 * descriptor and one of PENDING_MAX places, for REQ_TIMEOUT at most; the oldest goes when a new one needs the place.
 * When descriptors run out, a spare one is given up to take a connection and hang up on it: left in the queue it would
 * wake us without end. A request that was handed out owns its socket and outlives the listener.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "endpoint_stream.h"
#include "error.h"
#include "log.h"
#include "util.h"

#define PENDING_MAX 64
#define BACKLOG 128
#define EVENTS_PER_CALL 16
#define REQ_TIMEOUT (5 * SEC)

/* Somebody connected who has not said what for. */
struct pending {
	int fd; /* -1: a free place */
	uint64_t deadline_ns;
	size_t got; /* bytes in buf */
	struct sockaddr_storage peer;
	uint8_t buf[STREAM_HEADER + sizeof(((struct endpoint_request *)0)->blob)];
};

struct stream_listener {
	struct endpoint_listener base; /* fd: the epoll set */
	int listen_fd;
	int timer_fd; /* ticks once a second while there are strangers, or accepting is paused */
	int spare_fd; /* given up when descriptors run out; -1: it was */
	bool paused;  /* not even the spare one helped: no accept until the next tick */
	bool ticking;
	struct pending pending[PENDING_MAX];
};

/* In epoll's user data: a place in `pending`, or */
enum { SOURCE_LISTEN = PENDING_MAX, SOURCE_TIMER };

static struct stream_listener *stream_listener(struct endpoint_listener *l)
{
	return (struct stream_listener *)l;
}

/* ---- strangers ---------------------------------------------------------------------------------------------- */

static void forget(struct pending *p)
{
	close(p->fd); /* leaves the epoll set by it */
	p->fd = -1;
}

static void set_ticking(struct stream_listener *l, bool on)
{
	struct itimerspec spec = { .it_value.tv_sec = on, .it_interval.tv_sec = on };

	if (on != l->ticking && timerfd_settime(l->timer_fd, 0, &spec, NULL) == 0)
		l->ticking = on;
}

/* A free place, or that of the oldest. */
static struct pending *take_place(struct stream_listener *l)
{
	struct pending *oldest = &l->pending[0];

	for (unsigned int i = 0; i < PENDING_MAX; i++) {
		if (l->pending[i].fd < 0)
			return &l->pending[i];
		if (l->pending[i].deadline_ns < oldest->deadline_ns)
			oldest = &l->pending[i];
	}
	log_debug("listener: the oldest of %u silent connections is dropped", PENDING_MAX);
	forget(oldest);
	return oldest;
}

static int watch(struct stream_listener *l, int op, int fd, uint32_t events, uint32_t source)
{
	struct epoll_event ev = { .events = events, .data.u32 = source };

	return epoll_ctl(l->base.fd, op, fd, &ev) < 0 ? -errno : 0;
}

static void take_in(struct stream_listener *l, int fd, const struct sockaddr_storage *peer)
{
	struct pending *p = take_place(l);

	if (watch(l, EPOLL_CTL_ADD, fd, EPOLLIN, (uint32_t)(p - l->pending)) < 0) {
		close(fd);
		return;
	}
	p->fd = fd;
	p->deadline_ns = now_ns() + REQ_TIMEOUT;
	p->got = 0;
	p->peer = *peer;
	set_ticking(l, true);
}

static void on_tick(struct stream_listener *l)
{
	uint64_t ticks, now = now_ns();
	bool any = false;

	if (read(l->timer_fd, &ticks, sizeof(ticks)) < 0)
		return;
	if (l->spare_fd < 0)
		l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (l->paused && watch(l, EPOLL_CTL_MOD, l->listen_fd, EPOLLIN, SOURCE_LISTEN) == 0)
		l->paused = false;
	for (unsigned int i = 0; i < PENDING_MAX; i++) {
		if (l->pending[i].fd >= 0 && l->pending[i].deadline_ns <= now)
			forget(&l->pending[i]);
		any |= l->pending[i].fd >= 0;
	}
	set_ticking(l, any || l->paused || l->spare_fd < 0);
}

/* Out of descriptors or memory: hangs up on one caller, or looks away for a second. */
static void shed(struct stream_listener *l)
{
	int fd;

	log_debug("listener: accept: %m, hanging up");
	if (l->spare_fd >= 0) {
		close(l->spare_fd);
		fd = accept4(l->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			return;
	}
	if (watch(l, EPOLL_CTL_MOD, l->listen_fd, 0, SOURCE_LISTEN) == 0)
		l->paused = true;
	set_ticking(l, true);
}

/* Negative: the listening socket is unusable. Errors of one connection are that connection's (accept(2)). */
static int on_caller(struct stream_listener *l)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd = accept4(l->listen_fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		take_in(l, fd, &peer);
		return 0;
	}
	switch (errno) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
		shed(l);
		return 0;
	case EBADF:
	case EFAULT:
	case EINVAL:
	case ENOTSOCK:
		return fail(-errno, "accept");
	default:
		return 0;
	}
}

/* ---- requests ----------------------------------------------------------------------------------------------- */

/* 1: the REQ is whole. 0: more has to come. Negative: no REQ will come of it. Never reads past it. */
static int read_req(struct pending *p)
{
	struct stream_frame f;
	size_t want = STREAM_HEADER;
	ssize_t n;

	for (;;) {
		if (p->got >= STREAM_HEADER) {
			if (stream_decode_header(p->buf, &f) < 0 || f.type != STREAM_REQ ||
			    f.len > sizeof(p->buf) - STREAM_HEADER)
				return -EBADMSG;
			want = STREAM_HEADER + f.len;
			if (p->got == want)
				return 1;
		}
		n = recv(p->fd, p->buf + p->got, want - p->got, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return n < 0 ? -errno : -ECONNRESET;
		p->got += (size_t)n;
	}
}

static int make_request(struct stream_listener *l, struct pending *p, struct endpoint_request **ret_rq)
{
	struct stream_request *rq = calloc(1, sizeof(*rq));
	int r = rq ? watch(l, EPOLL_CTL_DEL, p->fd, 0, 0) : -ENOMEM;

	if (r < 0) {
		free(rq);
		return fail(r, "a connection request");
	}
	rq->base.transport = &endpoint_stream;
	rq->base.peer = p->peer;
	rq->base.blob_len = p->got - STREAM_HEADER;
	memcpy(rq->base.blob, p->buf + STREAM_HEADER, rq->base.blob_len);
	rq->fd = p->fd;
	p->fd = -1;
	*ret_rq = &rq->base;
	return 1;
}

static int on_stranger(struct stream_listener *l, struct pending *p, struct endpoint_request **ret_rq)
{
	int r = read_req(p);

	if (r > 0)
		r = make_request(l, p, ret_rq);
	if (r < 0) {
		log_debug("listener: a connection without a request: %s", strerror(-r));
		forget(p);
	}
	return r > 0;
}

int stream_listener_next(struct endpoint_listener *base, struct endpoint_request **ret_rq)
{
	struct stream_listener *l = stream_listener(base);
	struct epoll_event ev;
	int n, r = 0;

	/* Strangers that keep us busy do not keep us for ever: the set stays readable. */
	for (unsigned int i = 0; i < EVENTS_PER_CALL && r == 0; i++) {
		n = epoll_wait(base->fd, &ev, 1, 0);
		if (n < 0 && errno != EINTR)
			return fail(-errno, "epoll_wait");
		if (n <= 0)
			return 0;
		if (ev.data.u32 == SOURCE_LISTEN)
			r = on_caller(l);
		else if (ev.data.u32 == SOURCE_TIMER)
			on_tick(l);
		else
			r = on_stranger(l, &l->pending[ev.data.u32], ret_rq);
	}
	return r;
}

/* Fits into the empty buffer of a socket that has sent nothing yet. */
void stream_send_reject(int fd, const void *rej, size_t len)
{
	uint8_t buf[STREAM_HEADER + WIRE_REJ_MAX];
	struct stream_frame f = { .type = STREAM_REJ, .len = (uint32_t)min_size(len, WIRE_REJ_MAX) };

	stream_encode_header(&f, buf);
	if (f.len)
		memcpy(buf + STREAM_HEADER, rej, f.len);
	if (send(fd, buf, STREAM_HEADER + f.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("sending a rejection: %m, ignoring");
	shutdown(fd, SHUT_WR);
}

void stream_request_reject(struct endpoint_request *base, const void *rej, size_t len)
{
	struct stream_request *rq = (struct stream_request *)base;

	stream_send_reject(rq->fd, rej, len);
	close(rq->fd);
	free(rq);
}

/* ---- making and ending -------------------------------------------------------------------------------------- */

void stream_listener_free(struct endpoint_listener *base)
{
	struct stream_listener *l = stream_listener(base);
	const int fds[] = { l->listen_fd, l->timer_fd, l->spare_fd, base->fd };

	for (unsigned int i = 0; i < PENDING_MAX; i++)
		if (l->pending[i].fd >= 0)
			forget(&l->pending[i]);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(l);
}

static int bind_and_listen(struct stream_listener *l, const struct sockaddr *addr, socklen_t len, const char **ret_step)
{
	const int on = 1;

	*ret_step = "socket";
	l->listen_fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->listen_fd < 0)
		return -errno;
	*ret_step = "setsockopt";
	if (setsockopt(l->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	/* Each family has a listener of its own, as with RDMA. */
	if (addr->sa_family == AF_INET6 && setsockopt(l->listen_fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	*ret_step = "bind";
	if (bind(l->listen_fd, addr, len) < 0)
		return -errno;
	*ret_step = "listen";
	return listen(l->listen_fd, BACKLOG) < 0 ? -errno : 0;
}

static int make_set(struct stream_listener *l, const char **ret_step)
{
	int r;

	*ret_step = "timerfd_create";
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (l->timer_fd < 0)
		return -errno;
	*ret_step = "a spare descriptor";
	l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (l->spare_fd < 0)
		return -errno;
	*ret_step = "epoll";
	l->base.fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->base.fd < 0)
		return -errno;
	r = watch(l, EPOLL_CTL_ADD, l->listen_fd, EPOLLIN, SOURCE_LISTEN);
	return r < 0 ? r : watch(l, EPOLL_CTL_ADD, l->timer_fd, EPOLLIN, SOURCE_TIMER);
}

int stream_listen(const struct sockaddr *addr, socklen_t addr_len, struct endpoint_listener **ret_l,
		  struct endpoint_fault *ret_fault)
{
	struct stream_listener *l = calloc(1, sizeof(*l));
	const char *step = "a listener";
	int r = -ENOMEM;

	if (l) {
		l->base.transport = &endpoint_stream;
		l->base.fd = l->listen_fd = l->timer_fd = l->spare_fd = -1;
		for (unsigned int i = 0; i < PENDING_MAX; i++)
			l->pending[i].fd = -1;
		r = bind_and_listen(l, addr, addr_len, &step);
	}
	if (r == 0)
		r = make_set(l, &step);
	if (r < 0) {
		endpoint_fault_set(ret_fault,
				   r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT ? ENDPOINT_ADDRESS : ENDPOINT_RESOURCES, r,
				   "%s", step);
		if (l)
			stream_listener_free(&l->base);
		return fail(r, "%s", step);
	}
	*ret_l = &l->base;
	return 0;
}
