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
#include "conf_dir.h"

Suite *config_suite(void);

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
	ck_assert(!c->log_files);
	ck_assert_ptr_null(c->status_socket);
	ck_assert(!c->exports[0].writable);
	config_unref(c);
}
END_TEST

START_TEST(every_key_is_read)
{
	struct config *c = load_good(
		"# comment\n; comment\n\n"
		"[daemon]\n\tlisten = 10.0.0.1 , [fe80::1]:77\n  auth=key\ntransport = tcp\r\n"
		"max-sessions = 5\nmax-pinned = 512m\nhandshake-timeout = 500ms\nidle-timeout = 2min\n"
		"max-slot-size = 64K\nmax-slots = 8\nio-threads = 2\npartial-age = 2d\n"
		"metrics-file = /m.prom\nstatus-socket = none\nlog-files = yes\n"
		"[ export \t a ]\npath = @//a/./\naccess = read-write\n"
		"[export b]\npath = @/b\naccess = read-only\nsetuid = yes\n"
		"[client one]\nkey-file = @/one.key\nexports = b\n"
		"addresses = 192.0.2.0/24, 2001:db8::1\naccess = read-only\nmax-sessions = 2\nmax-rate = 500M\n"
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
	ck_assert(c->log_files);
	ck_assert_str_eq(c->status_socket, "");
	ck_assert_uint_eq(c->export_count, 2);
	ck_assert_str_eq(c->exports[0].name, "a");
	ck_assert_str_eq(c->exports[0].path, a);
	ck_assert(c->exports[0].writable);
	ck_assert(!c->exports[1].writable);
	ck_assert(!c->exports[0].setuid);
	ck_assert(c->exports[1].setuid);
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
	ck_assert_uint_eq(c->clients[0].max_rate, 500 << 20);
	ck_assert_ptr_eq(config_client(c, c->clients[1].name), &c->clients[1]);
	ck_assert_ptr_null(config_client(c, "nobody"));
	ck_assert_uint_eq(c->clients[1].range_count, 0);
	ck_assert(c->clients[1].writes);
	ck_assert_uint_eq(c->clients[1].max_sessions, 4096);
	ck_assert_uint_eq(c->clients[1].max_rate, 0);
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
	{ OPEN "setuid = maybe\n", "@/rdcpd.conf:5: setuid: 'maybe' is neither 'no' nor 'yes'" },
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
	{ GOOD "max-rate = 1K\n", "@/rdcpd.conf:7: max-rate: '1K' is not a size from 64K to 1T, such as 512K or 2G" },
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
}

Suite *config_suite(void)
{
	Suite *s = suite_create("config");
	TCase *tc = tcase_create("config");

	tcase_add_checked_fixture(tc, conf_setup, conf_teardown);
	add_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
