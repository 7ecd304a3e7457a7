/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See status_socket.h. daemon.c owns the socket; an asker belongs to it from accept4(2) until it has its report, does not say
 * within ASKER_US what it wants, or is in the way of the end. A report is made in memory at once, and goes out as the asker
 * reads.
 */
#include "status_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/util.h"

#define ASKERS_MAX 8
#define ASKER_US (5 * 1000000ULL)
#define WORD_SIZE 8 /* "text\n", "json\n" */

struct asker {
	struct status_socket *socket;
	struct asker *next;
	sd_event_source *io, *deadline;
	int fd;
	char word[WORD_SIZE];
	size_t heard;
	char *report; /* NULL: it has not said what it wants */
	size_t size, sent;
};

struct status_socket {
	sd_event *event; /* borrowed */
	sd_event_source *source;
	int fd;
	char *path; /* NULL until it is bound: then its file is ours to remove */
	status_render render;
	void *owner;
	struct asker *askers;
	unsigned int count;
};

/* ---- askers ----------------------------------------------------------------------------------------------------- */

static void asker_free(struct asker *a)
{
	struct asker **at = &a->socket->askers;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->socket->count--;
	sd_event_source_disable_unref(a->io);
	sd_event_source_disable_unref(a->deadline);
	close(a->fd);
	free(a->report);
	free(a);
}

static int make_report(struct asker *a, bool json)
{
	FILE *out = open_memstream(&a->report, &a->size);

	if (!out)
		return -ENOMEM;
	a->socket->render(a->socket->owner, json, out);
	if (ferror(out)) {
		fclose(out);
		return -ENOMEM;
	}
	return fclose(out) ? -ENOMEM : 0;
}

/* 0: more is to come. 1: it has said all. Negative: it makes no sense. */
static int hear(struct asker *a)
{
	ssize_t n = recv(a->fd, a->word + a->heard, sizeof(a->word) - a->heard, 0);
	char *end;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	a->heard += (size_t)n;
	end = memchr(a->word, '\n', a->heard);
	if (!end)
		return !n || a->heard == sizeof(a->word) ? -EBADMSG : 0;
	*end = '\0';
	if (strcmp(a->word, "json") && strcmp(a->word, "text"))
		return -EBADMSG;
	return 1;
}

/* 0: the asker has to read first. 1: it has everything. */
static int tell(struct asker *a)
{
	while (a->sent < a->size) {
		ssize_t n = send(a->fd, a->report + a->sent, a->size - a->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		a->sent += (size_t)n;
	}
	return 1;
}

static int on_asker(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct asker *a = userdata;
	int r = a->report ? 1 : hear(a);

	if (r > 0 && !a->report) {
		r = make_report(a, !strcmp(a->word, "json"));
		if (r == 0)
			r = sd_event_source_set_io_events(source, EPOLLOUT);
		if (r >= 0)
			r = tell(a);
	} else if (r > 0) {
		r = tell(a);
	}
	if (r)
		asker_free(a);
	return 0;
}

static int on_asker_late(sd_event_source *source, uint64_t usec, void *userdata)
{
	asker_free(userdata);
	return 0;
}

static int add_asker(struct status_socket *s, int fd)
{
	struct asker *a = calloc(1, sizeof(*a));
	int r;

	if (!a) {
		close(fd);
		return -ENOMEM;
	}
	a->socket = s;
	a->fd = fd;
	a->next = s->askers;
	s->askers = a;
	s->count++;
	r = sd_event_add_io(s->event, &a->io, fd, EPOLLIN, on_asker, a);
	if (r >= 0)
		r = sd_event_add_time_relative(s->event, &a->deadline, CLOCK_MONOTONIC, ASKER_US, 0, on_asker_late, a);
	if (r < 0)
		asker_free(a);
	return r;
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct status_socket *s = userdata;
	int one = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (one < 0)
		return 0;
	if (s->count >= ASKERS_MAX)
		close(one);
	else
		add_asker(s, one);
	return 0;
}

/* ---- the socket ------------------------------------------------------------------------------------------------- */

static int address_of(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return 0;
}

/* Somebody listens behind it, or at least it is not sure that nobody does. */
static bool is_alive(const struct sockaddr_un *addr)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 || connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) >= 0 || errno != ECONNREFUSED;
}

static bool is_socket(const char *path)
{
	struct stat st;

	return lstat(path, &st) >= 0 && S_ISSOCK(st.st_mode);
}

static int bind_socket(int fd, const struct sockaddr_un *addr)
{
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) >= 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (!is_socket(addr->sun_path) || is_alive(addr))
		return -EADDRINUSE;
	if (unlink(addr->sun_path) < 0 || bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0)
		return -errno;
	return 0;
}

static int open_socket(struct status_socket *s, const char *path)
{
	struct sockaddr_un addr;
	int r = address_of(path, &addr);

	if (r < 0)
		return r;
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	r = bind_socket(s->fd, &addr);
	if (r < 0)
		return r;
	s->path = strdup(path);
	if (!s->path) {
		unlink(path);
		return -ENOMEM;
	}
	/* before listen(2): until then nobody is let in, whatever the umask was */
	if (chmod(path, 0600) < 0 || listen(s->fd, ASKERS_MAX) < 0)
		return -errno;
	return 0;
}

int status_socket_new(sd_event *event, const char *path, status_render render, void *owner,
		      struct status_socket **ret_socket)
{
	struct status_socket *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->event = event;
	s->fd = -1;
	s->render = render;
	s->owner = owner;
	r = open_socket(s, path);
	if (r == 0)
		r = sd_event_add_io(event, &s->source, s->fd, EPOLLIN, on_connection, s);
	if (r < 0) {
		status_socket_free(s);
		return r;
	}
	*ret_socket = s;
	return 0;
}

void status_socket_free(struct status_socket *s)
{
	if (!s)
		return;
	while (s->askers)
		asker_free(s->askers);
	sd_event_source_disable_unref(s->source);
	if (s->fd >= 0)
		close(s->fd);
	if (s->path)
		unlink(s->path);
	free(s->path);
	free(s);
}

/* ---- the other end ---------------------------------------------------------------------------------------------- */

/* What a daemon writes is UTF-8; for programs it stays so. */
static void put_report(const char *buf, size_t len, bool json, FILE *out)
{
	for (size_t i = 0; i < len; i++) {
		if (buf[i] & 0x80 && !json && escape_is_ascii())
			fprintf(out, "\\%03o", (unsigned char)buf[i]);
		else
			putc(buf[i], out);
	}
}

static int copy_report(int fd, bool json, FILE *out)
{
	uint64_t end = now_ns() + ASKER_US * 1000;
	char buf[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = now_ns();
		int n = now < end ? poll(&p, 1, (int)((end - now) / MSEC) + 1) : 0;
		ssize_t got;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ETIMEDOUT;
		got = read(fd, buf, sizeof(buf));
		if (got <= 0)
			return got < 0 ? -errno : 0;
		put_report(buf, (size_t)got, json, out);
	}
}

int status_socket_ask(const char *path, bool json, FILE *out)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_un addr;
	int r = address_of(path, &addr);

	if (r < 0)
		return r;
	/* a blocking connect(2) would wait for room in the queue of a daemon that hangs */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    send(fd, json ? "json\n" : "text\n", 5, MSG_NOSIGNAL) != 5)
		return -errno;
	r = copy_report(fd, json, out);
	fflush(out);
	return r;
}
