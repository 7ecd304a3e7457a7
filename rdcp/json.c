// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/* Objects for --json. Called by output.c; owns nothing; what cannot be written is the stream's to remember. */
#include "json.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"

/* One character of a text, as it stands between the quotes of a string. Returns the bytes it took. */
static size_t put_character(FILE *f, const char *s, bool *ret_broken)
{
	uint32_t code;
	size_t len = utf8_character(s, &code);

	if (len == 0) {
		fputs("\\ufffd", f);
		*ret_broken = true;
		return 1;
	}
	if (code == '"' || code == '\\')
		fprintf(f, "\\%c", (char)code);
	else if (utf8_is_control(code))
		fprintf(f, "\\u%04" PRIx32, code); /* all of them are below U+FFFF */
	else
		fwrite(s, 1, len, f);
	return len;
}

/* Returns whether it says all that `text` says. */
static bool put_string(FILE *f, const char *text)
{
	bool broken = false;

	putc('"', f);
	while (*text)
		text += put_character(f, text, &broken);
	putc('"', f);
	return !broken;
}

static void put_key(struct json *j, const char *key)
{
	if (j->comma)
		putc(',', j->f);
	j->comma = true;
	fprintf(j->f, "\"%s\":", key);
}

void json_begin(struct json *j, FILE *f, const char *type)
{
	*j = (struct json){ .f = f };
	putc('{', f);
	json_text(j, "type", type);
}

void json_end(struct json *j)
{
	fputs("}\n", j->f);
	fflush(j->f);
}

void json_text(struct json *j, const char *key, const char *text)
{
	put_key(j, key);
	if (text)
		put_string(j->f, text);
	else
		fputs("null", j->f);
}

static void put_base64(FILE *f, const char *bytes)
{
	size_t len = strlen(bytes), done = 0;
	char out[16];

	/* Three bytes become four characters, without memory of the name's size. */
	for (size_t n; done < len; done += n) {
		n = min_size(len - done, 3);
		sodium_bin2base64(out, sizeof(out), (const unsigned char *)bytes + done, n,
				  sodium_base64_VARIANT_ORIGINAL);
		fputs(out, f);
	}
}

void json_name(struct json *j, const char *key, const char *name)
{
	put_key(j, key);
	if (put_string(j->f, name))
		return;
	fprintf(j->f, ",\"%s_base64\":\"", key);
	put_base64(j->f, name);
	putc('"', j->f);
}

void json_number(struct json *j, const char *key, uint64_t n)
{
	put_key(j, key);
	fprintf(j->f, "%" PRIu64, n);
}

void json_seconds(struct json *j, const char *key, uint64_t ns)
{
	put_key(j, key);
	fprintf(j->f, "%" PRIu64 ".%06u", (uint64_t)(ns / SEC), (unsigned int)(ns % SEC / 1000));
}

void json_open(struct json *j, const char *key)
{
	put_key(j, key);
	putc('{', j->f);
	j->comma = false;
}

void json_close(struct json *j)
{
	putc('}', j->f);
	j->comma = true;
}
