// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Temporaries that an interrupted copy leaves and the next one goes on with. Their name follows from what the file is to become, they
 * are locked while somebody writes them, and they may be in a directory of their own beside the destination, which is made
 * for the first and removed with the last of them. The contracts are in outfile.h and outfile_impl.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "cleanup.h"
#include "error.h"
#include "log.h"
#include "outfile_impl.h"
#include "sys.h"
#include "util.h"

#define PART_DIR_MODE 0700
#define PART_DIR_TRIES 16 /* another copy may remove the directory between our making it and using it */

/* ---- the directory ------------------------------------------------------------------------------------------ */

/*
 * Subvolumes of btrfs are no mounts, but nothing can be renamed from one to the other. Whoever owns the directory can put another file
 * in the place of ours there; who owns the one around it, or everything, can anyway.
 */
static int check_part_dir(int fd, int around)
{
	struct stat st, st_around;

	if (sys_fstat(fd, &st) < 0 || sys_fstat(around, &st_around) < 0)
		return -errno;
	if (st.st_dev != st_around.st_dev)
		return -EXDEV;
	return st.st_uid != outfile_user() && st.st_uid != st_around.st_uid && st.st_uid != 0;
}

/* 1: there is one of another user, and not to be used. */
static int open_part_dir(struct outfile *f)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (sys_mkdirat(f->dir_fd, f->part_name, PART_DIR_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = beneath_open_here(f->dir_fd, f->part_name, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd == -ELOOP ? -ENOTDIR : fd;
	r = check_part_dir(fd, f->dir_fd);
	if (r == 0)
		f->part_fd = steal_fd(fd);
	return r;
}

static void let_go_of_part_dir(struct outfile *f)
{
	close(steal_fd(f->part_fd));
	/* With what others have left in it, it stays. */
	if (sys_rmdirat(f->dir_fd, f->part_name) < 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
		log_debug("cannot remove a directory for temporaries: %m, ignoring");
}

void outfile_close_part_dir(struct outfile *f)
{
	if (f->part_fd >= 0)
		let_go_of_part_dir(f);
}

/* ---- the temporary ------------------------------------------------------------------------------------------ */

/* Only one can have it, and only under the name that it was opened by. */
static bool is_ours_alone(const struct outfile *f, int fd, struct stat *ret_st)
{
	struct stat st, named;

	if (sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != outfile_user())
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    sys_fstatat(outfile_temp_dir(f), f->temp, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_st = st;
	return named.st_dev == st.st_dev && named.st_ino == st.st_ino;
}

static int open_resumable(const struct outfile *f)
{
	int fd = sys_openat(outfile_temp_dir(f), f->temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int open_in_part_dir(struct outfile *f)
{
	int r = -ENOENT;

	for (int tries = 0; r == -ENOENT && tries < PART_DIR_TRIES; tries++) {
		if (f->part_fd >= 0)
			let_go_of_part_dir(f);
		r = open_part_dir(f);
		f->part_failed = r < 0;
		if (r > 0)
			return -EACCES;
		if (r == 0)
			r = open_resumable(f);
	}
	return r;
}

int outfile_take_resumable(struct outfile *f)
{
	_cleanup_close_ int fd = -1;
	uint8_t bytes[PARTIAL_RANDOM];
	struct stat st;

	for (int i = 0; i < PARTIAL_RANDOM; i++)
		bytes[i] = (uint8_t)(f->id >> (5 * i));
	outfile_name_temp(f, bytes);
	fd = f->part_name ? open_in_part_dir(f) : open_resumable(f);
	if (fd < 0 || !is_ours_alone(f, fd, &st)) {
		f->temp[0] = '\0';
		outfile_close_part_dir(f);
		return f->part_failed ? fd : 0;
	}
	f->held = (uint64_t)st.st_size;
	f->fd = steal_fd(fd);
	f->is_resumable = true;
	f->has_mode = false;
	return 1;
}

int outfile_read(const struct outfile *f, void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = sys_pread(f->fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(n < 0 ? -errno : -EIO, "read back at %llu", (unsigned long long)offset);
		done += (size_t)n;
	}
	return 0;
}

bool outfile_is_hole(const struct outfile *f, size_t len, uint64_t offset)
{
	off_t data = sys_lseek(f->fd, (off_t)offset, SEEK_DATA);

	return data < 0 ? errno == ENXIO : (uint64_t)data >= offset + len;
}

int outfile_trim(struct outfile *f, uint64_t size)
{
	int r = size < f->held ? outfile_set_size(f, size) : 0;

	if (r == 0 && size < f->held)
		f->held = size;
	return r;
}

void outfile_leave(struct outfile *f)
{
	struct stat st;

	if (f->is_resumable && sys_fstat(f->fd, &st) == 0 && st.st_size) {
		/* what was reserved behind its end is given back */
		if (sys_ftruncate(f->fd, st.st_size) < 0)
			log_debug("truncate a temporary: %m, ignoring");
		f->temp[0] = '\0';
	}
	outfile_discard(f);
}
