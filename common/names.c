/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The set of names.h: a table with open addressing, at most three quarters full, that doubles.
 *
 * Called from the loop thread of whoever retries a transfer, which owns the set. When adding fails the set is as it
 * was: a file that is not remembered as done is only copied again.
 */
#include "names.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "error.h"
#include "util.h"

#define ROOM_MIN 64 /* places */

static_assert(NAMES_SECRET_SIZE >= XXH3_SECRET_SIZE_MIN, "a secret that XXH3 takes");

int names_init(struct names *n, size_t max)
{
	*n = (struct names){ .max = min_size(max, NAMES_MAX) };
	if (sodium_init() < 0)
		return fail(-EIO, "sodium_init");
	randombytes_buf(n->secret, sizeof(n->secret));
	return 0;
}

void names_done(struct names *n)
{
	free(n->table);
	*n = (struct names){ 0 };
}

/* The path's hash stands for the path, so that both fit in a small buffer and neither can borrow bytes of the other. */
static struct name_hash hash_name(const struct names *n, const void *id, size_t id_len, const void *path,
				  size_t path_len)
{
	uint8_t both[sizeof(XXH128_canonical_t) + NAMES_ID_MAX];
	size_t used = sizeof(XXH128_canonical_t);
	XXH128_hash_t hash = XXH3_128bits_withSecret(path, path_len, n->secret, sizeof(n->secret));
	XXH128_canonical_t canonical;

	assert(id_len <= NAMES_ID_MAX);
	XXH128_canonicalFromHash(&canonical, hash);
	memcpy(both, canonical.digest, used);
	if (id_len)
		memcpy(both + used, id, id_len);
	hash = XXH3_128bits_withSecret(both, used + id_len, n->secret, sizeof(n->secret));
	/* The one hash that means an empty place gives way to its neighbour. */
	return (struct name_hash){ .low = hash.low64 | (!hash.low64 && !hash.high64), .high = hash.high64 };
}

static bool is_empty(const struct name_hash *place)
{
	return place->low == 0 && place->high == 0;
}

/* The place of this hash, or the empty one where it belongs. The table always has one that is empty. */
static struct name_hash *find_place(struct name_hash *table, size_t room, struct name_hash hash)
{
	size_t i = hash.low & (room - 1);

	while (!is_empty(&table[i]) && (table[i].low != hash.low || table[i].high != hash.high))
		i = (i + 1) & (room - 1);
	return &table[i];
}

/* Room for one more name. */
static int make_room(struct names *n)
{
	size_t room = n->room ? 2 * n->room : ROOM_MIN;
	struct name_hash *table;

	if (n->count < n->room / 4 * 3)
		return 0;
	table = calloc(room, sizeof(*table));
	if (!table)
		return fail(-ENOMEM, "a set of %zu names", n->count);
	for (size_t i = 0; i < n->room; i++)
		if (!is_empty(&n->table[i]))
			*find_place(table, room, n->table[i]) = n->table[i];
	free(n->table);
	n->table = table;
	n->room = room;
	return 0;
}

int names_add(struct names *n, const void *id, size_t id_len, const void *path, size_t path_len)
{
	struct name_hash hash = hash_name(n, id, id_len, path, path_len);
	int r;

	if (n->room && !is_empty(find_place(n->table, n->room, hash)))
		return 0;
	if (n->count >= n->max)
		return fail(-ENOSPC, "a set of %zu names", n->count);
	r = make_room(n);
	if (r < 0)
		return r;
	*find_place(n->table, n->room, hash) = hash;
	n->count++;
	return 1;
}

bool names_contains(const struct names *n, const void *id, size_t id_len, const void *path, size_t path_len)
{
	if (!n->count)
		return false;
	return !is_empty(find_place(n->table, n->room, hash_name(n, id, id_len, path, path_len)));
}
