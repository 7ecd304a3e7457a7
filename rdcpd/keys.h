/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys as the administrator sees them: made, listed, told apart without being shown. Called by main.c and for log lines. */
#ifndef RDCPD_KEYS_H
#define RDCPD_KEYS_H

#include <stdio.h>

#include "common/key.h"
#include "config.h"

#define KEYS_FINGERPRINT_SIZE 17

/* 16 hex digits of the SHA-256 of the key's bytes. They say nothing about it: it is 256 random bits. Returns `out`. */
char *keys_fingerprint(const struct key *k, char out[static KEYS_FINGERPRINT_SIZE]);

/*
 * Makes a key. A `name` with a '/' in it is a file; without one it is a client, whose file is keys/NAME.key beside
 * `config_path`. Says on `out` what came of it and what to do next, on `err` why not. Negative errno.
 */
int keys_generate(const char *name, const char *config_path, FILE *out, FILE *err);

/* A line for each key of `config`: client, fingerprint, day it was made, exports, file. */
void keys_list(const struct config *config, FILE *out);

#endif
