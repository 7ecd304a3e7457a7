/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The thread that writes the metrics, see metrics.h. One text waits at most: a newer one takes its place, and a disk that hangs
 * holds up this thread alone. A failure is logged when it is new; the next text is tried all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "metrics.h"

struct metrics_file {
	char *path, *temp; /* constant */
	pthread_t thread;
	int failed; /* the writer's: the last error, 0: none */

	pthread_mutex_t lock; /* over all below */
	pthread_cond_t wake;
	char *text; /* NULL: nothing waits */
	size_t len;
	bool stop;
};

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* No sync: after a crash of the machine old numbers are worth nothing. */
static int replace(const struct metrics_file *f, const char *text, size_t len)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (unlink(f->temp) < 0 && errno != ENOENT)
		return -errno;
	fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, len);
	/* whoever collects it is another user, whatever the umask is */
	if (r == 0 && (fchmod(fd, 0644) < 0 || rename(f->temp, f->path) < 0))
		r = -errno;
	if (r < 0)
		unlink(f->temp);
	return r;
}

static void write_one(struct metrics_file *f, const char *text, size_t len)
{
	int r = replace(f, text, len);

	if (r < 0 && r != f->failed)
		log_warning("cannot write the metrics to '%s': %s, trying again", f->path, strerror(-r));
	else if (r == 0 && f->failed)
		log_notice("writing the metrics to '%s' again", f->path);
	f->failed = r;
}

static void *writer_main(void *arg)
{
	struct metrics_file *f = arg;

	pthread_setname_np(pthread_self(), "metrics");
	pthread_mutex_lock(&f->lock);
	while (!f->stop) {
		_cleanup_free_ char *text = steal_ptr(f->text);
		size_t len = f->len;

		if (!text) {
			pthread_cond_wait(&f->wake, &f->lock);
			continue;
		}
		pthread_mutex_unlock(&f->lock);
		write_one(f, text, len);
		pthread_mutex_lock(&f->lock);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void free_parts(struct metrics_file *f)
{
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->wake);
	free(f->path);
	free(f->temp);
	free(f->text);
	free(f);
}

int metrics_file_new(const char *path, struct metrics_file **ret_file)
{
	struct metrics_file *f = calloc(1, sizeof(*f));
	sigset_t all, saved;
	int r = -ENOMEM;

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->wake, NULL);
	f->path = strdup(path);
	/* not '.prom' at its end: a collector does not take it for one of its files */
	if (f->path && asprintf(&f->temp, "%s.new", path) < 0)
		f->temp = NULL;
	if (f->temp) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &saved);
		r = -pthread_create(&f->thread, NULL, writer_main, f);
		pthread_sigmask(SIG_SETMASK, &saved, NULL);
	}
	if (r < 0) {
		free_parts(f);
		return r;
	}
	*ret_file = f;
	return 0;
}

void metrics_file_write(struct metrics_file *f, char *text, size_t len)
{
	char *old;

	pthread_mutex_lock(&f->lock);
	old = f->text;
	f->text = text;
	f->len = len;
	pthread_mutex_unlock(&f->lock);
	pthread_cond_signal(&f->wake);
	free(old);
}

void metrics_file_free(struct metrics_file *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_mutex_unlock(&f->lock);
	pthread_cond_signal(&f->wake);
	pthread_join(f->thread, NULL);
	unlink(f->path);
	free_parts(f);
}
