// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* rdcp: reads the command line and does what it says. The only exit() of this program is main's return. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "common/descriptors.h"
#include "common/log.h"
#include "common/standard.h"
#include "common/util.h"
#include "doctor.h"
#include "exitcode.h"
#include "interrupt.h"
#include "options.h"

/*
 * A descriptor 0, 1 or 2 that was closed must not become the first file or socket that is opened. What takes its place cannot be used: a copy
 * of standard input is no empty file then, but an error.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return; /* no /dev/null: nothing can be done */
}

static int log_level_of(const struct options *o)
{
	if (o->quiet)
		return LOG_ERR;
	return o->verbose == 0 ? LOG_WARNING : o->verbose == 1 ? LOG_INFO : LOG_DEBUG;
}

static int run(const struct options *o)
{
	int r;

	switch (o->action) {
	case OPTIONS_HELP:
		options_print_help(stdout);
		return EXITCODE_OK;
	case OPTIONS_VERSION:
		options_print_version(stdout);
		return EXITCODE_OK;
	case OPTIONS_DOCTOR:
		return doctor_run(o);
	case OPTIONS_COPY:
	case OPTIONS_LIST:
		break;
	}
	r = interrupt_start();
	if (r == -EAGAIN) {
		log_err("this machine is busy: it lets you start no more threads; 'ulimit -u' and TasksMax= of "
			"systemd.resource-control(5) limit them");
		return EXITCODE_REFUSED;
	}
	if (r < 0) {
		log_err("cannot watch for signals: %s", strerror(-r));
		return EXITCODE_FAILED;
	}
	return client_run(o);
}

/* Whoever reads the standard output did not get all of it: told here, unless something else was told already. */
static int tell_lost_output(int code)
{
	int r = standard_flush();

	if (r == 0 || code != EXITCODE_OK)
		return code;
	log_err("standard output: %s", strerror(-r));
	return EXITCODE_FAILED;
}

int main(int argc, char **argv)
{
	char why[OPTIONS_WHY_SIZE];
	struct options o;
	int code;

	occupy_standard_descriptors();
	standard_open();
	descriptors_init();
	setlocale(LC_CTYPE, "");
	escape_for_locale();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* RLIMIT_FSIZE: writes fail with EFBIG instead */
	log_open("rdcp", LOG_WARNING);
	if (options_parse(argc, argv, &o, why, sizeof(why)) < 0) {
		log_err("%s", why);
		return EXITCODE_USAGE;
	}
	log_set_level(log_level_of(&o));
	code = tell_lost_output(run(&o));
	options_done(&o);
	return code;
}
