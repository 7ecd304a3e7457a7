/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The daemon of the session fuzzers, see arena.h. One thread takes connections and starts sessions, as daemon.c does. */
#include "arena.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/endpoint.h"
#include "common/log.h"
#include "common/util.h"
#include "common/wire.h"
#include "fuzz.h"
#include "rdcp/interrupt.h"
#include "rdcpd/access.h"
#include "rdcpd/session.h"
#include "tree.h"

#define SESSIONS 8 /* at a time; more are refused */
#define CANARY "nobody may touch this"

static struct {
	struct arena public;
	bool made;
	char scratch[200];
	struct config *config;
	struct access *access;
	struct endpoint_listener *listener;
	int finished_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* of the two below */
	struct session *sessions[SESSIONS];
	unsigned int count;
	unsigned int descriptors; /* that are open between two inputs; 0: not known yet */
} arena = { .lock = PTHREAD_MUTEX_INITIALIZER };

double arena_clock(void)
{
	return (double)now_ns() / (double)SEC;
}

/* ---- taking connections ------------------------------------------------------------------------------------- */

static void take(struct endpoint_request *rq)
{
	struct session_args args = { .rq = rq, .finished_fd = arena.finished_fd };
	struct access_refusal no = { 0 };

	pthread_mutex_lock(&arena.lock);
	if (arena.count == SESSIONS || wire_decode_req(rq->blob, rq->blob_len, &args.req, NULL) < 0 ||
	    access_check(arena.access, &args.req, rq->blob, (struct sockaddr *)&rq->peer, now_ns() / SEC, &args.grant,
			 &no) != ACCESS_ACCEPT) {
		endpoint_request_reject(rq, NULL, 0);
	} else {
		args.req.slot_log2 = args.req.slot_log2 < 16 ? args.req.slot_log2 : 16;
		args.req.slots_log2 = args.req.slots_log2 < 3 ? args.req.slots_log2 : 3;
		if (session_start(&args, &arena.sessions[arena.count]) == 0)
			arena.count++;
	}
	pthread_mutex_unlock(&arena.lock);
}

static void *listen_thread(void *arg)
{
	struct pollfd p = { .fd = endpoint_listener_fd(arena.listener), .events = POLLIN };
	struct endpoint_request *rq;

	while (poll(&p, 1, -1) >= 0)
		while (endpoint_listener_next(arena.listener, &rq) > 0)
			take(rq);
	return NULL;
}

static void start_listening(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct endpoint_fault fault;

	/* the listener does not tell the port it was given: look for one that is free */
	for (unsigned int i = 0; i < 20000; i++) {
		uint16_t port = (uint16_t)(12000 + ((unsigned int)getpid() * 7 + i) % 20000);

		addr.sin_port = htons(port);
		if (endpoint_listen(&endpoint_stream, (struct sockaddr *)&addr, sizeof(addr), &arena.listener, &fault))
			continue;
		arena.public.port = port;
		FUZZ_CHECK(pthread_create(&arena.thread, NULL, listen_thread, NULL) == 0);
		return;
	}
	FUZZ_CHECK(!"a port to listen on");
}

/* ---- making ------------------------------------------------------------------------------------------------- */

static void drop_line(int level, const char *line)
{
}

static void say(void *owner, int level, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", arena.scratch, name);
	f = fopen(path, "we");
	FUZZ_CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void remove_scratch(void)
{
	tree_remove(arena.scratch);
}

static void make_scratch(void)
{
	const char *dir = getenv("RDCP_FUZZ_DIR");
	char text[512];

	if (!dir)
		dir = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(arena.scratch, sizeof(arena.scratch), "%s/rdcp-fuzz.XXXXXX", dir);
	FUZZ_CHECK(mkdtemp(arena.scratch));
	atexit(remove_scratch);
	snprintf(arena.public.top, sizeof(arena.public.top), "%s/top", arena.scratch);
	FUZZ_CHECK(mkdir(arena.public.top, 0755) == 0);
	write_file("canary", CANARY);
	snprintf(
		text, sizeof(text),
		"[daemon]\nauth = none\ntransport = tcp\nio-threads = 2\n[export top]\npath = %s\naccess = read-write\n"
		"setuid = yes\n",
		arena.public.top);
	write_file("rdcpd.conf", text);
}

static void make(void)
{
	char path[256];

	make_scratch();
	snprintf(path, sizeof(path), "%s/rdcpd.conf", arena.scratch);
	FUZZ_CHECK(config_load(path, say, NULL, &arena.config) == 0);
	FUZZ_CHECK(access_new(arena.config, &arena.access) == 0);
	signal(SIGPIPE, SIG_IGN);
	FUZZ_CHECK(freopen("/dev/null", "we", stdout)); /* what a client lists */
	log_set_sink(drop_line);
	log_set_level(LOG_DEBUG);
	FUZZ_CHECK(interrupt_start() == 0);
	arena.finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	FUZZ_CHECK(arena.finished_fd >= 0);
	start_listening();
	arena.made = true;
}

const struct arena *arena_begin(void)
{
	if (!arena.made)
		make();
	return &arena.public;
}

/* ---- the end of an input ------------------------------------------------------------------------------------ */

/* Pipes are not the program's, but a sanitizer's, which tries addresses with them. `show`: names them as well. */
static unsigned int count_descriptors(bool show)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	unsigned int n = 0;
	char text[128];

	FUZZ_CHECK(dir);
	while ((e = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, text, sizeof(text));

		if (len <= 0 || strncmp(text, "pipe:", 5) == 0)
			continue;
		n++;
		if (show)
			fprintf(stderr, "%s is %.*s\n", e->d_name, (int)len, text);
	}
	closedir(dir);
	return n;
}

static bool is_canary_well(void)
{
	char path[256], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/canary", arena.scratch);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return strcmp(text, CANARY) == 0;
}

/* The sessions that are there; the listener may still be about to start one. */
static void join_sessions(double deadline)
{
	for (unsigned int i = 0; i < arena.count; i++) {
		while (!session_finished(arena.sessions[i])) {
			FUZZ_CHECK(arena_clock() < deadline); /* a session ends when its connection does */
			usleep(100);
		}
		session_join(arena.sessions[i]);
	}
	arena.count = 0;
}

static bool is_quiet(double deadline)
{
	unsigned int now;

	pthread_mutex_lock(&arena.lock);
	join_sessions(deadline);
	pthread_mutex_unlock(&arena.lock);
	now = count_descriptors(false);
	if (!arena.descriptors)
		arena.descriptors = now;
	return now <= arena.descriptors;
}

void arena_end(void)
{
	double deadline = arena_clock() + ARENA_DEADLINE_S;

	while (!is_quiet(deadline)) {
		if (arena_clock() > deadline) {
			count_descriptors(true);
			FUZZ_CHECK(!"every descriptor is closed");
		}
		usleep(100);
	}
	FUZZ_CHECK(is_canary_well());
	tree_remove(arena.public.top);
	FUZZ_CHECK(mkdir(arena.public.top, 0755) == 0);
}
