/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* key.h: which files are refused, and proofs against values made with another implementation. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/key.h"
#include "common/util.h"

#define LINE "rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"

static char dir[256], path[300], why[512];
static struct key key, untouched;

static void setup(void)
{
	const char *top = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/rdcp-key-XXXXXX", top ? top : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/key", dir);
	memset(&key, 0xa5, sizeof(key));
	untouched = key;
}

static int remove_one(const char *name, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(name);
}

static void teardown(void)
{
	ck_assert_int_eq(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void write_key(const char *text, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

/* Loading ends in `error`, says so about `name`, and leaves the key alone. */
static void assert_refused(const char *name, int error)
{
	why[0] = '\0';
	ck_assert_int_eq(key_load(name, &key, why, sizeof(why)), error);
	ck_assert_ptr_nonnull(strstr(why, name));
	ck_assert_mem_eq(&key, &untouched, sizeof(key));
	ck_assert_int_eq(key_load(name, &key, NULL, 0), error);
}

START_TEST(key_file_is_loaded)
{
	write_key(LINE, strlen(LINE), 0600);
	ck_assert_int_eq(key_load(path, &key, why, sizeof(why)), 0);
	for (int i = 0; i < KEY_SIZE; i++)
		ck_assert_uint_eq(key.bytes[i], i);
}
END_TEST

START_TEST(process_with_a_key_leaves_no_core_dump)
{
	write_key(LINE, strlen(LINE), 0600);
	prctl(PR_SET_DUMPABLE, 1);
	ck_assert_int_eq(key_load(path, &key, NULL, 0), 0);
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 0);
}
END_TEST

START_TEST(key_file_without_its_newline_is_loaded)
{
	write_key(LINE, strlen(LINE) - 1, 0600);
	ck_assert_int_eq(key_load(path, &key, NULL, 0), 0);
	ck_assert_uint_eq(key.bytes[31], 31);
}
END_TEST

static const struct {
	mode_t mode;
	int result;
} modes[] = {
	{ 0600, 0 },      { 0400, 0 },      { 0640, 0 },      { 0440, 0 },      { 0644, -EPERM },
	{ 0604, -EPERM }, { 0660, -EPERM }, { 0650, -EPERM }, { 0700, -EPERM }, { 0602, -EPERM },
	{ 0601, -EPERM }, { 0666, -EPERM }, { 0620, -EPERM }, { 0777, -EPERM },
};

START_TEST(mode_decides_whether_a_key_file_is_taken)
{
	write_key(LINE, strlen(LINE), modes[_i].mode);
	if (modes[_i].result == 0) {
		ck_assert_int_eq(key_load(path, &key, NULL, 0), 0);
		ck_assert_uint_eq(key.bytes[1], 1);
	} else {
		assert_refused(path, modes[_i].result);
		ck_assert_ptr_nonnull(strstr(why, "chmod"));
	}
}
END_TEST

START_TEST(key_file_of_another_owner_is_refused)
{
	write_key(LINE, strlen(LINE), 0600);
	ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
	assert_refused(path, -EPERM);
	ck_assert_ptr_nonnull(strstr(why, "65534"));
}
END_TEST

START_TEST(key_file_of_root_is_taken_by_another_user)
{
	write_key(LINE, strlen(LINE), 0640);
	ck_assert_int_eq(chown(path, 0, 65534), 0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(setegid(65534), 0);
	ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(key_load(path, &key, why, sizeof(why)), 0);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setegid(0), 0);
}
END_TEST

START_TEST(symlink_is_refused)
{
	char link_path[320];

	write_key(LINE, strlen(LINE), 0600);
	snprintf(link_path, sizeof(link_path), "%s/link", dir);
	ck_assert_int_eq(symlink(path, link_path), 0);
	assert_refused(link_path, -ELOOP);
}
END_TEST

START_TEST(missing_file_is_refused)
{
	assert_refused(path, -ENOENT);
}
END_TEST

START_TEST(directory_is_refused)
{
	assert_refused(dir, -EINVAL);
}
END_TEST

START_TEST(fifo_is_refused_without_waiting_for_a_writer)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	assert_refused(path, -EINVAL);
}
END_TEST

START_TEST(every_truncation_of_a_key_file_is_refused)
{
	for (size_t len = 0; len < strlen(LINE) - 1; len++) {
		write_key(LINE, len, 0600);
		assert_refused(path, -EINVAL);
	}
}
END_TEST

static const char *const no_keys[] = {
	LINE "\n",
	LINE "x",
	LINE LINE,
	"rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\r\n",
	"rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=x",
	"rdcp-key-v2 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
	"rdcp-key-v1\tAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
	" rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n",
	"rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8!\n",
	"rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=\n", /* bits behind the last byte */
	"rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==\n", /* 31 bytes */
	"rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\n", /* 33 bytes */
	"rdcp-key-v1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGB aGxwdHh8=\n",
};

START_TEST(file_that_is_not_exactly_a_key_is_refused)
{
	write_key(no_keys[_i], strlen(no_keys[_i]), 0600);
	assert_refused(path, -EINVAL);
}
END_TEST

START_TEST(nul_in_a_key_file_is_refused)
{
	char line[] = LINE;

	line[20] = '\0';
	write_key(line, strlen(LINE), 0600);
	assert_refused(path, -EINVAL);
}
END_TEST

START_TEST(short_room_for_the_reason_is_respected)
{
	char little[8] = "1234567";

	ck_assert_int_eq(key_load(path, &key, little, 4), -ENOENT);
	ck_assert_uint_eq(little[3], '\0');
	ck_assert_str_eq(little + 4, "567");
}
END_TEST

START_TEST(generated_key_is_loaded_and_private)
{
	mode_t old = umask(0777); /* even so */
	struct stat st;
	struct key zero = { { 0 } };

	ck_assert_int_eq(key_generate(path), 0);
	umask(old);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(st.st_size, (off_t)strlen(LINE));
	ck_assert_int_eq(key_load(path, &key, why, sizeof(why)), 0);
	ck_assert_mem_ne(&key, &untouched, sizeof(key));
	ck_assert_mem_ne(&key, &zero, sizeof(key));
}
END_TEST

START_TEST(two_generated_keys_differ)
{
	struct key first;

	ck_assert_int_eq(key_generate(path), 0);
	ck_assert_int_eq(key_load(path, &first, NULL, 0), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(key_generate(path), 0);
	ck_assert_int_eq(key_load(path, &key, NULL, 0), 0);
	ck_assert_mem_ne(&key, &first, sizeof(key));
}
END_TEST

START_TEST(generate_refuses_an_existing_file)
{
	write_key(LINE, strlen(LINE), 0600);
	ck_assert_int_eq(key_generate(path), -EEXIST);
	ck_assert_int_eq(key_load(path, &key, NULL, 0), 0);
	ck_assert_uint_eq(key.bytes[31], 31);
}
END_TEST

START_TEST(generate_refuses_a_dangling_symlink)
{
	char target[320];

	snprintf(target, sizeof(target), "%s/target", dir);
	ck_assert_int_eq(symlink(target, path), 0);
	ck_assert_int_eq(key_generate(path), -EEXIST);
	ck_assert_int_eq(access(target, F_OK), -1);
}
END_TEST

START_TEST(generate_in_a_missing_directory_fails)
{
	snprintf(path, sizeof(path), "%s/none/key", dir);
	ck_assert_int_eq(key_generate(path), -ENOENT);
}
END_TEST

START_TEST(wiped_key_is_zero)
{
	struct key zero = { { 0 } };

	key_wipe(&key);
	ck_assert_mem_eq(&key, &zero, sizeof(key));
}
END_TEST

/* The values come from Python's hmac: sha256 of the label, the challenge, (the uuid,) the head. */
static const uint8_t client_golden[WIRE_MAC_SIZE] = {
	0x5c, 0x71, 0xbf, 0x51, 0x83, 0x72, 0x36, 0xf0, 0x6c, 0x37, 0x62, 0xb7, 0xcb, 0xb4, 0xee, 0x25,
	0x97, 0x0c, 0x61, 0x6e, 0x28, 0x22, 0xc9, 0xf5, 0xb6, 0xc7, 0x54, 0x5d, 0xe3, 0x6a, 0x35, 0xf0,
};
static const uint8_t server_golden[WIRE_MAC_SIZE] = {
	0x84, 0xcc, 0x0a, 0x5d, 0x6b, 0x8a, 0x6b, 0xdb, 0xb3, 0xe6, 0x96, 0x50, 0x7f, 0xc9, 0x09, 0xbb,
	0x02, 0x0a, 0xd6, 0x02, 0xcb, 0x9a, 0x22, 0x2f, 0x77, 0xd0, 0xe6, 0x30, 0xf6, 0x55, 0x46, 0x2c,
};

static uint8_t challenge[WIRE_MAC_SIZE], head[WIRE_HEAD_SIZE], uuid[WIRE_UUID_SIZE], mac[WIRE_MAC_SIZE];

static void setup_proofs(void)
{
	for (uint8_t i = 0; i < KEY_SIZE; i++)
		key.bytes[i] = i;
	for (uint8_t i = 0; i < sizeof(challenge); i++)
		challenge[i] = 0x40 + i;
	for (uint8_t i = 0; i < sizeof(head); i++)
		head[i] = 0xc0 + i;
	for (uint8_t i = 0; i < sizeof(uuid); i++)
		uuid[i] = 0x10 + i;
}

START_TEST(client_proof_is_the_hmac_of_its_parts)
{
	key_client_proof(&key, challenge, head, mac);
	ck_assert_mem_eq(mac, client_golden, sizeof(mac));
}
END_TEST

START_TEST(server_proof_is_the_hmac_of_its_parts)
{
	key_server_proof(&key, challenge, uuid, head, mac);
	ck_assert_mem_eq(mac, server_golden, sizeof(mac));
}
END_TEST

static void assert_neither_proof_is_golden(void)
{
	key_client_proof(&key, challenge, head, mac);
	ck_assert_mem_ne(mac, client_golden, sizeof(mac));
	key_server_proof(&key, challenge, uuid, head, mac);
	ck_assert_mem_ne(mac, server_golden, sizeof(mac));
}

START_TEST(proof_depends_on_every_byte_of_the_key)
{
	for (size_t i = 0; i < sizeof(key.bytes); i++) {
		key.bytes[i] ^= 1;
		assert_neither_proof_is_golden();
		key.bytes[i] ^= 1;
	}
}
END_TEST

START_TEST(proof_depends_on_every_byte_it_covers)
{
	for (size_t i = 0; i < sizeof(challenge); i++) {
		challenge[i] ^= 0x80;
		assert_neither_proof_is_golden();
		challenge[i] ^= 0x80;
	}
	for (size_t i = 0; i < sizeof(head); i++) {
		head[i] ^= 0x80;
		assert_neither_proof_is_golden();
		head[i] ^= 0x80;
	}
	for (size_t i = 0; i < sizeof(uuid); i++) {
		uuid[i] ^= 0x80;
		key_server_proof(&key, challenge, uuid, head, mac);
		ck_assert_mem_ne(mac, server_golden, sizeof(mac));
		uuid[i] ^= 0x80;
	}
}
END_TEST

START_TEST(proofs_are_equal_only_in_all_bytes)
{
	ck_assert_int_eq(key_proof_equal(client_golden, client_golden), 1);
	for (size_t i = 0; i < sizeof(mac); i++) {
		memcpy(mac, client_golden, sizeof(mac));
		mac[i] ^= 1;
		ck_assert_int_eq(key_proof_equal(mac, client_golden), 0);
	}
}
END_TEST

Suite *key_suite(void);

Suite *key_suite(void)
{
	Suite *s = suite_create("key");
	TCase *tc = tcase_create("files"), *proofs = tcase_create("proofs");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, key_file_is_loaded);
	tcase_add_test(tc, process_with_a_key_leaves_no_core_dump);
	tcase_add_test(tc, key_file_without_its_newline_is_loaded);
	tcase_add_loop_test(tc, mode_decides_whether_a_key_file_is_taken, 0, ARRAY_SIZE(modes));
	if (geteuid() == 0) {
		tcase_add_test(tc, key_file_of_another_owner_is_refused);
		tcase_add_test(tc, key_file_of_root_is_taken_by_another_user);
	} else {
		fprintf(stderr, "unit: key: 2 tests skipped, they need root\n");
	}
	tcase_add_test(tc, symlink_is_refused);
	tcase_add_test(tc, missing_file_is_refused);
	tcase_add_test(tc, directory_is_refused);
	tcase_add_test(tc, fifo_is_refused_without_waiting_for_a_writer);
	tcase_add_test(tc, every_truncation_of_a_key_file_is_refused);
	tcase_add_loop_test(tc, file_that_is_not_exactly_a_key_is_refused, 0, ARRAY_SIZE(no_keys));
	tcase_add_test(tc, nul_in_a_key_file_is_refused);
	tcase_add_test(tc, short_room_for_the_reason_is_respected);
	tcase_add_test(tc, generated_key_is_loaded_and_private);
	tcase_add_test(tc, two_generated_keys_differ);
	tcase_add_test(tc, generate_refuses_an_existing_file);
	tcase_add_test(tc, generate_refuses_a_dangling_symlink);
	tcase_add_test(tc, generate_in_a_missing_directory_fails);
	tcase_add_test(tc, wiped_key_is_zero);
	suite_add_tcase(s, tc);

	tcase_add_checked_fixture(proofs, setup_proofs, NULL);
	tcase_add_test(proofs, client_proof_is_the_hmac_of_its_parts);
	tcase_add_test(proofs, server_proof_is_the_hmac_of_its_parts);
	tcase_add_test(proofs, proof_depends_on_every_byte_of_the_key);
	tcase_add_test(proofs, proof_depends_on_every_byte_it_covers);
	tcase_add_test(proofs, proofs_are_equal_only_in_all_bytes);
	suite_add_tcase(s, proofs);
	return s;
}
