/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The texts for everything that keeps a copy from happening. Called by client.c and doctor*.c when something has ended;
 * owns nothing and cannot fail, a line that gets too long is cut. To change what is said, change a row; the words in
 * braces are filled in by expand():
 *
 *   {port} {host}   what was connected to          {need} {limit} {kib}   locked memory: wanted, allowed, for ulimit -l
 *   {key}           the file the key is from       {filter}               what a firewall has to let through
 *   {addresses}     of the local RDMA devices, or a sentence that there are none
 */
#include "hint.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/devices.h"
#include "common/error.h"
#include "common/util.h"
#include "common/wire.h"

#define MESSAGES_PINNED (2 * MIB) /* what a session pins beside its slab, at most */

struct text {
	enum exitcode exit;
	const char *cause;
	const char *hint;
	bool detail; /* what the endpoint or the peer says says more than the cause: in parentheses behind it */
};

static const struct text fault_texts[] = {
	[ENDPOINT_CLOSED] = { EXITCODE_LOST, "the daemon ended the connection",
			      "'journalctl -u rdcpd' there should say why", false },
	[ENDPOINT_NO_MODULE] = { EXITCODE_CONNECT, "RDMA's connection manager is missing here",
				 "'modprobe rdma_ucm' as root loads it, --transport=tcp does without", false },
	[ENDPOINT_NO_DEVICE] = { EXITCODE_CONNECT, "this machine has no RDMA device",
				 "'rdma link add rxe0 type rxe netdev NETDEV' makes one, --transport=tcp does without",
				 false },
	[ENDPOINT_LOOPBACK] = { EXITCODE_CONNECT, "no RDMA device has a loopback address", "{addresses}", false },
	[ENDPOINT_ADDRESS] = { EXITCODE_CONNECT, "no RDMA device here is on the way to that address", "{addresses}",
			       false },
	[ENDPOINT_NO_ROUTE] = { EXITCODE_CONNECT, "there is no route to it, or nobody has that address",
				"is the host up? 'ping {host}' and 'ip route get' may tell", false },
	[ENDPOINT_NOBODY] = { EXITCODE_CONNECT, "nobody listens on port {port}",
			      "is rdcpd running there? 'systemctl start rdcpd'", false },
	[ENDPOINT_REJECTED] = { EXITCODE_CONNECT, "what listens on port {port} is not an rdcpd",
				"is it the right port? -P sets another", false },
	[ENDPOINT_UNREACHABLE] = { EXITCODE_CONNECT, "no answer to the connection request",
				   "is the host up, and does every firewall let {filter} through?", false },
	[ENDPOINT_MEMLOCK] = { EXITCODE_CONNECT, "{need} of memory have to be locked and the limit is {limit}",
			       "'ulimit -l {kib}' or memlock in limits.conf(5), or less: --slots, --slot-size", false },
	[ENDPOINT_RESOURCES] = { EXITCODE_CONNECT, "the RDMA device or this system ran out of something",
				 "'rdma resource' shows what is in use; fewer --slots need less", true },
	[ENDPOINT_LOST] = { EXITCODE_LOST, "the connection broke",
			    "run the same command again; 'journalctl -u rdcpd' there may say why", true },
	[ENDPOINT_REFUSED_WRITE] = { EXITCODE_LOST, "the RDMA device there refused a write",
				     "was the daemon killed? 'journalctl -u rdcpd' there knows", true },
	[ENDPOINT_DEVICE_GONE] = { EXITCODE_LOST, "the RDMA device of this machine went away or down",
				   "'rdma link' shows what is left", true },
	[ENDPOINT_TIMEOUT] = { EXITCODE_TIMEOUT, "no sign of life for too long",
			       "--timeout waits longer; 'journalctl -u rdcpd' there may say why", false },
	[ENDPOINT_PROTOCOL] = { EXITCODE_LOST, "what it sends breaks the protocol",
				"is it an rdcpd, and of the same version as this rdcp?", true },
};

/* The statuses that are about a session; for any other the cause is status_text() and there is no hint. */
static const struct text status_texts[] = {
	[STATUS_NOT_ALLOWED] = { EXITCODE_REFUSED, "the daemon does not allow it",
				 "see exports and clients in its rdcpd.conf(5)", true },
	[STATUS_CORRUPT] = { EXITCODE_CORRUPT, "the data did not arrive as it was sent",
			     "run it again; if it stays, check memory, cable and adapter on both sides", true },
	[STATUS_ABORTED] = { EXITCODE_LOST, "the daemon gave up", "'journalctl -u rdcpd' there should say why", true },
	[STATUS_PROTOCOL] = { EXITCODE_LOST, "the daemon says that the protocol was broken",
			      "are rdcp and rdcpd of the same version?", true },
	[STATUS_VERSION] = { EXITCODE_REFUSED, "rdcp and rdcpd have no protocol version in common",
			     "install the same release on both; 'rdcp --version' names this one", true },
	[STATUS_AUTH_REQUIRED] = { EXITCODE_REFUSED, "the daemon wants a key",
				   "get one from who runs it, and give it with -i or put it in ~/.config/rdcp/key",
				   false },
	[STATUS_BAD_KEY] = { EXITCODE_REFUSED, "the daemon does not know the key in '{key}'",
			     "is it the key-file of a client in its rdcpd.conf(5)? -i gives another", false },
	[STATUS_BUSY] = { EXITCODE_REFUSED, "the daemon is busy",
			  "try again later; its rdcpd.conf(5) has max-sessions and max-pinned", true },
	[STATUS_STOPPING] = { EXITCODE_REFUSED, "the daemon is shutting down", "try again when it is back", false },
	[STATUS_TIMEOUT] = { EXITCODE_TIMEOUT, "the daemon heard nothing for too long",
			     "run it again; is the network loaded or losing packets?", true },
};

/* Variants of rows above. */
static const struct text no_thread = { EXITCODE_REFUSED, "this machine is busy: it lets you start no more threads",
				       "'ulimit -u' and TasksMax= of systemd.resource-control(5) limit them", false };
static const struct text silent_refusal = { EXITCODE_CONNECT, "port {port} refused without a reason",
					    "is rdcpd running there? 'systemctl start rdcpd'", false };
static const struct text key_declined = { EXITCODE_REFUSED, "the daemon wants a key and 'none' declined to use one",
					  "leave out -i none, or unset RDCP_KEY_FILE", false };
static const struct text key_closed = { EXITCODE_REFUSED, "the daemon wants a key and you may not read '{key}'",
					"ask who runs this machine, or give your own with -i", false };
static const struct text proof_ignored = { EXITCODE_REFUSED, "the daemon did not accept a proof of the key in '{key}'",
					   "'journalctl -u rdcpd' there should say why", true };
static const struct text impostor = { EXITCODE_REFUSED, "what answers does not have the key in '{key}'",
				      "is it the right host and port? Somebody else may be answering there", false };
static const struct text keyless = { EXITCODE_REFUSED,
				     "the daemon asks for no key and does not prove that it has the key in '{key}'",
				     "'-i none' copies without, if it is the one you trust", false };
static const struct text name_unknown = { EXITCODE_CONNECT, "the name cannot be resolved",
					  "is it spelled right? An address works as well", true };
static const struct text name_server = { EXITCODE_CONNECT, "the name cannot be resolved",
					 "the name service does not answer; an address works without it", true };
static const struct text family_missing = { EXITCODE_CONNECT, "it has no address of the family that was asked for",
					    "leave out -4 or -6", true };

/* ---- putting a line together ---- */

struct line {
	char *out;
	size_t size, used;
	const struct hint_peer *peer;
	const struct endpoint_fault *fault; /* or NULL */
};

static void add(struct line *l, const char *s, size_t len)
{
	size_t room = l->size - l->used - 1;

	if (len > room)
		len = room;
	memcpy(l->out + l->used, s, len);
	l->used += len;
	l->out[l->used] = '\0';
}

static void add_string(struct line *l, const char *s)
{
	add(l, s, strlen(s));
}

static void add_escaped(struct line *l, const char *s)
{
	char shown[1024];

	add_string(l, escape_name(s, shown, sizeof(shown)));
}

/* "10.0.0.1 (rxe0) would be one", or that there is none, and what to do then. */
static void add_addresses(struct line *l)
{
	char found[160] = "";
	const char *addresses = l->peer->addresses;
	struct devices devices = { 0 };

	if (!addresses && devices_load(&devices) == 0)
		devices_addresses(&devices, found, sizeof(found));
	devices_done(&devices);
	if (!addresses)
		addresses = found;
	if (*addresses == '\0') {
		add_string(l, "and no device here has an address; 'rdcp --doctor' looks, --transport=tcp does without");
		return;
	}
	add_string(l, "RDMA works at ");
	add_string(l, addresses);
}

static void add_limit(struct line *l)
{
	struct rlimit rl;
	char text[16];

	if (getrlimit(RLIMIT_MEMLOCK, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY)
		add_string(l, "beyond this");
	else
		add_string(l, format_size(rl.rlim_cur, text));
}

/* Fills in one word in braces. */
static void add_word(struct line *l, const char *word, size_t len)
{
	const struct hint_peer *p = l->peer;
	uint64_t need = p->window ? p->window + MESSAGES_PINNED : 0;
	char text[32];

	/* The registration that failed may not have been the last. */
	if (l->fault && l->fault->need > need)
		need = l->fault->need;
#define IS(s) (len == strlen(s) && memcmp(word, s, len) == 0)
	if (IS("host")) {
		add_escaped(l, p->host);
	} else if (IS("port")) {
		snprintf(text, sizeof(text), "%u", p->port);
		add_string(l, text);
	} else if (IS("filter")) {
		snprintf(text, sizeof(text), "TCP port %u", p->port);
		add_string(l, p->tcp ? text : "UDP port 4791 (RoCE)");
	} else if (IS("need")) {
		add_string(l, format_size(need, text));
	} else if (IS("limit")) {
		add_limit(l);
	} else if (IS("kib")) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)((need + KIB - 1) / KIB));
		add_string(l, text);
	} else if (IS("addresses")) {
		add_addresses(l);
	} else if (IS("key")) {
		if (p->key && (p->key->path[0] || p->key->skipped[0]))
			add_escaped(l, p->key->path[0] ? p->key->path : p->key->skipped);
		else
			add_string(l, "?");
	} else {
		add(l, word - 1, len + 2); /* not a word of ours: as it stands */
	}
#undef IS
}

static void expand(struct line *l, const char *s)
{
	while (*s) {
		size_t plain = strcspn(s, "{"), word;

		add(l, s, plain);
		s += plain;
		if (*s == '\0')
			break;
		word = strcspn(++s, "}");
		add_word(l, s, word);
		s += word + (s[word] == '}');
	}
}

/* "HOST: cause (detail); hint" */
static int compose(struct line *l, const struct text *t, const char *detail)
{
	if (l->size == 0)
		return t->exit;
	l->out[0] = '\0';
	add_escaped(l, l->peer->host);
	add_string(l, ": ");
	expand(l, t->cause);
	if (t->detail && detail && *detail) {
		add_string(l, " (");
		add_escaped(l, detail);
		add_string(l, ")");
	}
	if (l->peer->shadow && t->exit == EXITCODE_CONNECT) {
		add_string(l, "; for the local file write ./");
		add_escaped(l, l->peer->shadow);
	} else if (t->hint) {
		add_string(l, "; ");
		expand(l, t->hint);
	}
	return t->exit;
}

/* ---- choosing a text ---- */

static int compose_status(struct line *l, unsigned int status, const char *text, size_t text_len)
{
	const struct options_key *key = l->peer->key;
	struct text other = { EXITCODE_FAILED, status_text(status), NULL, true };
	const struct text *t = &other;
	char detail[WIRE_TEXT_MAX + 1];

	if (text_len > WIRE_TEXT_MAX)
		text_len = WIRE_TEXT_MAX;
	if (text_len)
		memcpy(detail, text, text_len);
	detail[text_len] = '\0';
	if (status < ARRAY_SIZE(status_texts) && status_texts[status].cause)
		t = &status_texts[status];
	if (status == STATUS_AUTH_REQUIRED && key) {
		if (key->source == OPTIONS_KEY_DECLINED)
			t = &key_declined;
		else if (key->path[0])
			t = &proof_ignored;
		else if (key->skipped[0])
			t = &key_closed;
	}
	return compose(l, t, detail);
}

int hint_status(const struct hint_peer *p, unsigned int status, const char *text, size_t text_len, char *out,
		size_t size)
{
	struct line l = { .out = out, .size = size, .peer = p };

	return compose_status(&l, status, text, text_len);
}

int hint_unproven(const struct hint_peer *p, bool asked, char *out, size_t size)
{
	struct line l = { .out = out, .size = size, .peer = p };

	return compose(&l, asked ? &impostor : &keyless, "");
}

static bool all_zero(const uint8_t *p, size_t len)
{
	while (len && *p == 0)
		p++, len--;
	return len == 0;
}

int hint_fault(const struct hint_peer *p, const struct endpoint_fault *fault, char *out, size_t size)
{
	struct line l = { .out = out, .size = size, .peer = p, .fault = fault };
	struct wire_rej rej;

	if (fault->kind == ENDPOINT_RESOURCES && fault->error == -EAGAIN)
		return compose(&l, &no_thread, "");
	if ((size_t)fault->kind >= ARRAY_SIZE(fault_texts))
		return compose(&l, &fault_texts[ENDPOINT_PROTOCOL], fault->text);
	if (fault->kind == ENDPOINT_REJECTED) {
		int r = wire_decode_rej(fault->blob, fault->blob_len, &rej, NULL);

		if (r == 0)
			return compose_status(&l, rej.reason, rej.text, rej.text_len);
		if (r == -EPROTONOSUPPORT)
			return compose(&l, &status_texts[STATUS_VERSION], "");
		/* InfiniBand pads with zeros: nothing was said. */
		if (all_zero(fault->blob, fault->blob_len))
			return compose(&l, &silent_refusal, "");
	}
	return compose(&l, &fault_texts[fault->kind], fault->text);
}

int hint_end(const struct hint_peer *p, const struct peer_end *end, char *out, size_t size)
{
	struct line l = { .out = out, .size = size, .peer = p };

	if (end->by_connection)
		return compose(
			&l, &fault_texts[(size_t)end->fault < ARRAY_SIZE(fault_texts) ? end->fault : ENDPOINT_PROTOCOL],
			end->text);
	if (end->status == STATUS_OK) {
		if (size)
			out[0] = '\0';
		return EXITCODE_OK;
	}
	/* The same word means another thing when it is ours: then the daemon is what it is said about. */
	if (!end->by_peer && end->status == STATUS_TIMEOUT)
		return compose(&l, &fault_texts[ENDPOINT_TIMEOUT], end->text);
	if (!end->by_peer && end->status == STATUS_PROTOCOL)
		return compose(&l, &fault_texts[ENDPOINT_PROTOCOL], end->text);
	return compose_status(&l, end->status, end->text, strlen(end->text));
}

int hint_resolve(const struct hint_peer *p, int gai_error, int error, char *out, size_t size)
{
	struct line l = { .out = out, .size = size, .peer = p };
	const char *detail = gai_error == EAI_SYSTEM ? strerror(error) : gai_strerror(gai_error);
	const struct text *t = &name_unknown;

	if (gai_error == EAI_AGAIN || gai_error == EAI_SYSTEM)
		t = &name_server;
	else if (p->family != AF_UNSPEC && (gai_error == EAI_NODATA || gai_error == EAI_ADDRFAMILY))
		t = &family_missing;
	return compose(&l, t, detail);
}

int hint_file_exit(unsigned int status)
{
	if (status == STATUS_OK)
		return EXITCODE_OK;
	return status == STATUS_CORRUPT ? EXITCODE_CORRUPT : EXITCODE_FAILED;
}

void hint_peer_init(struct hint_peer *p, const struct options *o, const struct options_key *key)
{
	const struct location *at = options_peer(o);

	*p = (struct hint_peer){
		.host = at->host,
		.port = options_port(o),
		.tcp = o->transport == OPTIONS_TCP,
		.window = 1ULL << (o->slot_log2 + o->slots_log2),
		.family = o->family,
		.key = key,
		.shadow = location_shadows_file(at) ? at->text : NULL,
	};
}
