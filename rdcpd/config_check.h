/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A configuration half built, between the two halves of config_load(). Nobody else's. */
#ifndef RDCPD_CONFIG_CHECK_H
#define RDCPD_CONFIG_CHECK_H

#include "config_parse.h"

#define CONFIG_NAME_MAX 255

struct config_loader {
	struct config_tree tree;
	struct config_report report;
	struct config *config; /* as far as single values could be read; structs in the order of their sections */
};

/* Loads the keys, completes what names something else, and says what does not fit together. `path` is the file's. -ENOMEM. */
int config_check(struct config_loader *l, const char *path);

#endif
