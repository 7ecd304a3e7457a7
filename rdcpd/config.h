/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What rdcpd was told: rdcpd.conf(5), read and checked as a whole before anything is started.
 *
 * FILE is read first, then FILE.d/NAME.conf in byte order of their names. A later file replaces single keys
 * of an earlier one, and may add sections. Inside one file nothing may be said twice. Nothing is guessed:
 * whatever is not understood is an error, and a daemon that was not told whom to trust does not start.
 *
 * A loaded configuration never changes. It is counted: every access and every grant (access.h) holds a
 * reference, so a new one may take its place while sessions still run under the old one. The count is
 * atomic, references may be dropped on any thread.
 */
#ifndef RDCPD_CONFIG_H
#define RDCPD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/key.h"
#include "identity.h"
#include "range.h"

#define CONFIG_FILE "/etc/rdcp/rdcpd.conf"
#define CONFIG_STATUS_SOCKET "/run/rdcpd/status"

enum config_auth {
	CONFIG_AUTH_MISSING, /* never in a loaded configuration: there is no default */
	CONFIG_AUTH_KEY,
	CONFIG_AUTH_NONE
};

struct config_address {
	struct sockaddr_storage addr; /* with its port; IPv6 is meant to serve IPv6 only */
	socklen_t len;
	/* From '*' or the default: may fail with -EAFNOSUPPORT or -EADDRNOTAVAIL where a family is disabled, as long as
	 * one address works. */
	bool wildcard;
};

struct config_export {
	char *name;
	char *path; /* absolute and plain: no '//', '.', '..' or trailing slash but in "/" itself */
	bool writable;
	bool setuid; /* a client may store setuid, setgid and sticky bits and file capabilities */
};

struct config_key {
	char *file;
	struct key key;
};

struct config_client {
	char *name;
	struct config_key *keys; /* any of them is good; never empty, nothing twice */
	size_t key_count;
	const struct config_export **exports; /* in the order of the client's list; never empty */
	size_t export_count;
	struct range *ranges; /* where it may connect from */
	size_t range_count;   /* 0: from anywhere */
	bool writes;          /* false: read-only, whatever the exports say */
	unsigned int max_sessions;
	uint64_t max_rate; /* bytes a second, all its sessions together; 0: no limit */
	char *user;        /* whose rights its file calls have, NULL: the daemon's */
	struct identity identity;
	bool unable; /* the daemon may not act as that user: the client is refused */
};

struct config {
	struct config_address *listen; /* never empty, nothing twice */
	size_t listen_count;
	enum config_auth auth;
	const char *transport; /* "rdma" or "tcp", for endpoint_transport_find() */
	unsigned int max_sessions;
	uint64_t max_pinned;        /* bytes, all sessions together */
	uint64_t session_memory;    /* bytes that one session may remember for its client */
	uint64_t handshake_timeout; /* ns, from the request to a session at work */
	uint64_t idle_timeout;      /* ns without a sign of life from the peer */
	unsigned int slot_log2;     /* the largest geometry a client is granted */
	unsigned int slots_log2;
	unsigned int io_threads; /* of each session */
	uint64_t partial_age;    /* ns, of unfinished files that are removed; 0: none are */
	char *status_socket;     /* NULL: the default; "": none */
	char *metrics_file;      /* NULL: none */
	bool log_files;          /* each file gets a line in the log */

	struct config_export *exports; /* in order of appearance; never empty */
	size_t export_count;
	struct config_client *clients;
	size_t client_count;
	/* all exports: what a client without a list may use, and everybody with auth = none */
	const struct config_export **everything;

	unsigned int references;
};

/* Told one finding at a time: `level` is LOG_ERR or LOG_WARNING (syslog.h), `text` is "FILE:LINE: sentence". */
typedef void (*config_say)(void *owner, int level, const char *text);

/*
 * Reads `path` and its drop-ins, loads every key file and looks whether every export is a directory.
 * Everything wrong is said, not only the first. A configuration with warnings only is a good one. -EINVAL:
 * something is wrong with what was read. -ENOMEM. Else what open(2), read(2) or opendir(3) said of a file;
 * said as well.
 */
int config_load(const char *path, config_say say, void *owner, struct config **ret_config);

/*
 * Only where the daemon's status socket is, from a configuration that may have any mistake elsewhere; the string is the
 * caller's. -ENODATA: there is to be none. -EINVAL, -ENOMEM, or as open(2).
 */
int config_find_status_socket(const char *path, char **ret_socket);

/* The client of that name, or NULL. */
const struct config_client *config_client(const struct config *c, const char *name);

/* Letters, digits and '._@-', 1 to 255 of them: what an export or a client may be called. */
bool config_name_is_good(const char *name);

struct config *config_ref(struct config *c);   /* returns c */
struct config *config_unref(struct config *c); /* wipes and frees with the last one; NULL is fine; returns NULL */

#endif
