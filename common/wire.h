/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The protocol on one page: what two rdcp programs say to each other, and the only byte-order code.
 * rdcp-protocol(7) is the same in prose. All integers are little-endian at fixed offsets; nothing is ever cast.
 *
 * 1. Blobs travel in the private data of the connection manager's REQ, REP and REJ. The fabric pads them (InfiniBand to
 *    56, 196 and 148 bytes) and a peer may have sent none, which reads as zeros: each carries magic, version and length.
 * 2. Messages travel in SENDs, at most WIRE_MESSAGE_MAX bytes: a four-byte header (length of the records, credits
 *    given back) and whole records. A message without records only returns credits.
 * 3. Data travels by RDMA WRITE from the sender's slot i to the receiver's slot i, then is named by a DATA record.
 *
 * A decoder returns 0, or a negative errno and leaves the output untouched:
 *   -EBADMSG          not of this protocol, truncated, or a field out of range
 *   -EPROTONOSUPPORT  another version (blobs only)
 * Reserved bytes that are not 0 and flags not named here are out of range.
 * An encoder returns the bytes written, or -ENOBUFS when they do not fit (the buffer's contents are undefined then).
 * Text and paths point into the message that was decoded, carry no NUL and are not terminated.
 */
#ifndef RDCP_WIRE_H
#define RDCP_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WIRE_PORT 10121
#define WIRE_VERSION 1

/* ---- blobs -------------------------------------------------------------------------------------------------- */

#define WIRE_MAC_SIZE 32
#define WIRE_UUID_SIZE 16
#define WIRE_HEAD_SIZE 24 /* of REQ and REP: what their MACs cover */
#define WIRE_REQ_SIZE 56  /* exactly what IB leaves to RDMA_PS_TCP, rdma_connect(3) */
#define WIRE_REP_SIZE 56
#define WIRE_REP_MAX 196 /* rdma_accept(3) */
#define WIRE_REJ_MAX 148 /* ib_cm.h, IB_CM_REJ_PRIVATE_DATA_SIZE */
#define WIRE_REJ_TEXT_MAX 108

/* Limits of receives_log2. With a single receive the last-credit rule of endpoint.h would stop everything. Those of
 * slot_log2 and slots_log2 are in slab.h. */
#define WIRE_MIN_RECEIVES_LOG2 2
#define WIRE_MAX_RECEIVES_LOG2 10

enum wire_blob_flags {
	WIRE_PULL = 1 << 0, /* REQ: the daemon will send */
	WIRE_MAC = 1 << 1   /* REQ, REP: the mac field counts */
};

/* client -> daemon: what it wants. Geometry fields are exponents of two. */
struct wire_req {
	uint8_t flags;
	uint8_t slot_log2;
	uint8_t slots_log2;
	uint8_t receives_log2; /* receives the client posts before it connects */
	uint8_t uuid[WIRE_UUID_SIZE];
	uint8_t mac[WIRE_MAC_SIZE];
};

/* daemon -> client: what it grants, never more than was asked. base and rkey are 0 for a pull. */
struct wire_rep {
	uint8_t flags;
	uint8_t slot_log2;
	uint8_t slots_log2;
	uint8_t receives_log2;
	uint64_t base; /* address of slot 0; the slots do not wrap around the end of memory */
	uint32_t rkey;
	uint16_t max_files; /* files that may be open at once, >= 1 */
	uint8_t mac[WIRE_MAC_SIZE];
};

struct wire_rej {
	uint16_t reason; /* enum status */
	uint8_t challenge[WIRE_MAC_SIZE];
	uint8_t text_len;
	char text[WIRE_REJ_TEXT_MAX]; /* for a human, no NUL, not terminated; sanitise before showing */
};

ssize_t wire_encode_req(const struct wire_req *req, uint8_t *buf, size_t size);
ssize_t wire_encode_rep(const struct wire_rep *rep, uint8_t *buf, size_t size);
ssize_t wire_encode_rej(const struct wire_rej *rej, uint8_t *buf, size_t size); /* text cut at a NUL and to fit */

/* `len` is what the event said, padding included; `ret_version` (may be NULL) is set with -EPROTONOSUPPORT. */
int wire_decode_req(const void *blob, size_t len, struct wire_req *ret_req, unsigned int *ret_version);
int wire_decode_rep(const void *blob, size_t len, struct wire_rep *ret_rep, unsigned int *ret_version);
int wire_decode_rej(const void *blob, size_t len, struct wire_rej *ret_rej, unsigned int *ret_version);

/* ---- messages and records ----------------------------------------------------------------------------------- */

#define WIRE_MESSAGE_MAX 8192
#define WIRE_MESSAGE_HEADER 4
#define WIRE_RECORDS_MAX (WIRE_MESSAGE_MAX - WIRE_MESSAGE_HEADER)
#define WIRE_RECORD_HEADER 4 /* type, 0, u16 length of what follows */
#define WIRE_PATH_MAX 4095
#define WIRE_NAME_MAX 255
#define WIRE_TEXT_MAX 255
#define WIRE_ACK_MAX 256
#define WIRE_HAVE_MAX 64
#define WIRE_PIECES_MAX (1U << 20) /* of a file that HAVE can tell of: a sender remembers them all */
#define WIRE_GETS_MAX 4096         /* GETs of a client that wait for their answer */
#define WIRE_DIGEST_SIZE 16
#define WIRE_PIECE_MAX 4096             /* bytes of attributes in one record */
#define WIRE_ATTRIBUTES_ROOM (1U << 22) /* bytes of them at most for all files between FILE and RESULT */
#define WIRE_NO_FILE UINT32_MAX

enum wire_type {
	WIRE_FILE = 1,        /* sender -> receiver: a file begins */
	WIRE_DATA,            /* sender -> receiver: bytes of it are in a slot */
	WIRE_CLOSE,           /* sender -> receiver: all of it was named */
	WIRE_ABORT,           /* sender -> receiver: it will not be completed; or a GET that cannot be served */
	WIRE_END,             /* no more files (sender), no more GETs (client of a pull) */
	WIRE_ACK,             /* receiver -> sender: these slots are free again */
	WIRE_RESULT,          /* receiver -> sender: what became of a file, once for each */
	WIRE_DONE,            /* receiver -> sender, after END: all that was promised is on stable storage */
	WIRE_WINDOW,          /* client of a pull, first record: where to write */
	WIRE_GET,             /* client of a pull: send this file */
	WIRE_PING,            /* either: are you there */
	WIRE_PONG,            /* either: the answer, same token */
	WIRE_ERROR,           /* either: the session ends, and why */
	WIRE_LINK,            /* sender -> receiver, between FILE and CLOSE: where a link leads */
	WIRE_HAVE = 15,       /* receiver -> sender, after FILE with RESUME: what it holds of it */
	WIRE_ATTRIBUTES = 16, /* sender -> receiver, between FILE and the first DATA, or CLOSE: what else to keep */
	WIRE_FILTER,          /* client of a pull, before its first GET: a rule for what is in directories */
	WIRE_ENTRY,           /* daemon of a pull: one of the names that a GET with LIST asks for */
	WIRE_LIMIT,           /* receiver -> sender: no faster than that, from now on */
	WIRE_SUM = 20,        /* sender -> receiver, right after FILE with CHECKSUM: of all its bytes */
	WIRE_PARTIAL, /* client of a push, before its first FILE: where to keep what may be left of large files */
	WIRE_TOTAL,   /* daemon of a pull, once, after END: what all that was asked for comes to */
	WIRE_HERE,    /* receiver -> sender, before RESULT of a top: which directory that is */
	WIRE_TYPE_END
};

struct wire_text {
	const char *data;
	uint16_t len;
};

enum wire_file_flags {
	WIRE_FILE_PRESERVE = 1 << 0,   /* give it the mode and times below, else mode & ~umask and now */
	WIRE_FILE_SYNC = 1 << 1,       /* on stable storage before its RESULT, not only before DONE */
	WIRE_FILE_NO_SYNC = 1 << 2,    /* never asked to be on stable storage */
	WIRE_FILE_UNSIZED = 1 << 3,    /* size is not known before CLOSE */
	WIRE_FILE_INTO_DIR = 1 << 4,   /* path must be a directory: the file goes into it under `name` */
	WIRE_FILE_NO_CLOBBER = 1 << 5, /* an existing destination stays, and the file is refused */
	/* What it is, at most one; none: a regular file. Without bytes, size 0. */
	WIRE_FILE_DIRECTORY = 1 << 6, /* made if it is not there */
	WIRE_FILE_SYMLINK = 1 << 7,   /* LINK is its text */
	WIRE_FILE_HARD_LINK = 1 << 8, /* LINK is the name of a file that is there, from the top of the tree */
	/* In a tree: */
	WIRE_FILE_BELOW = 1 << 9,      /* `path` begins at the directory that answers the same request */
	WIRE_FILE_LEAVE = 1 << 10,     /* with DIRECTORY: it is there and complete, and gets its attributes */
	WIRE_FILE_EXACT = 1 << 11,     /* it becomes `path`, even if that is a directory */
	WIRE_FILE_MAKE_PATH = 1 << 12, /* directories that are missing on the way are made */
	WIRE_FILE_SPARSE = 1 << 13,    /* it has holes: its bytes are fewer than its size */
	WIRE_FILE_RESUME = 1 << 14,    /* the sender waits for HAVE before it sends bytes */
	WIRE_FILE_DIRECT = 1 << 15,    /* past the page cache, as far as it goes */
	WIRE_FILE_VERIFY = 1 << 16, /* read again after it was stored, past the page cache, before it gets its name */
	WIRE_FILE_ASK =
		1 << 17, /* it may be left alone: the sender waits for HAVE, with no pieces, before it sends bytes */
	/* Of what ATTRIBUTES say: */
	WIRE_FILE_OWNER = 1 << 20,       /* give it their user and group */
	WIRE_FILE_XATTRS = 1 << 21,      /* their extended attributes and ACLs */
	WIRE_FILE_NUMERIC_IDS = 1 << 22, /* users and groups are the numbers, whatever their names */
	WIRE_FILE_SPECIAL = 1 << 23,     /* and setuid, setgid, sticky, file capabilities, where that is allowed */
	/* Whether to store it at all; what is skipped gets STATUS_SKIPPED: */
	WIRE_FILE_UPDATE = 1 << 24,    /* not in the place of one that is as new or newer */
	WIRE_FILE_SKIP_HELD = 1 << 25, /* not in the place of anything */
	WIRE_FILE_CHECKSUM = 1 << 27,  /* SUM follows: not in the place of one with the same bytes */
	WIRE_FILE_DRY_RUN = 1 << 26    /* nothing is made; no DATA comes, CLOSE says 0 bytes, RESULT what would be */
};

/* Those that say how to store, not what it is. */
#define WIRE_FILE_WISHES                                                                                         \
	(WIRE_FILE_PRESERVE | WIRE_FILE_SYNC | WIRE_FILE_NO_SYNC | WIRE_FILE_INTO_DIR | WIRE_FILE_NO_CLOBBER |   \
	 WIRE_FILE_EXACT | WIRE_FILE_MAKE_PATH | WIRE_FILE_DIRECT | WIRE_FILE_VERIFY | WIRE_FILE_OWNER |         \
	 WIRE_FILE_XATTRS | WIRE_FILE_NUMERIC_IDS | WIRE_FILE_SPECIAL | WIRE_FILE_UPDATE | WIRE_FILE_SKIP_HELD | \
	 WIRE_FILE_DRY_RUN)

/*
 * If `path` is an existing directory the file goes into it as `name`, else it becomes `path`. In a pull both are hints:
 * the client decides what its own files are called.
 *
 * A tree is a DIRECTORY that is not BELOW, placed by the same rule: the top. The text of its RESULT is its `name` if it went into
 * `path`, else "". After a RESULT of STATUS_OK come the entries, with
 * the same request and BELOW: `path` is the directory they are in, as seen from the top, "" for the top itself, without links
 * in it, and `name` the entry. A directory comes before what it contains. When all RESULTs are there come the hard links, then the
 * directories once more, with LEAVE, what is in them first and the top last. Trees do not overlap.
 */
struct wire_file {
	uint32_t file;    /* counts up from 0 in a session */
	uint32_t request; /* pull: the GET it answers; push: 0 */
	uint32_t flags;
	uint32_t mode; /* permission bits, as in chmod(2), <= 07777 */
	uint64_t size; /* bytes, <= INT64_MAX; a hint with WIRE_FILE_UNSIZED */
	int64_t mtime_sec;
	uint32_t mtime_nsec;   /* < 10^9 */
	struct wire_text path; /* 0..WIRE_PATH_MAX */
	struct wire_text name; /* 1..WIRE_NAME_MAX, no '/', neither "." nor ".." */
};

enum wire_data_flags {
	WIRE_DATA_LAST = 1 << 0, /* the last DATA that names this slot: it may be acknowledged once stored */
	WIRE_DATA_HELD = 1 << 1  /* the receiver has these bytes, by HAVE: slot and slot_off are 0 and mean nothing */
};

struct wire_data {
	uint32_t file;
	uint16_t slot;
	uint16_t flags;
	uint32_t slot_off; /* bytes into the slot; slot_off + len is the receiver's to check, in 64 bits */
	uint32_t len;      /* bytes, never 0 */
	uint64_t offset;   /* into the file; offset + len does not wrap and stays <= INT64_MAX */
	uint64_t hash;     /* XXH3_64bits of the bytes */
};

struct wire_close {
	uint32_t file;
	uint64_t size;                    /* final size, <= INT64_MAX; what no DATA named is a hole */
	uint8_t digest[WIRE_DIGEST_SIZE]; /* see digest.h */
};

struct wire_abort {
	uint32_t file; /* WIRE_NO_FILE: the GET `request` failed before it became a file */
	uint32_t request;
	uint16_t status; /* enum status */
	struct wire_text text;
};

struct wire_end {
	uint64_t files; /* how many FILE or GET records there were */
};

struct wire_ack {
	uint16_t count; /* 1..WIRE_ACK_MAX */
	uint16_t slots[WIRE_ACK_MAX];
};

enum wire_result_flags {
	WIRE_RESULT_SAME =
		1 << 0 /* of STATUS_SKIPPED: what is there has the same content, a further name may lead to it */
};

/* The text of STATUS_OK is that of a top, see above, or a remark for people: what was left out. */
struct wire_result {
	uint32_t file;
	uint16_t status;
	uint16_t flags; /* enum wire_result_flags */
	struct wire_text text;
};

struct wire_window {
	uint64_t base;
	uint32_t rkey;
	uint16_t max_files; /* that may be open at once; 0: any number */
};

enum wire_get_flags {
	WIRE_GET_TREE = 1 << 0,     /* a directory: with all that is in it */
	WIRE_GET_PRESERVE = 1 << 1, /* its directories are to get their attributes */
	WIRE_GET_DENSE = 1 << 2,    /* holes are sent as zeros */
	WIRE_GET_DIRECT = 1 << 3,   /* to be read past the page cache, as far as it goes */
	WIRE_GET_CHECKSUM = 1 << 5, /* send SUM with each file */
	WIRE_GET_ASK = 1 << 6,      /* smaller ones may be left alone: send them with WIRE_FILE_ASK */
	WIRE_GET_RESUME = 1 << 4,   /* large files may be held in part: send them with WIRE_FILE_RESUME */
	/* What the client is going to keep, and the ATTRIBUTES that takes: */
	WIRE_GET_OWNER = 1 << 8,        /* user and group */
	WIRE_GET_XATTRS = 1 << 9,       /* extended attributes and ACLs */
	WIRE_GET_NUMERIC_IDS = 1 << 10, /* users and groups without their names */
	WIRE_GET_HARD_LINKS = 1 << 11,  /* further names of a file of the tree */
	WIRE_GET_FOLLOW = 1 << 12,      /* symlinks in the tree are followed, not kept */
	WIRE_GET_TOTAL = 1 << 13,       /* it is to be part of TOTAL; what asks for that once is asked for each time */
	WIRE_GET_DRY_RUN = 1 << 16,     /* FILEs without data, see WIRE_FILE_DRY_RUN */
	WIRE_GET_LIST = 1 << 17, /* no file, but ENTRY for each that is in the directory, or for the file itself */
	WIRE_GET_GLOB = 1 << 18  /* with LIST: ENTRY for each file whose path matches, as sh(1) matches */
};

struct wire_get {
	uint32_t request;      /* counts up from 0 */
	uint32_t flags;        /* enum wire_get_flags */
	struct wire_text path; /* 1..WIRE_PATH_MAX */
};

struct wire_link {
	uint32_t file;
	struct wire_text text; /* 1..WIRE_PATH_MAX */
};

enum wire_filter_flags {
	WIRE_FILTER_INCLUDE = 1 << 0 /* else it excludes */
};

/* The first rule that matches decides, see filter.h. */
struct wire_filter {
	uint32_t flags;
	struct wire_text pattern; /* 1..WIRE_PATH_MAX */
};

enum wire_entry_flags {
	WIRE_ENTRY_DIRECTORY = 1 << 0, /* it is one, or a link that leads to one */
	WIRE_ENTRY_LAST = 1 << 1       /* it is none, and no other follows */
};

struct wire_entry {
	uint32_t request; /* the GET it answers */
	uint32_t flags;
	struct wire_text
		path; /* 1..WIRE_PATH_MAX, relative; "" with LAST. Of a GLOB from its first component with wildcards on */
};

struct wire_sum {
	uint32_t file;
	uint8_t sum[WIRE_DIGEST_SIZE]; /* XXH3_128bits, canonical */
};

/* A directory in that of each destination: made when it is missing, and removed when it is empty. */
struct wire_partial {
	struct wire_text name; /* as FILE.name */
};

/* Counted while the first files are sent already: it may come late, and not at all. It is an estimate. */
struct wire_total {
	uint64_t files; /* that are no directories */
	uint64_t bytes; /* of them, without holes that are not sent */
};

/* Means something on the same host only, see here.h. */
struct wire_here {
	uint32_t file; /* the top */
	uint64_t dev, ino;
	int64_t started_ns; /* the host was: CLOCK_REALTIME */
};

struct wire_limit {
	uint64_t bytes_per_second; /* 0: no limit any more */
};

/* A piece of what attributes.h reads; together they are one of its blobs, in order. */
struct wire_attributes {
	uint32_t file;
	const uint8_t *piece;
	uint16_t len; /* 1..WIRE_PIECE_MAX */
};

enum wire_have_flags {
	WIRE_HAVE_LAST = 1 << 0 /* nothing more is held */
};

/*
 * A file of the same size and time came here before, but not to its end. Hashes of what is left of it, piece by piece of slot_size
 * bytes; a piece whose hash is that of the file's own bytes is announced with WIRE_DATA_HELD instead of being sent. In order from
 * piece 0 to WIRE_PIECES_MAX - 1; at least one HAVE, the last one with WIRE_HAVE_LAST, answers a FILE.
 */
struct wire_have {
	uint32_t file;
	uint16_t flags;
	uint16_t count;                 /* 0..WIRE_HAVE_MAX */
	uint64_t first;                 /* the piece that hashes[0] is of */
	uint64_t hashes[WIRE_HAVE_MAX]; /* XXH3_64bits; 0: there is nothing but a hole */
};

enum wire_ping_flags {
	WIRE_PING_BUSY =
		1 << 0 /* work is under way over there, or a limit is waited for: else the next word is the peer's */
};

/* PING and PONG. */
struct wire_ping {
	uint64_t token;  /* PONG: of its PING */
	uint64_t worked; /* another one than last time: something moved over there, though nothing was said of it */
	uint16_t flags;
};

/* DONE and ERROR. */
struct wire_status {
	uint16_t status;
	struct wire_text text;
};

struct wire_record {
	enum wire_type type;
	union {
		struct wire_file file;
		struct wire_data data;
		struct wire_close close;
		struct wire_abort abort;
		struct wire_end end;
		struct wire_ack ack;
		struct wire_result result;
		struct wire_window window;
		struct wire_get get;
		struct wire_link link;
		struct wire_have have;
		struct wire_sum sum;
		struct wire_total total;
		struct wire_here here;
		struct wire_attributes attributes;
		struct wire_filter filter;
		struct wire_entry entry;
		struct wire_limit limit;
		struct wire_partial partial;
		struct wire_ping ping;     /* PING, PONG */
		struct wire_status status; /* DONE, ERROR */
	};
};

/* "FILE", "DATA", ...; "?" for anything else. */
const char *wire_type_name(unsigned int type);

struct wire_text wire_text(const char *s); /* borrows; cut at UINT16_MAX */

/* Header included; what wire_encode() will write, 0 when it would refuse. */
size_t wire_size(const struct wire_record *rec);

/* -EINVAL when a field is outside its limits (texts of status records are cut to WIRE_TEXT_MAX instead). */
ssize_t wire_encode(const struct wire_record *rec, uint8_t *buf, size_t size);

/* Takes one record off the front of `*p`..`*p + *len`, advancing both. Assumes *len > 0. */
int wire_decode(const uint8_t **p, size_t *len, struct wire_record *ret_rec);

void wire_encode_message_header(uint8_t buf[static WIRE_MESSAGE_HEADER], uint16_t records_len, uint16_t credits);

/* `len` is the length of the SEND; it must be exactly header + records. */
int wire_decode_message_header(const uint8_t *buf, size_t len, uint16_t *ret_records_len, uint16_t *ret_credits);

#endif
