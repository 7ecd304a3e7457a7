/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See sweeper.h. The daemon's thread starts a run from a timer and joins it when its eventfd says so; the run has a reference to
 * the configuration of its own. What a client with `user` left is only in that user's reach: as long as the daemon is not root
 * its directories are looked at once more with that user's rights.
 */
#include "sweeper.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "common/util.h"
#include "journal.h"
#include "sweep.h"

#define DAY_US (24 * 3600 * 1000000ULL)
#define PAUSE_NS (20 * MSEC) /* behind each SWEEP_STEP names */
#define IDLE_IO (3 << 13)    /* ioprio_set(2): IOPRIO_CLASS_IDLE */

struct sweeper {
	sd_event *event; /* borrowed */
	void (*swept)(void *owner, uint64_t removed);
	void *owner;
	struct config *config; /* NULL before the first apply */
	sd_event_source *timer, *finished;
	int finished_fd; /* eventfd */
	bool running;    /* `thread` is to be joined */
	pthread_t thread;
	struct config *run_config; /* of the run, its reference */
	uint64_t run_removed;      /* its result */
	struct journal_session run_fields;
	struct tally run_tally;

	pthread_mutex_t lock; /* over `stop` */
	pthread_cond_t wake;
	bool stop;
};

/* ---- the run's thread ------------------------------------------------------------------------------------------- */

static bool on_pause(void *owner)
{
	struct sweeper *s = owner;
	struct timespec until;
	bool stop;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)PAUSE_NS;
	if (until.tv_nsec >= (long)SEC) {
		until.tv_nsec -= (long)SEC;
		until.tv_sec++;
	}
	pthread_mutex_lock(&s->lock);
	while (!s->stop && !r)
		r = pthread_cond_timedwait(&s->wake, &s->lock, &until);
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

static void on_removed(void *owner, const char *path, uint64_t bytes)
{
	journal_write_done(JOURNAL_PARTIAL_REMOVED, path, bytes, "removed the unfinished");
}

/* One directory, by one user. */
struct errand {
	struct sweep *sweep;
	const char *path;
	bool go_on;
};

static int run_errand(void *arg)
{
	struct errand *e = arg;
	struct sweeper *s = e->sweep->owner;

	journal_set_session(&s->run_fields);
	e->go_on = sweep_directory(e->sweep, e->path);
	return 0;
}

static bool sweep_as(struct sweep *sweep, const struct identity *id, const struct config_export *export)
{
	struct errand e = { sweep, export->path, true };

	if (export->writable)
		identity_run(id, run_errand, &e);
	return e.go_on;
}

static bool sweep_exports(const struct config *c, struct sweep *sweep)
{
	bool go_on = true;

	for (size_t i = 0; go_on && i < c->export_count; i++)
		go_on = sweep_as(sweep, NULL, &c->exports[i]);
	for (size_t i = 0; go_on && geteuid() && i < c->client_count; i++) {
		const struct config_client *client = &c->clients[i];

		if (!client->user || client->unable || !client->writes)
			continue;
		for (size_t k = 0; go_on && k < client->export_count; k++)
			go_on = sweep_as(sweep, &client->identity, client->exports[k]);
	}
	return go_on;
}

static void be_modest(void)
{
	pthread_setname_np(pthread_self(), "sweeper");
	/* where it is not allowed, pausing has to do */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS: this thread */, 0, IDLE_IO);
}

static void report(const struct sweep *sweep, bool whole)
{
	char shown[ESCAPED_PATH_SIZE];

	log_write(sweep->removed_count ? LOG_NOTICE : LOG_DEBUG,
		  "looked for unfinished files%s: %" PRIu64 " names, removed %" PRIu64 " files of %" PRIu64 " bytes",
		  whole ? "" : " and was interrupted", sweep->seen, sweep->removed_count, sweep->removed_bytes);
	/* what a directory of somebody else hides is none of ours, as a rule */
	if (sweep->failed)
		log_write(sweep->error == -EACCES ? LOG_DEBUG : LOG_WARNING,
			  "%" PRIu64
			  " places could not be searched for unfinished files, the first is '%s': %s, ignoring",
			  sweep->failed, escape_name(sweep->error_path, shown, sizeof(shown)), strerror(-sweep->error));
}

static void *run_main(void *arg)
{
	struct sweeper *s = arg;
	struct sweep *sweep = calloc(1, sizeof(*sweep));

	be_modest();
	s->run_tally = (struct tally){ 0 };
	s->run_fields = (struct journal_session){ .tally = &s->run_tally };
	if (sweep) {
		clock_gettime(CLOCK_REALTIME, &sweep->before);
		sweep->before.tv_sec -= (time_t)(s->run_config->partial_age / SEC);
		sweep->pause = on_pause;
		sweep->removed = on_removed;
		sweep->owner = s;
		report(sweep, sweep_exports(s->run_config, sweep));
		s->run_removed = sweep->removed_count;
	}
	free(sweep);
	eventfd_write(s->finished_fd, 1);
	return NULL;
}

/* ---- the daemon's thread ---------------------------------------------------------------------------------------- */

static void join(struct sweeper *s)
{
	if (!s->running)
		return;
	pthread_join(s->thread, NULL);
	s->running = false;
	s->run_config = config_unref(s->run_config);
}

static int on_finished(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct sweeper *s = userdata;
	eventfd_t value;

	eventfd_read(fd, &value);
	join(s);
	s->swept(s->owner, s->run_removed);
	return 0;
}

static void start(struct sweeper *s)
{
	sigset_t all, saved;
	int r;

	s->run_config = config_ref(s->config);
	s->run_removed = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	r = pthread_create(&s->thread, NULL, run_main, s);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	s->running = r == 0;
	if (r) {
		s->run_config = config_unref(s->run_config);
		log_warning("cannot look for unfinished files: %s, ignoring", strerror(r));
	}
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct sweeper *s = userdata;

	if (!s->config->partial_age)
		return 0;
	if (!s->running) /* else the run of yesterday is still under way */
		start(s);
	sd_event_source_set_time_relative(source, DAY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void sweeper_apply(struct sweeper *s, struct config *config)
{
	bool now = !s->config || s->config->partial_age != config->partial_age;

	config_ref(config);
	config_unref(s->config);
	s->config = config;
	if (!now)
		return;
	sd_event_source_set_time_relative(s->timer, 0);
	sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

int sweeper_new(sd_event *event, void (*swept)(void *owner, uint64_t removed), void *owner,
		struct sweeper **ret_sweeper)
{
	struct sweeper *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;
	int r;

	if (!s)
		return -ENOMEM;
	s->event = event;
	s->swept = swept;
	s->owner = owner;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	s->finished_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = s->finished_fd < 0 ? -errno : 0;
	if (r >= 0)
		r = sd_event_add_io(event, &s->finished, s->finished_fd, EPOLLIN, on_finished, s);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &s->timer, CLOCK_MONOTONIC, DAY_US, 0, on_time, s);
	if (r >= 0)
		r = sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
	if (r < 0) {
		sweeper_free(s);
		return r;
	}
	*ret_sweeper = s;
	return 0;
}

void sweeper_free(struct sweeper *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	pthread_cond_signal(&s->wake);
	join(s);
	sd_event_source_disable_unref(s->timer);
	sd_event_source_disable_unref(s->finished);
	if (s->finished_fd >= 0)
		close(s->finished_fd);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	config_unref(s->config);
	free(s);
}
