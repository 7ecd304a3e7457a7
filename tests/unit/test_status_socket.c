/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The status socket: what is answered, and to whom it does not listen. The daemon's loop runs on a thread of its own. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/util.h"
#include "rdcpd/status_socket.h"

Suite *status_socket_suite(void);

static char dir[200], path[256];
static size_t text_size = 6, json_size = 6; /* bytes; not to be changed while the server runs */
static const char *name = "";               /* in front; likewise */

static void render(void *owner, bool json, FILE *out)
{
	size_t size = json ? json_size : text_size;

	ck_assert_ptr_eq(owner, dir);
	fputs(name, out);
	for (size_t i = 0; i + 5 < size; i++)
		fputc('x', out);
	fputs(json ? "json\n" : "text\n", out);
}

static int on_end(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

/* A loop that ends when the pipe is closed. */
static struct {
	pthread_t thread;
	int pipe[2];
	pthread_barrier_t ready;
	int result;
} server;

static void *serve(void *arg)
{
	struct status_socket *s = NULL;
	sd_event *event = NULL;

	sd_event_new(&event);
	sd_event_add_io(event, NULL, server.pipe[0], 1 /* EPOLLIN */, on_end, NULL);
	server.result = status_socket_new(event, path, render, dir, &s);
	pthread_barrier_wait(&server.ready);
	if (server.result == 0)
		sd_event_loop(event);
	status_socket_free(s);
	sd_event_unref(event);
	return NULL;
}

static int start(void)
{
	ck_assert_int_eq(pipe(server.pipe), 0);
	pthread_barrier_init(&server.ready, NULL, 2);
	ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
	pthread_barrier_wait(&server.ready);
	return server.result;
}

static void stop(void)
{
	close(server.pipe[1]);
	pthread_join(server.thread, NULL);
	close(server.pipe[0]);
}

static void setup(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/rdcp-status.XXXXXX", tmp && strlen(tmp) < 60 ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
}

static void teardown(void)
{
	unlink(path);
	rmdir(dir);
}

static int ask(bool json, char *ret, size_t size)
{
	FILE *out = fmemopen(ret, size, "w");
	int r = status_socket_ask(path, json, out);

	fclose(out);
	return r;
}

static int connect_raw(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

START_TEST(a_question_gets_its_answer_and_the_file_goes_with_the_daemon)
{
	char got[64];
	struct stat st;

	ck_assert_int_eq(start(), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(ask(true, got, sizeof(got)), 0);
	ck_assert_str_eq(got, "xjson\n");
	ck_assert_int_eq(ask(false, got, sizeof(got)), 0);
	ck_assert_str_eq(got, "xtext\n");
	stop();
	ck_assert_int_eq(stat(path, &st), -1);
	ck_assert_int_eq(ask(false, got, sizeof(got)), -ENOENT);
}
END_TEST

START_TEST(people_see_what_their_locale_can_show_and_programs_utf8)
{
	char got[64];

	name = "\xc3\x9b";
	ck_assert_int_eq(setenv("LC_ALL", "C", 1), 0);
	escape_for_locale();
	ck_assert_int_eq(start(), 0);
	ck_assert_int_eq(ask(false, got, sizeof(got)), 0);
	ck_assert_str_eq(got, "\\303\\233xtext\n");
	ck_assert_int_eq(ask(true, got, sizeof(got)), 0);
	ck_assert_str_eq(got, "\xc3\x9bxjson\n");
	ck_assert_int_eq(setenv("LC_ALL", "C.UTF-8", 1), 0);
	escape_for_locale();
	ck_assert_int_eq(ask(false, got, sizeof(got)), 0);
	ck_assert_str_eq(got, "\xc3\x9bxtext\n");
	stop();
	name = "";
}
END_TEST

START_TEST(a_long_answer_waits_for_its_reader)
{
	char *got;

	text_size = 3 << 20;
	got = malloc(text_size + 1);
	ck_assert_int_eq(start(), 0);
	ck_assert_int_eq(ask(false, got, text_size + 1), 0);
	ck_assert_uint_eq(strlen(got), text_size);
	stop();
	free(got);
}
END_TEST

START_TEST(nonsense_gets_the_end_of_the_stream)
{
	static const char *const words[] = { "xml\n", "\n", "jsonjsonjson", "text" };
	char c;

	ck_assert_int_eq(start(), 0);
	for (size_t i = 0; i < 4; i++) {
		int fd = connect_raw();

		ck_assert_int_eq((int)send(fd, words[i], strlen(words[i]), MSG_NOSIGNAL), (int)strlen(words[i]));
		shutdown(fd, SHUT_WR);
		ck_assert_int_le((int)read(fd, &c, 1), 0);
		close(fd);
	}
	stop();
}
END_TEST

START_TEST(the_silent_and_the_slow_hold_up_nobody)
{
	char got[64];
	int fds[4];

	json_size = 3 << 20;
	ck_assert_int_eq(start(), 0);
	for (int i = 0; i < 4; i++)
		fds[i] = connect_raw();
	ck_assert_int_eq((int)write(fds[0], "json\n", 5), 5); /* and never reads */
	ck_assert_int_eq((int)write(fds[1], "js", 2), 2);
	ck_assert_int_eq(ask(false, got, sizeof(got)), 0);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	stop();
}
END_TEST

START_TEST(what_a_dead_daemon_left_is_replaced_and_nothing_else)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	sd_event *event = NULL;
	struct status_socket *second = NULL;
	struct stat st;
	FILE *f;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	ck_assert_int_eq(start(), 0);
	ck_assert_int_eq(sd_event_new(&event), 0);
	ck_assert_int_eq(status_socket_new(event, path, render, dir, &second), -EADDRINUSE);
	ck_assert_int_eq(stat(path, &st), 0);
	stop();

	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fclose(f);
	ck_assert_int_eq(status_socket_new(event, path, render, dir, &second), -EADDRINUSE);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_ptr_null(second);
	sd_event_unref(event);
}
END_TEST

START_TEST(a_path_that_no_socket_can_have_is_refused)
{
	struct status_socket *s = NULL;
	sd_event *event = NULL;
	char deep[150];

	memset(deep, 'd', sizeof(deep) - 1);
	deep[0] = '/';
	deep[sizeof(deep) - 1] = '\0';
	ck_assert_int_eq(sd_event_new(&event), 0);
	ck_assert_int_eq(status_socket_new(event, deep, render, dir, &s), -ENAMETOOLONG);
	ck_assert_int_eq(status_socket_new(event, "/no/such/place", render, dir, &s), -ENOENT);
	ck_assert_ptr_null(s);
	sd_event_unref(event);
}
END_TEST

Suite *status_socket_suite(void)
{
	Suite *s = suite_create("status_socket");
	TCase *tc = tcase_create("socket");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, a_question_gets_its_answer_and_the_file_goes_with_the_daemon);
	tcase_add_test(tc, people_see_what_their_locale_can_show_and_programs_utf8);
	tcase_add_test(tc, a_long_answer_waits_for_its_reader);
	tcase_add_test(tc, nonsense_gets_the_end_of_the_stream);
	tcase_add_test(tc, the_silent_and_the_slow_hold_up_nobody);
	tcase_add_test(tc, what_a_dead_daemon_left_is_replaced_and_nothing_else);
	tcase_add_test(tc, a_path_that_no_socket_can_have_is_refused);
	suite_add_tcase(s, tc);
	return s;
}
