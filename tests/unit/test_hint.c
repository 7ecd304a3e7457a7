/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the user is told when it does not work: every cause has a line, every line its exit status. */
#include <check.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/error.h"
#include "common/util.h"
#include "common/wire.h"
#include "rdcp/hint.h"

Suite *hint_suite(void);

static struct options_key key;
static struct hint_peer peer;
static char out[HINT_SIZE];

static void setup(void)
{
	key = (struct options_key){ .source = OPTIONS_KEY_HOME, .path = "/home/joe/.config/rdcp/key" };
	peer = (struct hint_peer){
		.host = "node-17.example.org", .port = WIRE_PORT, .key = &key, .addresses = "10.0.0.1 (rxe0)"
	};
	out[0] = '\0';
}

static int fault_of(enum endpoint_fault_kind kind, const char *text)
{
	struct endpoint_fault f = { .kind = kind, .need = 6 * MIB };

	snprintf(f.text, sizeof(f.text), "%s", text);
	return hint_fault(&peer, &f, out, sizeof(out));
}

static int rejected(const struct wire_rej *rej)
{
	struct endpoint_fault f = { .kind = ENDPOINT_REJECTED };
	ssize_t n = wire_encode_rej(rej, f.blob, sizeof(f.blob));

	ck_assert_int_gt(n, 0);
	f.blob_len = WIRE_REJ_MAX; /* as the fabric pads it */
	return hint_fault(&peer, &f, out, sizeof(out));
}

static int status_of(unsigned int status, const char *text)
{
	return hint_status(&peer, status, text, strlen(text), out, sizeof(out));
}

static void expect(const char *text)
{
	ck_assert_msg(strstr(out, text) != NULL, "%s", out);
}

START_TEST(every_fault_has_its_status_and_a_line)
{
	static const struct {
		enum endpoint_fault_kind kind;
		int exit;
		const char *words;
	} cases[] = {
		{ ENDPOINT_CLOSED, EXITCODE_LOST, "journalctl -u rdcpd" },
		{ ENDPOINT_NO_MODULE, EXITCODE_CONNECT, "modprobe rdma_ucm" },
		{ ENDPOINT_NO_DEVICE, EXITCODE_CONNECT, "no RDMA device" },
		{ ENDPOINT_LOOPBACK, EXITCODE_CONNECT, "10.0.0.1 (rxe0)" },
		{ ENDPOINT_ADDRESS, EXITCODE_CONNECT, "10.0.0.1 (rxe0)" },
		{ ENDPOINT_NO_ROUTE, EXITCODE_CONNECT, "ping node-17.example.org" },
		{ ENDPOINT_NOBODY, EXITCODE_CONNECT, "systemctl start rdcpd" },
		{ ENDPOINT_REJECTED, EXITCODE_CONNECT, "refused without a reason" },
		{ ENDPOINT_UNREACHABLE, EXITCODE_CONNECT, "UDP port 4791" },
		{ ENDPOINT_MEMLOCK, EXITCODE_CONNECT, "ulimit -l 6144" },
		{ ENDPOINT_RESOURCES, EXITCODE_CONNECT, "rdma resource" },
		{ ENDPOINT_LOST, EXITCODE_LOST, "connection broke" },
		{ ENDPOINT_REFUSED_WRITE, EXITCODE_LOST, "refused a write" },
		{ ENDPOINT_DEVICE_GONE, EXITCODE_LOST, "went away" },
		{ ENDPOINT_TIMEOUT, EXITCODE_TIMEOUT, "--timeout" },
		{ ENDPOINT_PROTOCOL, EXITCODE_LOST, "is it an rdcpd" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq((int)cases[i].kind, (int)i);
		ck_assert_int_eq(fault_of(cases[i].kind, "what failed, in some more words"), cases[i].exit);
		expect(cases[i].words);
		ck_assert_msg(strncmp(out, "node-17.example.org: ", 21) == 0, "%s", out);
		ck_assert_ptr_nonnull(strstr(out, "; "));
		ck_assert_ptr_null(strpbrk(out, "{}\n"));
		ck_assert_msg(strlen(out) <= 200, "%zu: %s", strlen(out), out);
	}
	ck_assert_int_eq((int)ARRAY_SIZE(cases), ENDPOINT_PROTOCOL + 1);
	ck_assert_int_eq(fault_of((enum endpoint_fault_kind)99, ""), EXITCODE_LOST);
}
END_TEST

START_TEST(detail_stands_behind_the_cause)
{
	fault_of(ENDPOINT_LOST, "transport retry counter exceeded");
	expect("the connection broke (transport retry counter exceeded); run");
	fault_of(ENDPOINT_LOST, "");
	expect("the connection broke; run");
}
END_TEST

START_TEST(tcp_speaks_of_its_own_port)
{
	peer.tcp = true;
	peer.port = 99;
	fault_of(ENDPOINT_UNREACHABLE, "");
	expect("TCP port 99");
	fault_of(ENDPOINT_NOBODY, "");
	expect("port 99");
}
END_TEST

START_TEST(loopback_without_devices_says_so)
{
	peer.addresses = "";
	fault_of(ENDPOINT_LOOPBACK, "");
	expect("no device here has an address");
}
END_TEST

START_TEST(memlock_names_need_and_limit)
{
	struct rlimit before, rl;

	ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	rl = before;
	rl.rlim_cur = 64 * KIB;
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &rl), 0);
	fault_of(ENDPOINT_MEMLOCK, "");
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &before), 0);
	expect("6.0 MiB of memory have to be locked and the limit is 64.0 KiB");
	peer.window = 16 * MIB;
	fault_of(ENDPOINT_MEMLOCK, "");
	expect("18.0 MiB of memory");
	expect("ulimit -l 18432");
}
END_TEST

START_TEST(reasons_of_the_daemon_have_different_sentences)
{
	static const struct {
		enum status reason;
		int exit;
		const char *words;
	} cases[] = {
		{ STATUS_BAD_KEY, EXITCODE_REFUSED, "does not know the key in '/home/joe/.config/rdcp/key'" },
		{ STATUS_BUSY, EXITCODE_REFUSED, "busy" },
		{ STATUS_VERSION, EXITCODE_REFUSED, "protocol version" },
		{ STATUS_NOT_ALLOWED, EXITCODE_REFUSED, "rdcpd.conf(5)" },
		{ STATUS_STOPPING, EXITCODE_REFUSED, "shutting down" },
		{ STATUS_CORRUPT, EXITCODE_CORRUPT, "did not arrive" },
		{ STATUS_TIMEOUT, EXITCODE_TIMEOUT, "too long" },
		{ STATUS_PROTOCOL, EXITCODE_LOST, "protocol" },
		{ STATUS_ABORTED, EXITCODE_LOST, "gave up" },
		{ STATUS_NO_SPACE, EXITCODE_FAILED, "no space left on device" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_rej rej = { .reason = (uint16_t)cases[i].reason };

		ck_assert_int_eq(rejected(&rej), cases[i].exit);
		expect(cases[i].words);
		ck_assert_int_eq(status_of(cases[i].reason, ""), cases[i].exit);
		expect(cases[i].words);
		ck_assert_ptr_null(strpbrk(out, "{}"));
		ck_assert_msg(strlen(out) <= 200, "%s", out);
	}
	ck_assert_int_eq(status_of(60000, ""), EXITCODE_FAILED);
	expect("failed");
}
END_TEST

START_TEST(missing_key_says_how_to_get_one)
{
	struct wire_rej rej = { .reason = STATUS_AUTH_REQUIRED };

	key = (struct options_key){ .source = OPTIONS_KEY_NONE };
	ck_assert_int_eq(rejected(&rej), EXITCODE_REFUSED);
	expect("~/.config/rdcp/key");
	key.source = OPTIONS_KEY_DECLINED;
	rejected(&rej);
	expect("-i none");
	key = (struct options_key){ .source = OPTIONS_KEY_NONE, .skipped = "/etc/rdcp/key" };
	rejected(&rej);
	expect("you may not read '/etc/rdcp/key'");
	peer.key = NULL;
	rejected(&rej);
	expect("~/.config/rdcp/key");
	ck_assert_int_eq(status_of(STATUS_BAD_KEY, ""), EXITCODE_REFUSED);
	expect("the key in '?'");
}
END_TEST

START_TEST(daemon_without_proof_is_not_trusted)
{
	ck_assert_int_eq(hint_unproven(&peer, true, out, sizeof(out)), EXITCODE_REFUSED);
	expect("does not have the key in '/home/joe/.config/rdcp/key'");
	ck_assert_int_eq(hint_unproven(&peer, false, out, sizeof(out)), EXITCODE_REFUSED);
	expect("asks for no key");
	expect("-i none");
}
END_TEST

START_TEST(words_of_the_peer_are_escaped_and_cut)
{
	struct wire_rej rej = { .reason = STATUS_BUSY, .text_len = 10 };
	char long_text[2000];

	memcpy(rej.text, "\033[2J\r\nfull", 10);
	rejected(&rej);
	expect("busy (\\033[2J\\015\\012full)");
	memset(long_text, '\001', sizeof(long_text));
	hint_status(&peer, STATUS_FAILED, long_text, sizeof(long_text), out, sizeof(out));
	ck_assert_uint_lt(strlen(out), sizeof(out) - 1);
	ck_assert_ptr_null(strchr(out, '\001'));
	peer.host = "h\033]0;x\007";
	status_of(STATUS_BUSY, "");
	ck_assert_ptr_null(strchr(out, '\033'));
	hint_status(&peer, STATUS_BUSY, NULL, 0, out, sizeof(out));
	expect("busy");
}
END_TEST

START_TEST(foreign_refusals_are_told_apart)
{
	struct endpoint_fault f = { .kind = ENDPOINT_REJECTED, .blob_len = 148 };

	ck_assert_int_eq(hint_fault(&peer, &f, out, sizeof(out)), EXITCODE_CONNECT);
	expect("without a reason");
	f.blob[3] = 'x';
	ck_assert_int_eq(hint_fault(&peer, &f, out, sizeof(out)), EXITCODE_CONNECT);
	expect("not an rdcpd");
	ck_assert_int_gt(wire_encode_rej(&(struct wire_rej){ .reason = STATUS_BUSY }, f.blob, sizeof(f.blob)), 0);
	for (size_t i = 0; i < 8; i++) {
		/* whichever byte is the version, another version is told apart from another protocol */
		f.blob[i] ^= 0x40;
		hint_fault(&peer, &f, out, sizeof(out));
		if (strstr(out, "protocol version"))
			break;
		f.blob[i] ^= 0x40;
	}
	expect("protocol version");
}
END_TEST

START_TEST(end_of_a_session_is_told_by_who_ended_it)
{
	struct peer_end end = { .status = STATUS_OK };

	ck_assert_int_eq(hint_end(&peer, &end, out, sizeof(out)), EXITCODE_OK);
	ck_assert_str_eq(out, "");
	end = (struct peer_end){ .status = STATUS_FAILED, .by_connection = true, .fault = ENDPOINT_LOST };
	ck_assert_int_eq(hint_end(&peer, &end, out, sizeof(out)), EXITCODE_LOST);
	expect("connection broke");
	end = (struct peer_end){ .status = STATUS_TIMEOUT };
	ck_assert_int_eq(hint_end(&peer, &end, out, sizeof(out)), EXITCODE_TIMEOUT);
	expect("no sign of life");
	end.by_peer = true;
	ck_assert_int_eq(hint_end(&peer, &end, out, sizeof(out)), EXITCODE_TIMEOUT);
	expect("the daemon heard nothing");
	end = (struct peer_end){ .status = STATUS_PROTOCOL, .text = "DATA before FILE" };
	ck_assert_int_eq(hint_end(&peer, &end, out, sizeof(out)), EXITCODE_LOST);
	expect("breaks the protocol (DATA before FILE)");
	end = (struct peer_end){ .status = STATUS_NO_SPACE, .by_peer = true, .text = "/srv" };
	ck_assert_int_eq(hint_end(&peer, &end, out, sizeof(out)), EXITCODE_FAILED);
	expect("no space left on device (/srv)");
}
END_TEST

START_TEST(name_that_does_not_resolve_has_a_reason)
{
	ck_assert_int_eq(hint_resolve(&peer, EAI_NONAME, 0, out, sizeof(out)), EXITCODE_CONNECT);
	expect("spelled right");
	hint_resolve(&peer, EAI_AGAIN, 0, out, sizeof(out));
	expect("name service");
	hint_resolve(&peer, EAI_SYSTEM, EMFILE, out, sizeof(out));
	expect("Too many open files");
	peer.family = AF_INET6;
	hint_resolve(&peer, EAI_ADDRFAMILY, 0, out, sizeof(out));
	expect("-4 or -6");
}
END_TEST

START_TEST(local_file_of_that_name_is_the_better_hint)
{
	peer.host = "a";
	peer.shadow = "a:b";
	hint_resolve(&peer, EAI_NONAME, 0, out, sizeof(out));
	expect("; for the local file write ./a:b");
	ck_assert_ptr_null(strstr(out, "spelled"));
	fault_of(ENDPOINT_LOST, "");
	ck_assert_ptr_null(strstr(out, "./a:b"));
}
END_TEST

START_TEST(short_buffers_are_terminated)
{
	struct endpoint_fault f = { .kind = ENDPOINT_MEMLOCK, .need = UINT64_MAX };
	char buf[256];

	for (size_t size = 0; size < 200; size++) {
		memset(buf, '#', sizeof(buf));
		ck_assert_int_eq(hint_fault(&peer, &f, buf, size), EXITCODE_CONNECT);
		ck_assert_int_eq(buf[size], '#');
		ck_assert(size == 0 || memchr(buf, '\0', size) != NULL);
	}
}
END_TEST

START_TEST(files_count_by_their_status)
{
	ck_assert_int_eq(hint_file_exit(STATUS_OK), EXITCODE_OK);
	ck_assert_int_eq(hint_file_exit(STATUS_CORRUPT), EXITCODE_CORRUPT);
	ck_assert_int_eq(hint_file_exit(STATUS_NOT_ALLOWED), EXITCODE_FAILED);
	ck_assert_int_eq(hint_file_exit(9999), EXITCODE_FAILED);
}
END_TEST

Suite *hint_suite(void)
{
	Suite *s = suite_create("hint");
	TCase *tc = tcase_create("hint");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, every_fault_has_its_status_and_a_line);
	tcase_add_test(tc, detail_stands_behind_the_cause);
	tcase_add_test(tc, tcp_speaks_of_its_own_port);
	tcase_add_test(tc, loopback_without_devices_says_so);
	tcase_add_test(tc, memlock_names_need_and_limit);
	tcase_add_test(tc, reasons_of_the_daemon_have_different_sentences);
	tcase_add_test(tc, missing_key_says_how_to_get_one);
	tcase_add_test(tc, daemon_without_proof_is_not_trusted);
	tcase_add_test(tc, words_of_the_peer_are_escaped_and_cut);
	tcase_add_test(tc, foreign_refusals_are_told_apart);
	tcase_add_test(tc, end_of_a_session_is_told_by_who_ended_it);
	tcase_add_test(tc, name_that_does_not_resolve_has_a_reason);
	tcase_add_test(tc, local_file_of_that_name_is_the_better_hint);
	tcase_add_test(tc, short_buffers_are_terminated);
	tcase_add_test(tc, files_count_by_their_status);
	suite_add_tcase(s, tc);
	return s;
}
