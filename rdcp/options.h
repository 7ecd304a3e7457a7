/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The command line. One table in options.c is what getopt_long(3) accepts, what --help prints, and what rdcp(1) is
 * compared with. Nothing is printed while parsing and no file is opened: main prints, and exits with EXITCODE_USAGE.
 */
#ifndef RDCP_OPTIONS_H
#define RDCP_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "location.h"
#include "progress.h"

#ifndef RDCP_VERSION
#define RDCP_VERSION "0.1.0"
#endif

#define OPTIONS_KEY_VARIABLE "RDCP_KEY_FILE"
#define OPTIONS_SYSTEM_KEY "/etc/rdcp/key"
#define OPTIONS_WHY_SIZE 2048

enum options_action { OPTIONS_COPY, OPTIONS_LIST, OPTIONS_DOCTOR, OPTIONS_HELP, OPTIONS_VERSION };

enum options_fsync {
	OPTIONS_FSYNC_END,  /* once, before the exit status is known */
	OPTIONS_FSYNC_FILE, /* each file before its result */
	OPTIONS_FSYNC_NONE
};

enum options_transport { OPTIONS_RDMA, OPTIONS_TCP };

/* One of --exclude and its kin, in the order of the command line. */
enum options_rule_kind { OPTIONS_EXCLUDE, OPTIONS_INCLUDE, OPTIONS_EXCLUDE_FROM, OPTIONS_INCLUDE_FROM };

struct options_rule {
	enum options_rule_kind kind;
	const char *text; /* a pattern, or the name of a file of patterns; borrowed */
};

struct options {
	enum options_action action;
	const char *identity; /* -i as given, borrowed; NULL: not given; "none": no key, on purpose */
	bool recursive, preserve, quiet, no_clobber, make_path, dense, no_resume;
	bool archive; /* recursive and preserve as well */
	bool numeric_ids, follow;
	bool stats, json;
	bool checksum;
	unsigned int retries;
	unsigned int verbose; /* how often -v */
	unsigned int port;    /* -P; 0: not given. See options_port() */
	unsigned int slot_log2, slots_log2;
	unsigned int io_threads;
	bool direct, verify;
	uint64_t limit_rate; /* bytes a second; 0: none */
	enum options_fsync fsync;
	uint64_t timeout_ns;         /* silence of the peer */
	uint64_t connect_timeout_ns; /* each step until connected */
	int family;                  /* AF_UNSPEC, AF_INET, AF_INET6 */
	enum options_transport transport;
	enum progress_mode progress;

	struct options_rule *rules; /* owned */
	unsigned int rule_count;
	bool update, skip_held, dry_run, remove_sources;
	const char *partial_dir; /* one name; NULL: beside the destination. Borrowed */
	const char *files_from;  /* names beneath the one source; "-" is standard input; NULL: none. Borrowed */
	bool from0;              /* names and rules from files end with NUL bytes */

	/* COPY: at least one source; either the target is remote and all sources local (push), or all sources are at one host
	 * and the target is local (pull). LIST: one source, at a host, as in a pull. DOCTOR: no source; target is the host, or its text is NULL. */
	bool pull;
	struct location *sources; /* owned */
	unsigned int source_count;
	struct location target;
};

/* -EINVAL, -ENAMETOOLONG, -ENOTSUP, -ENOMEM: `why` is a sentence for the user, names escaped, and ret_options is untouched.
 * argv is borrowed for the life of the options, and permuted by getopt_long(3). */
int options_parse(int argc, char **argv, struct options *ret_options, char *why, size_t why_size);
void options_done(struct options *o);

/* The remote end of a copy: the target of a push, the first source of a pull, the host of a doctor (or NULL). */
const struct location *options_peer(const struct options *o);

/* Its port: that of its URL, else -P, else WIRE_PORT. */
uint16_t options_port(const struct options *o);

const char *options_transport_name(const struct options *o); /* for endpoint_transport_find() */

void options_print_help(FILE *f);
void options_print_version(FILE *f);

/* ---- where the key is ---- */

enum options_key_source {
	OPTIONS_KEY_NONE,        /* there is none in any of the places */
	OPTIONS_KEY_DECLINED,    /* 'none' was asked for */
	OPTIONS_KEY_OPTION,      /* -i */
	OPTIONS_KEY_ENVIRONMENT, /* $RDCP_KEY_FILE */
	OPTIONS_KEY_HOME,        /* ~/.config/rdcp/key */
	OPTIONS_KEY_SYSTEM       /* /etc/rdcp/key */
};

struct options_key {
	enum options_key_source source;
	char path[PATH_MAX];    /* "" for NONE and DECLINED. Not opened: key_load() may still refuse it */
	char skipped[PATH_MAX]; /* a key in the last two places that this user may not read, or "" */
};

/* The first of -i, $RDCP_KEY_FILE, ~/.config/rdcp/key, /etc/rdcp/key. What was named is taken as it is; in the last two
 * a file must be there and be readable to count, since nobody asked for it. Returns whether there is one. */
bool options_find_key(const struct options *o, struct options_key *ret_key);

#endif
