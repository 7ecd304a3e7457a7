// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
/*
 * Listening wherever the configuration says, as far as it can be done now. daemon.c owns it and applies a configuration at
 * the start and at each reload. A failure is logged once, when it is new; what is retried in silence says when it works.
 */
#include "listeners.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "listener.h"

#define RETRY_US (5 * 1000000ULL)
#define ADDRESS_TEXT (NI_MAXHOST + NI_MAXSERV + 4)

struct listeners {
	sd_event *event; /* borrowed */
	void (*request)(void *owner, struct endpoint_request *rq);
	void *owner;
	struct config *config; /* NULL: nothing was applied yet */
	const struct endpoint_transport *transport;
	struct listener **list; /* one for each config->listen; NULL: not listening now */
	sd_event_source *retry;
};

static size_t count(const struct listeners *l)
{
	return l->config ? l->config->listen_count : 0;
}

unsigned int listeners_served(const struct listeners *l)
{
	unsigned int served = 0;

	for (size_t i = 0; i < count(l); i++)
		served += l->list[i] != NULL;
	return served;
}

static void on_request(void *owner, struct endpoint_request *rq)
{
	struct listeners *l = owner;

	l->request(l->owner, rq);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata);

static void schedule_retry(struct listeners *l)
{
	if (!l->retry)
		sd_event_add_time_relative(l->event, &l->retry, CLOCK_MONOTONIC, RETRY_US, 0, on_retry, l);
	else if (sd_event_source_set_time_relative(l->retry, RETRY_US) >= 0)
		sd_event_source_set_enabled(l->retry, SD_EVENT_ONESHOT);
}

static void on_failed(void *owner, struct listener *failed, int error)
{
	struct listeners *l = owner;
	char text[ADDRESS_TEXT];

	log_warning("no longer listening on %s: %s; waiting for it to come back",
		    listener_format(listener_address(failed), text, sizeof(text)), strerror(-error));
	for (size_t i = 0; i < count(l); i++)
		if (l->list[i] == failed)
			l->list[i] = NULL;
	listener_free(failed);
	schedule_retry(l);
}

static const struct listener_events events = {
	.request = on_request,
	.failed = on_failed,
};

static void listen_one(struct listeners *l, size_t i, bool first)
{
	const struct config_address *address = &l->config->listen[i];
	struct endpoint_fault fault = { 0 };
	char text[ADDRESS_TEXT];
	int r = listener_new(l->event, l->transport, address, &events, l, &l->list[i], &fault);

	listener_format(address, text, sizeof(text));
	if (r == 0)
		log_notice("listening on %s (%s)", text, l->config->transport);
	else if (first)
		log_write(address->wildcard ? LOG_DEBUG : LOG_WARNING, "cannot listen on %s yet: %s: %s", text,
			  fault.text, strerror(-r));
}

/* With `first` what fails is told, later not. */
static void listen_all(struct listeners *l, bool first)
{
	unsigned int served;

	for (size_t i = 0; i < count(l); i++)
		if (!l->list[i])
			listen_one(l, i, first);
	served = listeners_served(l);
	if (first && !served)
		log_warning("no address can be served now, trying again every %llu s",
			    (unsigned long long)(RETRY_US / 1000000));
	if (served < count(l))
		schedule_retry(l);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	listen_all(userdata, false);
	return 0;
}

/* Takes the listener of this address out of the list that is about to go. */
static struct listener *take_over(struct listeners *l, const struct config_address *address)
{
	for (size_t i = 0; i < count(l); i++) {
		const struct config_address *old = &l->config->listen[i];
		struct listener *listener = l->list[i];

		if (listener && old->len == address->len && !memcmp(&old->addr, &address->addr, old->len)) {
			l->list[i] = NULL;
			return listener;
		}
	}
	return NULL;
}

static void drop_all(struct listeners *l, bool say)
{
	char text[ADDRESS_TEXT];

	for (size_t i = 0; i < count(l); i++) {
		if (l->list[i] && say)
			log_notice("no longer listening on %s",
				   listener_format(listener_address(l->list[i]), text, sizeof(text)));
		listener_free(l->list[i]);
	}
	free(l->list);
	l->list = NULL;
}

int listeners_apply(struct listeners *l, struct config *config)
{
	const struct endpoint_transport *transport = endpoint_transport_find(config->transport);
	struct listener **list = calloc(config->listen_count, sizeof(struct listener *));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < config->listen_count && transport == l->transport; i++)
		list[i] = take_over(l, &config->listen[i]);
	drop_all(l, true);
	config_ref(config);
	config_unref(l->config);
	l->config = config;
	l->transport = transport;
	l->list = list;
	sd_event_source_set_enabled(l->retry, SD_EVENT_OFF);
	listen_all(l, true);
	return 0;
}

int listeners_new(sd_event *event, void (*request)(void *owner, struct endpoint_request *rq), void *owner,
		  struct listeners **ret_listeners)
{
	struct listeners *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->event = event;
	l->request = request;
	l->owner = owner;
	*ret_listeners = l;
	return 0;
}

void listeners_free(struct listeners *l)
{
	if (!l)
		return;
	drop_all(l, false);
	sd_event_source_disable_unref(l->retry);
	config_unref(l->config);
	free(l);
}
