/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A file as rdcpd.conf: it is taken, or refused with at least one sentence that says why. */
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "fuzz.h"
#include "rdcpd/config.h"

struct said {
	unsigned int errors, warnings;
};

static void say(void *owner, int level, const char *text)
{
	struct said *said = owner;

	FUZZ_CHECK(level == LOG_ERR || level == LOG_WARNING);
	FUZZ_CHECK(*text && !strchr(text, '\n'));
	said->errors += level == LOG_ERR;
	said->warnings += level == LOG_WARNING;
}

static void check_taken(const struct config *c)
{
	FUZZ_CHECK(c->listen_count && c->export_count && c->auth != CONFIG_AUTH_MISSING);
	FUZZ_CHECK(c->max_sessions && c->max_pinned && c->handshake_timeout && c->idle_timeout && c->io_threads);
	for (size_t i = 0; i < c->export_count; i++)
		FUZZ_CHECK(config_name_is_good(c->exports[i].name) && c->exports[i].path[0] == '/');
	for (size_t i = 0; i < c->client_count; i++)
		FUZZ_CHECK(c->clients[i].key_count && c->clients[i].export_count);
}

int fuzz_config(const uint8_t *data, size_t len)
{
	_cleanup_close_ int fd = memfd_create("rdcpd.conf", MFD_CLOEXEC);
	_cleanup_free_ char *socket = NULL;
	struct config *config = NULL;
	struct said said = { 0 };
	char path[64];
	int r;

	FUZZ_CHECK(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = config_load(path, say, &said, &config);
	FUZZ_CHECK((r < 0) == (said.errors > 0) && (r == 0) == (config != NULL));
	if (r == 0)
		check_taken(config);
	config_unref(config);
	config_find_status_socket(path, &socket);
	return r == 0;
}

FUZZ_ENTRY(config)
