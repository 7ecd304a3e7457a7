// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* rdcpd: command line, configuration, and the daemon in the foreground. The only exit() of this program is main's return. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/descriptors.h"
#include "common/log.h"
#include "common/standard.h"
#include "common/util.h"
#include "config.h"
#include "daemon.h"
#include "journal.h"
#include "keys.h"
#include "status_socket.h"
#include "version.h"

enum exit_status { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CONFIG = 78 /* EX_CONFIG, sysexits.h */ };

struct arguments {
	const char *config;
	const char *generate_key;
	bool check, list_keys, status, json, debug;
};

static const struct option_row {
	int val; /* the short option, or a capital that is none */
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *help;
	size_t flag; /* the bool of struct arguments that it sets, or 0 */
} rows[] = {
	{ 'c', "config", "FILE", "read FILE instead of " CONFIG_FILE " (and FILE.d/*.conf)", 0 },
	{ 'C', "check-config", NULL, "say what is wrong with the configuration, and end",
	  offsetof(struct arguments, check) },
	{ 'G', "generate-key", "NAME", "make a new key for client NAME, or in a file if it has a '/', and end", 0 },
	{ 'L', "list-keys", NULL, "list clients, their keys and exports, and end",
	  offsetof(struct arguments, list_keys) },
	{ 'S', "status", NULL, "show what the running daemon does, and end", offsetof(struct arguments, status) },
	{ 'J', "json", NULL, "with --status: for programs", offsetof(struct arguments, json) },
	{ 'd', "debug", NULL, "log everything", offsetof(struct arguments, debug) },
	{ 'h', "help", NULL, "print this, and end", 0 },
	{ 'V', "version", NULL, "print the version, and end", 0 },
};

#define SHORT_OPTIONS "c:dhV"
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void print_help(FILE *f)
{
	char name[64];

	fputs("Usage: rdcpd [OPTION]...\nThe daemon that rdcp copies files to and from, over RDMA.\n\n", f);
	for (size_t i = 0; i < ROWS; i++) {
		const struct option_row *row = &rows[i];

		snprintf(name, sizeof(name), "--%s%s%s", row->name, row->argument ? " " : "",
			 row->argument ? row->argument : "");
		if (strchr(SHORT_OPTIONS, row->val))
			fprintf(f, "  -%c, %-24s %s\n", row->val, name, row->help);
		else
			fprintf(f, "      %-24s %s\n", name, row->help);
	}
	fputs("\nSee rdcpd(8) and rdcpd.conf(5).\n", f);
}

/* The option that `val` stands for, if it only sets a flag. */
static bool set_flag(struct arguments *a, int val)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].val != val || !rows[i].flag)
			continue;
		*(bool *)((char *)a + rows[i].flag) = true;
		return true;
	}
	return false;
}

/* Returns the status to end with, or -1 to go on. */
static int parse_option(struct arguments *a, int val)
{
	if (set_flag(a, val))
		return -1;
	switch (val) {
	case 'c':
		a->config = optarg;
		return -1;
	case 'G':
		a->generate_key = optarg;
		return -1;
	case 'h':
		print_help(stdout);
		return EXIT_OK;
	case 'V':
		puts("rdcpd " RDCP_VERSION);
		return EXIT_OK;
	default:
		fputs("rdcpd: see 'rdcpd --help'\n", stderr);
		return EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct arguments *a)
{
	struct option options[ROWS + 1] = { 0 };
	int c, status = -1;

	for (size_t i = 0; i < ROWS; i++)
		options[i] = (struct option){ .name = rows[i].name,
					      .has_arg = rows[i].argument ? required_argument : no_argument,
					      .val = rows[i].val };
	while (status < 0 && (c = getopt_long(argc, argv, SHORT_OPTIONS, options, NULL)) != -1)
		status = parse_option(a, c);
	if (status >= 0)
		return status;
	if (optind < argc) {
		fprintf(stderr, "rdcpd: unexpected argument '%s'; see 'rdcpd --help'\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (a->json && !a->status) {
		fputs("rdcpd: --json goes with --status\n", stderr);
		return EXIT_USAGE;
	}
	return -1;
}

static int show_status(const struct arguments *args)
{
	char *path = NULL;
	int r = config_find_status_socket(args->config, &path);

	if (r == -ENODATA)
		fprintf(stderr, "rdcpd: '%s' says 'status-socket = none'\n", args->config);
	else if (r < 0)
		fprintf(stderr, "rdcpd: cannot find the status socket in '%s': %s\n", args->config, strerror(-r));
	if (r < 0)
		return EXIT_FAILED;
	r = status_socket_ask(path, args->json, stdout);
	if (r < 0)
		fprintf(stderr, "rdcpd: no daemon answers at '%s': %s\n", path, strerror(-r));
	free(path);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static void say(void *owner, int level, const char *text)
{
	log_write(level, "%s", text);
}

static int run(const struct arguments *args)
{
	struct config *config;
	int r, status;

	log_open("rdcpd", args->debug ? LOG_DEBUG : LOG_INFO);
	if (!journal_open())
		escape_for_locale();
	if (args->generate_key)
		return keys_generate(args->generate_key, args->config, stdout, stderr) < 0 ? EXIT_FAILED : EXIT_OK;
	if (args->status)
		return show_status(args);
	descriptors_init();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* RLIMIT_FSIZE: writes fail with EFBIG instead */
	r = config_load(args->config, say, NULL, &config);
	if (r < 0)
		return EXIT_CONFIG;
	if (args->list_keys) {
		keys_list(config, stdout);
		status = EXIT_OK;
	} else if (args->check) {
		printf("%s: no errors\n", args->config);
		status = EXIT_OK;
	} else {
		status = daemon_run(config, args->config) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	config_unref(config);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments args = { .config = CONFIG_FILE };
	int r, status;

	standard_open();
	status = parse(argc, argv, &args);
	if (status < 0)
		status = run(&args);
	r = standard_flush();
	if (r == 0 || status != EXIT_OK)
		return status;
	fprintf(stderr, "rdcpd: standard output: %s\n", strerror(-r));
	return EXIT_FAILED;
}
