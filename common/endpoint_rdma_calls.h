/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How endpoint_rdma*.c call what may fail in rdma-core.
 *
 * rdma-core tells of a failure in four ways: -1 and errno; an errno as the result, positive or negative; NULL and errno.
 * Any of them may leave errno as it was: rdma_create_qp(3) on siw does. Through the macros below a failure is
 * a negative errno, whatever the call did, and never 0.
 *
 *     r = verbs_call(rdma_listen(id, backlog));       0, or a negative errno
 *     n = verbs_count(ibv_poll_cq(cq, most, wc));     how many, or a negative errno
 *     p = verbs_make(ibv_alloc_pd(context), &r);      an object; or NULL and *ret_error, which success leaves alone
 *     r = verbs_end(ibv_dereg_mr(mr));                as verbs_call(), of what is called even where a test fails it
 *
 * In builds with -DRDCP_FAULTS each asks sys_verbs_fault() (tests/fault.c) first, and may fail without having made its call.
 */
#ifndef RDCP_ENDPOINT_RDMA_CALLS_H
#define RDCP_ENDPOINT_RDMA_CALLS_H

#include <errno.h>
#include <stdlib.h>

#include "error.h"

/* How a call is to fail: -1 or NULL with this errno if it is positive, with errno 0, or with an errno as the result. */
#define VERBS_FAULT_SILENT (-1)
#define VERBS_FAULT_RESULT(e) (-1 - (e))

#ifdef RDCP_FAULTS
int sys_verbs_fault(const char *call);
#else
static inline int sys_verbs_fault(const char *call)
{
	return 0;
}
#endif

/* What the call would have returned, with errno set. */
static inline int verbs_fail_like(int fault)
{
	errno = fault > 0 ? fault : 0;
	return fault < VERBS_FAULT_SILENT ? -1 - fault : -1;
}

static inline int verbs_result(int r)
{
	if (r == 0)
		return 0;
	return r == -1 ? negative_errno() : -abs(r);
}

static inline int verbs_count_result(int n)
{
	return n < 0 ? verbs_result(n) : n;
}

/* errno is cleared first: what an earlier call left there is not the reason. */
#define verbs_call(call)                                                 \
	({                                                               \
		int fault_ = sys_verbs_fault(#call);                     \
		errno = 0;                                               \
		verbs_result(fault_ ? verbs_fail_like(fault_) : (call)); \
	})

#define verbs_count(call)                                                            \
	({                                                                           \
		int fault_ = sys_verbs_fault(#call);                                 \
		errno = 0;                                                           \
		verbs_count_result(fault_ ? -abs(verbs_fail_like(fault_)) : (call)); \
	})

#define verbs_make(call, ret_error)                              \
	({                                                       \
		int fault_ = sys_verbs_fault(#call);             \
		errno = 0;                                       \
		__typeof__(call) made_ = fault_ ? NULL : (call); \
		if (fault_)                                      \
			verbs_fail_like(fault_);                 \
		if (!made_)                                      \
			*(ret_error) = negative_errno();         \
		made_;                                           \
	})

#define verbs_end(call)                                                   \
	({                                                                \
		int fault_ = sys_verbs_fault(#call);                      \
		errno = 0;                                                \
		int result_ = (call);                                     \
		verbs_result(fault_ ? verbs_fail_like(fault_) : result_); \
	})

#endif
