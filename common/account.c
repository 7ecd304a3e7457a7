/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Users and groups by name and by number, with a small cache.
 *
 * Called by attributes*.c on I/O workers of any session. The table belongs to the process and is the only thing shared; its
 * lock is never held while the name service is asked, so that a slow one only delays who asks. A peer chooses which names
 * are looked up: it can empty the table, not grow it, and a name that is not known today may be in a minute.
 */
#include "account.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <string.h>

#include "cleanup.h"
#include "digest.h"
#include "log.h"
#include "util.h"

#define CACHE_ENTRIES 256
#define CACHE_TIME (60 * SEC)
#define BUFFER_FIRST 1024
#define BUFFER_MAX (4 * MIB) /* a group of the name service with all its members */

/* A question and its answer: `name` is asked for when by_name, else `id` is. */
struct account {
	uint8_t kind;
	bool by_name;
	bool known;
	uint32_t id;
	char name[ACCOUNT_NAME_MAX + 1];
	uint64_t until; /* now_ns() when it is stale; 0: empty */
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct account cache[CACHE_ENTRIES];

/* ---- the name service --------------------------------------------------------------------------------------- */

/* Asks once, with a buffer of this size. 0 whatever the answer, ERANGE: the buffer is too small, or another errno. */
static int ask_user(struct account *a, char *buf, size_t size)
{
	struct passwd entry, *found = NULL;
	int error = a->by_name ? getpwnam_r(a->name, &entry, buf, size, &found)
			       : getpwuid_r(a->id, &entry, buf, size, &found);

	a->known = !error && found;
	if (a->known && a->by_name)
		a->id = found->pw_uid;
	else if (a->known && (a->known = account_name_ok(found->pw_name, strlen(found->pw_name))))
		memcpy(a->name, found->pw_name, strlen(found->pw_name) + 1);
	return error;
}

static int ask_group(struct account *a, char *buf, size_t size)
{
	struct group entry, *found = NULL;
	int error = a->by_name ? getgrnam_r(a->name, &entry, buf, size, &found)
			       : getgrgid_r(a->id, &entry, buf, size, &found);

	a->known = !error && found;
	if (a->known && a->by_name)
		a->id = found->gr_gid;
	else if (a->known && (a->known = account_name_ok(found->gr_name, strlen(found->gr_name))))
		memcpy(a->name, found->gr_name, strlen(found->gr_name) + 1);
	return error;
}

static void ask(struct account *a)
{
	size_t size;
	int error = ERANGE;

	a->known = false;
	for (size = BUFFER_FIRST; error == ERANGE && size <= BUFFER_MAX; size *= 4) {
		_cleanup_free_ char *buf = malloc(size);

		if (!buf)
			break;
		do {
			error = a->kind == ACCOUNT_USER ? ask_user(a, buf, size) : ask_group(a, buf, size);
		} while (error == EINTR);
	}
	/* getpwnam(3) lists what some services say when there is no such entry */
	if (error && error != ENOENT && error != ESRCH && error != EBADF && error != EPERM)
		log_debug("a user or group cannot be looked up: %s, ignoring", strerror(error));
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

static struct account *cache_slot(const struct account *a)
{
	uint64_t hash = a->by_name ? digest_chunk(a->name, strlen(a->name)) : digest_chunk(&a->id, sizeof(a->id));

	return &cache[(hash + a->kind * 2 + a->by_name) % CACHE_ENTRIES];
}

static bool cache_get(struct account *a)
{
	const struct account *slot = cache_slot(a);
	bool hit;

	pthread_mutex_lock(&cache_lock);
	hit = slot->until > now_ns() && slot->kind == a->kind && slot->by_name == a->by_name &&
	      (a->by_name ? !strcmp(slot->name, a->name) : slot->id == a->id);
	if (hit)
		*a = *slot;
	pthread_mutex_unlock(&cache_lock);
	return hit;
}

static void cache_put(struct account *a)
{
	struct account *slot = cache_slot(a);

	a->until = now_ns() + CACHE_TIME;
	pthread_mutex_lock(&cache_lock);
	*slot = *a;
	pthread_mutex_unlock(&cache_lock);
}

static bool look_up(struct account *a)
{
	if (!cache_get(a)) {
		ask(a);
		cache_put(a);
	}
	return a->known;
}

/* ---- the two questions -------------------------------------------------------------------------------------- */

bool account_name_ok(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == ':' || name[i] == '/')
			return false;
	return len >= 1 && len <= ACCOUNT_NAME_MAX;
}

int account_name(enum account_kind kind, uint32_t id, char ret_name[static ACCOUNT_NAME_MAX + 1])
{
	struct account a = { .kind = kind, .id = id };

	if (!look_up(&a))
		return -ENOENT;
	memcpy(ret_name, a.name, strlen(a.name) + 1);
	return 0;
}

int account_id(enum account_kind kind, const char *name, size_t len, uint32_t *ret_id)
{
	struct account a = { .kind = kind, .by_name = true };

	if (!account_name_ok(name, len))
		return -EINVAL;
	memcpy(a.name, name, len);
	if (!look_up(&a))
		return -ENOENT;
	*ret_id = a.id;
	return 0;
}
