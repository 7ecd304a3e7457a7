/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Challenges and exports. The configuration is made by hand, so that no file is needed: exports 'main'
 * (/srv/rdcp, read-write), 'docs' (/srv/rdcp/docs, read-only), 'data' (/data, read-only); client 'alice'
 * has all of them, 'bob' only 'data'.
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/key.h"
#include "common/util.h"
#include "common/wire.h"
#include "rdcpd/access.h"
#include "rdcpd/config.h"

Suite *access_suite(void);

#define NOW (1000 * ACCESS_EPOCH)

static struct config *config;
static struct access *access_;

static void add_export(size_t i, const char *name, const char *path, bool writable)
{
	config->exports[i] = (struct config_export){ strdup(name), strdup(path), writable, false };
	config->everything[i] = &config->exports[i];
}

static void add_client(size_t i, const char *name, uint8_t key, size_t first, size_t count)
{
	struct config_client *c = &config->clients[i];

	c->name = strdup(name);
	c->writes = true;
	c->keys = calloc(2, sizeof(*c->keys));
	c->key_count = 1;
	memset(c->keys[0].key.bytes, key, KEY_SIZE);
	c->exports = calloc(count, sizeof(struct config_export *));
	for (size_t k = 0; k < count; k++)
		c->exports[k] = &config->exports[first + k];
	c->export_count = count;
}

static void setup(void)
{
	config = calloc(1, sizeof(*config));
	config->references = 1;
	config->auth = CONFIG_AUTH_KEY;
	config->export_count = 3;
	config->exports = calloc(3, sizeof(*config->exports));
	config->everything = calloc(3, sizeof(struct config_export *));
	add_export(0, "main", "/srv/rdcp", true);
	add_export(1, "docs", "/srv/rdcp/docs", false);
	add_export(2, "data", "/data", false);
	config->client_count = 2;
	config->clients = calloc(2, sizeof(*config->clients));
	add_client(0, "alice", 0xa1, 0, 3);
	add_client(1, "bob", 0xb0, 2, 1);
	ck_assert_int_eq(access_new(config, &access_), 0);
}

static void teardown(void)
{
	access_free(access_);
	config_unref(config);
}

/* ---- a client's side of the handshake --------------------------------------------------------------------------- */

/* One REQ on its way, and what came back. */
struct attempt {
	struct wire_req req;
	uint8_t head[WIRE_REQ_SIZE];
	struct sockaddr_storage from;
	struct access_grant grant;
	struct access_refusal refusal;
};

static void from_ipv4(struct attempt *t, const char *host, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, host, &in.sin_addr), 1);
	memset(&t->from, 0, sizeof(t->from));
	memcpy(&t->from, &in, sizeof(in));
}

static void from_ipv6(struct attempt *t, const char *host, uint32_t scope)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_scope_id = scope };

	ck_assert_int_eq(inet_pton(AF_INET6, host, &in.sin6_addr), 1);
	memset(&t->from, 0, sizeof(t->from));
	memcpy(&t->from, &in, sizeof(in));
}

static void start(struct attempt *t, uint32_t id)
{
	memset(t, 0, sizeof(*t));
	t->req = (struct wire_req){ .flags = WIRE_PULL, .slot_log2 = 18, .slots_log2 = 4, .receives_log2 = 5 };
	memcpy(t->req.uuid, &id, sizeof(id));
	from_ipv4(t, "10.0.0.7", 4000);
}

static enum access_verdict ask(struct attempt *t, uint64_t now)
{
	memset(&t->grant, 0, sizeof(t->grant));
	ck_assert_int_eq(wire_encode_req(&t->req, t->head, sizeof(t->head)), WIRE_REQ_SIZE);
	return access_check(access_, &t->req, t->head, (const struct sockaddr *)&t->from, now, &t->grant, &t->refusal);
}

/* Puts the proof for the challenge of the last REJ into the REQ. */
static void prove(struct attempt *t, uint8_t key)
{
	struct key k;

	memset(k.bytes, key, sizeof(k.bytes));
	t->req.flags |= WIRE_MAC;
	wire_encode_req(&t->req, t->head, sizeof(t->head));
	key_client_proof(&k, t->refusal.rej.challenge, t->head, t->req.mac);
}

static void expect_refused(struct attempt *t, uint64_t now, enum status reason)
{
	ck_assert_int_eq(ask(t, now), ACCESS_REFUSE);
	ck_assert_uint_eq(t->refusal.rej.reason, reason);
	ck_assert_uint_gt(t->refusal.rej.text_len, 0);
	ck_assert_ptr_null(t->grant.config);
}

static void expect_accepted(struct attempt *t, uint64_t now, const char *name)
{
	ck_assert_int_eq(ask(t, now), ACCESS_ACCEPT);
	ck_assert_str_eq(access_grant_name(&t->grant), name);
	access_grant_done(&t->grant);
}

/* The first REQ, its challenge proved with `key`, ready for the second. */
static void challenge(struct attempt *t, uint32_t id, uint8_t key, uint64_t now)
{
	start(t, id);
	expect_refused(t, now, STATUS_AUTH_REQUIRED);
	prove(t, key);
}

/* ---- REQ -------------------------------------------------------------------------------------------------------- */

START_TEST(a_req_without_proof_gets_a_challenge)
{
	static const uint8_t zeros[WIRE_MAC_SIZE];
	struct attempt t;

	start(&t, 1);
	expect_refused(&t, NOW, STATUS_AUTH_REQUIRED);
	ck_assert_mem_ne(t.refusal.rej.challenge, zeros, WIRE_MAC_SIZE);
}
END_TEST

START_TEST(the_key_that_proves_names_the_client_and_its_exports)
{
	struct attempt t;

	challenge(&t, 1, 0xb0, NOW);
	ck_assert_int_eq(ask(&t, NOW + 1), ACCESS_ACCEPT);
	ck_assert_str_eq(access_grant_name(&t.grant), "bob");
	ck_assert_uint_eq(t.grant.export_count, 1);
	ck_assert_str_eq(t.grant.exports[0]->name, "data");
	access_grant_done(&t.grant);
	challenge(&t, 2, 0xa1, NOW);
	expect_accepted(&t, NOW + 1, "alice");
}
END_TEST

START_TEST(the_rep_proof_is_the_one_the_client_expects)
{
	uint8_t head[WIRE_HEAD_SIZE] = { 1, 2, 3 }, mac[WIRE_MAC_SIZE], want[WIRE_MAC_SIZE];
	struct attempt t;
	uint8_t asked[WIRE_MAC_SIZE];

	start(&t, 1);
	expect_refused(&t, NOW, STATUS_AUTH_REQUIRED);
	memcpy(asked, t.refusal.rej.challenge, sizeof(asked));
	prove(&t, 0xa1);
	ck_assert_int_eq(ask(&t, NOW), ACCESS_ACCEPT);
	ck_assert(t.grant.prove);
	access_prove(&t.grant, head, mac);
	key_server_proof(&config->clients[0].keys[0].key, asked, t.req.uuid, head, want);
	ck_assert_mem_eq(mac, want, sizeof(mac));
	access_grant_done(&t.grant);
}
END_TEST

START_TEST(a_wrong_key_is_refused_with_a_challenge_that_works)
{
	struct attempt t;

	challenge(&t, 1, 0xee, NOW);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
	prove(&t, 0xa1);
	expect_accepted(&t, NOW, "alice");
}
END_TEST

START_TEST(every_flipped_bit_of_a_proof_is_refused)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	for (int bit = 0; bit < WIRE_MAC_SIZE * 8; bit++) {
		t.req.mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
		expect_refused(&t, NOW, STATUS_BAD_KEY);
		t.req.mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	expect_accepted(&t, NOW, "alice");
}
END_TEST

START_TEST(every_flipped_bit_of_the_head_is_refused)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	wire_encode_req(&t.req, t.head, sizeof(t.head));
	for (int bit = 0; bit < WIRE_HEAD_SIZE * 8; bit++) {
		t.head[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_int_eq(access_check(access_, &t.req, t.head, (struct sockaddr *)&t.from, NOW, &t.grant,
					      &t.refusal),
				 ACCESS_REFUSE);
		t.head[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	expect_accepted(&t, NOW, "alice");
}
END_TEST

START_TEST(another_address_is_refused_and_another_port_is_not)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	from_ipv4(&t, "10.0.0.8", 4000);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
	from_ipv6(&t, "::ffff:10.0.0.7", 0);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
	prove(&t, 0xa1);
	from_ipv4(&t, "10.0.0.7", 4001);
	expect_refused(&t, NOW, STATUS_BAD_KEY); /* a challenge for the other address */
	prove(&t, 0xa1);
	from_ipv4(&t, "10.0.0.7", 4002);
	expect_accepted(&t, NOW, "alice");
}
END_TEST

START_TEST(a_link_local_address_counts_with_its_interface)
{
	struct attempt t;

	start(&t, 1);
	from_ipv6(&t, "fe80::1", 2);
	expect_refused(&t, NOW, STATUS_AUTH_REQUIRED);
	prove(&t, 0xa1);
	from_ipv6(&t, "fe80::1", 3);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
	from_ipv6(&t, "2001:db8::1", 0);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
	prove(&t, 0xa1);
	from_ipv6(&t, "2001:db8::1", 9); /* the scope of a global address is noise */
	expect_accepted(&t, NOW, "alice");
}
END_TEST

START_TEST(a_peer_without_an_address_can_connect)
{
	struct attempt t;

	start(&t, 1);
	memset(&t.from, 0, sizeof(t.from));
	t.from.ss_family = AF_UNIX;
	expect_refused(&t, NOW, STATUS_AUTH_REQUIRED);
	prove(&t, 0xa1);
	expect_accepted(&t, NOW, "alice");
}
END_TEST

START_TEST(another_uuid_is_refused)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	t.req.uuid[15] ^= 1;
	wire_encode_req(&t.req, t.head, sizeof(t.head));
	key_client_proof(&config->clients[0].keys[0].key, t.refusal.rej.challenge, t.head, t.req.mac);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
}
END_TEST

START_TEST(a_challenge_lives_through_the_next_epoch_and_no_longer)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	expect_accepted(&t, NOW + 2 * ACCESS_EPOCH - 1, "alice");
	challenge(&t, 2, 0xa1, NOW + ACCESS_EPOCH - 1);
	expect_accepted(&t, NOW + ACCESS_EPOCH, "alice");
	challenge(&t, 3, 0xa1, NOW);
	expect_refused(&t, NOW + 2 * ACCESS_EPOCH, STATUS_BAD_KEY);
}
END_TEST

START_TEST(a_challenge_of_the_first_seconds_works)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, 0);
	expect_accepted(&t, 0, "alice");
}
END_TEST

START_TEST(a_replay_is_refused_until_its_challenge_is_dead)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	expect_accepted(&t, NOW + ACCESS_EPOCH, "alice");
	for (uint64_t s = ACCESS_EPOCH; s < 2 * ACCESS_EPOCH; s++)
		expect_refused(&t, NOW + s, STATUS_NOT_ALLOWED);
	for (uint64_t s = 2 * ACCESS_EPOCH; s < 6 * ACCESS_EPOCH; s++)
		expect_refused(&t, NOW + s, STATUS_BAD_KEY);
}
END_TEST

START_TEST(a_replay_with_a_younger_challenge_for_the_same_uuid_is_refused)
{
	struct attempt t, young;

	challenge(&young, 1, 0xa1, NOW + ACCESS_EPOCH);
	challenge(&t, 1, 0xa1, NOW);
	expect_accepted(&t, NOW + ACCESS_EPOCH, "alice");
	expect_refused(&young, NOW + 3 * ACCESS_EPOCH - 1, STATUS_NOT_ALLOWED);
}
END_TEST

START_TEST(another_key_holder_cannot_use_up_an_id_that_it_has_seen)
{
	struct attempt alice, bob;

	challenge(&alice, 1, 0xa1, NOW);
	challenge(&bob, 1, 0xb0, NOW);
	expect_accepted(&bob, NOW, "bob");
	expect_accepted(&alice, NOW, "alice");
	expect_refused(&bob, NOW, STATUS_NOT_ALLOWED);
	expect_refused(&alice, NOW, STATUS_NOT_ALLOWED);
}
END_TEST

START_TEST(a_challenge_of_another_daemon_is_refused)
{
	struct access *other;
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	other = access_;
	ck_assert_int_eq(access_new(config, &access_), 0);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
	access_free(other);
}
END_TEST

START_TEST(a_full_memory_kills_every_challenge_and_lets_no_replay_in)
{
	struct attempt first, waiting, t;

	challenge(&waiting, 1, 0xa1, NOW);
	challenge(&first, 2, 0xa1, NOW);
	expect_accepted(&first, NOW, "alice");
	for (uint32_t i = 1; i < ACCESS_SEEN_MAX; i++) {
		challenge(&t, 100 + i, 0xa1, NOW);
		expect_accepted(&t, NOW, "alice");
	}
	expect_refused(&first, NOW, STATUS_NOT_ALLOWED);

	challenge(&t, 3, 0xa1, NOW);
	expect_accepted(&t, NOW, "alice"); /* one too many: still let in, and the last of the old secret */
	expect_refused(&t, NOW, STATUS_BAD_KEY);
	expect_refused(&first, NOW, STATUS_BAD_KEY);
	expect_refused(&waiting, NOW, STATUS_BAD_KEY);
	prove(&waiting, 0xa1);
	expect_accepted(&waiting, NOW, "alice");
}
END_TEST

START_TEST(a_memory_of_old_uuids_makes_room_for_new_ones)
{
	struct attempt t, waiting;

	for (uint32_t i = 0; i < ACCESS_SEEN_MAX; i++) {
		challenge(&t, 100 + i, 0xa1, NOW);
		expect_accepted(&t, NOW, "alice");
	}
	challenge(&waiting, 1, 0xa1, NOW + 2 * ACCESS_EPOCH);
	challenge(&t, 2, 0xa1, NOW + 2 * ACCESS_EPOCH);
	expect_accepted(&t, NOW + 2 * ACCESS_EPOCH, "alice");
	expect_accepted(&waiting, NOW + 2 * ACCESS_EPOCH, "alice"); /* the secret is the same */
}
END_TEST

START_TEST(without_auth_everybody_gets_everything_and_no_proof)
{
	struct attempt t;

	config->auth = CONFIG_AUTH_NONE;
	start(&t, 1);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ask(&t, NOW), ACCESS_ACCEPT);
		ck_assert_str_eq(access_grant_name(&t.grant), "anybody");
		ck_assert(!t.grant.prove);
		ck_assert_uint_eq(t.grant.export_count, 3);
		access_grant_done(&t.grant);
		t.req.flags |= WIRE_MAC; /* a client that came with a proof is welcome, too */
	}
}
END_TEST

START_TEST(a_grant_outlives_access_and_configuration)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	ck_assert_int_eq(ask(&t, NOW), ACCESS_ACCEPT);
	access_free(access_);
	access_ = NULL;
	config_unref(config);
	config = NULL;
	ck_assert_str_eq(t.grant.client->name, "alice");
	access_grant_done(&t.grant);
	access_grant_done(&t.grant);
}
END_TEST

static void give_range(size_t client, const char *text)
{
	struct config_client *c = &config->clients[client];
	char why[256];

	c->ranges = calloc(1, sizeof(*c->ranges));
	c->range_count = 1;
	ck_assert_int_eq(range_parse(text, strlen(text), c->ranges, why, sizeof(why)), 0);
}

START_TEST(either_of_two_keys_names_the_client)
{
	struct attempt t;

	config->clients[0].key_count = 2;
	memset(config->clients[0].keys[1].key.bytes, 0xa2, KEY_SIZE);
	challenge(&t, 1, 0xa1, NOW);
	expect_accepted(&t, NOW, "alice");
	challenge(&t, 2, 0xa2, NOW);
	ck_assert_int_eq(ask(&t, NOW), ACCESS_ACCEPT);
	ck_assert_str_eq(access_grant_name(&t.grant), "alice");
	ck_assert_ptr_eq(t.grant.key, &config->clients[0].keys[1]);
	ck_assert(access_grant_stands(&t.grant, config));
	config->clients[0].key_count = 1; /* rotated away */
	ck_assert(!access_grant_stands(&t.grant, config));
	access_grant_done(&t.grant);
}
END_TEST

START_TEST(a_right_key_from_elsewhere_is_told_the_same_as_a_wrong_one)
{
	struct attempt right, wrong;

	give_range(0, "10.0.1.0/24");
	challenge(&right, 1, 0xa1, NOW);
	challenge(&wrong, 1, 0xee, NOW);
	expect_refused(&right, NOW, STATUS_BAD_KEY);
	expect_refused(&wrong, NOW, STATUS_BAD_KEY);
	ck_assert_mem_eq(&right.refusal.rej, &wrong.refusal.rej, sizeof(right.refusal.rej));
	ck_assert_str_eq(right.refusal.client, "alice");
	ck_assert_ptr_nonnull(right.refusal.why);
	ck_assert_ptr_null(wrong.refusal.client);
	ck_assert_ptr_null(wrong.refusal.why);
	start(&right, 2);
	from_ipv4(&right, "10.0.1.9", 1);
	expect_refused(&right, NOW, STATUS_AUTH_REQUIRED);
	prove(&right, 0xa1);
	expect_accepted(&right, NOW, "alice");
}
END_TEST

START_TEST(a_peer_without_an_address_is_outside_of_every_range)
{
	struct attempt t;

	give_range(0, "0.0.0.0/0");
	start(&t, 1);
	memset(&t.from, 0, sizeof(t.from));
	t.from.ss_family = AF_UNIX;
	expect_refused(&t, NOW, STATUS_AUTH_REQUIRED);
	prove(&t, 0xa1);
	expect_refused(&t, NOW, STATUS_BAD_KEY);
}
END_TEST

START_TEST(a_grant_falls_when_its_address_is_taken_away)
{
	struct attempt t;

	challenge(&t, 1, 0xa1, NOW);
	ck_assert_int_eq(ask(&t, NOW), ACCESS_ACCEPT);
	ck_assert(access_grant_stands(&t.grant, config));
	give_range(0, "10.0.0.0/29");
	ck_assert(access_grant_stands(&t.grant, config));
	config->clients[0].ranges[0].prefix = 30;
	ck_assert(!access_grant_stands(&t.grant, config));
	access_grant_done(&t.grant);
}
END_TEST

START_TEST(a_read_only_client_writes_to_no_export)
{
	struct wire_text path = { .data = "f", .len = 1 };
	const struct config_export *export;
	char relative[ACCESS_RELATIVE_MAX], why[WIRE_TEXT_MAX + 1];
	struct attempt t;

	config->clients[0].writes = false;
	challenge(&t, 1, 0xa1, NOW);
	ck_assert_int_eq(ask(&t, NOW), ACCESS_ACCEPT);
	ck_assert_int_eq(access_resolve(&t.grant, path, true, &export, relative, why), STATUS_NOT_ALLOWED);
	ck_assert_str_eq(why, "client 'alice' is read-only");
	ck_assert_int_eq(access_resolve(&t.grant, path, false, &export, relative, why), STATUS_OK);
	access_grant_done(&t.grant);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_req_without_proof_gets_a_challenge);
	tcase_add_test(tc, the_key_that_proves_names_the_client_and_its_exports);
	tcase_add_test(tc, the_rep_proof_is_the_one_the_client_expects);
	tcase_add_test(tc, a_wrong_key_is_refused_with_a_challenge_that_works);
	tcase_add_test(tc, every_flipped_bit_of_a_proof_is_refused);
	tcase_add_test(tc, every_flipped_bit_of_the_head_is_refused);
	tcase_add_test(tc, another_address_is_refused_and_another_port_is_not);
	tcase_add_test(tc, a_link_local_address_counts_with_its_interface);
	tcase_add_test(tc, a_peer_without_an_address_can_connect);
	tcase_add_test(tc, another_uuid_is_refused);
	tcase_add_test(tc, a_challenge_lives_through_the_next_epoch_and_no_longer);
	tcase_add_test(tc, a_challenge_of_the_first_seconds_works);
	tcase_add_test(tc, a_replay_is_refused_until_its_challenge_is_dead);
	tcase_add_test(tc, a_replay_with_a_younger_challenge_for_the_same_uuid_is_refused);
	tcase_add_test(tc, another_key_holder_cannot_use_up_an_id_that_it_has_seen);
	tcase_add_test(tc, a_challenge_of_another_daemon_is_refused);
	tcase_add_test(tc, a_full_memory_kills_every_challenge_and_lets_no_replay_in);
	tcase_add_test(tc, a_memory_of_old_uuids_makes_room_for_new_ones);
	tcase_add_test(tc, without_auth_everybody_gets_everything_and_no_proof);
	tcase_add_test(tc, a_grant_outlives_access_and_configuration);
	tcase_add_test(tc, either_of_two_keys_names_the_client);
	tcase_add_test(tc, a_right_key_from_elsewhere_is_told_the_same_as_a_wrong_one);
	tcase_add_test(tc, a_peer_without_an_address_is_outside_of_every_range);
	tcase_add_test(tc, a_grant_falls_when_its_address_is_taken_away);
	tcase_add_test(tc, a_read_only_client_writes_to_no_export);
}

Suite *access_suite(void)
{
	Suite *s = suite_create("access");
	TCase *tc = tcase_create("access");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60); /* a full memory is four thousand handshakes, slow under a sanitizer */
	add_tests(tc);
	suite_add_tcase(s, tc);
	return s;
}
