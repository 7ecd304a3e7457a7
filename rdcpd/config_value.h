/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One value of rdcpd.conf from its text. Each returns 0, or -EINVAL (or -ENOMEM) and fills `why`: the part
 * of a sentence that follows "KEY: ".
 */
#ifndef RDCPD_CONFIG_VALUE_H
#define RDCPD_CONFIG_VALUE_H

#include "config.h"

#define CONFIG_WHY_SIZE 256

struct config_why {
	char text[CONFIG_WHY_SIZE];
};

/* "32" */
int config_value_count(const char *text, uint64_t min, uint64_t max, uint64_t *ret_count, struct config_why *why);

/* "4096", "64K", "2G": bytes, times 1024 for each step of K, M, G, T */
int config_value_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret_bytes, struct config_why *why);

/* "10", "10s", "500ms", "2min", "7d": limits and result in ns */
int config_value_time(const char *text, uint64_t min, uint64_t max, uint64_t *ret_ns, struct config_why *why);

/* An absolute path, given back plain as in struct config_export (freed by the caller). */
int config_value_path(const char *text, char **ret_path, struct config_why *why);

/*
 * "ADDR[:PORT]", several by white space or commas. ADDR is numeric, IPv6 in brackets when a port follows,
 * or '*': all of IPv4 and all of IPv6. The array is the caller's to free.
 */
int config_value_listen(const char *text, struct config_address **ret_list, size_t *ret_count, struct config_why *why);

/*
 * Takes the next item of a list separated by white space or commas off the front of `*text`. Returns its
 * length and sets *ret_item; 0 at the end.
 */
size_t config_value_item(const char **text, const char **ret_item);

#endif
