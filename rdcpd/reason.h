/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a session ended or a connection was refused, as programs read it: an enum status of common/error.h, or one more. The
 * names are words of journal fields and of metrics, and never change.
 */
#ifndef RDCPD_REASON_H
#define RDCPD_REASON_H

#include "common/error.h"

#define REASON_LOST 63 /* the connection broke */
#define REASON_COUNT 64

/* "ok", "busy", "bad-key", ...; "other" for a number that has no name. Static. */
const char *reason_name(unsigned int reason);

#endif
