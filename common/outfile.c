/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Writing a destination file: a temporary in the directory where it will be, renamed when it is whole.
 *
 * Called by the receiver's jobs on I/O workers; the receiver owns the struct and discards it. A path is looked up
 * once, by outfile_create(), which keeps the directory: all later calls go through descriptors, or a name of one
 * component in that directory, so it does not matter what becomes of the path. Whatever fails here, the destination is
 * untouched; it gets its name in outfile_commit.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "beneath.h"
#include "cleanup.h"
#include "error.h"
#include "log.h"
#include "made.h"
#include "outfile_impl.h"
#include "place.h"
#include "stream.h"
#include "sys.h"
#include "umask.h"
#include "util.h"

#define TEMP_ROOM (NAME_MAX - 1 - 1 - PARTIAL_RANDOM - (sizeof(PARTIAL_SUFFIX) - 1)) /* what is left for the name */
#define TEMP_ROOM_SHORT 16 /* on file systems whose names are shorter than NAME_MAX, such as ecryptfs */
#define TEMP_TRIES 16
#define PERMISSIONS 0777 /* what a peer can ask for */

void outfile_init(struct outfile *f)
{
	memset(f, 0, sizeof(*f));
	f->dir_fd = -1;
	f->fd = -1;
	f->direct_fd = -1;
	f->part_fd = -1;
}

/* ---- create ------------------------------------------------------------------------------------------------- */

/*
 * What the symlink at the destination leads to, from the root, since a link may lead out of its directory. /dev/stdout is one: whoever
 * names one that leads to a pipe, a terminal or a device, or to a descriptor, does not mean to replace it.
 */
static int check_link(const struct outfile *f, int root, const char *path, const char *name)
{
	_cleanup_close_ int fd = -1;
	bool is_descriptor;
	struct stat st;
	char *whole;

	if (asprintf(&whole, "%s%s%s", path, f->entered ? "/" : "", f->entered ? name : "") < 0)
		return -ENOMEM;
	fd = beneath_open(root, whole, O_PATH, 0);
	is_descriptor = root == AT_FDCWD && beneath_is_descriptor(whole);
	free(whole);
	if (fd == -EXDEV)
		return f->entered ? fd : 0;
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES)
		return 0; /* it leads nowhere, or where nobody may look */
	if (fd < 0)
		return fd;
	if (sys_fstat(fd, &st) < 0)
		return -errno;
	if (is_descriptor)
		return -ENOTSUP;
	if (S_ISDIR(st.st_mode))
		return f->entered ? -EISDIR : 0;
	return S_ISREG(st.st_mode) ? 0 : -ENOTSUP;
}

static int check_destination(struct outfile *f, unsigned int flags, struct stat *st)
{
	if (sys_fstatat(f->dir_fd, f->name, st, AT_SYMLINK_NOFOLLOW) < 0) {
		st->st_mode = 0;
		return errno == ENOENT ? 0 : -errno;
	}
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (flags & PLACE_NO_CLOBBER)
		return -EEXIST;
	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
		return -ENOTSUP;
	if (f->made && !f->is_hard_link && made_contains(f->made, st))
		return -ENOTUNIQ;
	if (S_ISREG(st->st_mode)) {
		f->replaces = true;
		f->replaced_mode = st->st_mode & PERMISSIONS;
	}
	return 0;
}

/* Up to `room` bytes of the name, not ending inside a UTF-8 character: some file systems refuse what is not UTF-8. */
static size_t cut_name(const char *name, size_t room)
{
	size_t len = strlen(name);

	if (len <= room)
		return len;
	for (len = room; len && ((unsigned char)name[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

/* Five bits of each byte make a character. */
static void name_temp(struct outfile *f, size_t room, const uint8_t bytes[static PARTIAL_RANDOM])
{
	char middle[PARTIAL_RANDOM + 1];

	for (int i = 0; i < PARTIAL_RANDOM; i++)
		middle[i] = PARTIAL_ALPHABET[bytes[i] & 31];
	middle[PARTIAL_RANDOM] = '\0';
	snprintf(f->temp, sizeof(f->temp), ".%.*s.%s" PARTIAL_SUFFIX, (int)cut_name(f->name, room), f->name, middle);
}

void outfile_name_temp(struct outfile *f, const uint8_t bytes[static PARTIAL_RANDOM])
{
	name_temp(f, TEMP_ROOM, bytes);
}

/* Gives it a temporary name and calls `make` until that succeeds, or fails for another reason than the name. */
static int with_temp(struct outfile *f, int (*make)(struct outfile *f, const void *data), const void *data)
{
	uint8_t random[PARTIAL_RANDOM];
	size_t room = TEMP_ROOM;
	int tries, r = -EEXIST;

	for (tries = 0; tries < TEMP_TRIES; tries++) {
		r = -EIO;
		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			break;
		name_temp(f, room, random);
		r = make(f, data);
		if (r == 0)
			return 0;
		if (r == -ENAMETOOLONG && room != TEMP_ROOM_SHORT)
			room = TEMP_ROOM_SHORT;
		else if (r != -EEXIST && r != -EINTR)
			break;
	}
	f->temp[0] = '\0';
	return r;
}

static int make_file(struct outfile *f, const void *data)
{
	const mode_t *mode = data;

	f->fd = sys_openat(f->dir_fd, f->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, *mode);
	return f->fd < 0 ? -errno : 0;
}

/* `mode`: what the temporary is made with. */
static int open_temp(struct outfile *f, mode_t mode, unsigned int flags)
{
	int r = flags & OUTFILE_RESUME ? outfile_take_resumable(f) : 0;

	if (r)
		return r < 0 ? r : 0;
	r = with_temp(f, make_file, &mode);
	/* Who removes what crashes left behind sees that it is in use; where there are no locks its age has to do, and what is whole in
	 * a moment needs none. */
	if (r == 0 && !f->has_mode && flock(f->fd, LOCK_EX | LOCK_NB) < 0)
		log_debug("cannot lock a temporary: %m, ignoring");
	return r;
}

static int make_symlink(struct outfile *f, const void *data)
{
	return sys_symlinkat(data, f->dir_fd, f->temp) < 0 ? -errno : 0;
}

static int give_up(struct outfile *f, int r, const char *name)
{
	char shown[512];
	bool part_failed = f->part_failed;

	outfile_discard(f);
	f->part_failed = part_failed;
	return fail(r, "create '%s'", escape_name(name, shown, sizeof(shown)));
}

int outfile_create(struct outfile *f, int root, const char *path, const char *name, unsigned int flags)
{
	struct stat st;
	int r;

	r = place_find(root, path, name, flags, &f->dir_fd, f->name);
	f->entered = r == 1;
	if (r >= 0)
		r = check_destination(f, flags, &st);
	if (r >= 0 && S_ISLNK(st.st_mode))
		r = check_link(f, root, path, name);
	if (r >= 0)
		r = open_temp(f, 0600, flags);
	return r < 0 ? give_up(f, r, path) : 0;
}

/* Common to all that is made in a directory that is open: `dir` is lent to f. */
static int take_place(struct outfile *f, int dir, const char *name, unsigned int flags)
{
	struct stat st;
	int r = place_check_name(name);

	if (r < 0)
		return r;
	f->dir_fd = dir;
	f->dir_is_lent = true;
	memcpy(f->name, name, strlen(name) + 1);
	return flags & OUTFILE_FRESH ? 0 : check_destination(f, flags, &st);
}

int outfile_create_in(struct outfile *f, int dir, const char *name, mode_t mode, unsigned int flags)
{
	int r = take_place(f, dir, name, flags);

	f->has_mode = !f->replaces;
	mode = f->has_mode ? mode & PERMISSIONS : 0600;
	if (r == 0)
		r = open_temp(f, mode, flags);
	return r < 0 ? give_up(f, r, name) : 0;
}

/*
 * Under a name that is ours, but others may be able to write to the directory: only if it is that symlink still, and through a
 * descriptor from there on.
 */
static int keep_of_link(const struct outfile *f, const struct outfile_attrs *attrs)
{
	_cleanup_close_ int fd = sys_openat(f->dir_fd, f->temp, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = outfile_is_link_to(fd, "", f->link_text);
	if (r <= 0)
		return r < 0 ? r : -ESTALE;
	if (attrs->kept)
		outfile_keep(fd, attrs);
	return attrs->preserve ? outfile_set_time(fd, &attrs->mtime, attrs->why) : 0;
}

int outfile_symlink_in(struct outfile *f, int dir, const char *name, const char *text,
		       const struct outfile_attrs *attrs, unsigned int flags)
{
	int r = take_place(f, dir, name, flags);

	f->link_text = text;
	if (r == 0)
		r = with_temp(f, make_symlink, text);
	if (r == 0 && attrs && (attrs->kept || attrs->preserve))
		r = keep_of_link(f, attrs);
	return r < 0 ? give_up(f, r, name) : 0;
}

struct link_source {
	int dir;
	char name[NAME_MAX + 1];
};

static int make_hard_link(struct outfile *f, const void *data)
{
	const struct link_source *from = data;

	return sys_linkat(from->dir, from->name, f->dir_fd, f->temp) < 0 ? -errno : 0;
}

int outfile_hard_link_in(struct outfile *f, int dir, const char *name, int top, const char *to, unsigned int flags)
{
	const char *slash = strrchr(to, '/');
	_cleanup_free_ char *parent = slash ? strndup(to, (size_t)(slash - to)) : strdup("");
	struct link_source from = { .dir = -1 };
	struct stat st;
	int r;

	f->is_hard_link = true;
	r = take_place(f, dir, name, flags);
	if (r == 0 && !parent)
		r = -ENOMEM;
	if (r == 0)
		r = place_check_name(slash ? slash + 1 : to);
	if (r == 0) {
		snprintf(from.name, sizeof(from.name), "%s", slash ? slash + 1 : to);
		from.dir = beneath_open_nofollow(top, parent, O_PATH | O_DIRECTORY, 0);
		r = from.dir < 0 ? from.dir : 0;
	}
	if (r == 0 && sys_fstatat(from.dir, from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0) {
		f->linked_dev = st.st_dev;
		f->linked_ino = st.st_ino;
		r = with_temp(f, make_hard_link, &from);
	}
	if (from.dir >= 0)
		close(from.dir);
	return r < 0 ? give_up(f, r, name) : 0;
}

void outfile_open_stream(struct outfile *f, struct stream *stream)
{
	f->fd = stream->fd;
	f->stream = stream;
}

/* ---- room --------------------------------------------------------------------------------------------------- */

int outfile_check_room(const struct outfile *f, uint64_t size, uint64_t held)
{
	uint64_t needed = size - min_size(size, held);
	struct statvfs st;

	if (f->stream || fstatvfs(f->fd, &st) < 0 || !st.f_blocks)
		return 0;
	if (needed / st.f_frsize < st.f_bfree || needed <= st.f_bfree * st.f_frsize)
		return 0;
	return fail(-ENOSPC, "%llu bytes", (unsigned long long)needed);
}

/* ---- write and finish --------------------------------------------------------------------------------------- */

int outfile_write(const struct outfile *f, const void *buf, size_t len, uint64_t offset)
{
	ssize_t direct;
	size_t done;

	if (f->stream)
		return stream_write(f->stream, buf, len, offset);
	direct = outfile_write_direct(f, buf, len, offset);
	if (direct < 0)
		return (int)direct;
	done = (size_t)direct;
	while (done < len) {
		ssize_t n = sys_pwrite(f->fd, (const char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(n < 0 ? -errno : -EIO, "write of %zu bytes at %llu", len,
				    (unsigned long long)offset);
		done += (size_t)n;
	}
	return 0;
}

mode_t outfile_keep(int fd, const struct outfile_attrs *attrs)
{
	const struct attributes *a = attrs->kept;
	mode_t mode = attrs->mode;
	int r;

	if (!a)
		return mode & PERMISSIONS;
	r = attributes_apply(fd, a, attrs->kept_flags, attrs->why);
	if (r < 0 || !(attrs->kept_flags & ATTRIBUTES_ACLS))
		mode = attributes_mode_kept(fd, a, mode);
	/* of another owner they would say something else */
	if (r == 0 && attrs->special && (a->kept & attrs->kept_flags & ATTRIBUTES_OWNER))
		return mode & (PERMISSIONS | OUTFILE_SPECIAL);
	return mode & PERMISSIONS;
}

/*
 * As with cp, which writes into the file that is there: it keeps its ACL and gets none from the directory. With another one the
 * same mode would let others in.
 */
static int take_acl(const struct outfile *f)
{
	_cleanup_close_ int fd = sys_openat(f->dir_fd, f->name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	const unsigned int flags = ATTRIBUTES_ACLS | ATTRIBUTES_NUMERIC_IDS;
	char why[ATTRIBUTES_WHY_MAX];
	struct attributes acl = { 0 };
	struct stat st;
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = sys_fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && S_ISREG(st.st_mode))
		r = attributes_read(fd, &st, flags, &acl, why);
	if (r == 0)
		r = attributes_apply(f->fd, &acl, flags, why);
	attributes_done(&acl);
	return r;
}

/* A file system without permission bits (vfat) refuses to set them; only who asked to preserve them must know. */
static int set_mode(const struct outfile *f, const struct outfile_attrs *attrs, mode_t mode)
{
	int r = 0;

	if (!attrs->preserve && f->has_mode)
		return 0;
	if (!attrs->preserve)
		r = f->replaces ? take_acl(f) : umask_in(f->dir_fd);
	if (r < 0)
		return r;
	if (!attrs->preserve)
		mode = f->replaces ? f->replaced_mode : mode & PERMISSIONS & ~(mode_t)r;
	if (sys_fchmod(f->fd, mode) >= 0)
		return 0;
	if (attrs->preserve || (errno != EPERM && errno != EOPNOTSUPP))
		return -errno;
	log_debug("cannot set the mode: %m, ignoring");
	return 0;
}

int outfile_set_size(const struct outfile *f, uint64_t size)
{
	int r;

	if (size > INT64_MAX)
		return fail(-EFBIG, "a file of %llu bytes", (unsigned long long)size);
	do {
		r = sys_ftruncate(f->fd, (off_t)size) < 0 ? -errno : 0;
	} while (r == -EINTR);
	return r < 0 ? fail(r, "truncate to %llu bytes", (unsigned long long)size) : 0;
}

int outfile_finish(struct outfile *f, uint64_t size, const struct outfile_attrs *attrs)
{
	mode_t mode;
	int r;

	if (f->stream)
		return stream_write(f->stream, NULL, 0, size);
	r = f->has_size ? 0 : outfile_set_size(f, size);
	if (r < 0)
		return r;
	mode = outfile_keep(f->fd, attrs);
	r = attrs->preserve ? outfile_set_time(f->fd, &attrs->mtime, attrs->why) : 0;
	if (r < 0)
		return fail(r, "set the modification time");
	r = set_mode(f, attrs, mode);
	return r < 0 ? fail(r, "set the mode") : 0;
}

void outfile_sync_ahead(const struct outfile *f)
{
	if (f->fd >= 0 && !f->stream)
		(void)sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int outfile_sync(const struct outfile *f)
{
	int r;

	if (f->fd < 0) /* a link: made durable by its directory */
		return 0;
	if (f->stream)
		return stream_sync(f->stream);
	do {
		r = sys_fsync(f->fd) < 0 ? -errno : 0;
	} while (r == -EINTR);
	return r < 0 ? fail(r, "fsync") : 0;
}

/* ---- discard ------------------------------------------------------------------------------------------------- */

void outfile_discard(struct outfile *f)
{
	int r = f->temp[0] ? partial_remove(outfile_temp_dir(f), f->temp) : 0;
	char shown[512];

	if (r < 0 && r != -ENOENT)
		log_warning("cannot remove '%s': %s, ignoring", escape_name(f->temp, shown, sizeof(shown)),
			    strerror(-r));
	if (f->fd >= 0 && !f->stream)
		sys_close(f->fd); /* its content does not matter; removed first, while it is locked */
	if (f->direct_fd >= 0)
		sys_close(f->direct_fd);
	outfile_close_part_dir(f);
	if (f->dir_fd >= 0 && !f->dir_is_lent)
		close(f->dir_fd);
	outfile_init(f);
}
