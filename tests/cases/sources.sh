# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What can be read, what cannot, and files that change while they are read.

# ---- what can be known before a connection is: with the daemon down

# nobody_home: a port that nobody listens on
nobody_home()
{
	port=$((15000 + RANDOM % 5000))
}

refused_before_connecting()
{
	local name=$1 why=$2

	nobody_home
	copy "$name" "$host:$there/f"
	expect 1 "'$name': $why"
	expect_one_line
}

missing()
{
	refused_before_connecting nothing "no such file or directory"
}

directory()
{
	mkdir dir
	refused_before_connecting dir "is a directory"
}

fifo()
{
	mkfifo fifo
	refused_before_connecting fifo "not a regular file"
}

device()
{
	refused_before_connecting /dev/zero "not a regular file"
}

socket()
{
	need perl
	perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("socket")) or die'
	refused_before_connecting socket "not a regular file"
}

dangling_link()
{
	ln -s nowhere link
	refused_before_connecting link "no such file or directory"
}

link_loop()
{
	ln -s loop loop
	refused_before_connecting loop ""
}

# root may read everything, nobody may not
unreadable()
{
	text f secret
	chmod 0 f
	if [ "$EUID" = 0 ]; then
		need setpriv
		chmod 0755 .
		prefix_rdcp=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		case_dir=$work/case
	fi
	refused_before_connecting f "permission denied"
}

some_bad_sources_do_not_stop_the_others()
{
	text a a
	text c c
	mkdir d
	copy a b c d "$host:$there/"
	expect 1 "'b': no such file" "'d': is a directory" "2 files were copied, 2 failed"
	holds "$there/a" a
	holds "$there/c" c
}

# ---- at the daemon

pull_refused()
{
	text g old
	copy "$host:$there/$1" g
	expect 1 "'$there/$1': $2"
	expect_one_line
	holds g old
}

pull_missing()
{
	pull_refused nothing "no such file or directory"
}

pull_directory()
{
	mkdir "$there/dir"
	pull_refused dir "is a directory"
}

pull_fifo()
{
	mkfifo "$there/fifo"
	pull_refused fifo "not a regular file"
}

pull_dangling_link()
{
	ln -s nowhere "$there/link"
	pull_refused link "no such file or directory"
}

# ---- links and files without a size

link_is_followed()
{
	text "$from/f" content
	ln -s f "$from/link"
	transfer link g
	expect_ok
	[ ! -L "$to/g" ] || fail "the link was copied"
	holds "$to/g" content
}

# Their size is 0 and they have content all the same.
proc_push()
{
	copy /proc/version "$host:$there/v"
	expect_ok
	same /proc/version "$there/v"
}

proc_pull()
{
	exports="[export proc]
path = /proc"
	daemon_start
	copy "$host:/proc/version" v
	expect_ok
	same /proc/version v
}

# Their size is that of a page, whatever is in them; in a tree, too.
sysfs()
{
	local cpu=/sys/devices/system/cpu option f

	[ -f $cpu/possible ] && [ "$(stat -c %s $cpu/possible)" -gt "$(wc -c <$cpu/possible)" ] || skip "sysfs tells the true size here"
	exports+="
[export sys]
path = /sys"
	daemon_start
	for option in --stats --no-sparse; do
		mkdir -p "$to/$option"
		if [ "$way" = push ]; then
			copy "$option" $cpu/possible "$host:$to/$option/"
			expect_ok
			copy "$option" -r --include=/possible --include=/present --exclude='*' $cpu "$host:$to/$option/"
		else
			copy "$option" "$host:$cpu/possible" "$to/$option/"
			expect_ok
			copy "$option" -r --include=/possible --include=/present --exclude='*' "$host:$cpu" "$to/$option/"
		fi
		expect_ok
		for f in possible cpu/possible cpu/present; do same "$cpu/${f##*/}" "$to/$option/$f"; done
	done
}

# ---- a source that changes: seen in the middle, with the reader in front of what is changed

# The side that reads follows the other by the window at most, so with the other one stopped it stands still.
changing()
{
	local how=$1 other

	text "$to/g" old
	daemon_start
	# that it has grown is seen when all of its old length was read
	[ "$how" = shrinks ] || long_size=128M
	start_long_copy f g
	if [ "$way" = push ]; then other=$daemon; else other=$client; fi
	kill -STOP "$other"
	case $how in
	shrinks) truncate -s 1M "$from/f" ;;
	grows) echo more >>"$from/f" ;;
	esac
	kill -CONT "$other"
	end_copy 20
	expect 1 "changed while it was read"
	[[ $err == *"f'"* ]] || fail "the file is not named: $err"
	holds "$to/g" old
	daemon_stop
}

sources()
{
	run source_missing_is_told_before_connecting missing
	run source_directory_is_told_before_connecting directory
	run source_fifo_is_told_before_connecting fifo
	run source_device_is_told_before_connecting device
	run source_socket_is_told_before_connecting socket
	run source_dangling_link_is_told_before_connecting dangling_link
	run source_link_loop_is_told_before_connecting link_loop
	run source_unreadable_is_told_before_connecting unreadable
	run bad_sources_do_not_stop_the_others some_bad_sources_do_not_stop_the_others
	run pull_missing_source_is_refused pull_missing
	run pull_directory_is_refused pull_directory
	run pull_fifo_is_refused pull_fifo
	run pull_dangling_link_is_refused pull_dangling_link
	both link_source_is_followed link_is_followed
	run push_file_of_proc proc_push
	run pull_file_of_proc proc_pull
	both files_of_sysfs_are_copied sysfs
	both source_that_shrinks_is_an_error changing shrinks
	both source_that_grows_is_an_error changing grows
}
