/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See identity.h. config_check.c looks users up and tries them, a session runs its file work through identity_run().
 *
 * A thread takes, in this order: groups, gid, uid for files; then it gives its capabilities up. Only those two ids: with the
 * others the user could send signals to the thread, that is to the daemon. setfsuid(2) tells of no error, so it is asked
 * afterwards what came of it.
 */
#include "identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUPS_MAX 65536 /* the kernel's NGROUPS_MAX */

/* where ids once had 16 bits the calls with 32 have names of their own */
#ifdef SYS_setgroups32
#define RAW_SETGROUPS SYS_setgroups32
#else
#define RAW_SETGROUPS SYS_setgroups
#endif

/* ---- looking up ------------------------------------------------------------------------------------------------- */

static int load_groups(const char *user, struct identity *id)
{
	int room = 64, count;

	for (;;) {
		gid_t *groups = reallocarray(id->groups, (size_t)room, sizeof(*groups));

		if (!groups)
			return -ENOMEM;
		id->groups = groups;
		count = room;
		if (getgrouplist(user, id->gid, groups, &count) >= 0)
			break;
		if (room >= GROUPS_MAX)
			return -E2BIG;
		room = count > room ? count : 2 * room;
	}
	id->group_count = (size_t)count;
	return 0;
}

int identity_load(const char *user, struct identity *ret_identity)
{
	struct identity id = { 0 };
	const struct passwd *pw;
	int r;

	errno = 0;
	pw = getpwnam(user);
	if (!pw)
		return errno && errno != ENOENT && errno != ESRCH ? -EIO : -ENOENT;
	if (!pw->pw_uid)
		return -EPERM;
	id.uid = pw->pw_uid;
	id.gid = pw->pw_gid;
	r = load_groups(user, &id);
	if (r < 0) {
		identity_done(&id);
		return r;
	}
	*ret_identity = id;
	return 0;
}

void identity_done(struct identity *id)
{
	free(id->groups);
	memset(id, 0, sizeof(*id));
}

/* ---- a thread's credentials ------------------------------------------------------------------------------------- */

#define CAP_WORDS _LINUX_CAPABILITY_U32S_3

static int get_caps(struct __user_cap_data_struct caps[static CAP_WORDS])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, caps) < 0 ? -errno : 0;
}

static bool has_cap(const struct __user_cap_data_struct caps[static CAP_WORDS], int cap)
{
	return caps[CAP_TO_INDEX(cap)].permitted & CAP_TO_MASK(cap);
}

static int drop_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[CAP_WORDS] = { { 0 } };

	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static int become(const struct identity *id)
{
	if (syscall(RAW_SETGROUPS, id->group_count, id->groups) < 0)
		return -errno;
	setfsgid(id->gid);
	if ((gid_t)setfsgid((gid_t)-1) != id->gid)
		return -EPERM;
	setfsuid(id->uid);
	if ((uid_t)setfsuid((uid_t)-1) != id->uid)
		return -EPERM;
	return 0;
}

/* root's own sessions may do all that root may: there is nothing to take away. */
static bool has_nothing_to_drop(void)
{
	struct __user_cap_data_struct caps[CAP_WORDS];

	return !geteuid() || get_caps(caps) < 0 || !(has_cap(caps, CAP_SETUID) || has_cap(caps, CAP_SETGID));
}

struct errand {
	const struct identity *id;
	int (*fn)(void *arg);
	void *arg;
	int result;
};

static void *errand_main(void *arg)
{
	struct errand *e = arg;

	e->result = e->id ? become(e->id) : 0;
	if (e->result == 0)
		e->result = drop_caps();
	if (e->result == 0)
		e->result = e->fn(e->arg);
	return NULL;
}

int identity_run(const struct identity *id, int (*fn)(void *arg), void *arg)
{
	struct errand e = { .id = id, .fn = fn, .arg = arg };
	pthread_t thread;
	int r;

	if (!id && has_nothing_to_drop())
		return fn(arg);
	r = pthread_create(&thread, NULL, errand_main, &e);
	if (r)
		return -r;
	pthread_join(thread, NULL);
	return e.result;
}

static int nothing(void *arg)
{
	return 0;
}

int identity_try(const struct identity *id)
{
	return identity_run(id, nothing, NULL);
}
