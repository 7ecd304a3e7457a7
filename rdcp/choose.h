/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which of what is named on the command line is copied: what the options about that come to, before anybody is connected to. */
#ifndef RDCP_CHOOSE_H
#define RDCP_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

struct client;
struct client_source;

/* Fills c->filter. False: a rule or a file of rules cannot be used; told. */
bool choose_rules(struct client *c);

/*
 * Fills c->sources: the operands, or what --files-from names beneath the one there is. False: that cannot be read, or memory ran
 * out; told.
 */
bool choose_sources(struct client *c);

void choose_done(struct client *c); /* both */

/* A source that is no operand: the first `len` bytes of `dir`, and `path` behind them. -ENOMEM: choose_source_done() all the same. */
int choose_source(struct client_source *source, const char *dir, size_t len, const char *path);
void choose_source_done(struct client_source *source);

#endif
