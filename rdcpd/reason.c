/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See reason.h. */
#include "reason.h"

#include <stddef.h>

static const char *const names[REASON_COUNT] = {
	[STATUS_OK] = "ok",
	[STATUS_FAILED] = "failed",
	[STATUS_NOT_FOUND] = "not-found",
	[STATUS_PERMISSION] = "permission",
	[STATUS_NOT_ALLOWED] = "not-allowed",
	[STATUS_NO_SPACE] = "no-space",
	[STATUS_QUOTA] = "quota",
	[STATUS_IS_DIRECTORY] = "is-directory",
	[STATUS_NOT_DIRECTORY] = "not-directory",
	[STATUS_NOT_REGULAR] = "not-regular",
	[STATUS_READ_ONLY] = "read-only",
	[STATUS_NAME_TOO_LONG] = "name-too-long",
	[STATUS_TOO_LARGE] = "too-large",
	[STATUS_IO] = "io",
	[STATUS_CHANGED] = "changed",
	[STATUS_CORRUPT] = "corrupt",
	[STATUS_ABORTED] = "aborted",
	[STATUS_PROTOCOL] = "protocol",
	[STATUS_VERSION] = "version",
	[STATUS_AUTH_REQUIRED] = "auth-required",
	[STATUS_BAD_KEY] = "bad-key",
	[STATUS_BUSY] = "busy",
	[STATUS_STOPPING] = "stopping",
	[STATUS_TIMEOUT] = "timeout",
	[STATUS_TOO_MANY_FILES] = "too-many-files",
	[REASON_LOST] = "lost",
};

const char *reason_name(unsigned int reason)
{
	return reason < REASON_COUNT && names[reason] ? names[reason] : "other";
}
