/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Makes the k-th system call of common/sys.h fail, in builds with -DRDCP_FAULTS. Thread-safe; counts over all threads.
 * A program takes RDCP_FAULT=K[:ERRNO] from its environment, ERRNO a name or a number, EIO when there is none, and
 * RDCP_DRIP=BYTES[:MICROSECONDS] for what fault_drip() sets.
 *
 * The calls of rdma-core, common/endpoint_rdma_calls.h, are counted by themselves: RDCP_VERBS_FAULT=K[:HOW] fails the k-th, HOW an
 * errno that is set, +ERRNO as the result, or 0: without an errno, as when there is none. RDCP_VERBS_FAULT_LOG names a
 * file for the text of the call that failed.
 */
#ifndef RDCP_FAULT_H
#define RDCP_FAULT_H

#include <stddef.h>

/* From now on the k-th call (from 1) fails with `error`, once, and all others are made; k = 0: none fails. */
void fault_set(unsigned long k, int error);

/* Calls since fault_set(), or since the start. */
unsigned long fault_count(void);

/* The name of the call that failed ("open", "write", ...), or NULL when none has since fault_set(). */
const char *fault_hit(void);

/* Reads and writes move at most `max` bytes each; 0: as many as they like. */
void fault_cut(size_t max);

/* Connections deliver a message, or at most `max` bytes of one, each time a loop wakes up, and `pause_us` microseconds
 * after the last; 0: as they like. */
void fault_drip(size_t max, unsigned int pause_us);

#endif
