// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * What becomes of a modification time where it is stored: whole seconds on old ext4, two of them on vfat, 100 ns on NTFS and over SMB.
 * No call tells, so it is tried with a file that nobody sees, or that is gone at once. The contract is in outfile.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"
#include "outfile.h"
#include "sys.h"

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
	_cleanup_close_ int fd = sys_openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, *mtime };
	struct stat st;

	if (fd < 0)
		fd = open_named(dir);
	if (fd < 0 || sys_futimens(fd, times) < 0 || sys_fstat(fd, &st) < 0)
		return negative_errno();
	*ret_stored = st.st_mtim;
	return 0;
}
