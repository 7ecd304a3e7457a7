/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fuzz entries: one per decoder of what a peer sends or a user writes, and some for whole sessions (arena.h). fuzz_NAME() gets any bytes and returns 1 when they were taken as valid, else
 * 0; a property that does not hold ends the process. The unit tests run every entry over corpus/NAME (test_fuzz.c);
 * with FUZZ_MAIN each file is a libFuzzer program of its own (make fuzz).
 */
#ifndef RDCP_FUZZ_H
#define RDCP_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int fuzz_req(const uint8_t *data, size_t len);
int fuzz_rep(const uint8_t *data, size_t len);
int fuzz_rej(const uint8_t *data, size_t len);
int fuzz_message(const uint8_t *data, size_t len);
int fuzz_record(const uint8_t *data, size_t len);
int fuzz_attributes(const uint8_t *data, size_t len);
int fuzz_filter(const uint8_t *data, size_t len);
int fuzz_glob(const uint8_t *data, size_t len);
int fuzz_config(const uint8_t *data, size_t len);
int fuzz_namelist(const uint8_t *data, size_t len);
int fuzz_copy(const uint8_t *data, size_t len);
int fuzz_daemon(const uint8_t *data, size_t len);
int fuzz_client(const uint8_t *data, size_t len);
int fuzz_stream(const uint8_t *data, size_t len);

#define FUZZ_CHECK(cond)                                                                          \
	do {                                                                                      \
		if (!(cond)) {                                                                    \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

#ifdef FUZZ_MAIN
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
#define FUZZ_ENTRY(name)                                            \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) \
	{                                                           \
		fuzz_##name(data, len);                             \
		return 0;                                           \
	}
#else
#define FUZZ_ENTRY(name)
#endif

#endif
