/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Key files and the proofs of key.h.
 *
 * Called by rdcpd when it starts and reloads, by the client before it dials, and by both while a connection is set up.
 * The caller owns the struct key and wipes it; every copy made in here is wiped before the function returns.
 * A key file is refused rather than repaired: who could read or write it is the whole of what it is worth.
 */
#include "key.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "error.h"

#define KEY_PREFIX "rdcp-key-v1 "
#define PREFIX_LEN (sizeof(KEY_PREFIX) - 1)
#define BASE64_LEN (sodium_base64_ENCODED_LEN(KEY_SIZE, sodium_base64_VARIANT_ORIGINAL) - 1)
#define LINE_LEN (PREFIX_LEN + BASE64_LEN + 1) /* newline included */
#define LOOSE_MODE 0137                        /* what must not be allowed: everything but u=rw,g=r */

static_assert(crypto_auth_hmacsha256_BYTES == WIRE_MAC_SIZE, "a proof is an HMAC-SHA-256");
static_assert(crypto_auth_hmacsha256_KEYBYTES == KEY_SIZE, "and its key is as long");

/* Fills the caller's sentence and gives the error back. */
__attribute__((format(printf, 4, 5))) static int refuse(int r, char *why, size_t why_size, const char *fmt, ...)
{
	va_list ap;

	if (why && why_size) {
		va_start(ap, fmt);
		vsnprintf(why, why_size, fmt, ap);
		va_end(ap);
	}
	return r;
}

static int check_file(int fd, const char *path, char *why, size_t why_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return refuse(-errno, why, why_size, "key file '%s' cannot be examined: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(-EINVAL, why, why_size, "key file '%s' is not a regular file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return refuse(-EPERM, why, why_size,
			      "key file '%s' belongs to user %u; make it root's or your own with chown", path,
			      (unsigned int)st.st_uid);
	if (st.st_mode & LOOSE_MODE)
		return refuse(-EPERM, why, why_size,
			      "key file '%s' has mode %04o; run chmod 0600 on it (0640 for a group)", path,
			      (unsigned int)(st.st_mode & 07777));
	return 0;
}

/* Reads up to `size` bytes; returns how many there were. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(fd, buf + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

/* The line, with or without its newline, and nothing else. */
static int parse_line(const char *line, size_t len, struct key *ret_key)
{
	struct key k;
	size_t n = 0;
	int r = -EINVAL;

	if (len == LINE_LEN && line[len - 1] == '\n')
		len--;
	if (len != LINE_LEN - 1 || memcmp(line, KEY_PREFIX, PREFIX_LEN) != 0)
		return -EINVAL;
	if (sodium_base642bin(k.bytes, sizeof(k.bytes), line + PREFIX_LEN, BASE64_LEN, NULL, &n, NULL,
			      sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    n == KEY_SIZE) {
		*ret_key = k;
		r = 0;
	}
	key_wipe(&k);
	return r;
}

int key_load(const char *path, struct key *ret_key, char *why, size_t why_size)
{
	_cleanup_close_ int fd = -1;
	char line[LINE_LEN + 1]; /* one more than there may be */
	ssize_t n;
	int r;

	if (sodium_init() < 0)
		return refuse(-EIO, why, why_size, "libsodium cannot be initialised");
	/* O_NONBLOCK: a FIFO must not stop us before it is refused */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return refuse(-ELOOP, why, why_size, "key file '%s' is a symbolic link; name the file itself", path);
	if (fd < 0)
		return refuse(-errno, why, why_size, "key file '%s' cannot be opened: %s", path, strerror(errno));
	r = check_file(fd, path, why, why_size);
	if (r < 0)
		return r;
	n = read_all(fd, line, sizeof(line));
	r = n < 0 ? (int)n : parse_line(line, (size_t)n, ret_key);
	sodium_memzero(line, sizeof(line));
	if (n < 0)
		return refuse(r, why, why_size, "key file '%s' cannot be read: %s", path, strerror(-r));
	if (r < 0)
		return refuse(r, why, why_size,
			      "'%s' is not a key file: it must be one line, '%s' and 32 bytes in base64", path,
			      KEY_PREFIX);
	/* From here on no core dump has it in it, and no other process of this user may look. */
	prctl(PR_SET_DUMPABLE, 0);
	return 0;
}

static int write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

static int fill_file(int fd)
{
	char line[LINE_LEN + 1];
	struct key k;
	int r;

	randombytes_buf(k.bytes, sizeof(k.bytes));
	memcpy(line, KEY_PREFIX, PREFIX_LEN);
	sodium_bin2base64(line + PREFIX_LEN, sizeof(line) - PREFIX_LEN, k.bytes, sizeof(k.bytes),
			  sodium_base64_VARIANT_ORIGINAL);
	line[LINE_LEN - 1] = '\n';
	r = write_all(fd, line, LINE_LEN);
	key_wipe(&k);
	sodium_memzero(line, sizeof(line));
	if (r < 0)
		return r;
	/* the umask may have taken even the owner's bits */
	return fchmod(fd, 0600) < 0 || fsync(fd) < 0 ? -errno : 0;
}

int key_generate(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_close_ int dir = -1, fd = -1;
	int r;

	if (!copy)
		return fail(-ENOMEM, "a key in '%s'", path);
	if (sodium_init() < 0)
		return fail(-EIO, "initialising libsodium");
	dir = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fail(-errno, "the directory of the key file '%s'", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(-errno, "making the key file '%s'", path);
	r = fill_file(fd);
	if (r == 0 && close(steal_fd(fd)) < 0)
		r = -errno;
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	if (r < 0) {
		unlink(path);
		return fail(r, "writing the key file '%s'", path);
	}
	return 0;
}

void key_wipe(struct key *k)
{
	sodium_memzero(k->bytes, sizeof(k->bytes));
}

static void proof_begin(crypto_auth_hmacsha256_state *st, const struct key *k, const char *label,
			const uint8_t challenge[static WIRE_MAC_SIZE])
{
	crypto_auth_hmacsha256_init(st, k->bytes, sizeof(k->bytes));
	crypto_auth_hmacsha256_update(st, (const uint8_t *)label, strlen(label));
	crypto_auth_hmacsha256_update(st, challenge, WIRE_MAC_SIZE);
}

static void proof_end(crypto_auth_hmacsha256_state *st, const uint8_t head[static WIRE_HEAD_SIZE],
		      uint8_t ret_mac[static WIRE_MAC_SIZE])
{
	crypto_auth_hmacsha256_update(st, head, WIRE_HEAD_SIZE);
	crypto_auth_hmacsha256_final(st, ret_mac);
	sodium_memzero(st, sizeof(*st));
}

/* Every part has a fixed length and the labels differ, so neither proof can be taken for the other. */
void key_client_proof(const struct key *k, const uint8_t challenge[static WIRE_MAC_SIZE],
		      const uint8_t req_head[static WIRE_HEAD_SIZE], uint8_t ret_mac[static WIRE_MAC_SIZE])
{
	crypto_auth_hmacsha256_state st;

	proof_begin(&st, k, "rdcp1 client", challenge);
	proof_end(&st, req_head, ret_mac);
}

void key_server_proof(const struct key *k, const uint8_t challenge[static WIRE_MAC_SIZE],
		      const uint8_t uuid[static WIRE_UUID_SIZE], const uint8_t rep_head[static WIRE_HEAD_SIZE],
		      uint8_t ret_mac[static WIRE_MAC_SIZE])
{
	crypto_auth_hmacsha256_state st;

	proof_begin(&st, k, "rdcp1 server", challenge);
	crypto_auth_hmacsha256_update(&st, uuid, WIRE_UUID_SIZE);
	proof_end(&st, rep_head, ret_mac);
}

int key_proof_equal(const uint8_t a[static WIRE_MAC_SIZE], const uint8_t b[static WIRE_MAC_SIZE])
{
	return sodium_memcmp(a, b, WIRE_MAC_SIZE) == 0;
}
