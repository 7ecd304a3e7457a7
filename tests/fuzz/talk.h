/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The far side of a session, as the bytes of a fuzzer want it: it knows the protocol and keeps to it as a rule, over a TCP
 * connection of its own. talk.c is frames, messages and credits; talk_sender.c says what a sender does, talk_receiver.c answers as
 * a receiver. Nothing that the engine under test does is believed, and none of it is awaited for long.
 */
#ifndef RDCP_FUZZ_TALK_H
#define RDCP_FUZZ_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "bytes.h"
#include "common/digest.h"
#include "common/wire.h"

#define TALK_FILES 24
#define TALK_GETS 8
#define TALK_SLOT_LOG2 12
#define TALK_SLOTS_LOG2 2

struct talk_file {
	uint32_t flags, request;
	uint64_t offset; /* of what comes next */
	struct digest digest;
	bool open; /* neither CLOSE nor ABORT was said, or heard */
};

struct talk {
	struct bytes *b;
	int fd;
	bool over;   /* the connection is */
	bool sender; /* we are */
	uint8_t out[WIRE_RECORDS_MAX];
	size_t out_len;
	unsigned int credits, credits_back; /* messages that we may send; that we have read since the last one */
	uint64_t base;                      /* where we may write */
	uint32_t rkey;
	unsigned int slots; /* of the peer */
	size_t slot_size;
	unsigned int heard[WIRE_TYPE_END];

	struct talk_file files[TALK_FILES];
	uint32_t count; /* FILEs that were said, or heard */
	unsigned int slot;
	uint32_t gets[TALK_GETS], get_flags[TALK_GETS]; /* heard, as a daemon */
	unsigned int get_count, next_get;
	const char *top; /* absolute path of the export */
};

/* talk.c. Connects as a client, or takes a connection as a daemon does; 0, or -1: it is over already. */
int talk_dial(struct talk *t, struct bytes *b, uint16_t port, bool pull);
int talk_take(struct talk *t, struct bytes *b, int listen_fd, bool *ret_pull);
void talk_done(struct talk *t);

/* Puts a record into the message, spoilt now and then, which goes out with talk_flush() at the latest. */
void talk_say(struct talk *t, const struct wire_record *rec);
void talk_flush(struct talk *t);
/* WRITE of these bytes to the peer's slot. */
void talk_write(struct talk *t, unsigned int slot, size_t off, const void *bytes, size_t len);
/* Reads what there is, or comes within that time, and answers it. */
void talk_listen(struct talk *t, int ms);
/* Until this record was heard `count` times, for a moment. */
void talk_await(struct talk *t, enum wire_type type, unsigned int count);

/* talk_sender.c, talk_receiver.c */
void talk_send(struct talk *t);    /* until the bytes are used up; then END */
void talk_receive(struct talk *t); /* until they are used up, and nothing comes any more */
void talk_answer(struct talk *t, const struct wire_record *rec); /* as the receiver that we are */

#endif
