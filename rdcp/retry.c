// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Whether and when to try again. See retry.h. Called by client.c, which waits and starts over. */
#include "retry.h"

#include <string.h>

#include "common/util.h"

#define FIRST_DELAY_NS (1 * SEC)
#define LONGEST_DELAY_NS (30 * SEC)

void retry_init(struct retry *r, unsigned int most)
{
	*r = (struct retry){ .most = most };
	if (most && names_init(&r->done, NAMES_MAX) < 0)
		r->most = 0;
}

void retry_done(struct retry *r)
{
	names_done(&r->done);
}

static bool once_more(struct retry *r)
{
	r->again = r->failed < r->most;
	if (r->again)
		r->failed++;
	return r->again;
}

static bool is_passing(enum status status)
{
	return status == STATUS_STOPPING || status == STATUS_TIMEOUT || status == STATUS_BUSY;
}

static bool is_of_the_way(enum endpoint_fault_kind kind)
{
	switch (kind) {
	case ENDPOINT_CLOSED: /* by a daemon that was killed: its kernel hangs up */
	case ENDPOINT_ADDRESS:
	case ENDPOINT_NO_ROUTE:
	case ENDPOINT_NOBODY:
	case ENDPOINT_REJECTED:
	case ENDPOINT_UNREACHABLE:
	case ENDPOINT_LOST:
	case ENDPOINT_REFUSED_WRITE:
	case ENDPOINT_TIMEOUT:
		return true;
	default:
		return false;
	}
}

bool retry_after_end(struct retry *r, const struct peer_end *end, bool moved)
{
	if (moved)
		r->failed = 0;
	if (end->by_connection)
		return is_of_the_way(end->fault) && once_more(r);
	return is_passing(end->status) && once_more(r);
}

bool retry_after_failure(struct retry *r, const struct endpoint_fault *fault, enum status refusal)
{
	if (!r->failed) /* it was never reached: whoever waits for it should know */
		return false;
	if (refusal != STATUS_OK)
		return is_passing(refusal) && once_more(r);
	return is_of_the_way(fault->kind) && once_more(r);
}

uint64_t retry_delay_ns(const struct retry *r)
{
	uint64_t delay = FIRST_DELAY_NS;

	for (unsigned int i = 1; i < r->failed && delay < LONGEST_DELAY_NS; i++)
		delay *= 2;
	return delay < LONGEST_DELAY_NS ? delay : LONGEST_DELAY_NS;
}

/* Of what was copied the sender looks for the request alone, see send_item.done. */
struct id {
	uint32_t request, kind;
};

static size_t id_size(enum retry_kind kind)
{
	return kind == RETRY_COPIED ? sizeof(uint32_t) : sizeof(struct id);
}

void retry_note(struct retry *r, uint32_t request, const char *path, enum retry_kind kind)
{
	const struct id id = { request, kind };

	if (r->most)
		names_add(&r->done, &id, id_size(kind), path, strlen(path));
}

bool retry_knows(const struct retry *r, uint32_t request, const char *path, enum retry_kind kind)
{
	const struct id id = { request, kind };

	return names_contains(&r->done, &id, id_size(kind), path, strlen(path));
}
