/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What --files-from and --exclude-from read: a byte of flags (1: entries end with NUL bytes; 2: rules to include), then the file. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "fuzz.h"
#include "rdcp/namelist.h"

/* No name leads out of the directory that it is beneath. */
static void check_name(const char *name)
{
	size_t len = strlen(name);

	FUZZ_CHECK(len > 0 && len < 4096 && *name != '/' && !strstr(name, "//"));
	FUZZ_CHECK(strcmp(name, "..") != 0 && strncmp(name, "../", 3) != 0);
	FUZZ_CHECK(!strstr(name, "/../") && (len < 3 || strcmp(name + len - 3, "/..") != 0));
}

static int read_names(const char *path, bool nul)
{
	struct namelist list = { 0 };
	char why[512] = "";
	int r = namelist_read(path, nul, &list, why, sizeof(why));

	FUZZ_CHECK(r == 0 || *why);
	for (size_t i = 0; r == 0 && i < list.count; i++)
		check_name(namelist_name(&list, i));
	namelist_done(&list);
	return r;
}

static int read_rules(const char *path, bool nul, bool include)
{
	struct filter f;
	char why[512] = "";
	int r;

	filter_init(&f);
	r = namelist_read_rules(path, nul, include, &f, why, sizeof(why));
	FUZZ_CHECK(r == 0 || *why);
	if (f.count)
		filter_excludes(&f, "dir/some.file", false);
	filter_done(&f);
	return r;
}

int fuzz_namelist(const uint8_t *data, size_t len)
{
	_cleanup_close_ int fd = memfd_create("names", MFD_CLOEXEC);
	uint8_t flags = len ? *data : 0;
	char path[64];
	int names, rules;

	FUZZ_CHECK(fd >= 0 && (len < 2 || write(fd, data + 1, len - 1) == (ssize_t)(len - 1)));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	names = read_names(path, flags & 1);
	rules = read_rules(path, flags & 1, flags & 2);
	return len && names == 0 && rules == 0;
}

FUZZ_ENTRY(namelist)
