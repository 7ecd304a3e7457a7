/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errors. Inside a program a function returns >= 0 or a negative errno. Between programs travels `enum status`,
 * which means the same on every system; errno never crosses the wire.
 */
#ifndef RDCP_ERROR_H
#define RDCP_ERROR_H

#include <errno.h>
#include <stdbool.h>

/* Numbers are part of the protocol: append, never renumber. An unknown number is shown as STATUS_FAILED. */
enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1,          /* anything without a better word; the text says what */
	STATUS_NOT_FOUND = 2,       /* no such file or directory */
	STATUS_PERMISSION = 3,      /* permission denied by the file system */
	STATUS_NOT_ALLOWED = 4,     /* outside the exports, read-only export, or not this client */
	STATUS_NO_SPACE = 5,        /* no space left on device */
	STATUS_QUOTA = 6,           /* quota exceeded */
	STATUS_IS_DIRECTORY = 7,    /* is a directory */
	STATUS_NOT_DIRECTORY = 8,   /* a component of the path is not a directory */
	STATUS_NOT_REGULAR = 9,     /* FIFO, socket or device */
	STATUS_READ_ONLY = 10,      /* read-only file system */
	STATUS_NAME_TOO_LONG = 11,  /* path or component too long */
	STATUS_TOO_LARGE = 12,      /* file too large for the file system */
	STATUS_IO = 13,             /* input/output error */
	STATUS_CHANGED = 14,        /* the source changed while it was read */
	STATUS_CORRUPT = 15,        /* a hash did not match */
	STATUS_ABORTED = 16,        /* given up by the other side or by the user */
	STATUS_PROTOCOL = 17,       /* the peer broke the protocol */
	STATUS_VERSION = 18,        /* no protocol version in common */
	STATUS_AUTH_REQUIRED = 19,  /* prove the key: a challenge comes along */
	STATUS_BAD_KEY = 20,        /* the key is not one the daemon knows */
	STATUS_BUSY = 21,           /* session or memory limit reached */
	STATUS_STOPPING = 22,       /* the daemon is shutting down */
	STATUS_TIMEOUT = 23,        /* a deadline passed */
	STATUS_TOO_MANY_FILES = 24, /* descriptors exhausted */
	STATUS_SKIPPED = 25,        /* not a failure: left alone as the sender asked; the text says why */
	STATUS_ATTRIBUTES = 26,     /* it is there, but without some of the attributes that were to be kept */
	STATUS_UNSYNCED = 27,       /* it is there under its name, but a crash of the host may undo that */
	STATUS_JUST_MADE = 28       /* the destination was made by this transfer, of another source: it stays */
};

/* The one switch from errno (positive or negative) to status; 0 is STATUS_OK, unknown is STATUS_FAILED. */
enum status status_from_errno(int r);

/* What was sent is at the destination, whatever else went wrong. */
static inline bool status_is_stored(enum status status)
{
	return status == STATUS_OK || status == STATUS_ATTRIBUTES || status == STATUS_UNSYNCED;
}

/* Lower-case sentence for people, static storage; never NULL, whatever number a peer sent. */
const char *status_text(unsigned int status);

/*
 * What errno says of a call that has just failed, as a negative errno. Never 0, for that would be a success: -EIO where the call
 * left none. After a plain system call -errno is the same; after a library's use this, unless it documents that errno is set.
 */
static inline int negative_errno(void)
{
	return errno > 0 ? -errno : -EIO;
}

#undef fail /* libcheck still has a deprecated macro of this name */

/* Logs a debug line "<text>: <strerror(-r)>" and returns r (a negative errno). How common/ reports a failure. */
int fail(int r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
