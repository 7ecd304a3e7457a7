// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* The set of made.h: open addressing, at most three quarters full, doubled. The receiver owns it, its workers use it. */
#include "made.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>

#include "budget.h"
#include "sys.h"

#define ROOM_MIN 64

void made_init(struct made *m, struct budget *memory)
{
	*m = (struct made){ .memory = memory };
	pthread_mutex_init(&m->set, NULL);
	pthread_mutex_init(&m->renaming, NULL);
}

void made_done(struct made *m)
{
	free(m->table);
	budget_give(m->memory, m->room * sizeof(*m->table));
	pthread_mutex_destroy(&m->set);
	pthread_mutex_destroy(&m->renaming);
}

static bool is_empty(const struct made_file *place)
{
	return !place->dev && !place->ino;
}

/* Its place, or the empty one where it belongs; there always is one. */
static struct made_file *find(struct made_file *table, size_t room, struct made_file file)
{
	size_t i = (size_t)(((file.ino ^ file.dev << 32) * 0x9e3779b97f4a7c15U) >> 20) & (room - 1);

	while (!is_empty(&table[i]) && (table[i].dev != file.dev || table[i].ino != file.ino))
		i = (i + 1) & (room - 1);
	return &table[i];
}

static int make_room(struct made *m)
{
	size_t room = m->room ? 2 * m->room : ROOM_MIN;
	struct made_file *table;

	if (m->count < m->room / 4 * 3)
		return 0;
	m->full = budget_take(m->memory, room * sizeof(*table)) < 0;
	if (m->full)
		return 0;
	table = calloc(room, sizeof(*table));
	if (!table) {
		budget_give(m->memory, room * sizeof(*table));
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->room; i++)
		if (!is_empty(&m->table[i]))
			*find(table, room, m->table[i]) = m->table[i];
	free(m->table);
	budget_give(m->memory, m->room * sizeof(*table));
	m->table = table;
	m->room = room;
	return 0;
}

static int add(struct made *m, struct made_file file)
{
	struct made_file *place;
	int r = make_room(m);

	if (r < 0 || m->full)
		return r;
	place = find(m->table, m->room, file);
	m->count += is_empty(place);
	*place = file;
	return 0;
}

int made_add(struct made *m, const struct stat *st)
{
	int r;

	pthread_mutex_lock(&m->set);
	r = add(m, (struct made_file){ st->st_dev, st->st_ino });
	pthread_mutex_unlock(&m->set);
	return r;
}

bool made_contains(struct made *m, const struct stat *st)
{
	bool found;

	pthread_mutex_lock(&m->set);
	found = m->count && !is_empty(find(m->table, m->room, (struct made_file){ st->st_dev, st->st_ino }));
	pthread_mutex_unlock(&m->set);
	return found;
}

/* -ENOTUNIQ: it is one of them. */
static int look(struct made *m, const struct stat *own, int to, const char *name)
{
	struct stat st;

	if (sys_fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (st.st_dev == own->st_dev && st.st_ino == own->st_ino)
		return 0;
	return made_contains(m, &st) ? -ENOTUNIQ : 0;
}

int made_rename(struct made *m, const struct stat *own, bool expected, int from, const char *temp, int to,
		const char *name)
{
	int r;

	if (!expected && sys_renameat2(from, temp, to, name, RENAME_NOREPLACE) >= 0)
		return 0;
	if (!expected && errno != EEXIST && errno != EINVAL && errno != ENOSYS)
		return -errno;
	pthread_mutex_lock(&m->renaming);
	r = look(m, own, to, name);
	if (r == 0 && sys_renameat2(from, temp, to, name, 0) < 0)
		r = -errno;
	pthread_mutex_unlock(&m->renaming);
	return r;
}
