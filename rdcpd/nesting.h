/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which exports lie in which others, whatever their paths look like: symlinks, bind mounts and directories that are there twice are
 * seen through. For the check of a configuration; a mount that comes later is not known.
 */
#ifndef RDCPD_NESTING_H
#define RDCPD_NESTING_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

struct nesting;

/* Looks at all exports of `c` (borrowed). One that cannot be looked at lies nowhere: that is said elsewhere. -ENOMEM. */
int nesting_new(const struct config *c, struct nesting **ret_nesting);
void nesting_free(struct nesting *n); /* NULL is fine */

/* Whether export `inner`, by its place in c->exports, is the directory of export `outer`, or can be reached through it. */
bool nesting_holds(const struct nesting *n, size_t outer, size_t inner);

#endif
