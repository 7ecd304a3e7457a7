# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Where a copy can go, where it cannot, and what becomes of what is there.

# ---- directories

into_directory()
{
	text "$from/f" content
	mkdir "$to/dir" "$to/dir2"
	transfer f dir
	expect_ok
	holds "$to/dir/f" content
	transfer f dir2/
	expect_ok
	holds "$to/dir2/f" content
}

link_to_directory()
{
	text "$from/f" content
	mkdir "$to/dir"
	ln -s dir "$to/link"
	transfer f link
	expect_ok
	holds "$to/dir/f" content
}

link_to_no_file()
{
	text "$from/f" content
	mkfifo "$to/pipe"
	ln -s pipe "$to/link"
	transfer f link
	expect 1 "f': not a regular file: destination '"
	[ -L "$to/link" ] || fail "the link is no link any more"
}

# Whatever standard output is: its name is a link, and stays one.
standard_output_by_name()
{
	local name

	text "$there/f" content
	ln -s /proc/self/fd/1 out-link
	for name in "$PWD/out-link" /dev/fd/1; do
		copy "$host:$there/f" "$name"
		expect 1 "f': not a regular file: destination '$name'; '-' is standard output"
	done
	[ -L out-link ] || fail "the link is no link any more"
}

# refused DEST WHY: nothing is left behind, nothing is made
refused()
{
	local before after

	text "$from/f" content
	before=$(ls -laR "$to")
	transfer f "$1"
	expect 1 "f': $2"
	expect_one_line
	after=$(ls -laR "$to")
	[ "$before" = "$after" ] || fail "it changed: $after"
}

missing_parent()
{
	refused nothing/f "no such file or directory"
}

missing_directory()
{
	refused nothing/ "no such file or directory: destination '"
}

parent_is_a_file()
{
	text "$to/file" old
	refused file/f "not a directory"
	refused file/ "not a directory"
}

directory_of_that_name()
{
	mkdir -p "$to/dir/f"
	refused dir "is a directory"
}

fifo_of_that_name()
{
	mkfifo "$to/fifo"
	refused fifo "not a regular file"
}

# ---- what is replaced

read_only_file()
{
	text "$from/f" new
	text "$to/g" old
	chmod 0444 "$to/g"
	transfer f g
	expect_ok
	holds "$to/g" new
	[ "$(stat -c %a "$to/g")" = 444 ] || fail "mode $(stat -c %a "$to/g")"
}

link_is_replaced()
{
	text "$from/f" new
	text "$to/other" old
	ln -s other "$to/link"
	transfer f link
	expect_ok
	[ ! -L "$to/link" ] || fail "still a link"
	holds "$to/link" new
	holds "$to/other" old
}

dangling_link_is_replaced()
{
	text "$from/f" new
	ln -s nowhere "$to/link"
	transfer f link
	expect_ok
	[ ! -e "$to/nowhere" ] || fail "written through the link"
	holds "$to/link" new
}

hard_link()
{
	text "$from/f" new
	text "$to/other" old
	ln "$to/other" "$to/g"
	transfer f g
	expect_ok
	holds "$to/g" new
	holds "$to/other" old
}

shorter_than_before()
{
	text "$from/f" new
	pattern "$to/g" 100000
	transfer f g
	expect_ok
	holds "$to/g" new
}

no_clobber()
{
	local before

	text "$from/f" new
	text "$to/g" old
	touch -d @86400 "$to/g"
	before=$(stat -c '%i %y %s' "$to/g")
	transfer --no-clobber f g
	expect 1 "f': "
	expect_one_line
	[ "$(stat -c '%i %y %s' "$to/g")" = "$before" ] || fail "touched"
	holds "$to/g" old
	transfer --no-clobber f h
	expect_ok
	holds "$to/h" new
}

onto_itself()
{
	pattern "$there/f" 3000000
	cp "$there/f" f
	copy --slot-size=64K --slots=4 "$there/f" "$host:$there/f"
	expect_ok
	same f "$there/f"
	copy --slot-size=64K --slots=4 "$host:$there/f" "$there/f"
	expect_ok
	same f "$there/f"
}

# Two write one file at the same time: it is one or the other, never a mixture.
two_writers()
{
	local first

	pattern "$from/a" 4000000
	tr '\0' '\1' <"$from/a" >"$from/b"
	towards --slot-size=4K --slots=2 a g
	start_copy "${words[@]}"
	first=$client
	transfer --slot-size=4K --slots=2 b g
	expect_ok
	client=$first
	end_copy 30
	expect_ok
	cmp -s "$from/a" "$to/g" || cmp -s "$from/b" "$to/g" || fail "neither one nor the other"
}

# ---- places that cannot be written

read_only_mount()
{
	need_root
	mkdir "$to/ro"
	mount -t tmpfs -o ro ro "$to/ro" 2>/dev/null || skip "no mounts here"
	mounts+=("$to/ro")
	refused ro/f "read-only file system"
}

# As a user that the permission bits hold for: the daemon of a push, the client of a pull.
read_only_directory()
{
	local unprivileged=(setpriv --reuid=65534 --regid=65534 --clear-groups)

	need_root
	need setpriv
	mkdir -m 0755 "$to/dir"
	text "$to/dir/g" old
	if [ "$way" = push ]; then
		prefix=("${unprivileged[@]}")
		daemon_start
	else
		prefix_rdcp=("${unprivileged[@]}")
	fi
	refused dir/g "permission denied"
	holds "$to/dir/g" old
}

# The disk fills up in the middle: the reason reaches the user, and what was there stays.
full_disk()
{
	need_root
	mkdir "$to/small"
	mount -t tmpfs -o size=3m,mode=755 small "$to/small" 2>/dev/null || skip "no mounts here"
	mounts+=("$to/small")
	pattern "$from/f" 8000000
	text "$to/small/g" old
	transfer --slot-size=64K --slots=4 f small/g
	expect 1 "f': no space left on device"
	expect_one_line
	holds "$to/small/g" old
	! part_in "$to/small" || fail "the temporary file is left"
	# the room is there again
	pattern "$from/f" 2000000
	transfer --slot-size=64K --slots=4 f small/h
	expect_ok
	same "$from/f" "$to/small/h"
}

# The same for one file among others: they arrive.
full_disk_for_one()
{
	need_root
	mkdir "$to/small"
	mount -t tmpfs -o size=3m,mode=755 small "$to/small" 2>/dev/null || skip "no mounts here"
	mounts+=("$to/small")
	text "$from/a" a
	pattern "$from/b" 8000000
	text "$from/c" c
	if [ "$way" = push ]; then
		copy "$from/a" "$from/b" "$from/c" "$host:$to/small"
	else
		copy "$host:$from/a" "$host:$from/b" "$host:$from/c" "$to/small"
	fi
	expect 1 "b': no space left on device" "2 files were copied, 1 failed"
	holds "$to/small/a" a
	holds "$to/small/c" c
}

# The largest file a process may write, from its limit: like a file system that ends at 2 GiB.
file_too_large()
{
	need prlimit
	pattern "$from/f" 8000000
	if [ "$way" = push ]; then
		prefix=(prlimit --fsize=3000000 env --default-signal=XFSZ)
		daemon_start
	else
		prefix_rdcp=(prlimit --fsize=3000000 env --default-signal=XFSZ)
	fi
	transfer --slot-size=64K --slots=4 f g
	expect 1 "f': file too large"
	[ ! -e "$to/g" ] || fail "it is there"
}

# drop_box MODE OWNER: who may make files in a directory and not list it is nobody there; it takes files and trees
drop_box()
{
	local nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

	need_root
	need setpriv
	if [ "$way" = push ]; then
		prefix=("${nobody[@]}")
		daemon_start
	else
		prefix_rdcp=("${nobody[@]}")
	fi
	mkdir "$to/in" "$from/tree" "$from/tree/d"
	pattern "$from/large" 9000000
	text "$from/small" content
	text "$from/tree/d/f" content
	ln -s f "$from/tree/d/l"
	text "$to/in/old" old
	chown "$2" "$to/in" "$to/in/old"
	chmod "$1" "$to/in"
	for f in small large tree; do
		transfer -r "$f" in/
		expect_ok
	done
	transfer --fsync=file small in/file
	expect_ok
	transfer -r tree/. in
	expect_ok
	same "$from/large" "$to/in/large"
	holds "$to/in/file" content
	holds "$to/in/d/f" content
	[ "$2" = root ] && [[ $1 = 1* ]] || {
		transfer small in/old
		expect_ok
		holds "$to/in/old" content
	}
	diff -r --no-dereference "$from/tree" "$to/in/tree" || fail "the trees differ"
}

# Where files go here, and why they did not, is not told to the daemon: it hears the status.
pull_tells_no_paths()
{
	local name=secret-place

	text "$there/f" content
	mkdir -p "$PWD/$name/f"
	daemon_start
	copy "$host:$there/f" "$PWD/$name"
	expect 1 "is a directory" "$name"
	await 5 daemon_says "was not sent: is a directory" || fail "the daemon says: $(<"$log")"
	! daemon_says "$name" || fail "the daemon heard: $(<"$log")"
	daemon_stop
}

destinations()
{
	run pull_tells_the_daemon_no_paths pull_tells_no_paths
	both file_goes_into_a_directory into_directory
	both file_goes_into_a_directory_behind_a_link link_to_directory
	both a_link_to_no_file_is_refused link_to_no_file
	run standard_output_by_its_name_is_refused standard_output_by_name
	both missing_parent_is_an_error missing_parent
	both missing_directory_is_an_error missing_directory
	both parent_that_is_a_file_is_an_error parent_is_a_file
	both directory_of_that_name_is_an_error directory_of_that_name
	both fifo_of_that_name_is_an_error fifo_of_that_name
	both read_only_file_is_replaced read_only_file
	both link_is_replaced link_is_replaced
	both dangling_link_is_replaced dangling_link_is_replaced
	both hard_link_keeps_the_old_content hard_link
	both shorter_file_has_no_old_tail shorter_than_before
	both no_clobber_leaves_the_old_file no_clobber
	run file_onto_itself_is_unchanged onto_itself
	both two_writers_do_not_mix two_writers
	both read_only_mount_is_an_error read_only_mount
	both read_only_directory_is_an_error read_only_directory
	both full_disk_leaves_the_old_file full_disk
	both full_disk_for_one_file_spares_the_others full_disk_for_one
	both file_beyond_a_limit_is_an_error file_too_large
	both drop_box_takes_files drop_box 0733 root
	both sticky_drop_box_takes_files drop_box 1733 root
	both drop_box_of_its_owner_takes_files drop_box 0311 65534
}
