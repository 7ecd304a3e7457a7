/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The RDMA devices of this machine (devices.h), from libibverbs' device list, GID tables and the interfaces' addresses.
 * Called by rdcp's doctor and hints, never on the path of data. Each device is opened, asked and closed; one that
 * cannot be opened is part of the answer and hides no other.
 *
 * Which addresses a port has: on RoCE the GID table is the list. On iWARP and InfiniBand it holds no IP addresses, and
 * those of the network interface are given: iWARP's is found by the MAC address that its first GID begins with,
 * InfiniBand's in sysfs.
 */
#include "devices.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "endpoint_rdma_calls.h"
#include "error.h"
#include "log.h"
#include "util.h"

#define MAX_GIDS 256 /* of one device that are looked at */
#define MAX_ADDRESSES 64

static const char *state_text(enum ibv_port_state state)
{
	switch (state) {
	case IBV_PORT_DOWN:
		return "down";
	case IBV_PORT_INIT:
		return "initialising, no subnet manager yet";
	case IBV_PORT_ARMED:
		return "armed";
	case IBV_PORT_ACTIVE:
		return "active";
	case IBV_PORT_ACTIVE_DEFER:
		return "active, deferred";
	default:
		return "unknown";
	}
}

static const char *link_layer_text(uint8_t layer)
{
	switch (layer) {
	case IBV_LINK_LAYER_INFINIBAND:
		return "InfiniBand";
	case IBV_LINK_LAYER_ETHERNET:
		return "Ethernet";
	default:
		return "unspecified";
	}
}

static const char *transport_text(enum ibv_transport_type type)
{
	switch (type) {
	case IBV_TRANSPORT_IB:
		return "InfiniBand";
	case IBV_TRANSPORT_IWARP:
		return "iWARP";
	default:
		return "unknown";
	}
}

/* In 100 Mb/s, as the kernel's include/rdma/ib_verbs.h counts: width code times lane speed code. */
static unsigned int rate_of(uint8_t width, uint8_t speed)
{
	static const struct {
		uint8_t code;
		unsigned int value;
	} widths[] = { { 1, 1 }, { 2, 4 }, { 4, 8 }, { 8, 12 }, { 16, 2 } },
	  speeds[] = { { 1, 25 },   { 2, 50 },   { 4, 100 },  { 8, 100 },
		       { 16, 140 }, { 32, 250 }, { 64, 500 }, { 128, 1000 } };
	unsigned int w = 0, s = 0;

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		if (widths[i].code == width)
			w = widths[i].value;
	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].code == speed)
			s = speeds[i].value;
	return w * s;
}

/* ---- addresses ---- */

static struct device_address *new_address(struct device_port *port)
{
	struct device_address *list, *a;

	if (port->address_count >= MAX_ADDRESSES)
		return NULL;
	list = reallocarray(port->addresses, port->address_count + 1, sizeof(*list));
	if (!list)
		return NULL;
	port->addresses = list;
	a = &list[port->address_count++];
	*a = (struct device_address){ .gid_index = -1, .type = "" };
	return a;
}

static void format_in6(struct device_address *a, const struct in6_addr *in6, const char *netdev)
{
	char text[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(in6)) {
		inet_ntop(AF_INET, &in6->s6_addr[12], a->text, sizeof(a->text));
		return;
	}
	inet_ntop(AF_INET6, in6, text, sizeof(text));
	a->link_local = IN6_IS_ADDR_LINKLOCAL(in6);
	snprintf(a->text, sizeof(a->text), "%s%s%s", text, a->link_local && *netdev ? "%" : "",
		 a->link_local ? netdev : "");
}

static void add_gid(struct device_port *port, const struct ibv_gid_entry *e, const char *transport)
{
	struct device_address *a = new_address(port);
	struct in6_addr in6;

	if (!a)
		return;
	memcpy(&in6, e->gid.raw, sizeof(in6));
	inet_ntop(AF_INET6, &in6, a->gid, sizeof(a->gid));
	a->gid_index = (int)e->gid_index;
	if (e->gid_type == IBV_GID_TYPE_ROCE_V1 || e->gid_type == IBV_GID_TYPE_ROCE_V2) {
		a->type = e->gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1" : "RoCE v2";
		format_in6(a, &in6, port->netdev);
	} else {
		a->type = transport;
	}
}

static void add_interface_addresses(struct device_port *port, const char *type, const struct ifaddrs *all)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct device_address *a;

		if (!i->ifa_addr || strcmp(i->ifa_name, port->netdev) != 0)
			continue;
		if (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)
			continue;
		a = new_address(port);
		if (!a)
			return;
		a->type = type;
		if (i->ifa_addr->sa_family == AF_INET6)
			format_in6(a, &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr, port->netdev);
		else
			inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, a->text, sizeof(a->text));
	}
}

/* ---- the network interface of a port ---- */

static void find_netdev_by_mac(struct device_port *port, const uint8_t mac[static 6], const struct ifaddrs *all)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const struct sockaddr_ll *ll = (const struct sockaddr_ll *)i->ifa_addr;

		if (ll && ll->sll_family == AF_PACKET && ll->sll_halen == 6 && memcmp(ll->sll_addr, mac, 6) == 0) {
			snprintf(port->netdev, sizeof(port->netdev), "%s", i->ifa_name);
			return;
		}
	}
}

/* The device's only interface, as sysfs knows it. With several (two ports of one function) none is guessed. */
static void find_netdev_in_sysfs(struct device_port *port, const char *device)
{
	char path[128], found[IF_NAMESIZE] = "";
	struct dirent *entry;
	unsigned int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net", device);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(found))
			continue;
		strcpy(found, entry->d_name);
		count++;
	}
	closedir(dir);
	if (count == 1)
		strcpy(port->netdev, found);
}

static void find_netdev(struct device_port *port, const struct device *dev, const struct ibv_gid_entry *gids,
			ssize_t count, const struct ifaddrs *all)
{
	const struct ibv_gid_entry *first = NULL;

	for (ssize_t i = 0; i < count; i++) {
		if (gids[i].port_num != port->number)
			continue;
		if (!first)
			first = &gids[i];
		if (gids[i].ndev_ifindex && if_indextoname(gids[i].ndev_ifindex, port->netdev))
			break;
	}
	if (!port->netdev[0] && first && strcmp(dev->transport, "iWARP") == 0)
		find_netdev_by_mac(port, first->gid.raw, all);
	if (!port->netdev[0])
		find_netdev_in_sysfs(port, dev->name);
	for (const struct ifaddrs *i = all; port->netdev[0] && i; i = i->ifa_next)
		if (strcmp(i->ifa_name, port->netdev) == 0)
			port->netdev_up = (i->ifa_flags & IFF_UP) && (i->ifa_flags & IFF_RUNNING);
}

/* ---- devices ---- */

static int load_port(struct ibv_context *verbs, struct device *dev, struct device_port *port, const struct ifaddrs *all)
{
	struct ibv_gid_entry gids[MAX_GIDS];
	struct ibv_port_attr attr;
	bool has_address = false;
	ssize_t count;
	int r;

	r = verbs_call(ibv_query_port(verbs, (uint8_t)port->number, &attr));
	if (r < 0)
		return fail(r, "ibv_query_port %s/%u", dev->name, port->number);
	port->active = attr.state == IBV_PORT_ACTIVE;
	port->state = state_text(attr.state);
	port->link_layer = link_layer_text(attr.link_layer);
	port->mtu = attr.active_mtu >= IBV_MTU_256 && attr.active_mtu <= IBV_MTU_4096 ? 128u << attr.active_mtu : 0;
	port->rate = rate_of(attr.active_width, attr.active_speed);
	port->max_msg_sz = attr.max_msg_sz;

	count = verbs_count((int)ibv_query_gid_table(verbs, gids, ARRAY_SIZE(gids), 0));
	if (count < 0)
		count = 0; /* more than MAX_GIDS, or a kernel without the call: the interface's addresses will do */
	find_netdev(port, dev, gids, count, all);
	for (ssize_t i = 0; i < count; i++)
		if (gids[i].port_num == port->number)
			add_gid(port, &gids[i], dev->transport);
	for (unsigned int i = 0; i < port->address_count; i++)
		has_address |= port->addresses[i].text[0] != '\0';
	if (!has_address)
		add_interface_addresses(port, dev->transport, all);
	return 0;
}

static void close_device(struct ibv_context *verbs)
{
	int r = verbs_end(ibv_close_device(verbs));

	if (r < 0)
		log_debug("ibv_close_device: %s, ignoring", strerror(-r));
}

static void load_device(struct ibv_device *from, struct device *dev, const struct ifaddrs *all)
{
	struct ibv_device_attr attr;
	struct ibv_context *verbs;

	snprintf(dev->name, sizeof(dev->name), "%s", ibv_get_device_name(from));
	dev->transport = transport_text(from->transport_type);
	verbs = verbs_make(ibv_open_device(from), &dev->error);
	if (!verbs)
		return;
	dev->error = verbs_call(ibv_query_device(verbs, &attr));
	if (dev->error < 0) {
		close_device(verbs);
		return;
	}
	dev->max_qp_wr = attr.max_qp_wr;
	dev->max_mr_size = attr.max_mr_size;
	dev->ports = calloc(attr.phys_port_cnt, sizeof(*dev->ports));
	for (unsigned int i = 0; dev->ports && i < attr.phys_port_cnt; i++) {
		struct device_port *port = &dev->ports[i];

		*port = (struct device_port){ .number = i + 1, .state = "unknown", .link_layer = "unspecified" };
		load_port(verbs, dev, port, all); /* what it could not find out stays unknown */
		dev->port_count = i + 1;
	}
	close_device(verbs);
}

int devices_load(struct devices *ret_devices)
{
	struct devices d = { 0 };
	struct ibv_device **list;
	struct ifaddrs *all = NULL;
	int count = 0, r;

	list = verbs_make(ibv_get_device_list(&count), &r);
	if (!list) {
		if (r != -ENOSYS && r != -ENOENT && r != -ENODEV)
			return fail(r, "ibv_get_device_list");
		count = 0; /* no kernel support at all, and so no device */
	}
	d.list = calloc((size_t)count + 1, sizeof(*d.list));
	if (!d.list) {
		if (list)
			ibv_free_device_list(list);
		return -ENOMEM;
	}
	if (count && getifaddrs(&all) < 0)
		all = NULL;
	for (int i = 0; i < count; i++)
		load_device(list[i], &d.list[d.count++], all);
	if (all)
		freeifaddrs(all);
	if (list)
		ibv_free_device_list(list);
	*ret_devices = d;
	return 0;
}

void devices_done(struct devices *d)
{
	for (unsigned int i = 0; i < d->count; i++) {
		for (unsigned int j = 0; j < d->list[i].port_count; j++)
			free(d->list[i].ports[j].addresses);
		free(d->list[i].ports);
	}
	free(d->list);
	*d = (struct devices){ 0 };
}

/* Appends "ADDRESS (DEVICE)" for each address of the wanted kind, once; stops at one that does not fit. */
static void append(const struct devices *d, bool link_local, char *out, size_t size)
{
	for (unsigned int i = 0; i < d->count; i++) {
		for (unsigned int j = 0; j < d->list[i].port_count; j++) {
			const struct device_port *port = &d->list[i].ports[j];

			for (unsigned int k = 0; port->active && k < port->address_count; k++) {
				const struct device_address *a = &port->addresses[k];
				char item[DEVICES_ADDRESS_SIZE + sizeof(d->list[i].name) + 8];

				snprintf(item, sizeof(item), "%s (%s)", a->text, d->list[i].name);
				if (a->text[0] == '\0' || a->link_local != link_local || strstr(out, item))
					continue;
				if (strlen(out) + strlen(item) + 3 > size)
					return;
				if (out[0])
					strcat(out, ", ");
				strcat(out, item);
			}
		}
	}
}

char *devices_addresses(const struct devices *d, char *out, size_t size)
{
	if (size == 0)
		return out;
	out[0] = '\0';
	append(d, false, out, size);
	if (out[0] == '\0')
		append(d, true, out, size);
	return out;
}
