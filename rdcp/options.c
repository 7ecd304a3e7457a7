/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The command line. Called by main only. Everything about an option stands in its row of `rows`: how it is spelled,
 * what --help says, where and how its value is stored. Adding an option is adding a row (and a paragraph to rdcp.1 and a
 * line to each file of completion/, which `make lint` asks for).
 *
 * Borrows argv; owns the operands it made of it. A failure leaves a sentence and nothing to release.
 */
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/place.h"
#include "common/slab.h"
#include "common/util.h"
#include "common/wire.h"

#define DEFAULT_SLOT_LOG2 20 /* 1 MiB */
#define DEFAULT_SLOTS_LOG2 5 /* 32; connect.c asks for less where less may be locked */
#define MAX_WINDOW_LOG2 32   /* slot size times slots: 4 GiB */
#define MAX_SECONDS 86400

/* How an argument becomes a value, and the type of the field it is stored in. */
enum how {
	SET,     /* int: `value` */
	YES,     /* bool */
	COUNT,   /* unsigned int, one more each time */
	TEXT,    /* const char * */
	NUMBER,  /* unsigned int, min..max */
	POWER,   /* unsigned int: exponent of a power of two in 2^min..2^max; suffixes K, M */
	RATE,    /* uint64_t, bytes a second, not 0; suffixes K, M, G */
	SECONDS, /* uint64_t, nanoseconds: more than 0, with a fraction if wanted */
	CHOICE,  /* int: index into the words of `arg`, which are separated by '|' */
	RULE     /* appended to the rules; min is the kind */
};

struct row {
	int letter; /* 0: none */
	const char *name;
	const char *arg; /* NULL: takes none */
	const char *help;
	enum how how;
	size_t offset;
	unsigned int min, max; /* SET: min is the value */
};

#define FIELD(f) offsetof(struct options, f)

/* An enum field is written as an int. */
static_assert(sizeof(enum options_action) == sizeof(int), "SET and CHOICE store an int");

static const struct row rows[] = {
	{ 'i', "identity", "KEYFILE", "prove this key; 'none': go without", TEXT, FIELD(identity), 0, 0 },
	{ 'r', "recursive", NULL, "copy directories with all that is in them", YES, FIELD(recursive), 0, 0 },
	{ 'p', "preserve", NULL, "keep modes and modification times", YES, FIELD(preserve), 0, 0 },
	{ 'a', "archive", NULL, "-r -p, owners, ACLs, xattrs, hard links", YES, FIELD(archive), 0, 0 },
	{ 0, "numeric-ids", NULL, "with -a: owners by number, not by name", YES, FIELD(numeric_ids), 0, 0 },
	{ 'L', "dereference", NULL, "follow symlinks in directories", YES, FIELD(follow), 0, 0 },
	{ 0, "no-clobber", NULL, "leave files alone that exist already", YES, FIELD(no_clobber), 0, 0 },
	{ 0, "mkpath", NULL, "make missing directories on the way", YES, FIELD(make_path), 0, 0 },
	{ 0, "partial-dir", "DIR", "directory for what is left of large files", TEXT, FIELD(partial_dir), 0, 0 },
	{ 0, "no-resume", NULL, "start over, and leave nothing to go on with", YES, FIELD(no_resume), 0, 0 },
	{ 0, "no-sparse", NULL, "send holes as zeros", YES, FIELD(dense), 0, 0 },
	{ 'u', "update", NULL, "skip what is as new there, or newer", YES, FIELD(update), 0, 0 },
	{ 0, "checksum", NULL, "skip what has the same bytes there", YES, FIELD(checksum), 0, 0 },
	{ 0, "ignore-existing", NULL, "skip what is there already", YES, FIELD(skip_held), 0, 0 },
	{ 'n', "dry-run", NULL, "copy nothing, say what would be copied", YES, FIELD(dry_run), 0, 0 },
	{ 0, "remove-source-files", NULL, "remove what was copied to a host", YES, FIELD(remove_sources), 0, 0 },
	{ 0, "exclude", "PATTERN", "leave out what matches, in directories", RULE, 0, OPTIONS_EXCLUDE, 0 },
	{ 0, "include", "PATTERN", "but not what matches this", RULE, 0, OPTIONS_INCLUDE, 0 },
	{ 0, "exclude-from", "FILE", "patterns from a file, one a line", RULE, 0, OPTIONS_EXCLUDE_FROM, 0 },
	{ 0, "include-from", "FILE", "the same for --include", RULE, 0, OPTIONS_INCLUDE_FROM, 0 },
	{ 0, "files-from", "FILE", "copy what a file names, in the one source", TEXT, FIELD(files_from), 0, 0 },
	{ 0, "from0", NULL, "entries of such files end with a NUL byte", YES, FIELD(from0), 0, 0 },
	{ 0, "fsync", "end|file|none", "when files reach stable storage (end)", CHOICE, FIELD(fsync), 0, 0 },
	{ 'q', "quiet", NULL, "show neither progress nor warnings", YES, FIELD(quiet), 0, 0 },
	{ 'v', "verbose", NULL, "say more; twice: everything", COUNT, FIELD(verbose), 0, 0 },
	{ 0, "progress", "auto|always|never", "draw the progress line (auto: on a terminal)", CHOICE, FIELD(progress),
	  0, 0 },
	{ 0, "stats", NULL, "print counts, bytes and times at the end", YES, FIELD(stats), 0, 0 },
	{ 0, "json", NULL, "say what happens in objects of JSON", YES, FIELD(json), 0, 0 },
	{ 'P', "port", "PORT", "the daemon's port (10121)", NUMBER, FIELD(port), 1, UINT16_MAX },
	{ '4', "ipv4", NULL, "use IPv4 addresses only", SET, FIELD(family), AF_INET, 0 },
	{ '6', "ipv6", NULL, "use IPv6 addresses only", SET, FIELD(family), AF_INET6, 0 },
	{ 0, "transport", "rdma|tcp", "what carries the connection (rdma)", CHOICE, FIELD(transport), 0, 0 },
	{ 0, "connect-timeout", "SECONDS", "give up a step of connecting after (10)", SECONDS,
	  FIELD(connect_timeout_ns), 0, 0 },
	{ 0, "timeout", "SECONDS", "give up when the peer is silent for (30)", SECONDS, FIELD(timeout_ns), 0, 0 },
	{ 0, "retries", "COUNT", "attempts after the connection broke (5)", NUMBER, FIELD(retries), 0, 1000 },
	{ 0, "slot-size", "SIZE", "bytes in a slot, 4K to 64M (1M)", POWER, FIELD(slot_log2), SLAB_MIN_SLOT_LOG2,
	  SLAB_MAX_SLOT_LOG2 },
	{ 0, "slots", "COUNT", "slots in flight, a power of two (32)", POWER, FIELD(slots_log2), 0,
	  SLAB_MAX_SLOTS_LOG2 },
	{ 0, "limit-rate", "RATE", "bytes a second at most, as 500K or 10M", RATE, FIELD(limit_rate), 0, 0 },
	{ 0, "direct", NULL, "keep large files out of page caches", YES, FIELD(direct), 0, 0 },
	{ 0, "verify", NULL, "read again what was stored, and compare", YES, FIELD(verify), 0, 0 },
	{ 0, "io-threads", "COUNT", "threads that read and write files (4)", NUMBER, FIELD(io_threads), 1, 64 },
	{ 0, "list", NULL, "print the names at HOST:PATH, copy nothing", SET, FIELD(action), OPTIONS_LIST, 0 },
	{ 0, "doctor", NULL, "check this machine, and the way to HOST", SET, FIELD(action), OPTIONS_DOCTOR, 0 },
	{ 'h', "help", NULL, "print this", SET, FIELD(action), OPTIONS_HELP, 0 },
	{ 'V', "version", NULL, "print the version", SET, FIELD(action), OPTIONS_VERSION, 0 },
};

#define LONG_VALUE 256 /* what getopt_long(3) returns for row i by its long name is LONG_VALUE + i */

static const struct options defaults = {
	.slot_log2 = DEFAULT_SLOT_LOG2,
	.slots_log2 = DEFAULT_SLOTS_LOG2,
	.io_threads = 4,
	.retries = 5,
	.timeout_ns = 30 * SEC,
	.connect_timeout_ns = 10 * SEC,
	.family = AF_UNSPEC,
};

struct parse {
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct parse *p, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->why_size, fmt, ap);
	va_end(ap);
	return r;
}

/* ---- values ---- */

/* Decimal digits and at most one suffix of `suffixes` ("KM": 2^10, 2^20). */
static int to_number(const char *s, const char *suffixes, uint64_t *ret_n)
{
	uint64_t n = 0;
	const char *digits = s, *suffix;

	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return -ERANGE;
	if (s == digits)
		return -EINVAL;
	suffix = *s ? strchr(suffixes, *s & ~0x20) : NULL;
	if (suffix) {
		if (__builtin_mul_overflow(n, 1ULL << (10 * (suffix - suffixes + 1)), &n))
			return -ERANGE;
		s++;
	}
	*ret_n = n;
	return *s ? -EINVAL : 0;
}

/* "30", "0.5"; digits beyond the millisecond are dropped. */
static int to_nanoseconds(const char *s, uint64_t *ret_ns)
{
	char whole[16];
	size_t len = strcspn(s, ".");
	uint64_t seconds = 0, ns = 0;

	if (len >= sizeof(whole))
		return -ERANGE;
	memcpy(whole, s, len);
	whole[len] = '\0';
	if (to_number(whole, "", &seconds) < 0)
		return -EINVAL;
	if (s[len] == '.') {
		uint64_t unit = SEC / 10;

		if (s[len + 1] == '\0')
			return -EINVAL;
		for (s += len + 1; *s; s++, unit /= 10) {
			if (*s < '0' || *s > '9')
				return -EINVAL;
			if (unit >= MSEC)
				ns += (uint64_t)(*s - '0') * unit;
		}
	}
	if (seconds > MAX_SECONDS)
		return -ERANGE;
	ns += seconds * SEC;
	if (ns == 0 || ns > MAX_SECONDS * SEC)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

/* Which of the words "a|b|c" it is, or -1. */
static int to_choice(const char *words, const char *s)
{
	size_t len = strlen(s);

	for (int i = 0; *words; i++) {
		size_t n = strcspn(words, "|");

		if (n == len && strncmp(words, s, n) == 0)
			return i;
		words += n + (words[n] == '|');
	}
	return -1;
}

static int store_power(const struct parse *p, const struct row *row, const char *arg, unsigned int *ret_log2)
{
	char low[16], high[16], shown[64];
	uint64_t n;

	if (to_number(arg, "KM", &n) < 0 || !is_power_of_two(n) || log2_floor(n) < row->min || log2_floor(n) > row->max)
		return refuse(p, -EINVAL, "--%s takes a power of two from %s to %s, not '%s'", row->name,
			      row->min ? format_size(1ULL << row->min, low) : "1",
			      row->min ? format_size(1ULL << row->max, high) : "4096",
			      escape_name(arg, shown, sizeof(shown)));
	*ret_log2 = log2_floor(n);
	return 0;
}

static int store_rule(const struct parse *p, enum options_rule_kind kind, const char *arg, struct options *o)
{
	struct options_rule *rules = reallocarray(o->rules, o->rule_count + 1, sizeof(*rules));

	if (!rules)
		return refuse(p, -ENOMEM, "out of memory");
	o->rules = rules;
	rules[o->rule_count++] = (struct options_rule){ .kind = kind, .text = arg };
	return 0;
}

static_assert(SLAB_MAX_SLOTS_LOG2 == 12, "store_power() says 4096");

static int store(const struct parse *p, const struct row *row, const char *arg, struct options *o)
{
	void *field = (char *)o + row->offset;
	char shown[1024];
	uint64_t n;
	int choice;

	switch (row->how) {
	case SET:
		*(int *)field = (int)row->min;
		return 0;
	case YES:
		*(bool *)field = true;
		return 0;
	case COUNT:
		++*(unsigned int *)field;
		return 0;
	case TEXT:
		if (*arg == '\0')
			return refuse(p, -EINVAL, "--%s takes the name of a file, not nothing", row->name);
		*(const char **)field = arg;
		return 0;
	case NUMBER:
		if (to_number(arg, "", &n) < 0 || n < row->min || n > row->max)
			return refuse(p, -EINVAL, "--%s takes a number from %u to %u, not '%s'", row->name, row->min,
				      row->max, escape_name(arg, shown, sizeof(shown)));
		*(unsigned int *)field = (unsigned int)n;
		return 0;
	case POWER:
		return store_power(p, row, arg, field);
	case RATE:
		if (to_number(arg, "KMG", &n) < 0 || n == 0)
			return refuse(p, -EINVAL, "--%s takes bytes a second, as 500K, 10M or 1G, not '%s'", row->name,
				      escape_name(arg, shown, sizeof(shown)));
		*(uint64_t *)field = n;
		return 0;
	case SECONDS:
		if (to_nanoseconds(arg, field) < 0)
			return refuse(p, -EINVAL, "--%s takes seconds, more than 0 and at most %d, not '%s'", row->name,
				      MAX_SECONDS, escape_name(arg, shown, sizeof(shown)));
		return 0;
	case CHOICE:
		choice = to_choice(row->arg, arg);
		if (choice < 0)
			return refuse(p, -EINVAL, "--%s takes one of %s, not '%s'", row->name, row->arg,
				      escape_name(arg, shown, sizeof(shown)));
		*(int *)field = choice;
		return 0;
	case RULE:
		return store_rule(p, (enum options_rule_kind)row->min, arg, o);
	}
	return -EINVAL;
}

/* ---- getopt_long(3) ---- */

static const struct row *find_row(int value)
{
	if (value >= LONG_VALUE)
		return value < LONG_VALUE + (int)ARRAY_SIZE(rows) ? &rows[value - LONG_VALUE] : NULL;
	for (size_t i = 0; value && i < ARRAY_SIZE(rows); i++)
		if (rows[i].letter == value)
			return &rows[i];
	return NULL;
}

static void make_getopt_tables(char *letters, struct option *longs)
{
	*letters++ = ':'; /* a missing argument is told from an unknown option */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].arg ? required_argument : no_argument,
			.val = LONG_VALUE + (int)i,
		};
		if (!rows[i].letter)
			continue;
		*letters++ = (char)rows[i].letter;
		if (rows[i].arg)
			*letters++ = ':';
	}
	*letters = '\0';
	longs[ARRAY_SIZE(rows)] = (struct option){ 0 };
}

/* getopt_long(3) returned '?' or ':'. */
static int refuse_option(const struct parse *p, int c, char **argv)
{
	const struct row *row = find_row(optopt);
	char shown[1024];

	if (c == ':' && row)
		return refuse(p, -EINVAL, "--%s needs a value: %s; see 'rdcp --help'", row->name, row->arg);
	if (row)
		return refuse(p, -EINVAL, "--%s takes no value; see 'rdcp --help'", row->name);
	if (optopt)
		return refuse(p, -EINVAL, "unknown option '-%s'; see 'rdcp --help'",
			      escape_name((char[]){ (char)optopt, '\0' }, shown, sizeof(shown)));
	return refuse(p, -EINVAL, "unknown or ambiguous option '%s'; see 'rdcp --help'",
		      escape_name(argv[optind - 1], shown, sizeof(shown)));
}

static int parse_options(const struct parse *p, int argc, char **argv, struct options *o)
{
	char letters[2 * ARRAY_SIZE(rows) + 2];
	struct option longs[ARRAY_SIZE(rows) + 1];
	char shown[1024];
	int c, r;

	make_getopt_tables(letters, longs);
	opterr = 0;
	optind = 0; /* glibc: start over, whoever called before */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct row *row = c == '?' || c == ':' ? NULL : find_row(c);

		if (!row)
			return refuse_option(p, c, argv);
		r = store(p, row, optarg, o);
		if (r < 0)
			return r;
		if (o->action == OPTIONS_HELP || o->action == OPTIONS_VERSION)
			return 0;
	}
	if (o->archive)
		o->recursive = o->preserve = true;
	if (o->partial_dir && place_check_name(o->partial_dir) < 0)
		return refuse(p, -EINVAL,
			      "--partial-dir takes one name, of a directory beside the destination, not '%s'",
			      escape_name(o->partial_dir, shown, sizeof(shown)));
	if (o->partial_dir && o->no_resume)
		return refuse(p, -EINVAL, "with --no-resume nothing is left that --partial-dir could keep");
	if (o->slot_log2 + o->slots_log2 > MAX_WINDOW_LOG2)
		return refuse(p, -EINVAL, "--slot-size times --slots is more than 4 GiB of memory");
	return 0;
}

/* ---- operands ---- */

/* "-" at one end. */
static int check_streams(const struct parse *p, const struct options *o)
{
	const char *path = o->target.path;
	bool in = false, out = location_is_stream(&o->target);

	for (unsigned int i = 0; i < o->source_count; i++)
		in = in || location_is_stream(&o->sources[i]);
	if (!in && !out)
		return 0;
	if (in && out)
		return refuse(p, -EINVAL, "standard input to standard output is no copy: name a host as HOST:PATH");
	if (o->recursive)
		return refuse(p, -EINVAL, "'-' is one stream of bytes: -r has no use for it, but tar(1) has");
	if (out && o->json)
		return refuse(p, -EINVAL, "--json and the file cannot both go to standard output");
	if (out && o->verify)
		return refuse(p, -EINVAL, "what went to standard output, '-', cannot be read again: no --verify");
	if (in && o->source_count > 1)
		return refuse(p, -EINVAL, "standard input, '-', can only be the one source; a file is written ./-");
	if (out && o->source_count > 1)
		return refuse(p, -EINVAL, "only one file can go to standard output, '-'; a file is written ./-");
	if (in && location_is_remote(&o->target) && (!strcmp(path, ".") || path[strlen(path) - 1] == '/'))
		return refuse(p, -EINVAL, "standard input has no name: name the file as HOST:PATH");
	return 0;
}

static int check_directions(const struct parse *p, const struct options *o)
{
	bool remote = location_is_remote(&o->sources[0]);

	for (unsigned int i = 1; i < o->source_count; i++) {
		const struct location *s = &o->sources[i];

		if (location_is_remote(s) != remote)
			return refuse(p, -EINVAL,
				      "sources here and at a host cannot be mixed: copy them with two commands");
		if (remote && (strcasecmp(s->host, o->sources[0].host) != 0 || s->port != o->sources[0].port))
			return refuse(p, -EINVAL,
				      "sources at several hosts cannot be mixed: copy from each with its own command");
	}
	if (!remote && !location_is_remote(&o->target))
		return refuse(p, -EINVAL,
			      "source and destination are both local: use cp(1), or name a host as HOST:PATH");
	if (remote && location_is_remote(&o->target))
		return refuse(p, -EINVAL, "source and destination are both remote: run rdcp on one of the two hosts");
	return 0;
}

/* Options about choosing that do not go with the operands. */
static int check_choice(const struct parse *p, const struct options *o)
{
	if (o->files_from && (o->source_count > 1 || location_is_stream(&o->sources[0])))
		return refuse(p, -EINVAL, "--files-from takes one source, the directory that the names are in");
	if (o->files_from && location_is_stream(&o->target))
		return refuse(p, -EINVAL, "only one file can go to standard output, '-': no --files-from");
	if (o->remove_sources && !location_is_remote(&o->target))
		return refuse(
			p, -EINVAL,
			"--remove-source-files is for copies to a host: a daemon lets no client remove its files");
	if (o->remove_sources && o->follow)
		return refuse(p, -EINVAL,
			      "--remove-source-files cannot tell what -L has followed from what is in the directory");
	return 0;
}

static int parse_operands(const struct parse *p, char **args, unsigned int count, struct options *o)
{
	int r;

	if (count == 0)
		return refuse(
			p, -EINVAL,
			"nothing to copy: 'rdcp FILE... HOST:PATH' or 'rdcp HOST:PATH... FILE'; see 'rdcp --help'");
	if (count == 1)
		return refuse(p, -EINVAL,
			      "a source and a destination are needed: 'rdcp FILE... HOST:PATH'; see 'rdcp --help'");
	o->sources = calloc(count - 1, sizeof(*o->sources));
	if (!o->sources)
		return refuse(p, -ENOMEM, "out of memory");
	for (; o->source_count < count - 1; o->source_count++) {
		r = location_parse(args[o->source_count], &o->sources[o->source_count], p->why, p->why_size);
		if (r < 0)
			return r;
	}
	r = location_parse(args[count - 1], &o->target, p->why, p->why_size);
	if (r < 0)
		return r;
	r = check_streams(p, o);
	if (r == 0)
		r = check_directions(p, o);
	o->pull = r == 0 && !location_is_remote(&o->target);
	return r == 0 ? check_choice(p, o) : r;
}

/* It needs next to no memory where the bytes of files would go. */
static int parse_list(const struct parse *p, char **args, unsigned int count, struct options *o)
{
	int r;

	if (count != 1)
		return refuse(p, -EINVAL, "--list takes one place at a host: 'rdcp --list HOST:PATH'");
	o->sources = calloc(1, sizeof(*o->sources));
	if (!o->sources)
		return refuse(p, -ENOMEM, "out of memory");
	r = location_parse(args[0], &o->sources[0], p->why, p->why_size);
	if (r < 0)
		return r;
	o->source_count = 1;
	if (!location_is_remote(&o->sources[0]))
		return refuse(p, -EINVAL, "--list is for what is at a host, as HOST:PATH; ls(1) tells what is here");
	if (o->json || o->stats)
		return refuse(p, -EINVAL,
			      "--list prints names to standard output: neither --json nor --stats goes with it");
	o->target.text = ".";
	o->pull = true;
	o->slot_log2 = SLAB_MIN_SLOT_LOG2;
	o->slots_log2 = 0;
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret_options, char *why, size_t why_size)
{
	const struct parse p = { .why = why, .why_size = why_size };
	struct options o = defaults;
	int r = parse_options(&p, argc, argv, &o);

	if (r == 0 && o.action == OPTIONS_COPY)
		r = parse_operands(&p, argv + optind, (unsigned int)(argc - optind), &o);
	if (r == 0 && o.action == OPTIONS_LIST)
		r = parse_list(&p, argv + optind, (unsigned int)(argc - optind), &o);
	if (r == 0 && o.action == OPTIONS_DOCTOR) {
		if (argc - optind > 1)
			r = refuse(&p, -EINVAL, "--doctor takes one host at most");
		else if (argc - optind == 1)
			r = location_parse_host(argv[optind], &o.target, why, why_size);
	}
	if (r < 0) {
		options_done(&o);
		return r;
	}
	*ret_options = o;
	return 0;
}

void options_done(struct options *o)
{
	for (unsigned int i = 0; i < o->source_count; i++)
		location_done(&o->sources[i]);
	free(o->sources);
	free(o->rules);
	location_done(&o->target);
	*o = (struct options){ 0 };
}

const struct location *options_peer(const struct options *o)
{
	const struct location *peer = o->pull ? &o->sources[0] : &o->target;

	return peer->host ? peer : NULL;
}

uint16_t options_port(const struct options *o)
{
	const struct location *peer = options_peer(o);

	if (peer && peer->port)
		return peer->port;
	return o->port ? (uint16_t)o->port : WIRE_PORT;
}

const char *options_transport_name(const struct options *o)
{
	return o->transport == OPTIONS_TCP ? "tcp" : "rdma";
}

/* ---- texts ---- */

void options_print_help(FILE *f)
{
	fputs("usage: rdcp [OPTION]... FILE... HOST:PATH\n"
	      "       rdcp [OPTION]... HOST:PATH... FILE\n"
	      "       rdcp --list HOST:PATH\n"
	      "       rdcp --doctor [HOST]\n\n"
	      "Copies files over RDMA to, or from, a host that runs rdcpd. HOST is a name, an\n"
	      "IPv4 address or [IPv6%zone]; rdcp://HOST[:PORT]/PATH works as well.\n\n",
	      f);
	for (const struct row *row = rows; row < rows + ARRAY_SIZE(rows); row++) {
		char left[64];
		int len = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", row->letter ? '-' : ' ',
				   row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
				   row->arg ? "=" : "", row->arg ? row->arg : "");

		fprintf(f, "%-36s%s%s\n", left, len >= 36 ? "  " : "", row->help);
	}
	fputs("\nThe key is the first there is of -i, $" OPTIONS_KEY_VARIABLE
	      ", ~/.config/rdcp/key,\n" OPTIONS_SYSTEM_KEY ".\n"
	      "Exit status: 0 all copied, verified and stored; 1 some files failed; 2 usage;\n"
	      "3 no connection; 4 refused; 5 connection lost; 6 timeout; 7 verification failed.\n",
	      f);
}

void options_print_version(FILE *f)
{
	fprintf(f, "rdcp %s (protocol %d)\n", RDCP_VERSION, WIRE_VERSION);
}
