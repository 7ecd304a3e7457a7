/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Names of users and groups, for owners and ACLs that go from one machine to another: numbers mean nothing there. Both
 * calls ask the name service (files, LDAP ...) and may block as long as it does: for workers only. Answers, also that there
 * is none, are remembered for a minute in a table of fixed size, shared by all threads.
 */
#ifndef RDCP_ACCOUNT_H
#define RDCP_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_NAME_MAX 255

enum account_kind {
	ACCOUNT_USER = 0, /* numbers are part of the protocol */
	ACCOUNT_GROUP = 1
};

/* Can it be a name? 1 to ACCOUNT_NAME_MAX bytes, no control bytes, no ':' and no '/'. */
bool account_name_ok(const char *name, size_t len);

/* The name of a number, always one that account_name_ok() takes. -ENOENT: it has none, or the name service failed. */
int account_name(enum account_kind kind, uint32_t id, char ret_name[static ACCOUNT_NAME_MAX + 1]);

/* The number of a name of `len` bytes. -ENOENT: unknown here, or the name service failed. -EINVAL: it is no name. */
int account_id(enum account_kind kind, const char *name, size_t len, uint32_t *ret_id);

#endif
