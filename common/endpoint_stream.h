/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the three parts of the stream transport share. endpoint_stream.c: the life of a connection.
 * endpoint_stream_frames.c: frames out and in. endpoint_stream_listen.c: the listener and its strangers.
 *
 * What travels is a sequence of frames, each a header of STREAM_HEADER bytes and `len` bytes of body:
 *
 *     0  'r' 'd'    3  type      8  u64 address   (WRITE)      integers are little-endian;
 *     2  version    4  u32 len  16  u32 rkey      (WRITE)      fields not used are 0
 *
 *     client                       daemon
 *       | REQ blob ----------------> |   read by the listener; the connection is a request from then on
 *       | <------- REP or REJ blob   |
 *       | WRITE, SEND, NAK, CLOSE <> |   WRITE goes straight into the peer's slab, SEND into a posted receive,
 *                                        NAK refuses a WRITE, CLOSE is the orderly end
 */
#ifndef RDCP_ENDPOINT_STREAM_H
#define RDCP_ENDPOINT_STREAM_H

#include "endpoint_impl.h"

#define STREAM_HEADER 20
#define STREAM_STAGE 4096 /* bytes: headers are parsed here, so it is also the most of a WRITE that is ever copied */

enum stream_type {
	STREAM_REQ = 1,
	STREAM_REP,
	STREAM_REJ,
	STREAM_SEND,
	STREAM_WRITE,
	STREAM_NAK,
	STREAM_CLOSE,
	STREAM_TYPE_END
};

struct stream_frame {
	enum stream_type type;
	uint32_t len; /* bytes of body */
	uint64_t addr;
	uint32_t rkey;
};

/* A frame on its way out. */
struct stream_queued {
	enum stream_type type;
	uint16_t message;           /* SEND: the send buffer */
	struct endpoint_work *work; /* WRITE: whose; NULL when it was told already */
	const uint8_t *body;        /* borrowed until the frame is sent */
	uint32_t len;
	uint8_t header[STREAM_HEADER];
};

enum stream_phase {
	STREAM_RUNNING,
	STREAM_LINGERING, /* the last frames go out; what comes in is thrown away until the peer has closed too */
	STREAM_ENDED      /* nothing moves any more; the end of the round reports it drained */
};

struct stream_endpoint {
	struct endpoint base;
	struct loop_source source; /* the socket, owned; fd -1 when closed */
	bool watched;              /* `source` is in the loop */
	bool connecting;           /* connect(2) has not ended yet */
	bool talking;              /* REP was sent or received: SEND and WRITE are legal */
	bool rejected;             /* REJ was sent */
	bool refused_write;        /* a WRITE of the peer was, a NAK is due */
	bool peer_closed;          /* CLOSE was received */
	bool shut;                 /* our direction is closed */
	enum stream_phase phase;
	struct loop_task resolved_task, push_task, end_task;

	/* out */
	struct stream_queued *queue; /* ring of `depth`, a power of two; 0 before open */
	unsigned int depth;
	uint64_t head, tail;                         /* oldest frame not sent, next to queue */
	size_t head_sent;                            /* bytes of the head frame that are gone */
	bool blocked;                                /* waits for EPOLLOUT */
	int broken;                                  /* the errno that ended our direction, or 0 */
	struct endpoint_work *parked, **parked_tail; /* written; told when a message behind them is sent */
	unsigned int writes, slots;                  /* writes outstanding, and how many may be */
	uint8_t blob_out[WIRE_REP_MAX];

	/* in */
	uint8_t stage[STREAM_STAGE];
	size_t staged;           /* bytes in it: never a whole header between two events */
	bool in_frame;           /* `in` counts: */
	struct stream_frame in;  /* the frame being received */
	uint8_t *in_at;          /* where its next byte goes */
	size_t in_left;          /* bytes that are missing */
	unsigned int in_receive; /* SEND: the receive buffer it was given */
	uint8_t blob_in[WIRE_REP_MAX];
	uint16_t receives[ENDPOINT_MAX_RECEIVES]; /* stack of posted receive buffers */
	unsigned int receive_count;
	uint8_t *window; /* what the peer may write into, or NULL; the slab's, borrowed */
	size_t window_size;
	uint32_t window_rkey;
};

/* Address of the first byte of the window, as the peer has to name it. */
#define STREAM_WINDOW_BASE (1ULL << 40)

static inline struct stream_endpoint *stream_endpoint(struct endpoint *ep)
{
	return (struct stream_endpoint *)ep;
}

/* endpoint_stream_frames.c */

void stream_encode_header(const struct stream_frame *f, uint8_t buf[static STREAM_HEADER]);
/* -EBADMSG: not a header of this protocol. Lengths are the caller's to check. */
int stream_decode_header(const uint8_t buf[static STREAM_HEADER], struct stream_frame *ret_frame);

/* `writes` and the sends of the base can be queued at any time, and a few frames of our own. -ENOMEM. */
int stream_make_queue(struct stream_endpoint *s, unsigned int slots);
/* Queues a frame, to be sent at the end of the round. Borrows `body`. -ENOBUFS: more than was agreed upon. */
int stream_queue(struct stream_endpoint *s, const struct stream_frame *f, const void *body, struct endpoint_work *work,
		 unsigned int message);
/* Sends what the socket takes. Calls back. */
void stream_push(struct stream_endpoint *s);
/* Reads what there is, within reason, and acts on it. Calls back. */
void stream_pull(struct stream_endpoint *s);
/* Forgets all that is queued, but for the rest of a frame that is half gone. Every work outstanding fails. Calls back. */
void stream_drop_queue(struct stream_endpoint *s);

/* endpoint_stream.c */

/* Tells the loop which events are wanted now. */
void stream_watch(struct stream_endpoint *s);
/* Lingering is over. */
void stream_end(struct stream_endpoint *s);
/* TCP_NODELAY and a limit for data that nobody acknowledges. */
void stream_tune(int fd);

/* endpoint_stream_listen.c: the operations of the table, see endpoint_impl.h */

struct stream_request {
	struct endpoint_request base;
	int fd; /* owned, non-blocking; exactly the REQ was read from it */
};

int stream_listen(const struct sockaddr *addr, socklen_t addr_len, struct endpoint_listener **ret_l,
		  struct endpoint_fault *ret_fault);
int stream_listener_next(struct endpoint_listener *l, struct endpoint_request **ret_rq);
void stream_listener_free(struct endpoint_listener *l);
void stream_request_reject(struct endpoint_request *rq, const void *rej, size_t len);
/* Writes a REJ frame to a connection that has sent nothing else yet, and closes our direction. */
void stream_send_reject(int fd, const void *rej, size_t len);

#endif
