// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * A directory and its entries, one item after the other. Directory by directory the walk is read ahead, a batch at a time, on a
 * worker. Three things wait for the RESULTs of everything before: the entries for that of the top, so that a destination that cannot be
 * made costs one error and not one for each file; hard links, whose file has to be there; and the directories' attributes, which only last when nothing is
 * made in them any more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "here.h"
#include "peer.h"
#include "sender_impl.h"
#include "subtrees.h"
#include "util.h"
#include "walk.h"

#define BATCH 256
#define WRITABLE_DIRECTORY 0700 /* what it takes to make files in it */

enum tree_stage {
	TREE_TOP,    /* the top was named: waits for its RESULT */
	TREE_WALK,   /* entries */
	TREE_SETTLE, /* all were named: waits for their RESULTs */
	TREE_LINKS,  /* hard links, and their RESULTs */
	TREE_LEAVE,  /* directories once more */
	TREE_LAST    /* all was named */
};

struct batch {
	struct walk_entry entries[BATCH];
	unsigned int count, taken;
};

/* A directory that is to get its attributes. */
struct left {
	struct left *next;
	struct stat stat;
	size_t size; /* taken from the session's memory */
	char *dir, *name;
};

struct tree {
	struct sender *sender;
	enum tree_stage stage;
	struct walk walk;
	struct io_job job;
	bool reading, walked;
	int result;
	struct batch batches[2], *now, *ahead; /* `ahead` is the worker's while reading */
	struct links links;
	struct left *left;
	struct subtrees lost; /* could not be made at the receiver */
	struct send_item top;
	enum status status;           /* of what no entry could say */
	const char *why;              /* a sentence for it, static storage; or NULL */
	struct wire_here destination; /* the walk knows of it if it is on this host */
};

static struct send_item copy_item(const struct send_item *item)
{
	struct send_item copy = *item;

	copy.path = strdup(item->path);
	copy.target = strdup(item->target);
	copy.name = strdup(item->name);
	return copy;
}

int sender_tree_open(struct sender *s, struct send_file *f)
{
	return walk_open(&s->tree->walk, f->item.root, f->item.path, f->item.follow);
}

int sender_tree_whole_path(struct sender *s, const char *path, int *ret_root, char ret_path[static PATH_MAX])
{
	*ret_root = s->tree->walk.root;
	return walk_whole_path(&s->tree->walk, path, ret_path);
}

int sender_tree_open_below(struct sender *s, const char *path, int flags)
{
	return walk_open_below(&s->tree->walk, path, flags);
}

static struct tree *tree_new(struct sender *s, const struct send_item *top)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sender = s;
	walk_init(&t->walk);
	t->walk.filter = top->filter;
	t->walk.narrow = !(top->flags & WIRE_FILE_XATTRS);
	t->walk.memory = t->links.memory = s->peer->memory;
	t->now = &t->batches[0];
	t->ahead = &t->batches[1];
	t->top = copy_item(top);
	return t;
}

/* Loop: before sender_tree_open(). */
int sender_tree_new(struct sender *s, const struct send_item *top)
{
	s->tree = tree_new(s, top);
	return s->tree ? 0 : -ENOMEM;
}

void sender_tree_begin(struct sender *s, struct send_file *f)
{
	f->item.flags |= WIRE_FILE_DIRECTORY;
	f->in.stat = s->tree->top.stat = s->tree->walk.stat;
	f->all_filled = true;
}

/* No entry was read yet, so the walk is nobody else's. */
int sender_on_here(void *engine, const struct wire_record *rec)
{
	struct sender *s = engine;
	struct tree *t = s->tree;
	struct send_file *f = s->by_id[rec->here.file % s->id_span];

	if (!f || f->id != rec->here.file || f->status != STATUS_OK)
		return 0; /* of a top that ended meanwhile */
	if (!t || t->stage != TREE_TOP || !f->item.recurse || t->walk.destination)
		return -EPROTO;
	t->destination = rec->here;
	if (here_is_this_host(&t->destination))
		t->walk.destination = &t->destination;
	return 0;
}

void sender_tree_top_done(struct sender *s, bool good)
{
	struct tree *t = s->tree;

	if (!good) {
		sender_tree_free(s);
		return;
	}
	t->stage = TREE_WALK;
	if (t->walk.destination && here_is(t->walk.destination, &t->walk.stat)) {
		t->why = "the destination is the source itself";
		sender_tree_lost(s, STATUS_FAILED);
		t->stage = TREE_LEAVE; /* and nothing to be left but the top */
	}
}

void sender_tree_lost(struct sender *s, enum status status)
{
	if (s->tree && s->tree->status == STATUS_OK)
		s->tree->status = status;
}

void sender_tree_lost_for(struct sender *s, int error)
{
	if (error == -ENOBUFS && s->tree && s->tree->status == STATUS_OK)
		s->tree->why = "it has more directories than the memory of a session is enough for";
	sender_tree_lost(s, error == -ENOMEM ? STATUS_FAILED : status_from_errno(error));
}

/* ---- reading ahead ------------------------------------------------------------------------------------------ */

static void run_read(struct io_job *job)
{
	struct tree *t = container_of(job, struct tree, job);

	t->result = walk_read(&t->walk, t->ahead->entries, BATCH);
}

static void on_read(struct io_job *job)
{
	struct tree *t = container_of(job, struct tree, job);

	t->reading = false;
	if (t->result < 0)
		sender_tree_lost_for(t->sender, t->result);
	t->ahead->count = t->result > 0 ? (unsigned int)t->result : 0;
	t->walked = t->result <= 0;
	sender_job_ended(t->sender);
}

static void read_ahead(struct tree *t)
{
	if (t->reading || t->walked || t->ahead->count)
		return;
	t->reading = true;
	sender_submit(t->sender, &t->job, run_read, on_read);
}

/* The next entry, or NULL: none is there yet, or none is left (walked). */
static struct walk_entry *next_entry(struct tree *t)
{
	struct batch *done = t->now;

	if (t->now->taken == t->now->count && !t->reading && t->ahead->count) {
		t->now = t->ahead;
		t->ahead = done;
		done->count = done->taken = 0;
	}
	read_ahead(t);
	return t->now->taken < t->now->count ? &t->now->entries[t->now->taken++] : NULL;
}

/* ---- entries as items --------------------------------------------------------------------------------------- */

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0 ? NULL : path;
}

/* -ENOMEM: a string is missing. */
static int item_is_whole(const struct send_item *item)
{
	return item->path && item->target && item->name ? 1 : -ENOMEM;
}

/* An item like the top, of what is at `dir`/`name`; takes both strings. */
static struct send_item item_below(const struct tree *t, char *dir, char *name, const struct stat *st)
{
	const uint32_t inherited = WIRE_FILE_PRESERVE | WIRE_FILE_SYNC | WIRE_FILE_NO_SYNC | WIRE_FILE_NO_CLOBBER |
				   WIRE_FILE_OWNER | WIRE_FILE_XATTRS | WIRE_FILE_NUMERIC_IDS | WIRE_FILE_SPECIAL |
				   WIRE_FILE_DIRECT | WIRE_FILE_VERIFY | WIRE_FILE_UPDATE | WIRE_FILE_SKIP_HELD |
				   WIRE_FILE_DRY_RUN;

	return (struct send_item){
		.root = t->walk.top,
		.path = dir && name ? join(dir, name) : NULL,
		.target = dir,
		.name = name,
		.request = t->top.request,
		.flags = (t->top.flags & inherited) | WIRE_FILE_BELOW,
		.dense = t->top.dense,
		.ask = t->top.ask,
		.checksum = t->top.checksum,
		.follow = t->top.follow,
		.resume = t->top.resume,
		.stat = *st,
	};
}

static bool needs_leave(const struct tree *t, const struct stat *st)
{
	return (t->top.flags & WIRE_FILE_PRESERVE) || (st->st_mode & WRITABLE_DIRECTORY) != WRITABLE_DIRECTORY;
}

/* Dir and name are the caller's now. */
static struct left *take_left(struct tree *t)
{
	struct left *left = t->left;

	if (left) {
		t->left = left->next;
		budget_give(t->sender->peer->memory, left->size);
	}
	return left;
}

static int remember_directory(struct tree *t, const struct walk_entry *e)
{
	struct left *left;
	size_t size = sizeof(*left) + strlen(e->dir) + strlen(e->name) + 48; /* and what three allocations cost */
	int r = budget_take(t->sender->peer->memory, size);

	if (r < 0)
		return r;
	left = calloc(1, sizeof(*left));
	if (!left) {
		budget_give(t->sender->peer->memory, size);
		return -ENOMEM;
	}
	left->size = size;
	left->stat = e->stat;
	left->dir = strdup(e->dir);
	left->name = strdup(e->name);
	left->next = t->left;
	t->left = left;
	return left->dir && left->name ? 0 : -ENOMEM;
}

static const char *why_not(const struct walk_entry *e)
{
	if (e->error == WALK_ITSELF)
		return "a directory cannot be copied into itself";
	if (!S_ISLNK(e->stat.st_mode))
		return NULL;
	switch (e->error) {
	case -ENOENT:
		return "the symlink leads nowhere";
	case -ELOOP:
		return "the symlink leads in a circle";
	case -EXDEV:
		return "the symlink leads out of the export";
	default:
		return "where the symlink leads";
	}
}

/* 1: it is a further name of a file, to come later as a link. */
static int sort_out_link(struct tree *t, const struct walk_entry *e, struct links_file **ret_first)
{
	*ret_first = NULL;
	if (!t->top.hard_links || e->error || e->stat.st_nlink < 2 ||
	    !(S_ISREG(e->stat.st_mode) || S_ISLNK(e->stat.st_mode)))
		return 0;
	return links_add(&t->links, &e->stat, e->dir, e->name, e->link, ret_first);
}

static int entry_item(struct tree *t, struct walk_entry *e, struct send_item *ret_item)
{
	struct send_item item;
	int r = 0;

	if (S_ISDIR(e->stat.st_mode) && !e->error && needs_leave(t, &e->stat))
		r = remember_directory(t, e);
	item = item_below(t, steal_ptr(e->dir), steal_ptr(e->name), &e->stat);
	if (e->error) {
		item.status = status_from_errno(e->error);
		item.why = why_not(e);
	} else if (item.path && subtrees_find(&t->lost, item.path)) {
		item.status = STATUS_FAILED;
		item.why = "its directory could not be made";
	}
	if (S_ISDIR(e->stat.st_mode) && e->error != WALK_ITSELF) /* that is not to be made */
		item.flags |= WIRE_FILE_DIRECTORY;
	else if (S_ISLNK(e->stat.st_mode) && e->link)
		item.flags |= WIRE_FILE_SYMLINK;
	else if (S_ISREG(e->stat.st_mode))
		item.seen = true;
	else if (!e->error)
		item.status = STATUS_NOT_REGULAR;
	item.link = steal_ptr(e->link);
	*ret_item = item;
	return r < 0 ? r : item_is_whole(ret_item);
}

/* What an attempt before has made of it, or of its place. */
static enum status made_before(const struct tree *t, const char *path)
{
	const struct sender *s = t->sender;

	return s->events->wanted && path ? s->events->wanted(s->owner, t->top.request, path) : STATUS_OK;
}

static enum status entry_made_before(const struct tree *t, const struct walk_entry *e)
{
	_cleanup_free_ char *path = NULL;

	if (!t->sender->events->wanted || S_ISDIR(e->stat.st_mode))
		return STATUS_OK;
	path = join(e->dir, e->name);
	return made_before(t, path);
}

/* 1: *ret_item is the entry. 0: it is nothing to be sent, or not now. Files that are done are there for their further names. */
static int take_entry(struct tree *t, struct walk_entry *e, struct send_item *ret_item)
{
	struct links_file *first;
	enum status made;
	int r;

	if (strcmp(e->name, ".") == 0) { /* the top itself */
		sender_tree_lost(t->sender, status_from_errno(e->error));
		return 0;
	}
	r = sort_out_link(t, e, &first);
	if (r < 0)
		return r;
	if (r > 0)
		return 0;
	made = entry_made_before(t, e);
	if (made == STATUS_SKIPPED) {
		if (first)
			first->state = LINKS_THERE;
		return 0;
	}
	r = entry_item(t, e, ret_item);
	ret_item->first = first;
	if (made != STATUS_OK)
		ret_item->status = made;
	return r;
}

static int walk_item(struct tree *t, struct send_item *ret_item)
{
	struct walk_entry *e;
	int r;

	while ((e = next_entry(t))) {
		r = take_entry(t, e, ret_item);
		walk_entry_done(e);
		if (r)
			return r;
	}
	if (t->walked && t->now->taken == t->now->count && !t->ahead->count)
		t->stage = TREE_SETTLE;
	return 0;
}

void sender_tree_first_done(const struct send_item *item, enum status status, bool same)
{
	bool there = status == STATUS_SKIPPED ? same : status_is_stored(status);

	item->first->state = there ? LINKS_THERE : LINKS_NOT_THERE;
}

void sender_tree_dir_refused(const struct send_file *f)
{
	struct tree *t = f->sender->tree;

	if (t)
		subtrees_note(&t->lost, f->item.path, true);
}

/* The next further name that is not there yet; none while it is not known what became of its file, and somebody will tell. */
static bool next_link(struct tree *t, struct links_file **ret_file, struct send_item *ret_item)
{
	const struct links_name *next;
	struct links_name name;
	enum status made;
	struct stat st;

	while ((next = links_next(&t->links))) {
		if (next->file->state == LINKS_UNDER_WAY && t->sender->busy_files)
			return false;
		links_take(&t->links, &name);
		st = links_stat(name.file);
		*ret_file = name.file;
		*ret_item = item_below(t, name.dir, name.name, &st);
		made = made_before(t, ret_item->path);
		if (made != STATUS_SKIPPED) {
			ret_item->status = made;
			return true;
		}
		send_item_done(ret_item);
	}
	return false;
}

/* What is at the first name is not the file: this one becomes the first, with content of its own. */
static int first_item(struct links_file *file, struct send_item *ret_item)
{
	char *path = ret_item->path ? strdup(ret_item->path) : NULL;

	if (!path)
		return -ENOMEM;
	free(file->path);
	file->path = path;
	file->state = LINKS_UNDER_WAY;
	ret_item->first = file;
	if (file->text) {
		ret_item->flags |= WIRE_FILE_SYMLINK;
		ret_item->link = strdup(file->text);
	}
	return file->text && !ret_item->link ? -ENOMEM : item_is_whole(ret_item);
}

static int link_item(struct tree *t, struct send_item *ret_item)
{
	struct links_file *file;

	if (!next_link(t, &file, ret_item))
		return 0;
	if (file->state != LINKS_THERE)
		return first_item(file, ret_item);
	ret_item->flags |= WIRE_FILE_HARD_LINK;
	ret_item->stat.st_size = ret_item->stat.st_blocks = 0; /* the bytes are those of the first */
	ret_item->link = strdup(file->path);
	return ret_item->link ? item_is_whole(ret_item) : -ENOMEM;
}

/* Those that are lost are told, and there is nothing to be left. */
static bool next_left(struct tree *t, struct send_item *ret_item)
{
	struct left *left;

	while ((left = take_left(t))) {
		*ret_item = item_below(t, left->dir, left->name, &left->stat);
		free(left);
		if (!ret_item->path || !subtrees_have(&t->lost, ret_item->path))
			return true;
		send_item_done(ret_item);
	}
	return false;
}

static int leave_item(struct tree *t, struct send_item *ret_item)
{
	if (!next_left(t, ret_item)) {
		t->stage = TREE_LAST;
		*ret_item = copy_item(&t->top);
		ret_item->status = t->status;
		ret_item->why = t->why;
	}
	ret_item->flags |= WIRE_FILE_DIRECTORY | WIRE_FILE_LEAVE;
	return item_is_whole(ret_item);
}

int sender_tree_next(struct sender *s, struct send_item *ret_item)
{
	struct tree *t = s->tree;
	int r = 0;

	if (t->stage == TREE_WALK)
		r = walk_item(t, ret_item);
	if (r == 0 && t->stage == TREE_SETTLE && !s->busy_files)
		t->stage = TREE_LINKS;
	if (r == 0 && t->stage == TREE_LINKS)
		r = link_item(t, ret_item);
	if (r == 0 && t->stage == TREE_LINKS && !s->busy_files)
		t->stage = TREE_LEAVE;
	if (r == 0 && t->stage == TREE_LEAVE)
		return leave_item(t, ret_item);
	if (r == 0 && t->stage == TREE_LAST && !s->busy_files) {
		sender_tree_free(s);
		return -ENODATA;
	}
	return r;
}

void sender_tree_cancel(struct sender *s)
{
	if (s->tree)
		walk_cancel(&s->tree->walk);
}

bool sender_tree_is_walked(const struct sender *s)
{
	return !s->tree || s->tree->stage >= TREE_SETTLE;
}

void sender_tree_free(struct sender *s)
{
	struct tree *t = s->tree;
	struct left *left;

	if (!t)
		return;
	for (int i = 0; i < 2; i++)
		while (t->batches[i].taken < t->batches[i].count)
			walk_entry_done(&t->batches[i].entries[t->batches[i].taken++]);
	while ((left = take_left(t))) {
		free(left->dir);
		free(left->name);
		free(left);
	}
	links_done(&t->links);
	subtrees_done(&t->lost);
	walk_close(&t->walk);
	send_item_done(&t->top);
	free(t);
	s->tree = NULL;
}
