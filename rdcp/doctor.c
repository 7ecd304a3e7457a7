/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What this machine has to offer: kernel modules, device nodes, RDMA devices, locked memory, the key. Called by main for
 * --doctor; the way to a host is doctor_host.c. Reads /sys, /proc and /dev and opens devices to ask them, changes
 * nothing. Each check_*() says its findings and returns false when a copy cannot work because of it.
 */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/devices.h"
#include "common/key.h"
#include "common/util.h"
#include "exitcode.h"

#define NODES "/dev/infiniband"
#define MESSAGES_PINNED (2 * MIB) /* what a session pins beside its slab, at most */
#define CAP_IPC_LOCK_BIT 14       /* linux/capability.h: RLIMIT_MEMLOCK does not count */

bool doctor_say(enum doctor_finding finding, const char *fmt, ...)
{
	static const char *const marks[] = {
		[DOCTOR_OK] = "[ ok ] ",
		[DOCTOR_WARN] = "[warn] ",
		[DOCTOR_FAIL] = "[fail] ",
		[DOCTOR_MORE] = "       ",
	};
	va_list ap;

	fputs(marks[finding], stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout); /* the next step may take its time */
	return finding != DOCTOR_FAIL;
}

/* ---- kernel modules ----------------------------------------------------------------------------------------- */

static bool module_loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return access(path, F_OK) == 0;
}

/* Is it in a list of depmod(8)? Lines begin with a path that ends in NAME.ko, maybe compressed. */
static bool module_listed(const char *list, const char *name)
{
	_cleanup_free_ char *line = NULL;
	struct utsname uts;
	char path[512], wanted[64];
	bool found = false;
	size_t size = 0;
	FILE *f;

	if (uname(&uts) < 0)
		return false;
	snprintf(path, sizeof(path), "/lib/modules/%s/%s", uts.release, list);
	f = fopen(path, "re");
	if (!f)
		return false;
	snprintf(wanted, sizeof(wanted), "/%s.ko", name);
	while (!found && getline(&line, &size, f) > 0) {
		line[strcspn(line, ":\n")] = '\0';
		found = strstr(line, wanted) != NULL;
	}
	fclose(f);
	return found;
}

/* `sign` is what there is when it works, also when it is no module but a part of the kernel. */
static bool check_module(const char *name, const char *purpose, const char *sign)
{
	if (module_loaded(name))
		return doctor_say(DOCTOR_OK, "kernel module %s (%s) is loaded", name, purpose);
	if (access(sign, F_OK) == 0 || module_listed("modules.builtin", name))
		return doctor_say(DOCTOR_OK, "%s (%s) is part of the kernel", name, purpose);
	if (module_listed("modules.dep", name))
		return doctor_say(DOCTOR_FAIL, "kernel module %s (%s) is not loaded: 'modprobe %s' as root", name,
				  purpose, name);
	return doctor_say(DOCTOR_FAIL, "kernel module %s (%s) is not loaded, and this kernel has none to load", name,
			  purpose);
}

/* There is no device: what could make one? */
static void say_drivers(void)
{
	static const char *const drivers[] = { "rdma_rxe",   "siw",  "mlx5_ib",  "mlx4_ib",        "irdma",   "bnxt_re",
					       "iw_cxgb4",   "qedr", "erdma",    "hns_roce_hw_v2", "mana_ib", "ocrdma",
					       "vmw_pvrdma", "hfi1", "ib_mthca", "ib_qib" };
	char found[128] = "";

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		if (!module_loaded(drivers[i]) || strlen(found) + strlen(drivers[i]) + 3 > sizeof(found))
			continue;
		if (found[0])
			strcat(found, ", ");
		strcat(found, drivers[i]);
	}
	if (found[0])
		doctor_say(DOCTOR_MORE, "loaded without finding one: %s", found);
	if (module_loaded("rdma_rxe") || module_listed("modules.dep", "rdma_rxe"))
		doctor_say(DOCTOR_MORE, "'rdma link add rxe0 type rxe netdev NETDEV' makes one of a network interface");
	doctor_say(DOCTOR_MORE, "--transport=tcp copies without, if the daemon is told to listen for that");
}

static bool check_modules(void)
{
	bool connection = check_module("rdma_ucm", "makes connections", "/sys/class/misc/rdma_cm");
	bool verbs = check_module("ib_uverbs", "moves data", "/sys/class/infiniband_verbs");

	return connection && verbs;
}

/* ---- device nodes ------------------------------------------------------------------------------------------- */

static bool check_node(const char *path)
{
	const struct passwd *user;
	const struct group *group;
	char who[64];
	struct stat st;

	if (access(path, R_OK | W_OK) == 0)
		return doctor_say(DOCTOR_OK, "%s can be opened", path);
	if (stat(path, &st) < 0)
		return doctor_say(DOCTOR_FAIL, "%s: %s", path, strerror(errno));
	user = getpwuid(st.st_uid);
	snprintf(who, sizeof(who), "%s", user ? user->pw_name : "?");
	group = getgrgid(st.st_gid);
	return doctor_say(DOCTOR_FAIL, "%s: %s; it is %s:%s mode %04o, and udev rules usually make it 0666", path,
			  strerror(EACCES), who, group ? group->gr_name : "?", (unsigned int)(st.st_mode & 07777));
}

static bool check_nodes(void)
{
	bool fine = true;
	unsigned int verbs = 0;
	struct dirent *entry;
	DIR *dir = opendir(NODES);

	if (!dir)
		return doctor_say(DOCTOR_FAIL, NODES ": %s", strerror(errno));
	fine = check_node(NODES "/rdma_cm");
	while ((entry = readdir(dir))) {
		char path[sizeof(NODES) + 1 + sizeof(entry->d_name)];

		if (strncmp(entry->d_name, "uverbs", 6) != 0)
			continue;
		snprintf(path, sizeof(path), NODES "/%s", entry->d_name);
		fine &= check_node(path);
		verbs++;
	}
	closedir(dir);
	/* That there is none is said about the devices. */
	return fine && verbs > 0;
}

/* ---- devices ------------------------------------------------------------------------------------------------ */

/* Several on a line, as many as fit 100 columns. */
static unsigned int say_addresses(const struct device_port *port)
{
	unsigned int usable = 0;
	char line[101] = "";

	for (unsigned int i = 0; i < port->address_count; i++) {
		const struct device_address *a = &port->addresses[i];
		char item[96];

		if (a->text[0] == '\0')
			continue;
		usable++;
		snprintf(item, sizeof(item), "%s (%s)", a->text, a->type);
		if (strlen(line) + strlen(item) + 3 > sizeof(line)) {
			doctor_say(DOCTOR_MORE, "  %s,", line);
			line[0] = '\0';
		}
		if (line[0])
			strcat(line, ", ");
		strcat(line, item);
	}
	if (line[0])
		doctor_say(DOCTOR_MORE, "  %s", line);
	return usable;
}

static bool check_port(const struct options *o, const struct device *dev, const struct device_port *port)
{
	char largest[16], rate[24] = "", netdev[IF_NAMESIZE + 16] = "";

	if (port->rate)
		snprintf(rate, sizeof(rate), ", %u.%u Gb/s", port->rate / 10, port->rate % 10);
	if (port->netdev[0])
		snprintf(netdev, sizeof(netdev), " %s%s", port->netdev, port->netdev_up ? "" : " (down)");
	doctor_say(port->active ? DOCTOR_OK : DOCTOR_WARN, "%s port %u: %s, %s%s%s, path MTU %u, writes of up to %s",
		   dev->name, port->number, port->state, port->link_layer, netdev, rate, port->mtu,
		   format_size(port->max_msg_sz, largest));
	if (say_addresses(port) == 0)
		doctor_say(DOCTOR_WARN, "%s port %u has no IP address: give its network interface one", dev->name,
			   port->number);
	else if (!port->active && port->netdev[0])
		doctor_say(DOCTOR_MORE, "  'ip link set %s up' may bring it up", port->netdev);
	else if (port->active && port->max_msg_sz < 1ULL << o->slot_log2)
		doctor_say(DOCTOR_MORE, "  --slot-size will be %s there", largest);
	for (unsigned int i = 0; port->active && i < port->address_count; i++)
		if (port->addresses[i].text[0])
			return true;
	return false;
}

static bool check_device(const struct options *o, const struct device *dev)
{
	bool usable = false;

	if (dev->error) {
		doctor_say(DOCTOR_WARN, "%s (%s) cannot be opened: %s", dev->name, dev->transport,
			   strerror(-dev->error));
		return false;
	}
	doctor_say(DOCTOR_OK, "%s is an RDMA device (%s), %d requests in a queue", dev->name, dev->transport,
		   dev->max_qp_wr);
	for (unsigned int i = 0; i < dev->port_count; i++)
		usable |= check_port(o, dev, &dev->ports[i]);
	return usable;
}

static bool check_devices(const struct options *o)
{
	struct devices devices = { 0 };
	bool usable = false;
	int r = devices_load(&devices);

	if (r < 0)
		return doctor_say(DOCTOR_FAIL, "the list of RDMA devices cannot be read: %s", strerror(-r));
	for (unsigned int i = 0; i < devices.count; i++)
		usable |= check_device(o, &devices.list[i]);
	if (devices.count == 0) {
		doctor_say(DOCTOR_FAIL, "there is no RDMA device on this machine");
		say_drivers();
	} else if (!usable) {
		doctor_say(DOCTOR_FAIL, "no port is both active and has an address");
	}
	devices_done(&devices);
	return usable;
}

/* ---- locked memory ------------------------------------------------------------------------------------------ */

static bool may_lock_all(void)
{
	_cleanup_free_ char *line = NULL;
	unsigned long long capabilities = 0;
	size_t size = 0;
	FILE *f = fopen("/proc/self/status", "re");

	if (!f)
		return false;
	while (getline(&line, &size, f) > 0)
		if (strncmp(line, "CapEff:", 7) == 0)
			capabilities = strtoull(line + 7, NULL, 16);
	fclose(f);
	return capabilities & 1ULL << CAP_IPC_LOCK_BIT;
}

static bool check_memlock(const struct options *o)
{
	uint64_t need = (1ULL << (o->slot_log2 + o->slots_log2)) + MESSAGES_PINNED;
	char wanted[16], limit[16];
	struct rlimit rl;

	format_size(need, wanted);
	if (getrlimit(RLIMIT_MEMLOCK, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY)
		return doctor_say(DOCTOR_OK, "locked memory: %s needed, no limit", wanted);
	format_size(rl.rlim_cur, limit);
	if (may_lock_all())
		return doctor_say(DOCTOR_OK, "locked memory: %s needed, the limit of %s does not count for this user",
				  wanted, limit);
	if (rl.rlim_cur >= need)
		return doctor_say(DOCTOR_OK, "locked memory: %s needed at most, the limit is %s", wanted, limit);
	return doctor_say(DOCTOR_FAIL,
			  "locked memory: %s needed, the limit is %s: 'ulimit -l %llu' or memlock in limits.conf(5)",
			  wanted, limit, (unsigned long long)((need + KIB - 1) / KIB));
}

/* ---- the key ------------------------------------------------------------------------------------------------ */

static bool check_key(const struct options_key *k)
{
	char why[OPTIONS_WHY_SIZE], shown[ESCAPED_PATH_SIZE];
	struct key key;
	int r;

	switch (k->source) {
	case OPTIONS_KEY_NONE:
		doctor_say(DOCTOR_WARN, "key: there is none; a daemon with auth = none takes copies without");
		if (k->skipped[0])
			doctor_say(DOCTOR_MORE, "%s exists, but this user may not read it",
				   escape_name(k->skipped, shown, sizeof(shown)));
		else
			doctor_say(DOCTOR_MORE, "looked at -i, $" OPTIONS_KEY_VARIABLE
						", ~/.config/rdcp/key and " OPTIONS_SYSTEM_KEY);
		return true;
	case OPTIONS_KEY_DECLINED:
		return doctor_say(DOCTOR_WARN, "key: 'none' was asked for");
	default:
		break;
	}
	why[0] = '\0';
	r = key_load(k->path, &key, why, sizeof(why));
	if (r < 0)
		return doctor_say(DOCTOR_FAIL, "key: %s", why[0] ? why : strerror(-r));
	key_wipe(&key);
	return doctor_say(DOCTOR_OK, "key: '%s' is a good key file", escape_name(k->path, shown, sizeof(shown)));
}

int doctor_run(const struct options *o)
{
	const struct location *host = options_peer(o);
	struct options_key key;
	bool fine = true;

	if (o->transport == OPTIONS_TCP) {
		doctor_say(DOCTOR_OK, "--transport=tcp: RDMA is not looked at");
	} else {
		fine = check_modules();
		fine = check_nodes() && fine;
		fine = check_devices(o) && fine;
		fine = check_memlock(o) && fine;
	}
	options_find_key(o, &key);
	fine = check_key(&key) && fine;
	if (host)
		fine = doctor_host(o, host, &key) && fine;
	if (!fine)
		printf("\nA copy %s%swill not work from here: see the lines marked [fail].\n",
		       o->transport == OPTIONS_TCP ? "" : "over RDMA ", host ? "to that host " : "");
	else
		printf("\n%s\n", host ? "Everything works."
				      : "This machine is ready; 'rdcp --doctor HOST' tries a host as well.");
	return fine ? EXITCODE_OK : EXITCODE_CONNECT;
}
