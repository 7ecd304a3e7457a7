/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Writing a file: its bytes, its size, its mode and its time. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "copy.h"
#include "skip.h"

Suite *outfile_attrs_suite(void);

START_TEST(pieces_in_any_order_make_the_file_and_the_rest_is_cut)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(outfile_write(&file, "56789xxx", 8, 5), 0);
	ck_assert_int_eq(outfile_write(&file, "01234", 5, 0), 0);
	ck_assert_int_eq(outfile_write(&file, "", 0, 100), 0);
	ck_assert_int_eq(outfile_finish(&file, 10, &plain), 0);
	ck_assert_int_eq(outfile_commit(&file, 0), 0);
	tree_expect("root/new", "0123456789");
}
END_TEST

START_TEST(a_hole_at_the_end_counts)
{
	struct stat st;

	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(outfile_finish(&file, 5ULL << 30, &plain), 0);
	ck_assert_int_eq(outfile_commit(&file, 0), 0);
	ck_assert_int_eq(stat("root/new", &st), 0);
	ck_assert_int_eq(st.st_size, 5LL << 30);
}
END_TEST

START_TEST(sizes_and_offsets_beyond_the_possible_are_errors)
{
	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(outfile_finish(&file, UINT64_MAX, &plain), -EFBIG);
	ck_assert_int_eq(outfile_write(&file, "x", 1, UINT64_MAX), -EINVAL);
	ck_assert_int_eq(outfile_write(&file, "x", 1, INT64_MAX - 1), -EFBIG);
}
END_TEST

static const struct {
	mode_t umask, mode, want;
	bool preserve;
} modes[] = {
	{ 022, 0755, 0755, false }, { 022, 0666, 0644, false }, { 077, 0777, 0700, false }, { 027, 04755, 0750, false },
	{ 022, 0400, 0400, false }, { 022, 0, 0, false },       { 077, 0666, 0666, true },  { 022, 07777, 0777, true },
	{ 022, 0000, 0000, true },  { 022, 0444, 0444, true },
};

static int mode_index;

/* In a child: the umask is read once in a process. */
static int check_mode(void)
{
	const struct outfile_attrs attrs = { .mode = modes[mode_index].mode,
					     .preserve = modes[mode_index].preserve,
					     .mtime = { .tv_sec = 1 } };
	struct stat st;

	umask(modes[mode_index].umask);
	if (copy("new", "hello", &attrs, 0) || stat("root/new", &st))
		return 1;
	return (st.st_mode & 07777) == modes[mode_index].want ? 0 : 2;
}

START_TEST(a_new_file_has_the_mode_of_the_source_without_special_bits)
{
	mode_index = _i;
	ck_assert_int_eq(in_child(check_mode), 0);
}
END_TEST

START_TEST(a_replaced_file_keeps_its_mode_unless_it_is_to_be_preserved)
{
	const struct outfile_attrs preserve = { .mode = 0711, .preserve = true };
	struct stat st;

	ck_assert_int_eq(chmod("root/old", 04640), 0);
	ck_assert_int_eq(copy("old", "new", &plain, 0), 0);
	ck_assert_int_eq(stat("root/old", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(copy("old", "new", &preserve, 0), 0);
	ck_assert_int_eq(stat("root/old", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0711);
}
END_TEST

START_TEST(a_replaced_link_leaves_no_mode_behind)
{
	struct stat st;

	ck_assert_int_eq(copy("link", "new", &(struct outfile_attrs){ .mode = 0600 }, 0), 0);
	ck_assert_int_eq(lstat("root/link", &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
}
END_TEST

START_TEST(a_read_only_destination_in_a_writable_directory_is_replaced)
{
	ck_assert_int_eq(chmod("root/old", 0444), 0);
	ck_assert_int_eq(copy("old", "new", &plain, 0), 0);
	tree_expect("root/old", "new");
}
END_TEST

START_TEST(another_link_to_the_replaced_file_keeps_its_content)
{
	ck_assert_int_eq(link("root/old", "root/second"), 0);
	ck_assert_int_eq(copy("old", "new", &plain, 0), 0);
	tree_expect("root/old", "new");
	tree_expect("root/second", "old");
}
END_TEST

static const struct timespec times[] = {
	{ 0, 0 }, { -1, 0 }, { -31536000, 999999999 }, { 1700000000, 123456789 }, { 2147483648, 1 }, { 8589934592, 5 },
};

START_TEST(the_modification_time_is_preserved_to_the_nanosecond)
{
	const struct outfile_attrs attrs = { .mode = 0400, .preserve = true, .mtime = times[_i] };
	struct stat st;

	ck_assert_int_eq(copy("new", "hello", &attrs, 0), 0);
	ck_assert_int_eq(stat("root/new", &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, times[_i].tv_sec);
	ck_assert_int_eq(st.st_mtim.tv_nsec, times[_i].tv_nsec);
}
END_TEST

START_TEST(a_time_is_tried_without_a_trace)
{
	struct timespec stored;

	ck_assert_int_eq(outfile_stored_time(tree_root, &times[_i], &stored), 0);
	ck_assert_int_eq(stored.tv_sec, times[_i].tv_sec);
	ck_assert_int_eq(stored.tv_nsec, times[_i].tv_nsec);
	ck_assert_uint_eq(temps("root"), 0);
}
END_TEST

/* Half a millennium is too much for ext4 and xfs. */
START_TEST(a_time_that_cannot_be_stored_is_told)
{
	char why[ATTRIBUTES_WHY_MAX] = "";
	const struct outfile_attrs attrs = { .preserve = true, .mtime = { .tv_sec = 16725225600 }, .why = why };
	struct stat st;

	ck_assert_int_eq(copy("new", "hello", &attrs, 0), 0);
	ck_assert_int_eq(stat("root/new", &st), 0);
	if (st.st_mtim.tv_sec == attrs.mtime.tv_sec)
		skip_test("the file system can store it");
	ck_assert_str_eq(why, "cannot set the modification time: the file system cannot store it");
	why[0] = '\0';
	ck_assert_int_eq(outfile_symlink_in(&file, tree_root, "ln", "to", &attrs, 0), 0);
	ck_assert_str_ne(why, "");
}
END_TEST

START_TEST(without_preserve_the_modification_time_is_now)
{
	const struct outfile_attrs attrs = { .mode = 0600, .mtime = { .tv_sec = 1 } };
	struct timespec before;
	struct stat st;

	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME_COARSE, &before), 0);
	ck_assert_int_eq(copy("new", "hello", &attrs, 0), 0);
	ck_assert_int_eq(stat("root/new", &st), 0);
	ck_assert_int_ge(st.st_mtim.tv_sec, before.tv_sec);
}
END_TEST

START_TEST(nanoseconds_that_mean_something_else_are_refused)
{
	static const long bad[] = { -1, 1000000000, UTIME_NOW, UTIME_OMIT };
	size_t i;

	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct outfile_attrs attrs = { .mode = 0600, .preserve = true, .mtime = { 1, bad[i] } };

		ck_assert_int_eq(outfile_finish(&file, 0, &attrs), -EINVAL);
	}
}
END_TEST

START_TEST(a_file_size_limit_is_efbig_after_what_fits)
{
	struct rlimit limit = { .rlim_cur = 4, .rlim_max = RLIM_INFINITY }, saved;
	sigset_t set, before;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, &before); /* as in a worker */
	ck_assert_int_eq(outfile_create(&file, tree_root, "new", "name", 0), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &saved), 0);
	limit.rlim_max = saved.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	r = outfile_write(&file, "0123456789", 10, 0); /* four bytes, then none */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &saved), 0);
	ck_assert_int_eq(r, -EFBIG);
	sigtimedwait(&set, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
END_TEST

Suite *outfile_attrs_suite(void)
{
	Suite *s = suite_create("outfile_attrs");
	TCase *tc = tcase_create("attributes");

	tcase_add_checked_fixture(tc, copy_setup, copy_teardown);
	tcase_add_test(tc, a_file_size_limit_is_efbig_after_what_fits);
	tcase_add_test(tc, pieces_in_any_order_make_the_file_and_the_rest_is_cut);
	tcase_add_test(tc, a_hole_at_the_end_counts);
	tcase_add_test(tc, sizes_and_offsets_beyond_the_possible_are_errors);
	tcase_add_loop_test(tc, a_new_file_has_the_mode_of_the_source_without_special_bits, 0, ARRAY_SIZE(modes));
	tcase_add_test(tc, a_replaced_file_keeps_its_mode_unless_it_is_to_be_preserved);
	tcase_add_test(tc, a_replaced_link_leaves_no_mode_behind);
	tcase_add_test(tc, a_read_only_destination_in_a_writable_directory_is_replaced);
	tcase_add_test(tc, another_link_to_the_replaced_file_keeps_its_content);
	tcase_add_loop_test(tc, the_modification_time_is_preserved_to_the_nanosecond, 0, ARRAY_SIZE(times));
	tcase_add_loop_test(tc, a_time_is_tried_without_a_trace, 0, ARRAY_SIZE(times));
	tcase_add_test(tc, a_time_that_cannot_be_stored_is_told);
	tcase_add_test(tc, without_preserve_the_modification_time_is_now);
	tcase_add_test(tc, nanoseconds_that_mean_something_else_are_refused);
	suite_add_tcase(s, tc);
	return s;
}
