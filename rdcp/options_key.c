// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Where the client's key is: see options.h. Looks for files and opens none. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

static bool set_key(struct options_key *k, enum options_key_source source, const char *path)
{
	k->source = source;
	snprintf(k->path, sizeof(k->path), "%s", path);
	return true;
}

/* A place nobody named counts only when it can be used; one that is closed to this user is remembered for a hint. */
static bool try_key(struct options_key *k, enum options_key_source source, const char *path)
{
	if (access(path, R_OK) == 0)
		return set_key(k, source, path);
	if (errno == EACCES && access(path, F_OK) == 0)
		snprintf(k->skipped, sizeof(k->skipped), "%s", path);
	return false;
}

static const char *home_directory(void)
{
	const char *home = getenv("HOME");
	const struct passwd *pw;

	if (home && *home)
		return home;
	pw = getpwuid(geteuid());
	return pw ? pw->pw_dir : NULL;
}

bool options_find_key(const struct options *o, struct options_key *ret_key)
{
	const char *variable = getenv(OPTIONS_KEY_VARIABLE), *home = home_directory();
	char path[PATH_MAX];

	*ret_key = (struct options_key){ .source = OPTIONS_KEY_NONE };
	for (int i = 0; i < 2; i++) {
		const char *named = i == 0 ? o->identity : variable;

		if (!named || !*named)
			continue;
		if (strcmp(named, "none") == 0) {
			ret_key->source = OPTIONS_KEY_DECLINED;
			return false;
		}
		return set_key(ret_key, i == 0 ? OPTIONS_KEY_OPTION : OPTIONS_KEY_ENVIRONMENT, named);
	}
	if (home && (size_t)snprintf(path, sizeof(path), "%s/.config/rdcp/key", home) < sizeof(path) &&
	    try_key(ret_key, OPTIONS_KEY_HOME, path))
		return true;
	return try_key(ret_key, OPTIONS_KEY_SYSTEM, OPTIONS_SYSTEM_KEY);
}
