/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A run of rdcp with a daemon that is the fuzzer: the first bytes say what is copied, the others what the daemon does. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arena.h"
#include "common/util.h"
#include "fuzz.h"
#include "rdcp/client.h"
#include "rdcp/options.h"
#include "talk.h"
#include "tree.h"

struct host {
	struct bytes b;
	struct talk talk;
	int fd;
	uint16_t port;
	pthread_t thread;
};

static void *host_thread(void *arg)
{
	struct host *h = arg;
	bool pull = false;

	if (talk_take(&h->talk, &h->b, h->fd, &pull) == 0) {
		if (pull) {
			talk_await(&h->talk, WIRE_END, 1);
			talk_send(&h->talk);
		} else {
			talk_await(&h->talk, WIRE_END, 1);
			talk_flush(&h->talk);
		}
	}
	talk_done(&h->talk);
	return NULL;
}

static void host_listen(struct host *h)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);

	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(h->fd >= 0 && bind(h->fd, (struct sockaddr *)&addr, len) == 0 && listen(h->fd, 8) == 0);
	FUZZ_CHECK(getsockname(h->fd, (struct sockaddr *)&addr, &len) == 0);
	h->port = ntohs(addr.sin_port);
}

static int run_client(struct bytes *b, const struct arena *arena, uint16_t port)
{
	static const char *const hows[] = { "-r", "-a", "-rp", "-p", "-aL" };
	static const char *const whats[] = {
		"-q",        "-u",       "--checksum", "--ignore-existing",   "--no-clobber",
		"--dry-run", "--verify", "--mkpath",   "--partial-dir=.part", "--list"
	};
	static const char *const paths[] = { "src", "src/a", "src/*", "src/.", "src/b" };
	char where[32], source[400], target[400], why[OPTIONS_WHY_SIZE];
	bool pull = bytes_one_in(b, 2);
	const char *how = bytes_pick(b, hows), *what = bytes_pick(b, whats), *path = bytes_pick(b, paths);
	bool list = strcmp(what, "--list") == 0;
	char *argv[] = { "rdcp",
			 "--transport=tcp",
			 where,
			 "--identity=none",
			 "--retries=0",
			 "--io-threads=2",
			 list ? "-q" : (char *)how,
			 (char *)what,
			 source,
			 target,
			 NULL };
	struct options o;
	int code;

	snprintf(where, sizeof(where), "--port=%u", port);
	snprintf(source, sizeof(source), "%s%s/%s", pull || list ? "127.0.0.1:" : "", arena->top, path);
	snprintf(target, sizeof(target), "%s%s/dst", pull ? "" : "127.0.0.1:", arena->top);
	if (list)
		argv[9] = NULL;
	if (options_parse(list ? 9 : 10, argv, &o, why, sizeof(why)) < 0)
		return 2;
	code = client_run(&o);
	options_done(&o);
	return code;
}

/* The thread may wait for a client that never came. */
static void host_stop(struct host *h)
{
	shutdown(h->fd, SHUT_RDWR);
	pthread_join(h->thread, NULL);
	close(h->fd);
}

int fuzz_client(const uint8_t *data, size_t len)
{
	static struct host host;
	const struct arena *arena = arena_begin();
	struct bytes b = { data, len };
	char path[300];
	int code;

	snprintf(path, sizeof(path), "%s/src", arena->top);
	tree_make(&b, TREE_SOURCE, path);
	snprintf(path, sizeof(path), "%s/dst", arena->top);
	tree_make(&b, TREE_DESTINATION, path);
	/* the client's decisions are the first bytes, the daemon's the rest */
	host = (struct host){ .talk.fd = -1 };
	host.b = (struct bytes){ b.p + min_size(b.left, 4), b.left - min_size(b.left, 4) };
	b.left = min_size(b.left, 4);
	host_listen(&host);
	FUZZ_CHECK(pthread_create(&host.thread, NULL, host_thread, &host) == 0);
	code = run_client(&b, arena, host.port);
	host_stop(&host);
	arena_end();
	return code == 0;
}

FUZZ_ENTRY(client)
