/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rdcpd.conf: what is accepted, what each mistake is answered with, and how drop-ins change a file. Every test
 * has a directory of its own with two exports ('a', 'b'), two key files ('one.key', 'two.key') and 'rdcpd.conf'.
 * The '@' of a '@/' in a text stands for that directory.
 */
#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "common/cleanup.h"
#include "common/key.h"
#include "common/util.h"
#include "rdcpd/config.h"

Suite *config_suite(void);

static char dir[256];
static char conf[300];

/* What was said in the last load. */
static struct {
	char text[16384]; /* a line each */
	unsigned int errors, warnings;
} said;

static void say(void *owner, int level, const char *text)
{
	size_t n = strlen(said.text);

	ck_assert_ptr_eq(owner, &said);
	ck_assert(level == LOG_ERR || level == LOG_WARNING);
	said.errors += level == LOG_ERR;
	said.warnings += level == LOG_WARNING;
	snprintf(said.text + n, sizeof(said.text) - n, "%s\n", text);
}

/* `text` with each '@/' replaced; freed by the caller. */
static char *expand(const char *text)
{
	char *out = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	ck_assert_ptr_nonnull(f);
	for (; *text; text++) {
		if (text[0] == '@' && text[1] == '/')
			fputs(dir, f);
		else
			fputc(*text, f);
	}
	fclose(f);
	return out;
}

static void put_bytes(const char *name, const void *bytes, size_t len)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

static void put(const char *name, const char *text)
{
	_cleanup_free_ char *bytes = expand(text);

	put_bytes(name, bytes, strlen(bytes));
}

static void make_dir(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[300];

	snprintf(dir, sizeof(dir), "%s/rdcp-config.XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(conf, sizeof(conf), "%s/rdcpd.conf", dir);
	make_dir("a");
	make_dir("b");
	snprintf(path, sizeof(path), "%s/one.key", dir);
	ck_assert_int_eq(key_generate(path), 0);
	snprintf(path, sizeof(path), "%s/two.key", dir);
	ck_assert_int_eq(key_generate(path), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void teardown(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int load(struct config **ret)
{
	memset(&said, 0, sizeof(said));
	return config_load(conf, say, &said, ret);
}

static struct config *load_good(const char *text)
{
	struct config *c = NULL;
	int err;

	put("rdcpd.conf", text);
	err = load(&c);
	ck_assert_msg(!err, "%s: %s", strerror(-err), said.text);
	ck_assert_uint_eq(said.errors, 0);
	return c;
}

/* The load fails, and one of the lines said is exactly this. */
static void expect_said(const char *line)
{
	struct config *c = (struct config *)&said;
	_cleanup_free_ char *want = expand(line);
	size_t len = strlen(want);
	const char *p;

	ck_assert_int_eq(load(&c), -EINVAL);
	ck_assert_ptr_eq(c, &said); /* untouched */
	ck_assert_uint_gt(said.errors, 0);
	for (p = said.text; (p = strstr(p, want)); p++)
		if ((p == said.text || p[-1] == '\n') && p[len] == '\n')
			return;
	ck_abort_msg("not said: %s\nbut: %s", want, said.text);
}

/* As above, and nothing else was wrong. */
static void expect_only(const char *text, const char *line)
{
	put("rdcpd.conf", text);
	expect_said(line);
	ck_assert_msg(said.errors == 1, "%s", said.text);
}

#define EXPORT "[export a]\npath = @/a\n"
#define CLIENT "[client one]\nkey-file = @/one.key\n"
#define GOOD "[daemon]\nauth = key\n" EXPORT CLIENT
#define OPEN "[daemon]\nauth = none\n" EXPORT
#define DAEMON(line) "[daemon]\nauth = none\n" line "\n" EXPORT

/* ---- what a good file means ------------------------------------------------------------------------------------- */

START_TEST(smallest_file_gets_the_documented_defaults)
{
	struct config *c = load_good(GOOD);
	const struct sockaddr_in *in = (const struct sockaddr_in *)&c->listen[0].addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&c->listen[1].addr;

	ck_assert_uint_eq(c->listen_count, 2);
	ck_assert(c->listen[0].wildcard && c->listen[1].wildcard);
	ck_assert_int_eq(in->sin_family, AF_INET);
	ck_assert_uint_eq(in->sin_addr.s_addr, INADDR_ANY);
	ck_assert_uint_eq(ntohs(in->sin_port), 10121);
	ck_assert_int_eq(in6->sin6_family, AF_INET6);
	ck_assert(IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr));
	ck_assert_uint_eq(ntohs(in6->sin6_port), 10121);
	ck_assert_int_eq(c->auth, CONFIG_AUTH_KEY);
	ck_assert_str_eq(c->transport, "rdma");
	ck_assert_uint_eq(c->max_sessions, 32);
	ck_assert_uint_eq(c->max_pinned, 2 * GIB);
	ck_assert_uint_eq(c->handshake_timeout, 10 * SEC);
	ck_assert_uint_eq(c->idle_timeout, 60 * SEC);
	ck_assert_uint_eq(c->slot_log2, 20);
	ck_assert_uint_eq(c->slots_log2, 6);
	ck_assert_uint_eq(c->io_threads, 4);
	ck_assert_uint_eq(c->partial_age, 7 * 86400 * SEC);
	ck_assert_ptr_null(c->metrics_file);
	ck_assert_ptr_null(c->status_socket);
	ck_assert(!c->exports[0].writable);
	config_unref(c);
}
END_TEST

START_TEST(every_key_is_read)
{
	struct config *c =
		load_good("# comment\n; comment\n\n"
			  "[daemon]\n\tlisten = 10.0.0.1 , [fe80::1]:77\n  auth=key\ntransport = tcp\r\n"
			  "max-sessions = 5\nmax-pinned = 512m\nhandshake-timeout = 500ms\nidle-timeout = 2min\n"
			  "max-slot-size = 64K\nmax-slots = 8\nio-threads = 2\npartial-age = 2d\n"
			  "metrics-file = /m.prom\nstatus-socket = none\n"
			  "[ export \t a ]\npath = @//a/./\naccess = read-write\n"
			  "[export b]\npath = @/b\naccess = read-only\n"
			  "[client one]\nkey-file = @/one.key\nexports = b\n"
			  "addresses = 192.0.2.0/24, 2001:db8::1\naccess = read-only\nmax-sessions = 2\n"
			  "[client two]\nkey-file = @/two.key");
	_cleanup_free_ char *a = expand("@/a");

	ck_assert_uint_eq(c->listen_count, 2);
	ck_assert(!c->listen[0].wildcard);
	ck_assert_str_eq(c->transport, "tcp");
	ck_assert_uint_eq(c->max_sessions, 5);
	ck_assert_uint_eq(c->max_pinned, 512 * MIB);
	ck_assert_uint_eq(c->handshake_timeout, 500 * MSEC);
	ck_assert_uint_eq(c->idle_timeout, 120 * SEC);
	ck_assert_uint_eq(c->slot_log2, 16);
	ck_assert_uint_eq(c->slots_log2, 3);
	ck_assert_uint_eq(c->io_threads, 2);
	ck_assert_uint_eq(c->partial_age, 2 * 86400 * SEC);
	ck_assert_str_eq(c->metrics_file, "/m.prom");
	ck_assert_str_eq(c->status_socket, "");
	ck_assert_uint_eq(c->export_count, 2);
	ck_assert_str_eq(c->exports[0].name, "a");
	ck_assert_str_eq(c->exports[0].path, a);
	ck_assert(c->exports[0].writable);
	ck_assert(!c->exports[1].writable);
	ck_assert_uint_eq(c->client_count, 2);
	ck_assert_uint_eq(c->clients[0].export_count, 1);
	ck_assert_ptr_eq(c->clients[0].exports[0], &c->exports[1]);
	ck_assert_uint_eq(c->clients[1].export_count, 2);
	ck_assert_ptr_eq(c->clients[1].exports[0], &c->exports[0]);
	ck_assert_uint_eq(c->clients[0].range_count, 2);
	ck_assert_uint_eq(c->clients[0].ranges[0].prefix, 24);
	ck_assert_uint_eq(c->clients[0].ranges[1].family, 6);
	ck_assert(!c->clients[0].writes);
	ck_assert_uint_eq(c->clients[0].max_sessions, 2);
	ck_assert_uint_eq(c->clients[1].range_count, 0);
	ck_assert(c->clients[1].writes);
	ck_assert_uint_eq(c->clients[1].max_sessions, 4096);
	config_unref(c);
}
END_TEST

START_TEST(clients_have_the_keys_of_their_files)
{
	struct config *c = load_good(GOOD "[client two]\nkey-file = @/two.key\n");
	struct key k;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(key_load(c->clients[i].keys[0].file, &k, NULL, 0), 0);
		ck_assert_mem_eq(&k, &c->clients[i].keys[0].key, sizeof(k));
	}
	ck_assert_mem_ne(&c->clients[0].keys[0].key, &c->clients[1].keys[0].key, sizeof(k));
	config_unref(c);
}
END_TEST

START_TEST(a_client_may_have_two_keys)
{
	struct config *c = load_good("[daemon]\nauth = key\n" EXPORT "[client x]\nkey-file = @/one.key @/two.key\n");

	ck_assert_uint_eq(c->clients[0].key_count, 2);
	ck_assert_mem_ne(&c->clients[0].keys[0].key, &c->clients[0].keys[1].key, sizeof(struct key));
	config_unref(c);
}
END_TEST

START_TEST(values_keep_spaces_signs_and_length)
{
	_cleanup_free_ char *name = expand("[daemon]\nauth = none\n[export x]\npath = @/a b #c;d=[e]\n");
	_cleanup_free_ char *want = expand("@/a b #c;d=[e]");
	struct config *c;

	make_dir("a b #c;d=[e]");
	c = load_good(name);
	ck_assert_str_eq(c->exports[0].path, want);
	config_unref(c);
}
END_TEST

START_TEST(long_values_and_names_survive_the_file)
{
	char name[256], deep[5000], text[6000];
	struct config *c;
	size_t n;

	memset(name, 'n', 255);
	name[255] = '\0';
	n = (size_t)snprintf(deep, sizeof(deep), "%s/a", dir);
	while (n < 3900) {
		n += (size_t)snprintf(deep + n, sizeof(deep) - n, "/%.200s", name);
		ck_assert_int_eq(mkdir(deep, 0755), 0);
	}
	snprintf(text, sizeof(text), "[daemon]\nauth = none\n[export %s]\npath = %s\n", name, deep);
	c = load_good(text);
	ck_assert_str_eq(c->exports[0].name, name);
	ck_assert_str_eq(c->exports[0].path, deep);
	config_unref(c);
}
END_TEST

START_TEST(the_status_socket_is_found_in_a_file_with_mistakes)
{
	char *path = NULL;

	put("rdcpd.conf", "[daemon]\nauth = maybe\nlisten = nowhere\n[client x]\n");
	ck_assert_int_eq(config_find_status_socket(conf, &path), 0);
	ck_assert_str_eq(path, CONFIG_STATUS_SOCKET);
	free(path);
	make_dir("rdcpd.conf.d");
	put("rdcpd.conf.d/a.conf", "[daemon]\nstatus-socket = /run/x//y\n");
	ck_assert_int_eq(config_find_status_socket(conf, &path), 0);
	ck_assert_str_eq(path, "/run/x/y");
	free(path);
	put("rdcpd.conf.d/b.conf", "[daemon]\nstatus-socket = none\n");
	ck_assert_int_eq(config_find_status_socket(conf, &path), -ENODATA);
	put("rdcpd.conf.d/b.conf", "[daemon]\nstatus-socket = here\n");
	ck_assert_int_eq(config_find_status_socket(conf, &path), -EINVAL);
	ck_assert_int_eq(unlink(conf), 0);
	ck_assert_int_eq(config_find_status_socket(conf, &path), -ENOENT);
}
END_TEST

START_TEST(references_keep_it_until_the_last_is_dropped)
{
	struct config *c = load_good(OPEN);

	ck_assert_ptr_eq(config_ref(c), c);
	ck_assert_ptr_null(config_unref(c));
	ck_assert_str_eq(c->exports[0].name, "a"); /* the sanitizer run would see it freed */
	ck_assert_ptr_null(config_unref(c));
	ck_assert_ptr_null(config_unref(NULL));
}
END_TEST

/* ---- mistakes: the file, and the one sentence it gets ----------------------------------------------------------- */

static const struct {
	const char *text, *sentence;
} mistakes[] = {
	{ "[daemon]\nauth = none\n[shares]\nx = 1\n" EXPORT,
	  "@/rdcpd.conf:3: unknown section [shares]: there are [daemon], [export NAME] and [client NAME]" },
	{ DAEMON("prot = 1"), "@/rdcpd.conf:3: unknown key 'prot' in [daemon]" },
	{ OPEN "acces = read-write\n", "@/rdcpd.conf:5: unknown key 'acces' in [export]" },
	{ GOOD "key = x\n", "@/rdcpd.conf:7: unknown key 'key' in [client]" },
	{ DAEMON("auth = key"), "@/rdcpd.conf:3: 'auth' is there already, in line 2" },
	{ OPEN EXPORT, "@/rdcpd.conf:5: section [export a] is there already, in line 3" },
	{ OPEN "[daemon]\nbogus = 1\n", "@/rdcpd.conf:5: section [daemon] is there already, in line 1" },
	{ "auth = none\n" OPEN, "@/rdcpd.conf:1: 'auth' stands before any [SECTION]" },
	{ DAEMON("hello"), "@/rdcpd.conf:3: neither '[SECTION]' nor 'KEY = VALUE'" },
	{ DAEMON("= 5"), "@/rdcpd.conf:3: neither '[SECTION]' nor 'KEY = VALUE'" },
	{ DAEMON("max-slots ="), "@/rdcpd.conf:3: 'max-slots' has no value" },
	{ OPEN "[export b\npath = @/b\n", "@/rdcpd.conf:5: a section without ']'" },
	{ OPEN "[export b] x\n", "@/rdcpd.conf:5: text after the ']' of a section" },
	{ OPEN "[ ]\n", "@/rdcpd.conf:5: a section without a name" },
	{ DAEMON("listen = 1\x01"), "@/rdcpd.conf:3: a control character in column 11" },
	{ "[daemon x]\nauth = none\n" EXPORT, "@/rdcpd.conf:1: [daemon] takes no name" },
	{ OPEN "[export]\npath = @/b\n", "@/rdcpd.conf:5: [export] without a name: write [export NAME]" },
	{ OPEN "[export b c]\npath = @/b\n",
	  "@/rdcpd.conf:5: the name 'b c' has bytes other than letters, digits and '._@-' in it" },

	{ "[daemon]\n" EXPORT,
	  "@/rdcpd.conf:1: [daemon] does not say who may connect: write 'auth = key' and a [client NAME] "
	  "section with a key-file for each client, or 'auth = none' to let everybody in" },
	{ EXPORT CLIENT,
	  "@/rdcpd.conf:1: [daemon] does not say who may connect: write 'auth = key' and a [client NAME] "
	  "section with a key-file for each client, or 'auth = none' to let everybody in" },
	{ "[daemon]\nauth = keys\n" EXPORT CLIENT, "@/rdcpd.conf:2: auth: 'keys' is neither 'key' nor 'none'" },
	{ "[daemon]\nauth = key\n" EXPORT, "@/rdcpd.conf:2: auth = key, but there is no [client NAME] section with a "
					   "key-file: nobody could connect" },
	{ "[daemon]\nauth = none\n", "@/rdcpd.conf:1: no [export NAME] section: there is nothing to copy from or to" },

	{ DAEMON("transport = udp"), "@/rdcpd.conf:3: transport: 'udp' is neither 'rdma' nor 'tcp'" },
	{ DAEMON("max-sessions = 0"), "@/rdcpd.conf:3: max-sessions: '0' is not a number from 1 to 4096" },
	{ DAEMON("max-sessions = 4097"), "@/rdcpd.conf:3: max-sessions: '4097' is not a number from 1 to 4096" },
	{ DAEMON("max-sessions = 3 4"), "@/rdcpd.conf:3: max-sessions: '3 4' is not a number from 1 to 4096" },
	{ DAEMON("io-threads = -1"), "@/rdcpd.conf:3: io-threads: '-1' is not a number from 1 to 64" },
	{ DAEMON("max-pinned = 2X"),
	  "@/rdcpd.conf:3: max-pinned: '2X' is not a size from 1M to 1024T, such as 512K or 2G" },
	{ DAEMON("max-pinned = 99999999999999999999"),
	  "@/rdcpd.conf:3: max-pinned: '99999999999999999999' is not a size "
	  "from 1M to 1024T, such as 512K or 2G" },
	{ DAEMON("max-pinned = 17179869184G"), "@/rdcpd.conf:3: max-pinned: '17179869184G' is not a size from 1M to "
					       "1024T, such as 512K or 2G" },
	{ DAEMON("max-slot-size = 3M"), "@/rdcpd.conf:3: max-slot-size: '3M' is not a power of two" },
	{ DAEMON("max-slot-size = 128M"),
	  "@/rdcpd.conf:3: max-slot-size: '128M' is not a size from 4K to 64M, such as 512K or 2G" },
	{ DAEMON("idle-timeout = 0"),
	  "@/rdcpd.conf:3: idle-timeout: '0' is not a time from 1000ms to 86400s, such as 500ms, 10s or 2min" },
	{ DAEMON("handshake-timeout = 1d"),
	  "@/rdcpd.conf:3: handshake-timeout: '1d' is not a time from 100ms to 600s, such as 500ms, 10s or 2min" },
	{ DAEMON("status-socket = run/x"), "@/rdcpd.conf:3: status-socket: 'run/x' is not an absolute path" },
	{ DAEMON("partial-age = 0s"), "@/rdcpd.conf:3: partial-age: '0s' is not a time from 1000ms to 315360000s, such "
				      "as 500ms, 10s or 2min" },
	{ DAEMON("listen = localhost"),
	  "@/rdcpd.conf:3: listen: 'localhost' is not a numeric address (names are not looked up)" },
	{ DAEMON("listen = 1.2.3.4:0"),
	  "@/rdcpd.conf:3: listen: '1.2.3.4:0': the port is not a number from 1 to 65535" },
	{ DAEMON("listen = *, 0.0.0.0"), "@/rdcpd.conf:3: listen: '0.0.0.0' is there twice" },

	{ OPEN "[export b]\n", "@/rdcpd.conf:5: export 'b' has no 'path'" },
	{ OPEN "[export b]\naccess = rw\npath = @/b\n",
	  "@/rdcpd.conf:6: access: 'rw' is neither 'read-only' nor 'read-write'" },
	{ OPEN "[export b]\npath = srv\n", "@/rdcpd.conf:6: path: 'srv' is not an absolute path" },
	{ OPEN "[export b]\npath = @/b/../a\n", "@/rdcpd.conf:6: path: a path with '..' in it" },
	{ OPEN "[export b]\npath = @/c\n", "@/rdcpd.conf:6: export 'b': '@/c': No such file or directory" },
	{ OPEN "[export b]\npath = @/one.key\n", "@/rdcpd.conf:6: export 'b': '@/one.key' is not a directory" },
	{ OPEN "[export b]\npath = @/a/\n",
	  "@/rdcpd.conf:3: auth = none: everybody has '@/a' twice, as exports 'a' and 'b'" },

	{ GOOD "[client two]\n", "@/rdcpd.conf:7: client 'two' has no 'key-file'" },
	{ GOOD "[client two]\nkey-file = two.key\n", "@/rdcpd.conf:8: key-file: 'two.key' is not an absolute path" },
	{ "[daemon]\nauth = key\n" EXPORT "[client x]\nkey-file = @/one.key, @/one.key\n",
	  "@/rdcpd.conf:6: client 'x' has the same key twice" },
	{ GOOD "addresses = 10.0.0.0/8 localhost\n",
	  "@/rdcpd.conf:7: addresses: 'localhost' is not a numeric address (names are not looked up)" },
	{ GOOD "addresses = 10.0.0.1/8 10.0.0.0/16\n",
	  "@/rdcpd.conf:7: addresses: '10.0.0.1/8': the address has bits behind the first 8; leave them 0" },
	{ GOOD "addresses = ,\n", "@/rdcpd.conf:7: client 'one' may connect from no address" },
	{ GOOD "access = rw\n", "@/rdcpd.conf:7: access: 'rw' is neither 'read-only' nor 'read-write'" },
	{ GOOD "max-sessions = 0\n", "@/rdcpd.conf:7: max-sessions: '0' is not a number from 1 to 4096" },
	{ GOOD "[client two]\nkey-file = @/one.key\n",
	  "@/rdcpd.conf:8: client 'two' has the same key as client 'one'" },
	{ GOOD "exports = a b\n", "@/rdcpd.conf:7: client 'one': there is no [export b]" },
	{ GOOD "exports = a, a\n", "@/rdcpd.conf:7: client 'one': export 'a' is there twice" },
	{ GOOD "exports = ,\n", "@/rdcpd.conf:7: client 'one' may use no export" },
	{ GOOD "exports = a x\n[export x]\npath = @/a\naccess = read-write\n",
	  "@/rdcpd.conf:7: client 'one' has '@/a' twice, as exports 'a' and 'x'" },
};

START_TEST(a_mistake_is_refused_with_its_place)
{
	expect_only(mistakes[_i].text, mistakes[_i].sentence);
}
END_TEST

START_TEST(all_mistakes_are_said_in_one_run)
{
	put("rdcpd.conf", "[daemon]\nmax-slots = 5\nfoo = 1\n[export x]\n[client y]\nexports = z\n");
	expect_said("@/rdcpd.conf:2: max-slots: '5' is not a power of two");
	expect_said("@/rdcpd.conf:3: unknown key 'foo' in [daemon]");
	expect_said("@/rdcpd.conf:4: export 'x' has no 'path'");
	expect_said("@/rdcpd.conf:5: client 'y' has no 'key-file'");
	expect_said("@/rdcpd.conf:6: client 'y': there is no [export z]");
	ck_assert_uint_eq(said.errors, 7); /* and: no auth, y may use no export */
}
END_TEST

START_TEST(a_file_with_a_nul_byte_is_refused)
{
	static const char text[] = "[daemon]\nauth = none\0key\n";

	put_bytes("rdcpd.conf", text, sizeof(text) - 1);
	expect_said("@/rdcpd.conf:2: a control character in column 12");
}
END_TEST

START_TEST(clients_without_auth_are_a_warning)
{
	struct config *c = load_good(OPEN CLIENT);
	_cleanup_free_ char *want =
		expand("@/rdcpd.conf:5: auth = none lets everybody use every export, so [client] sections "
		       "change nothing, ignoring\n");

	ck_assert_uint_eq(said.warnings, 1);
	ck_assert_str_eq(said.text, want);
	config_unref(c);
}
END_TEST

START_TEST(one_path_may_be_read_only_for_one_client_and_writable_for_another)
{
	struct config *c = load_good("[daemon]\nauth = key\n[export r]\npath = @/a\n"
				     "[export w]\npath = @/a\naccess = read-write\n" CLIENT
				     "exports = r\n[client two]\nkey-file = @/two.key\nexports = w\n");

	ck_assert(!c->clients[0].exports[0]->writable);
	ck_assert(c->clients[1].exports[0]->writable);
	config_unref(c);
}
END_TEST

START_TEST(a_key_file_open_to_others_is_refused)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/one.key", dir);
	ck_assert_int_eq(chmod(path, 0644), 0);
	put("rdcpd.conf", GOOD);
	expect_said("@/rdcpd.conf:6: client 'one': key file '@/one.key' has mode 0644; run chmod 0600 on it (0640 for "
		    "a group)");
	ck_assert_uint_eq(said.errors, 1);
}
END_TEST

START_TEST(a_missing_key_file_is_refused)
{
	put("rdcpd.conf", "[daemon]\nauth = key\n" EXPORT "[client x]\nkey-file = @/none.key\n");
	expect_said("@/rdcpd.conf:6: client 'x': key file '@/none.key' cannot be opened: No such file or directory");
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------ */

START_TEST(a_missing_file_is_said)
{
	_cleanup_free_ char *want = expand("@/rdcpd.conf: cannot be read: No such file or directory\n");
	struct config *c = NULL;

	ck_assert_int_eq(load(&c), -ENOENT);
	ck_assert_ptr_null(c);
	ck_assert_str_eq(said.text, want);
}
END_TEST

START_TEST(a_directory_or_fifo_as_file_is_refused_without_waiting)
{
	struct config *c = NULL;

	make_dir("rdcpd.conf");
	ck_assert_int_eq(load(&c), -EISDIR);
	ck_assert_int_eq(rmdir(conf), 0);
	ck_assert_int_eq(mkfifo(conf, 0600), 0);
	ck_assert_int_eq(load(&c), -EINVAL);
	ck_assert_ptr_nonnull(strstr(said.text, "not a regular file"));
	ck_assert_uint_eq(said.errors, 1);
}
END_TEST

START_TEST(a_huge_file_is_refused)
{
	struct config *c = NULL;

	put("rdcpd.conf", GOOD);
	ck_assert_int_eq(truncate(conf, MIB + 1), 0);
	ck_assert_int_eq(load(&c), -EFBIG);
}
END_TEST

START_TEST(drop_ins_override_and_extend_in_order)
{
	struct config *c;

	make_dir("rdcpd.conf.d");
	put("rdcpd.conf.d/20-b.conf", "[daemon]\nmax-sessions = 20\n[export b]\npath = @/b\n");
	put("rdcpd.conf.d/10-a.conf", "[daemon]\nmax-sessions = 10\nio-threads = 9\n[export a]\naccess = read-write\n");
	put("rdcpd.conf.d/.hidden.conf", "[nonsense]\n");
	put("rdcpd.conf.d/30-x.conf.bak", "[nonsense]\n");
	put("rdcpd.conf.d/.conf", "[nonsense]\n");
	c = load_good(DAEMON("max-sessions = 1"));
	ck_assert_uint_eq(c->max_sessions, 20);
	ck_assert_uint_eq(c->io_threads, 9);
	ck_assert_int_eq(c->auth, CONFIG_AUTH_NONE);
	ck_assert_uint_eq(c->export_count, 2);
	ck_assert(c->exports[0].writable);
	ck_assert_str_eq(c->exports[1].name, "b");
	config_unref(c);
}
END_TEST

START_TEST(a_mistake_in_a_drop_in_names_the_drop_in)
{
	make_dir("rdcpd.conf.d");
	put("rdcpd.conf", OPEN);
	put("rdcpd.conf.d/x.conf", "# x\n[export a]\npath = @/none\n");
	expect_said("@/rdcpd.conf.d/x.conf:3: export 'a': '@/none': No such file or directory");
	put("rdcpd.conf.d/x.conf", "[daemon]\nauth = key\nauth = none\n" CLIENT);
	expect_said("@/rdcpd.conf.d/x.conf:3: 'auth' is there already, in line 2");
	ck_assert_uint_eq(said.errors, 1);
}
END_TEST

START_TEST(an_overridden_path_need_not_exist)
{
	struct config *c;

	make_dir("rdcpd.conf.d");
	put("rdcpd.conf.d/x.conf", EXPORT);
	c = load_good("[daemon]\nauth = none\n[export a]\npath = /no/such/path\n");
	config_unref(c);
}
END_TEST

START_TEST(the_shipped_file_starts_no_daemon_by_itself_and_needs_one_line)
{
	static const char *const places[] = { "rdcpd/rdcpd.conf", "../rdcpd/rdcpd.conf", "../../rdcpd/rdcpd.conf" };
	char text[16384] = "";
	struct config *c = NULL;
	FILE *f = NULL;

	for (size_t i = 0; !f && i < ARRAY_SIZE(places); i++)
		f = fopen(places[i], "r");
	if (!f)
		return; /* not run from the source tree */
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	put_bytes("rdcpd.conf", text, strlen(text));
	make_dir("rdcpd.conf.d");
	put("rdcpd.conf.d/test.conf", "[export rdcp]\npath = @/a\n");
	ck_assert_int_eq(load(&c), -EINVAL);
	ck_assert_ptr_nonnull(strstr(said.text, ": [daemon] does not say who may connect"));
	ck_assert_msg(said.errors == 1, "%s", said.text);
	put("rdcpd.conf.d/test.conf", "[daemon]\nauth = none\n[export rdcp]\npath = @/a\n");
	config_unref(load_good(text));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, smallest_file_gets_the_documented_defaults);
	tcase_add_test(tc, every_key_is_read);
	tcase_add_test(tc, clients_have_the_keys_of_their_files);
	tcase_add_test(tc, a_client_may_have_two_keys);
	tcase_add_test(tc, values_keep_spaces_signs_and_length);
	tcase_add_test(tc, long_values_and_names_survive_the_file);
	tcase_add_test(tc, the_status_socket_is_found_in_a_file_with_mistakes);
	tcase_add_test(tc, references_keep_it_until_the_last_is_dropped);
	tcase_add_loop_test(tc, a_mistake_is_refused_with_its_place, 0, ARRAY_SIZE(mistakes));
	tcase_add_test(tc, all_mistakes_are_said_in_one_run);
	tcase_add_test(tc, a_file_with_a_nul_byte_is_refused);
	tcase_add_test(tc, clients_without_auth_are_a_warning);
	tcase_add_test(tc, one_path_may_be_read_only_for_one_client_and_writable_for_another);
	tcase_add_test(tc, a_key_file_open_to_others_is_refused);
	tcase_add_test(tc, a_missing_key_file_is_refused);
	tcase_add_test(tc, a_missing_file_is_said);
	tcase_add_test(tc, a_directory_or_fifo_as_file_is_refused_without_waiting);
	tcase_add_test(tc, a_huge_file_is_refused);
	tcase_add_test(tc, drop_ins_override_and_extend_in_order);
	tcase_add_test(tc, a_mistake_in_a_drop_in_names_the_drop_in);
	tcase_add_test(tc, an_overridden_path_need_not_exist);
	tcase_add_test(tc, the_shipped_file_starts_no_daemon_by_itself_and_needs_one_line);
}

Suite *config_suite(void)
{
	Suite *s = suite_create("config");
	TCase *tc = tcase_create("config");

	tcase_add_checked_fixture(tc, setup, teardown);
	add_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
