// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* The umask of the process, see umask.h. Called by whoever makes files or directories. */
#include "umask.h"

#include <pthread.h>
#include <stdio.h>

static mode_t value = 022;

static void read_umask(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	unsigned int said;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Umask: %o", &said) == 1)
			value = said & 0777;
	if (file)
		fclose(file);
}

mode_t process_umask(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_umask);
	return value;
}
