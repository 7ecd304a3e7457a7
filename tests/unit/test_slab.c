/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Slots: their limits, their order, and that no two share a byte. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/slab.h"
#include "common/util.h"

Suite *slab_suite(void);

START_TEST(a_geometry_outside_the_limits_is_refused)
{
	struct slab s;

	ck_assert_int_eq(slab_init(&s, SLAB_MIN_SLOT_LOG2 - 1, 0), -EINVAL);
	ck_assert_int_eq(slab_init(&s, SLAB_MAX_SLOT_LOG2 + 1, 0), -EINVAL);
	ck_assert_int_eq(slab_init(&s, SLAB_MIN_SLOT_LOG2, SLAB_MAX_SLOTS_LOG2 + 1), -EINVAL);
	ck_assert_int_eq(slab_init(&s, 255, 255), -EINVAL);
	slab_done(&s);
}
END_TEST

START_TEST(the_smallest_and_the_most_slots_work)
{
	struct slab s;

	ck_assert_int_eq(slab_init(&s, SLAB_MIN_SLOT_LOG2, SLAB_MAX_SLOTS_LOG2), 0);
	ck_assert_uint_eq(slab_bytes(&s), 16 * MIB);
	ck_assert_uint_eq((uintptr_t)s.base % 4096, 0);
	slab_done(&s);
	ck_assert_int_eq(slab_init(&s, SLAB_MIN_SLOT_LOG2, 0), 0);
	ck_assert_int_eq(slab_get(&s), 0);
	ck_assert_int_eq(slab_get(&s), -1);
	slab_done(&s);
}
END_TEST

START_TEST(every_slot_is_given_once_and_is_its_own)
{
	struct slab s;
	bool seen[8] = { false };
	int i, slot;

	ck_assert_int_eq(slab_init(&s, 12, 3), 0);
	for (i = 0; i < 8; i++) {
		slot = slab_get(&s);
		ck_assert_int_ge(slot, 0);
		ck_assert_int_lt(slot, 8);
		ck_assert(!seen[slot]);
		seen[slot] = true;
		memset(slab_slot(&s, (unsigned int)slot), slot, s.slot_size);
	}
	ck_assert_int_eq(slab_get(&s), -1);
	for (i = 0; i < 8; i++) {
		ck_assert_uint_eq(slab_slot(&s, (unsigned int)i)[0], (unsigned int)i);
		ck_assert_uint_eq(slab_slot(&s, (unsigned int)i)[4095], (unsigned int)i);
	}
	slab_done(&s);
}
END_TEST

START_TEST(the_last_slot_put_is_the_next_one_given)
{
	struct slab s;

	ck_assert_int_eq(slab_init(&s, 12, 2), 0);
	ck_assert_int_eq(slab_get(&s), 0);
	ck_assert_int_eq(slab_get(&s), 1);
	ck_assert_int_eq(slab_get(&s), 2);
	slab_put(&s, 1);
	slab_put(&s, 0);
	ck_assert_uint_eq(s.free_count, 3);
	ck_assert_int_eq(slab_get(&s), 0);
	ck_assert_int_eq(slab_get(&s), 1);
	ck_assert_int_eq(slab_get(&s), 3);
	slab_done(&s);
}
END_TEST

/* Bytes of address space that the process has now: terabytes with a sanitizer, which needs a little more now and then. */
static rlim_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

START_TEST(memory_that_is_not_there_is_enomem)
{
	struct rlimit limit, saved;
	struct slab s;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &saved), 0);
	limit = saved;
	limit.rlim_cur = address_space() + 128 * MIB;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert_int_eq(slab_init(&s, SLAB_MAX_SLOT_LOG2, SLAB_MAX_SLOTS_LOG2), -ENOMEM);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &saved), 0);
	slab_done(&s);
}
END_TEST

START_TEST(done_is_fine_on_zeroes_and_twice)
{
	struct slab s = { 0 };

	slab_done(&s);
	ck_assert_int_eq(slab_init(&s, 12, 0), 0);
	slab_done(&s);
	slab_done(&s);
	ck_assert_ptr_null(s.base);
}
END_TEST

Suite *slab_suite(void)
{
	Suite *s = suite_create("slab");
	TCase *tc = tcase_create("slots");

	tcase_add_test(tc, a_geometry_outside_the_limits_is_refused);
	tcase_add_test(tc, the_smallest_and_the_most_slots_work);
	tcase_add_test(tc, every_slot_is_given_once_and_is_its_own);
	tcase_add_test(tc, the_last_slot_put_is_the_next_one_given);
	tcase_add_test(tc, memory_that_is_not_there_is_enomem);
	tcase_add_test(tc, done_is_fine_on_zeroes_and_twice);
	suite_add_tcase(s, tc);
	return s;
}
