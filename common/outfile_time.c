// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What becomes of a modification time where it is stored: whole seconds on old ext4, two of them on vfat, 100 ns on NTFS and over SMB;
 * and what is beyond the range of the file system is cut to the end of that. No call tells, so it is read back, or tried with a file
 * that nobody sees, or that is gone at once. The contracts are in outfile.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "outfile.h"
#include "sys.h"
#include "util.h"

#define EARLIEST 315532800 /* 1980, as vfat */
#define LATEST INT32_MAX   /* 2038, as ext3 */

bool outfile_any_stores(const struct timespec *mtime)
{
	return mtime->tv_sec >= EARLIEST && mtime->tv_sec <= LATEST;
}

/* Was it stored, as exactly as the file system can? */
static int check_time(int fd, const struct timespec *mtime, char *why)
{
	struct stat st;

	if (outfile_any_stores(mtime))
		return 0;
	if (sys_fstat(fd, &st) < 0)
		return -errno;
	if (st.st_mtim.tv_sec <= mtime->tv_sec &&
	    (uint64_t)mtime->tv_sec - (uint64_t)st.st_mtim.tv_sec <= OUTFILE_COARSEST)
		return 0;
	if (why && !*why)
		snprintf(why, ATTRIBUTES_WHY_MAX, "cannot set the modification time: the file system cannot store it");
	return 0;
}

/* An O_PATH descriptor is EBADF; its name in /proc leads to what it is of, also when that is a link. */
int outfile_set_time(int fd, const struct timespec *mtime, char *why)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, *mtime };
	char path[FD_PATH_MAX];

	if (mtime->tv_nsec < 0 || mtime->tv_nsec >= (long)SEC) /* UTIME_NOW and UTIME_OMIT are there, too */
		return -EINVAL;
	if (sys_futimens(fd, times) < 0 &&
	    (errno != EBADF || sys_utimensat(AT_FDCWD, sys_fd_path(fd, path), times, 0) < 0))
		return -errno;
	return check_time(fd, mtime, why);
}

/* Where there is no O_TMPFILE (vfat, NFS): the name is one that is removed after a crash. */
static int open_named(int dir)
{
	char name[64];
	uint64_t random;
	int fd;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -1;
	snprintf(name, sizeof(name), ".time.%08x.rdcp-part", (unsigned int)random);
	fd = sys_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		sys_unlinkat(dir, name);
	return fd;
}

int outfile_stored_time(int dir, const struct timespec *mtime, struct timespec *ret_stored)
{
	_cleanup_close_ int fd = sys_open_unnamed(dir);
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, *mtime };
	struct stat st;

	if (fd < 0)
		fd = open_named(dir);
	if (fd < 0 || sys_futimens(fd, times) < 0 || sys_fstat(fd, &st) < 0)
		return negative_errno();
	*ret_stored = st.st_mtim;
	return 0;
}
