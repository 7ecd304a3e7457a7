/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The version, which the Makefile gives. */
#ifndef RDCPD_VERSION_H
#define RDCPD_VERSION_H

#ifndef RDCP_VERSION
#define RDCP_VERSION "0.1.0"
#endif

#endif
