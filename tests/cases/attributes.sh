# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Modes and times of copies.

# mode_is FILE MODE
mode_is()
{
	local mode

	mode=$(stat -c %a "$1")
	[ "$mode" = "$2" ] || fail "mode $mode instead of $2"
}

# new_mode SOURCE-MODE MODE [OPTION]: under umask 022 on both sides
new_mode()
{
	need_root
	text "$from/f" content
	chmod "$1" "$from/f"
	transfer "${@:3}" f g
	expect_ok
	mode_is "$to/g" "$2"
}

umask_of_the_receiver()
{
	text "$from/f" content
	chmod 0777 "$from/f"
	umask 027
	[ "$way" = pull ] || daemon_start
	transfer f g
	expect_ok
	mode_is "$to/g" 750
}

replaced_keeps_its_mode()
{
	text "$from/f" content
	chmod 0600 "$from/f"
	text "$to/g" old
	chmod 0755 "$to/g"
	transfer f g
	expect_ok
	mode_is "$to/g" 755
	transfer -p f g
	expect_ok
	mode_is "$to/g" 600
}

# time_is_kept TIME: seconds since the epoch
time_is_kept()
{
	local there_time here_time

	text "$from/f" content
	touch -d "@$1" "$from/f" || fail "cannot set the time"
	here_time=$(stat -c %.9Y "$from/f")
	transfer -p f g
	expect_ok
	there_time=$(stat -c %.9Y "$to/g")
	[ "$there_time" = "$here_time" ] || fail "$there_time instead of $here_time"
}

time_is_now()
{
	local now

	text "$from/f" content
	touch -d @86400 "$from/f"
	transfer f g
	expect_ok
	clock
	[ $((now / 1000 - $(stat -c %Y "$to/g"))) -lt 300 ] || fail "$(stat -c %y "$to/g")"
}

# what can be seen of modes, groups and ACLs
access_of()
{
	(
		cd "$1" || exit
		find . -mindepth 1 -printf '%P %y %m %g\n' | sort
		getfacl -R -P -p -n . 2>&1 | perl -0ne 'print sort split /(?<=\n\n)/'
	)
}

same_access()
{
	local difference

	difference=$(diff <(access_of "$1") <(access_of "$2") | head -n 20)
	[ -z "$difference" ] || fail "$difference"
}

# inherits UMASK COMMANDS...: a directory that they were run in gives what arrives there the same as what cp puts there
inherits()
{
	local mask=$1 dir

	shift
	need_root
	need setfacl getfacl perl
	mkdir -p "$to/in" "$here/ref" "$from/tree/d/e" "$from/tree/read-only/e" "$from/tree/private"
	for dir in "$to/in" "$here/ref"; do
		(cd "$dir" && eval "$*") || skip "the file system cannot have that"
	done
	text "$from/f" content
	pattern "$from/large" 3000000
	cp "$from/f" "$from/tree/d"
	cp "$from/f" "$from/large" "$from/tree/read-only"
	chmod 664 "$from/f" "$from/tree/d/f"
	chmod 600 "$from/large"
	chmod 500 "$from/tree/read-only/e"
	chmod 555 "$from/tree/read-only"
	chmod 700 "$from/tree/private"
	umask "$mask"
	[ "$way" = pull ] || daemon_start
	cp -r "$from/f" "$from/large" "$from/tree" "$here/ref/" || fail "cp fails"
	for f in f large tree; do
		transfer -r "$f" in/
		expect_ok
	done
	same_access "$here/ref" "$to/in"
}

# As cp, which writes into the file: neither more nor less than before may open it.
replaced_keeps_its_acl()
{
	need_root
	need setfacl getfacl perl
	mkdir "$to/in" "$here/ref"
	text "$from/f" content
	for dir in "$to/in" "$here/ref"; do
		text "$dir/bare" old
		text "$dir/listed" old
		chmod 640 "$dir/bare"
		setfacl -m u:1234:rw,g::---,m:rw "$dir/listed" 2>/dev/null || skip "no ACLs in this file system"
		setfacl -d -m g:5678:rwx,m:rwx "$dir"
		[ "$dir" = "$to/in" ] || cp "$from/f" "$dir/bare"
		[ "$dir" = "$to/in" ] || cp "$from/f" "$dir/listed"
	done
	for f in bare listed; do
		transfer f "in/$f"
		expect_ok
		holds "$to/in/$f" content
	done
	same_access "$here/ref" "$to/in"
}

# Without its ACL a copy lets the group do no more than the source did. What the ACL names others for is not for the group.
acl_leaves_its_group()
{
	local name

	need setfacl getfacl
	mkdir -p "$from/t/d"
	for name in small t/f t/d large; do
		[ -d "$from/$name" ] || text "$from/$name" content
		chmod 700 "$from/$name"
		setfacl -m u:99:rwx,g::r,m:rwx "$from/$name" 2>/dev/null || skip "no ACLs in this file system"
	done
	pattern "$from/large" 3000000
	transfer "$@" small a
	expect_ok
	transfer "$@" large b
	expect_ok
	transfer "$@" -r t c
	expect_ok
	for name in a b c/f c/d; do
		mode_is "$to/$name" 740
	done
}

# The same of an ACL that is to be copied, where there can be none.
acl_that_cannot_be_kept()
{
	need_root
	need setfacl
	text "$from/f" content
	setfacl -m u:99:rwx,g::r,m:rwx "$from/f" 2>/dev/null || skip "no ACLs in this file system"
	mkdir "$to/ram"
	mount -t ramfs none "$to/ram" 2>/dev/null || skip "no ramfs"
	mounts+=("$to/ram")
	transfer -a f ram/f
	expect 1 "f': copied, but not with all attributes"
	[ "$(stat -c %A "$to/ram/f" | cut -c5-7)" = r-- ] || fail "$(stat -c %A "$to/ram/f")"
}

# -p without the right to give special bits leaves those that a directory has inherited
preserve_leaves_inherited()
{
	mkdir -p "$from/tree/d" "$to/in"
	chmod 2775 "$to/in"
	chmod 700 "$from/tree/d"
	transfer -rp tree in/
	expect_ok
	mode_is "$to/in/tree/d" 2700
}

# ext4_of_old: a directory 'coarse' at the destination whose times are whole seconds of 32 bits
ext4_of_old()
{
	need_root
	need mkfs.ext4
	truncate -s 16M "$case_dir/img"
	mkfs.ext4 -q -I 128 "$case_dir/img" >/dev/null 2>&1 || skip "mkfs.ext4 makes no such file system"
	mkdir "$to/coarse"
	mount -o loop "$case_dir/img" "$to/coarse" 2>/dev/null || skip "no loop mounts here"
	mounts+=("$to/coarse")
}

# What has the time of its source is up to date, and what is a second older is not.
update_onto_coarse_times()
{
	ext4_of_old
	mkdir "$from/t"
	text "$from/t/f" content
	text "$from/t/g" content
	touch -d @1700000000.123456789 "$from/t/f" "$from/t/g"
	transfer -rp t coarse/
	expect_ok
	[ "$(stat -c %.9Y "$to/coarse/t/f")" = 1700000000.000000000 ] || skip "its times are not coarse"
	text "$from/t/g" new
	touch -d @1700000001 "$from/t/g"
	transfer -rpuv t coarse/
	expect 0 "t/f' skipped: the one there is as new, or newer" "t/g' -> "
	holds "$to/coarse/t/g" new
}

# A time that is cut to what the file system can store is told, and is no reason to copy the file again.
update_onto_few_times()
{
	local told="cannot set the modification time: the file system cannot store it"

	ext4_of_old
	mkdir "$from/t"
	text "$from/t/f" content
	ln -s f "$from/t/link"
	touch -h -d 2040-01-01 "$from/t/f" "$from/t/link"
	touch -d 2040-01-01 "$from/t"
	transfer -a t coarse/
	expect 1 "t/f': copied, but not with all attributes: $told" "t/link': copied, but not with all attributes: $told" \
		"t': copied, but not with all attributes: $told"
	[ "$(stat -c %.4y "$to/coarse/t/f")" = 2038 ] || skip "it can store times beyond 2038"
	transfer -rpuv t/f coarse/t
	expect 0 "f' skipped: the one there is as new, or newer"
	touch -d 2030-01-01 "$to/coarse/t/f"
	transfer -puv t/f coarse/t
	expect 1 "t/f': copied, but not with all attributes: $told"
}

attributes()
{
	local t

	both new_file_has_mode_without_umask new_mode 0775 755
	both new_file_of_mode_0000 new_mode 0 0
	both new_file_of_mode_0400 new_mode 0400 400
	both special_bits_are_not_copied new_mode 6755 755
	both special_bits_are_not_preserved new_mode 6777 777 -p
	both mode_is_preserved new_mode 0666 666 -p
	both umask_is_that_of_the_receiver umask_of_the_receiver
	both replaced_file_keeps_its_mode replaced_keeps_its_mode
	both default_acl_counts_and_not_the_umask inherits 077 'setfacl -d -m g:5678:rwx,m:rwx,o::- .'
	both default_acl_of_little_counts inherits 022 'setfacl -d -m u::rw,g::r,o::- .'
	both group_of_a_directory_is_handed_on inherits 022 'chgrp 5678 . && chmod 2775 .'
	both replaced_file_keeps_its_acl replaced_keeps_its_acl
	both without_its_acl_a_copy_is_closed_to_its_group acl_leaves_its_group
	both without_its_acl_a_copy_with_its_mode_is_closed_to_its_group acl_leaves_its_group -p
	both an_acl_that_cannot_be_kept_is_not_opened_to_the_group acl_that_cannot_be_kept
	both special_bits_that_are_inherited_stay preserve_leaves_inherited
	both update_compares_as_coarsely_as_times_are_stored update_onto_coarse_times
	both update_compares_with_times_that_can_be_stored update_onto_few_times
	both time_is_now_without_preserve time_is_now
	# the epoch, before it, the last second of 32 bits and the one behind, 2^33, nanoseconds
	for t in 0 -1 -86400.5 2147483647 2147483648 8589934592 1234567890.123456789; do
		both "time_${t}_is_preserved" time_is_kept "$t"
	done
}
