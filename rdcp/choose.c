// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Choosing before the copy. Called by client.c while signals still end the program: files of rules and names may be pipes. The
 * client owns what is filled here.
 */
#include "choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "common/util.h"
#include "namelist.h"

/* ---- rules -------------------------------------------------------------------------------------------------- */

static const char *rule_fault(int r)
{
	switch (r) {
	case -EINVAL:
		return "the pattern is empty";
	case -ENAMETOOLONG:
		return "the pattern is too long";
	case -E2BIG:
		return "there are too many rules";
	default:
		return strerror(-r);
	}
}

static int add_rule(struct client *c, const struct options_rule *rule, char *why, size_t size)
{
	bool include = rule->kind == OPTIONS_INCLUDE || rule->kind == OPTIONS_INCLUDE_FROM;
	char shown[128];
	int r;

	if (rule->kind == OPTIONS_INCLUDE_FROM || rule->kind == OPTIONS_EXCLUDE_FROM)
		return namelist_read_rules(rule->text, c->options->from0, include, &c->filter, why, size);
	r = filter_add_line(&c->filter, rule->text, include);
	if (r < 0)
		snprintf(why, size, "--%s '%s': %s", include ? "include" : "exclude",
			 escape_name(rule->text, shown, sizeof(shown)), rule_fault(r));
	return r;
}

bool choose_rules(struct client *c)
{
	char why[OPTIONS_WHY_SIZE];

	for (unsigned int i = 0; i < c->options->rule_count; i++) {
		if (add_rule(c, &c->options->rules[i], why, sizeof(why)) < 0) {
			output_complain(&c->output, EXITCODE_USAGE, "%s", why);
			return false;
		}
	}
	return true;
}
