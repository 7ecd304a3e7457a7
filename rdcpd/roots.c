// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* From a path that a peer sent to a descriptor and a path beneath it. See roots.h. */
#include "roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "common/log.h"
#include "identity.h"

int roots_init(struct roots *r, const struct access_grant *grant)
{
	*r = (struct roots){ .grant = grant, .fds = calloc(grant->export_count + 1, sizeof(*r->fds)) };
	for (size_t i = 0; r->fds && i < grant->export_count; i++)
		r->fds[i] = -1;
	return r->fds ? 0 : -ENOMEM;
}

void roots_close(struct roots *r)
{
	for (size_t i = 0; r->fds && i < r->grant->export_count; i++)
		if (r->fds[i] >= 0)
			close(r->fds[i]);
	if (r->open > 1)
		descriptors_give(r->open - 1);
	free(r->fds);
	*r = (struct roots){ 0 };
}

const struct config_export *roots_export(const struct roots *r, int root)
{
	size_t i = 0;

	while (i + 1 < r->grant->export_count && r->fds[i] != root)
		i++;
	return r->grant->exports[i];
}

struct errand {
	const char *path;
	int fd;
};

static int run_open(void *arg)
{
	struct errand *e = arg;

	e->fd = open(e->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return e->fd < 0 ? -errno : 0;
}

/* The first is in the share of the session. */
static int open_root(struct roots *r, size_t i)
{
	const struct config_export *export = r->grant->exports[i];
	struct errand e = { .path = export->path };
	int error;

	if (r->open && !descriptors_take(1, 1, 1))
		return -EMFILE;
	error = identity_run(access_grant_identity(r->grant), run_open, &e);
	if (error == 0) {
		r->fds[i] = e.fd;
		r->open++;
		return 0;
	}
	if (r->open)
		descriptors_give(1);
	log_warning("export '%s': cannot open '%s': %s", export->name, export->path, strerror(-error));
	return error;
}

enum status roots_locate(struct roots *r, struct wire_text path, bool need_write, int *ret_root,
			 char ret_relative[static ACCESS_RELATIVE_MAX], char ret_why[static WIRE_TEXT_MAX + 1])
{
	const struct config_export *export;
	enum status status;
	size_t i = 0;
	int error;

	status = access_resolve(r->grant, path, need_write, &export, ret_relative, ret_why);
	if (status != STATUS_OK)
		return status;
	while (i < r->grant->export_count && r->grant->exports[i] != export)
		i++;
	error = i == r->grant->export_count ? -ENOENT : r->fds[i] < 0 ? open_root(r, i) : 0;
	if (error == 0) {
		*ret_root = r->fds[i];
		return STATUS_OK;
	}
	snprintf(ret_why, WIRE_TEXT_MAX + 1, "the directory of export '%s' cannot be opened: %s", export->name,
		 strerror(-error));
	return error == -EMFILE || error == -EAGAIN ? STATUS_BUSY : STATUS_FAILED;
}
