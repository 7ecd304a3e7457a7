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
	both time_is_now_without_preserve time_is_now
	# the epoch, before it, the last second of 32 bits and the one behind, 2^33, nanoseconds
	for t in 0 -1 -86400.5 2147483647 2147483648 8589934592 1234567890.123456789; do
		both "time_${t}_is_preserved" time_is_kept "$t"
	done
}
