/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdcpd --generate-key and --list-keys, see keys.h. No key and no part of one is ever printed. */
#include "keys.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/util.h"

char *keys_fingerprint(const struct key *k, char out[static KEYS_FINGERPRINT_SIZE])
{
	uint8_t hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, k->bytes, sizeof(k->bytes));
	return sodium_bin2hex(out, KEYS_FINGERPRINT_SIZE, hash, (KEYS_FINGERPRINT_SIZE - 1) / 2);
}

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* In a directory that hands its group on (/etc/rdcp/keys: rdcpd's) that group may read the key: the service is not root. */
static int share(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if (st.st_gid == getegid())
		return 0;
	return chmod(path, 0640) < 0 ? -errno : 0;
}

static int file_of_client(const char *name, const char *config_path, char path[static PATH_MAX])
{
	const char *slash = strrchr(config_path, '/');
	int n;

	if (!config_name_is_good(name))
		return -EINVAL;
	n = snprintf(path, PATH_MAX, "%.*skeys/%s.key", slash ? (int)(slash + 1 - config_path) : 0, config_path, name);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static const char *help_for(int error)
{
	if (error == -EEXIST)
		return "; remove it first if it is not used any more";
	return error == -EINVAL
		       ? "; a client's name consists of letters, digits and '._@-', or give a file with a '/' in it"
		       : "";
}

int keys_generate(const char *name, const char *config_path, FILE *out, FILE *err)
{
	bool is_file = strchr(name, '/') != NULL;
	char made[PATH_MAX], shown[ESCAPED_PATH_SIZE], fingerprint[KEYS_FINGERPRINT_SIZE];
	const char *path = is_file ? name : made;
	struct key k;
	int r = is_file ? 0 : file_of_client(name, config_path, made);

	if (r == 0)
		r = key_generate(path);
	if (r == 0)
		r = share(path);
	if (r == 0)
		r = key_load(path, &k, NULL, 0);
	if (r < 0) {
		escape_name(r == -EINVAL || is_file ? name : made, shown, sizeof(shown));
		fprintf(err, "rdcpd: cannot make a key in '%s': %s%s\n", shown, strerror(-r), help_for(r));
		return r;
	}
	fprintf(out, "new key in '%s', fingerprint %s\n", escape_name(path, shown, sizeof(shown)),
		keys_fingerprint(&k, fingerprint));
	key_wipe(&k);
	if (is_file)
		fputs("name it as key-file in a [client] section, and give a copy to that client\n", out);
	else
		fprintf(out,
			"give a copy to that client, and let it in with these lines in %s.d/%s.conf and a reload:\n"
			"[client %s]\nkey-file = %s\n",
			config_path, name, name, shown);
	return 0;
}

/* ---- listing ---------------------------------------------------------------------------------------------------- */

/* When the file was written, which is when the key was made or brought here. */
static const char *day_of(const char *path, char out[static 16])
{
	struct stat st;
	struct tm tm;

	if (stat(path, &st) < 0 || !localtime_r(&st.st_mtim.tv_sec, &tm) || !strftime(out, 16, "%Y-%m-%d", &tm))
		snprintf(out, 16, "?");
	return out;
}

static void list_client(const struct config_client *c, FILE *out)
{
	char fingerprint[KEYS_FINGERPRINT_SIZE], day[16], shown[PATH_MAX];

	for (size_t k = 0; k < c->key_count; k++) {
		fprintf(out, "%-16s %s  %-10s ", c->name, keys_fingerprint(&c->keys[k].key, fingerprint),
			day_of(c->keys[k].file, day));
		for (size_t i = 0; i < c->export_count; i++)
			fprintf(out, "%s%s:%s", i ? "," : "", c->exports[i]->name,
				c->writes && c->exports[i]->writable ? "rw" : "ro");
		fprintf(out, "  %s\n", escape_name(c->keys[k].file, shown, sizeof(shown)));
	}
}

void keys_list(const struct config *config, FILE *out)
{
	fprintf(out, "%-16s %-16s  %-10s EXPORTS  FILE\n", "CLIENT", "FINGERPRINT", "SINCE");
	for (size_t i = 0; i < config->client_count; i++)
		list_client(&config->clients[i], out);
}
