/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The system calls of files, as infile.c, outfile.c and beneath.c make them, so that a test can fail any of them. The
 * endpoint's posts ask sys_fault() by themselves.
 *
 * Built with -DRDCP_FAULTS each first asks sys_fault() (tests/fault.c): an errno, and the call fails with it and is
 * not made; 0, and it is made. sys_cut() shortens reads and writes the same way. Built without, these are the bare
 * calls. close(2) alone is made either way: the descriptor is gone whatever it returns.
 *
 * sys_drip() makes a connection deliver as little at a time as a network may. Where it is not 0, each record travels in a
 * message of its own, and an endpoint takes one message, or that many bytes of one, each time its loop wakes up;
 * sys_drip_pause() says when it is to take nothing, so that the loop first hears of the end of what the last message began.
 */
#ifndef RDCP_SYS_H
#define RDCP_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FD_PATH_MAX 32
#define DIRECT_BLOCK 4096 /* what O_DIRECT is aligned to: enough for any disk, and the size of a page */

#ifdef RDCP_FAULTS
int sys_fault(const char *call);
size_t sys_cut(size_t len);
size_t sys_drip(void);
bool sys_drip_pause(void);
#else
static inline int sys_fault(const char *call)
{
	return 0;
}
static inline size_t sys_cut(size_t len)
{
	return len;
}
static inline size_t sys_drip(void)
{
	return 0;
}
static inline bool sys_drip_pause(void)
{
	return false;
}
#endif

/* True with errno set when this call is to fail. */
static inline bool sys_fails(const char *call)
{
	int error = sys_fault(call);

	if (error)
		errno = error;
	return error;
}

static inline int sys_openat(int dir, const char *path, int flags, mode_t mode)
{
	return sys_fails("open") ? -1 : openat(dir, path, flags, mode);
}

/* The C libraries of the supported systems have no wrapper yet. */
static inline int sys_openat2(int dir, const char *path, struct open_how *how)
{
	return sys_fails("open") ? -1 : (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
}

static inline int sys_fstat(int fd, struct stat *st)
{
	return sys_fails("stat") ? -1 : fstat(fd, st);
}

static inline int sys_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return sys_fails("stat") ? -1 : fstatat(dir, path, st, flags);
}

/* Of what has no offset; tests fail them as those that have one. */
static inline ssize_t sys_read(int fd, void *buf, size_t len)
{
	return sys_fails("read") ? -1 : read(fd, buf, sys_cut(len));
}

static inline ssize_t sys_write(int fd, const void *buf, size_t len)
{
	return sys_fails("write") ? -1 : write(fd, buf, sys_cut(len));
}

static inline ssize_t sys_pread(int fd, void *buf, size_t len, off_t offset)
{
	return sys_fails("read") ? -1 : pread(fd, buf, sys_cut(len), offset);
}

static inline ssize_t sys_pwrite(int fd, const void *buf, size_t len, off_t offset)
{
	return sys_fails("write") ? -1 : pwrite(fd, buf, sys_cut(len), offset);
}

static inline off_t sys_lseek(int fd, off_t offset, int whence)
{
	return sys_fails("lseek") ? -1 : lseek(fd, offset, whence);
}

static inline int sys_ftruncate(int fd, off_t size)
{
	return sys_fails("ftruncate") ? -1 : ftruncate(fd, size);
}

static inline int sys_futimens(int fd, const struct timespec times[2])
{
	return sys_fails("utimens") ? -1 : futimens(fd, times);
}

static inline int sys_fchmod(int fd, mode_t mode)
{
	return sys_fails("chmod") ? -1 : fchmod(fd, mode);
}

static inline int sys_chmod(const char *path, mode_t mode)
{
	return sys_fails("chmod") ? -1 : chmod(path, mode);
}

static inline int sys_fsync(int fd)
{
	return sys_fails("fsync") ? -1 : fsync(fd);
}

static inline int sys_syncfs(int fd)
{
	return sys_fails("syncfs") ? -1 : syncfs(fd);
}

static inline int sys_close(int fd)
{
	int r = close(fd);

	return sys_fails("close") ? -1 : r;
}

static inline int sys_renameat2(int from_dir, const char *from, int dir, const char *to, unsigned int flags)
{
	return sys_fails("rename") ? -1 : renameat2(from_dir, from, dir, to, flags);
}

static inline int sys_linkat(int from_dir, const char *from, int dir, const char *to)
{
	return sys_fails("link") ? -1 : linkat(from_dir, from, dir, to, 0);
}

/* A name that leads to what is open there, whatever became of the one it was opened by. */
static inline const char *sys_fd_path(int fd, char path[static FD_PATH_MAX])
{
	snprintf(path, FD_PATH_MAX, "/proc/self/fd/%d", fd);
	return path;
}

/* Another name for an open file. -1 with ENOENT as well when there is no /proc. */
static inline int sys_link_fd(int fd, int dir, const char *to)
{
	char path[FD_PATH_MAX];

	return sys_fails("link") ? -1 : linkat(AT_FDCWD, sys_fd_path(fd, path), dir, to, AT_SYMLINK_FOLLOW);
}

static inline int sys_symlinkat(const char *text, int dir, const char *path)
{
	return sys_fails("symlink") ? -1 : symlinkat(text, dir, path);
}

static inline ssize_t sys_readlinkat(int dir, const char *path, char *buf, size_t size)
{
	return sys_fails("readlink") ? -1 : readlinkat(dir, path, buf, size);
}

static inline int sys_mkdirat(int dir, const char *path, mode_t mode)
{
	return sys_fails("mkdir") ? -1 : mkdirat(dir, path, mode);
}

static inline int sys_utimensat(int dir, const char *path, const struct timespec times[2], int flags)
{
	return sys_fails("utimens") ? -1 : utimensat(dir, path, times, flags);
}

/* A file that nobody sees and that is gone when it is closed, where the file system of `dir` offers that. */
static inline int sys_open_unnamed(int dir)
{
	return sys_openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
}

static inline int sys_unlinkat(int dir, const char *path)
{
	return sys_fails("unlink") ? -1 : unlinkat(dir, path, 0);
}

static inline int sys_rmdirat(int dir, const char *path)
{
	return sys_fails("rmdir") ? -1 : unlinkat(dir, path, AT_REMOVEDIR);
}

static inline int sys_fchownat(int dir, const char *path, uid_t uid, gid_t gid, int flags)
{
	return sys_fails("chown") ? -1 : fchownat(dir, path, uid, gid, flags);
}

/* Extended attributes: of a descriptor, or of what `path` leads to when it is not NULL (for O_PATH descriptors). */
static inline ssize_t sys_listxattr(int fd, const char *path, char *list, size_t size)
{
	if (sys_fails("listxattr"))
		return -1;
	return path ? listxattr(path, list, size) : flistxattr(fd, list, size);
}

static inline ssize_t sys_getxattr(int fd, const char *path, const char *name, void *value, size_t size)
{
	if (sys_fails("getxattr"))
		return -1;
	return path ? getxattr(path, name, value, size) : fgetxattr(fd, name, value, size);
}

static inline int sys_setxattr(int fd, const char *path, const char *name, const void *value, size_t size)
{
	if (sys_fails("setxattr"))
		return -1;
	return path ? setxattr(path, name, value, size, 0) : fsetxattr(fd, name, value, size, 0);
}

static inline int sys_removexattr(int fd, const char *path, const char *name)
{
	if (sys_fails("removexattr"))
		return -1;
	return path ? removexattr(path, name) : fremovexattr(fd, name);
}

#endif
