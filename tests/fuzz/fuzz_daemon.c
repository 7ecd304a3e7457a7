/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session of the daemon with a client that is the fuzzer: the first byte says push or pull, the others what it does. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "fuzz.h"
#include "talk.h"
#include "tree.h"

int fuzz_daemon(const uint8_t *data, size_t len)
{
	const struct arena *arena = arena_begin();
	struct bytes b = { data, len };
	bool pull = bytes_one_in(&b, 2);
	char path[300];
	struct talk t;

	snprintf(path, sizeof(path), "%s/%s", arena->top, pull ? "src" : "dst");
	tree_make(&b, TREE_SOURCE, path);
	if (talk_dial(&t, &b, arena->port, pull) == 0) {
		if (pull)
			talk_receive(&t);
		else
			talk_send(&t);
	}
	talk_done(&t);
	arena_end();
	return t.heard[pull ? WIRE_END : WIRE_DONE] > 0;
}

FUZZ_ENTRY(daemon)
