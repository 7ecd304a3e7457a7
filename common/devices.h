/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The RDMA devices of this machine, as plain facts for people: what rdcp --doctor prints, and the addresses that a
 * hint can offer. Nothing is kept open. A snapshot: devices come and go.
 */
#ifndef RDCP_DEVICES_H
#define RDCP_DEVICES_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICES_ADDRESS_SIZE (INET6_ADDRSTRLEN + IF_NAMESIZE) /* "fe80::1%eth0" */

/* One address that rdma_cm can use on a port: an entry of its GID table, or of its network interface. */
struct device_address {
	char text[DEVICES_ADDRESS_SIZE]; /* an IP address; "" when the entry is none (InfiniBand without IPoIB) */
	char gid[INET6_ADDRSTRLEN];      /* "" when it comes from the interface only */
	int gid_index;                   /* -1: none */
	const char *type;                /* "RoCE v1", "RoCE v2", "InfiniBand", "iWARP" */
	bool link_local;
};

struct device_port {
	unsigned int number;
	bool active;
	const char *state;        /* "active", "down", ... */
	const char *link_layer;   /* "Ethernet", "InfiniBand", "unspecified" */
	unsigned int mtu;         /* active path MTU in bytes; 0: not known */
	unsigned int rate;        /* width times lane speed, in units of 100 Mb/s; 0: not known */
	uint32_t max_msg_sz;      /* bytes of one RDMA WRITE */
	char netdev[IF_NAMESIZE]; /* "" when not known */
	bool netdev_up;           /* running, in the sense of netdevice(7) */
	struct device_address *addresses;
	unsigned int address_count;
};

struct device {
	char name[64];         /* "mlx5_0", "rxe0" */
	const char *transport; /* "InfiniBand" (RoCE included), "iWARP", "unknown" */
	int error;             /* negative errno: it cannot be used by this user, nothing below is known */
	int max_qp_wr;
	uint64_t max_mr_size;
	struct device_port *ports;
	unsigned int port_count;
};

struct devices {
	struct device *list;
	unsigned int count;
};

/* No device is a count of 0 and no error. A device that cannot be opened is listed with its error. -ENOMEM; else as
 * ibv_get_device_list(3). */
int devices_load(struct devices *ret_devices);
void devices_done(struct devices *d); /* fine on a zeroed struct */

/* "10.0.0.1 (rxe0), fe80::1%eth0 (rxe0)": the addresses of active ports that a peer could be told, without link-local
 * ones when there are others. "" when there is none. Returns `out`. */
char *devices_addresses(const struct devices *d, char *out, size_t size);

#endif
