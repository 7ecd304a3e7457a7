// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* From a path that a peer sent to a descriptor and a path beneath it. See roots.h. */
#include "roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"

int roots_open(struct roots *r, const struct access_grant *grant)
{
	r->grant = grant;
	r->fds = calloc(grant->export_count, sizeof(*r->fds));
	if (!r->fds)
		return -ENOMEM;
	for (size_t i = 0; i < grant->export_count; i++) {
		r->fds[i] = open(grant->exports[i]->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (r->fds[i] < 0)
			log_warning("export '%s': cannot open '%s': %m, ignoring", grant->exports[i]->name,
				    grant->exports[i]->path);
	}
	return 0;
}

void roots_close(struct roots *r)
{
	for (size_t i = 0; r->fds && i < r->grant->export_count; i++)
		if (r->fds[i] >= 0)
			close(r->fds[i]);
	free(r->fds);
	r->fds = NULL;
}

const struct config_export *roots_export(const struct roots *r, int root)
{
	size_t i = 0;

	while (i + 1 < r->grant->export_count && r->fds[i] != root)
		i++;
	return r->grant->exports[i];
}

enum status roots_locate(const struct roots *r, struct wire_text path, bool need_write, int *ret_root,
			 char ret_relative[static ACCESS_RELATIVE_MAX], char ret_why[static WIRE_TEXT_MAX + 1])
{
	const struct config_export *export;
	enum status status;

	status = access_resolve(r->grant, path, need_write, &export, ret_relative, ret_why);
	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < r->grant->export_count; i++) {
		if (r->grant->exports[i] == export && r->fds[i] >= 0) {
			*ret_root = r->fds[i];
			return STATUS_OK;
		}
	}
	snprintf(ret_why, WIRE_TEXT_MAX + 1, "the directory of export '%s' cannot be opened", export->name);
	return STATUS_FAILED;
}
