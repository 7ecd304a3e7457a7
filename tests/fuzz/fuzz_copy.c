/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two trees, a command line and a run of it, between the client's own code and the daemon's: the bytes decide what is in the trees,
 * what is said, and which way it goes. It has to end, to leave nothing open, and to have done what its exit status says.
 */
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "common/util.h"
#include "copy.h"
#include "fuzz.h"
#include "rdcp/client.h"
#include "rdcp/options.h"

#define ARGS 32

struct command {
	char text[ARGS][400];
	char *argv[ARGS + 1];
	int argc;
};

__attribute__((format(printf, 2, 3))) static void say(struct command *cmd, const char *fmt, ...)
{
	va_list ap;

	FUZZ_CHECK(cmd->argc < ARGS);
	va_start(ap, fmt);
	vsnprintf(cmd->text[cmd->argc], sizeof(cmd->text[0]), fmt, ap);
	va_end(ap);
	cmd->argv[cmd->argc] = cmd->text[cmd->argc];
	cmd->argc++;
}

/* One of the words, or nothing as often as not. */
static void say_maybe(struct command *cmd, struct bytes *b, const char *const *words, unsigned int count)
{
	unsigned int i = bytes_below(b, 2 * count);

	if (i < count)
		say(cmd, "%s", words[i]);
}

#define SAY_MAYBE(cmd, b, ...)                                      \
	do {                                                        \
		static const char *const words[] = { __VA_ARGS__ }; \
		say_maybe(cmd, b, words, ARRAY_SIZE(words));        \
	} while (0)

/* ---- the command line --------------------------------------------------------------------------------------- */

/* What decides which files are there afterwards. */
static void say_what(struct command *cmd, struct bytes *b, struct copy *c)
{
	static const char *const depth[] = { "-a", "-r", "-rp", "-p", "-a", NULL };
	static const char *const skip[] = { NULL, "-u", "--ignore-existing", "--checksum", "--no-clobber" };
	static const char *const rules[] = { "--exclude=a", "--exclude=b/*", "--exclude=/?", "--include=c" };
	unsigned int i = bytes_below(b, ARRAY_SIZE(depth));

	if (depth[i])
		say(cmd, "%s", depth[i]);
	c->archive = i == 0 || i == 4;
	c->recursive = i != 3 && i != 5;
	c->preserve = i != 1 && i != 5;
	i = bytes_below(b, 8);
	c->skip = i < ARRAY_SIZE(skip) ? (enum copy_skip)i : COPY_ALL;
	if (skip[c->skip])
		say(cmd, "%s", skip[c->skip]);
	if ((c->dereference = bytes_one_in(b, 8)))
		say(cmd, "-L");
	if ((c->dry_run = bytes_one_in(b, 12)))
		say(cmd, "--dry-run");
	if ((c->remove_sources = !c->pull && bytes_one_in(b, 4)))
		say(cmd, "--remove-source-files");
	if ((c->make_path = bytes_one_in(b, 3)))
		say(cmd, "--mkpath");
	if ((c->filtered = bytes_one_in(b, 6)))
		say(cmd, "%s", bytes_pick(b, rules));
}

/* What does not. */
static void say_how(struct command *cmd, struct bytes *b)
{
	SAY_MAYBE(cmd, b, "--fsync=none", "--fsync=file");
	SAY_MAYBE(cmd, b, "--verify", "--direct", "--no-sparse", "--numeric-ids");
	SAY_MAYBE(cmd, b, "--no-resume", "--partial-dir=.part");
	SAY_MAYBE(cmd, b, "--progress=always", "-v", "-q");
	SAY_MAYBE(cmd, b, "--limit-rate=100M");
	say(cmd, "--slots=%u", 1U << bytes_below(b, 4));
	say(cmd, "--slot-size=%uK", 4U << bytes_below(b, 5));
	say(cmd, "--io-threads=%u", 1 + bytes_below(b, 4));
}

static void say_operands(struct command *cmd, struct bytes *b, struct copy *c, const struct arena *arena)
{
	static const char *const operands[] = { "a", ".", "b", "c", "a/b", "b/.", "b/a", "d", "A", "a/." };
	static const char *const targets[] = { "", "a", "b", "new", "new/b", "b/c" };
	const char *host = "127.0.0.1:";

	c->operand_count = 1;
	if (bytes_one_in(b, 3))
		c->operand_count += 1 + bytes_below(b, COPY_OPERANDS - 1);
	for (unsigned int i = 0; i < c->operand_count; i++) {
		c->operands[i] = bytes_pick(b, operands);
		say(cmd, "%s%s/src/%s", c->pull ? host : "", arena->top, c->operands[i]);
	}
	c->target = bytes_pick(b, targets);
	say(cmd, "%s%s/dst%s%s", c->pull ? "" : host, arena->top, *c->target ? "/" : "", c->target);
}

static void make_command(struct command *cmd, struct bytes *b, struct copy *c, const struct arena *arena)
{
	cmd->argc = 0;
	say(cmd, "rdcp");
	say(cmd, "--transport=tcp");
	say(cmd, "--port=%u", arena->port);
	say(cmd, "--identity=none");
	say(cmd, "--retries=0");
	say_what(cmd, b, c);
	say_how(cmd, b);
	say_operands(cmd, b, c, arena);
	cmd->argv[cmd->argc] = NULL;
}

/* ---- the run ------------------------------------------------------------------------------------------------ */

static void show(const struct command *cmd)
{
	for (int i = 0; getenv("RDCP_FUZZ_SHOW") && i < cmd->argc; i++)
		fprintf(stderr, "%s%c", cmd->argv[i], i + 1 < cmd->argc ? ' ' : '\n');
}

static int run(struct command *cmd)
{
	char why[OPTIONS_WHY_SIZE];
	struct options o;
	int code;

	show(cmd);
	if (options_parse(cmd->argc, cmd->argv, &o, why, sizeof(why)) < 0)
		return 2;
	code = client_run(&o);
	options_done(&o);
	return code;
}

int fuzz_copy(const uint8_t *data, size_t len)
{
	static struct copy c;
	static struct command cmd;
	const struct arena *arena = arena_begin();
	struct bytes b = { data, len };
	char source[300], destination[300];

	snprintf(source, sizeof(source), "%s/src", arena->top);
	snprintf(destination, sizeof(destination), "%s/dst", arena->top);
	c = (struct copy){ .pull = bytes_one_in(&b, 2) };
	make_command(&cmd, &b, &c, arena);
	tree_make(&b, TREE_SOURCE, source);
	if (!bytes_one_in(&b, 8))
		tree_make(&b, TREE_DESTINATION, destination);
	tree_read(source, &c.source);
	tree_read(destination, &c.destination);
	c.code = run(&cmd);
	tree_read(source, &c.source_after);
	tree_read(destination, &c.destination_after);
	copy_judge(&c);
	arena_end();
	return c.code == 0;
}

FUZZ_ENTRY(copy)
