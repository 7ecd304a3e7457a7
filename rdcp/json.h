/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One JSON object on one line, for --json: json_begin, members, json_end. Whatever bytes a text has, what is written is UTF-8 and
 * valid JSON, and harmless to a terminal: what escape_name() would not show is written as \uXXXX, and each byte that is not
 * part of UTF-8 as U+FFFD. json_name() adds the exact bytes where that loses something.
 *
 * The writer borrows the stream. Write errors stay with the stream (ferror(3)).
 */
#ifndef RDCP_JSON_H
#define RDCP_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *f;
	bool comma; /* the next member needs one before it */
};

void json_begin(struct json *j, FILE *f, const char *type); /* {"type":"TYPE" */
void json_end(struct json *j);                              /* and the newline; flushes */

/* `key` NULL: the value of an array or of a json_key(). `text` NULL: null. */
void json_text(struct json *j, const char *key, const char *text);

/* As json_text(); when `name` is not UTF-8, also "KEY_base64" with its bytes. */
void json_name(struct json *j, const char *key, const char *name);

void json_number(struct json *j, const char *key, uint64_t n);
void json_seconds(struct json *j, const char *key, uint64_t ns); /* with six decimals */

void json_open(struct json *j, const char *key); /* an object within */
void json_close(struct json *j);

#endif
