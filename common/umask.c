// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* What new files do not get of their mode, see umask.h. Called by whoever makes files or directories. */
#include "umask.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "attributes.h"

#define PERMISSIONS (S_IRWXU | S_IRWXG | S_IRWXO)

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

int umask_in(int dir)
{
	int mode = attributes_default_mode(dir);

	if (mode == -ENODATA)
		return (int)process_umask();
	return mode < 0 ? mode : PERMISSIONS & ~mode;
}
