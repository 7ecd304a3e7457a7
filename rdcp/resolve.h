/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names into addresses, with a deadline: getaddrinfo(3) alone waits as long as resolv.conf(5) says. */
#ifndef RDCP_RESOLVE_H
#define RDCP_RESOLVE_H

#include <netdb.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Addresses of `host` (a name, IPv4, or IPv6 with a zone) with `port` filled in, best first, each once. Blocks up to
 * `timeout_ns`, or until a signal was handled. Returns 0 and a list for freeaddrinfo(3), or an EAI_ code for
 * hint_resolve(): EAI_AGAIN when the time is up, EAI_INTR, EAI_SYSTEM with errno set.
 */
int resolve_host(const char *host, uint16_t port, int family, uint64_t timeout_ns, struct addrinfo **ret_list);

/* "10.0.0.1", "fe80::1%eth0"; "?" when it is of another family. Returns `out`. */
char *resolve_show(const struct sockaddr *addr, socklen_t len, char *out, size_t size);

#endif
