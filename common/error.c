/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errors of three kinds made into each other: errno, the status that travels, the sentence a person reads.
 * Pure functions and one debug line; called by everybody, from any thread; nothing is owned and nothing fails.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "error.h"
#include "log.h"
#include "util.h"

enum status status_from_errno(int r)
{
	switch (r < 0 ? -r : r) {
	case 0:
		return STATUS_OK;
	case ENOENT:
		return STATUS_NOT_FOUND;
	case EACCES:
	case EPERM:
		return STATUS_PERMISSION;
	case EXDEV: /* beneath.h: the path leaves its root */
		return STATUS_NOT_ALLOWED;
	case ENOSPC:
		return STATUS_NO_SPACE;
	case EDQUOT:
		return STATUS_QUOTA;
	case EISDIR:
		return STATUS_IS_DIRECTORY;
	case ENOTDIR:
		return STATUS_NOT_DIRECTORY;
	case ENOTSUP: /* infile.h, outfile.h: not a regular file */
	case ENXIO:   /* open(2) of a socket */
		return STATUS_NOT_REGULAR;
	case EROFS:
		return STATUS_READ_ONLY;
	case ENAMETOOLONG:
		return STATUS_NAME_TOO_LONG;
	case EFBIG:
	case EOVERFLOW:
		return STATUS_TOO_LARGE;
	case EIO:
	case EREMOTEIO:
		return STATUS_IO;
	case ESTALE: /* infile.h; a file handle of NFS that went away is the same to a reader */
		return STATUS_CHANGED;
	case EILSEQ: /* a digest did not match */
		return STATUS_CORRUPT;
	case ECANCELED:
		return STATUS_ABORTED;
	case EBADMSG: /* wire.h */
	case EPROTO:
		return STATUS_PROTOCOL;
	case EPROTONOSUPPORT:
		return STATUS_VERSION;
	case ETIMEDOUT:
		return STATUS_TIMEOUT;
	case EMFILE:
	case ENFILE:
		return STATUS_TOO_MANY_FILES;
	case ENOTUNIQ: /* made.h */
		return STATUS_JUST_MADE;
	default:
		return STATUS_FAILED;
	}
}

const char *status_text(unsigned int status)
{
	static const char *const texts[] = {
		[STATUS_OK] = "success",
		[STATUS_FAILED] = "failed",
		[STATUS_NOT_FOUND] = "no such file or directory",
		[STATUS_PERMISSION] = "permission denied",
		[STATUS_NOT_ALLOWED] = "not allowed by the daemon's configuration",
		[STATUS_NO_SPACE] = "no space left on device",
		[STATUS_QUOTA] = "disk quota exceeded",
		[STATUS_IS_DIRECTORY] = "is a directory",
		[STATUS_NOT_DIRECTORY] = "not a directory",
		[STATUS_NOT_REGULAR] = "not a regular file",
		[STATUS_READ_ONLY] = "read-only file system",
		[STATUS_NAME_TOO_LONG] = "file name too long",
		[STATUS_TOO_LARGE] = "file too large",
		[STATUS_IO] = "input/output error",
		[STATUS_CHANGED] = "the file changed while it was read",
		[STATUS_CORRUPT] = "the data did not arrive as it was sent",
		[STATUS_ABORTED] = "aborted",
		[STATUS_PROTOCOL] = "protocol error",
		[STATUS_VERSION] = "no protocol version in common",
		[STATUS_AUTH_REQUIRED] = "authentication required",
		[STATUS_BAD_KEY] = "key not accepted",
		[STATUS_BUSY] = "busy, try again later",
		[STATUS_STOPPING] = "the daemon is shutting down",
		[STATUS_TIMEOUT] = "timed out",
		[STATUS_TOO_MANY_FILES] = "too many open files",
		[STATUS_SKIPPED] = "skipped",
		[STATUS_JUST_MADE] = "not copied: it would overwrite what this copy has just made",
		[STATUS_ATTRIBUTES] = "copied, but not with all attributes",
		[STATUS_UNSYNCED] = "copied, but a crash of the host may undo it",
	};

	if (status >= ARRAY_SIZE(texts) || !texts[status])
		return texts[STATUS_FAILED];
	return texts[status];
}

int fail(int r, const char *fmt, ...)
{
	int saved_errno = errno;
	char text[1024];
	va_list ap;

	if (log_level() < LOG_DEBUG)
		return r;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	errno = -r; /* strerror(3) is not for threads, %m is */
	log_debug("%s: %m", text);
	errno = saved_errno;
	return r;
}
