# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Many clients, and what a daemon does not give.

# starts `count` copies of their own file each and keeps their pids in `clients`
crowd()
{
	local i count=$1

	clients=()
	pattern f 3000000
	for ((i = 0; i < count; i++)); do
		rdcp --slot-size=64K --slots=4 f "$host:$there/f$i" </dev/null >/dev/null 2>"$case_dir/err$i" &
		clients+=($!)
	done
}

many_at_once()
{
	local i

	crowd 8
	for i in "${!clients[@]}"; do
		wait "${clients[i]}" || fail "client $i: exit status $?; $(<"$case_dir/err$i")"
		same f "$there/f$i"
	done
}

# way and its folders for start_long_copy outside of both()
pushing()
{
	way=push from=$here to=$there
}

busy_sessions()
{
	pushing
	daemon_start "max-sessions = 1"
	start_long_copy f g
	text h content
	copy h "$host:$there/h"
	expect 4 "busy" "max-sessions"
	expect_one_line
	kill -TERM "$client"
	end_copy 10
	expect 143
	await 10 daemon_says "session ends" || fail "the session does not end"
	await 10 lets_in || fail "it stays busy; $err"
	holds "$there/h" content
}

lets_in()
{
	copy h "$host:$there/h"
	[ "$status" = 0 ]
}

busy_memory()
{
	pushing
	daemon_start "max-pinned = 3M" "max-sessions = 8"
	start_long_copy f g
	pattern h 1000000
	# it gets less than it asks for, as long as there is something to get
	copy --slot-size=64K --slots=16 h "$host:$there/h"
	[ "$status" = 0 ] || expect 4 "busy" "max-pinned"
	kill -TERM "$client"
	end_copy 10
	await 10 no_part_in "$there" || fail "the temporary file is left"
}

# Two windows do not fit: the second client is told so.
no_memory_left()
{
	pushing
	daemon_start "max-pinned = 1M" "max-sessions = 8"
	text h content
	copy --slot-size=64M h "$host:$there/h"
	[ "$status" = 0 ] || expect 4 "max-pinned"
	expect_one_line_or_nothing
}

expect_one_line_or_nothing()
{
	[[ $err != *$'\n'* ]] || fail "not one line: $err"
}

# Out of descriptors: clients are refused or served, and the daemon does not spin.
few_descriptors()
{
	local i served=0

	need prlimit
	prefix=(prlimit --nofile=40)
	daemon_start
	crowd 12
	for i in "${!clients[@]}"; do
		wait "${clients[i]}" && served=$((served + 1))
	done
	[ "$served" -gt 0 ] || fail "nobody was served: $(<"$case_dir/err0")"
	! gone "$daemon" || fail "the daemon died"
	await 5 daemon_sleeps || fail "the daemon does not come to rest"
	copy f "$host:$there/g"
	expect_ok
}

# small_files DIR: more than a small limit of descriptors allows to be open at once
small_files()
{
	local i

	mkdir "$1"
	for ((i = 0; i < 300; i++)); do echo "$i" >"$1/$i"; done
	for i in a b c; do pattern "$1/$i" 9000000; done
}

# The soft limit is raised, and what the hard one allows is kept: a tree is whole, in batches that fit.
client_with_few_descriptors()
{
	need prlimit
	prefix_rdcp=(prlimit --nofile="$1")
	small_files "$from/t"
	transfer -r t u
	expect_ok
	diff -r "$from/t" "$to/u" || fail "the trees differ"
}

daemon_with_few_descriptors()
{
	local i clients=()

	need prlimit
	prefix=(prlimit --nofile=256)
	daemon_start
	small_files t
	for i in 1 2 3 4; do
		rdcp -r t "$host:$there/t$i" </dev/null >/dev/null 2>"$case_dir/err$i" &
		clients+=($!)
	done
	for i in 1 2 3 4; do
		wait "${clients[i - 1]}" || fail "client $i: exit status $?; $(<"$case_dir/err$i")"
		diff -r t "$there/t$i" || fail "the trees differ"
	done
}

busy_descriptors()
{
	need prlimit
	pushing
	prefix=(prlimit --nofile=40)
	daemon_start
	start_long_copy f g
	text h content
	copy h "$host:$there/h"
	expect 4 "busy" "no descriptor left"
	expect_one_line
	kill -TERM "$client"
	end_copy 10
	await 10 lets_in || fail "it stays busy; $err"
}

# Opened when a path in them is asked for: there may be more of them than descriptors.
many_exports()
{
	local i

	need prlimit
	prefix=(prlimit --nofile=64)
	for ((i = 0; i < 100; i++)); do
		mkdir "$there/$i"
		exports+=$'\n'"[export e$i]"$'\n'"path = $there/$i"$'\n'"access = read-write"
	done
	daemon_start
	text f content
	for i in 0 50 99; do
		copy f "$host:$there/$i/f"
		expect_ok
		copy "$host:$there/$i/f" "g$i"
		expect_ok
	done
	! daemon_says "cannot open" || fail "$(<"$log")"
}

# used no processor time between two looks at it
daemon_sleeps()
{
	local before

	before=$(ticks_of "$daemon")
	nap
	nap
	nap
	[ "$(ticks_of "$daemon")" = "$before" ]
}

# A client that connects and then says nothing is not kept.
silent_client()
{
	pushing
	daemon_start "idle-timeout = 1s"
	start_long_copy f g
	kill -STOP "$client"
	await 15 daemon_says "session" || fail "no session"
	await 15 daemon_is_free || fail "the session goes on"
	! part_in "$there" || fail "the temporary file is left"
	kill -CONT "$client"
	end_copy 15
	[ "$status" = 5 ] || [ "$status" = 6 ] || fail "exit status $status; $err"
}

daemon_is_free()
{
	usage_of "$daemon"
	[ "$tasks" -le "$idle_tasks" ]
}

# One connection after the other leaves nothing behind.
in_a_row()
{
	local i count=$1 before after

	text f content
	daemon_start
	for i in 1 2 3; do copy f "$host:$there/f"; done
	await 5 daemon_is_free
	usage_of "$daemon"
	before=$fds
	for ((i = 0; i < count; i++)); do
		copy f "$host:$there/f"
		[ "$status" = 0 ] || fail "copy $i: exit status $status; $err"
	done
	await 5 at_rest "$daemon" "$before" "$idle_tasks" || fail "$fds descriptors after $before, $tasks threads"
	daemon_stop
	[ "$status" = 0 ] || fail "the daemon ends with status $status"
}

# A user that may start N threads gets the copy, or hears why not.
no_threads()
{
	local n

	case $build in *san*) skip "sanitizers have threads and files of their own" ;; esac
	need_root
	need setpriv prlimit
	chmod 755 . "$work/case"
	chmod 777 "$there"
	text f content
	for n in 1 2; do
		prefix_rdcp=(setpriv --reuid=$((54320 + n)) --regid=54321 --clear-groups prlimit --nproc="$n")
		copy f "$host:$there/$n"
		expect 4 "this machine is busy: it lets you start no more threads"
		expect_one_line
	done
	prefix_rdcp=(setpriv --reuid=54329 --regid=54321 --clear-groups prlimit --nproc=3)
	copy f "$host:$there/3"
	expect_ok
	holds "$there/3" content
}

limits()
{
	local count=200

	[ "$slow" -le 4 ] || count=30
	run threads_that_are_missing_are_told no_threads
	run eight_clients_at_once many_at_once
	run one_session_too_many_is_told_busy busy_sessions
	run less_memory_is_a_smaller_window busy_memory
	run no_memory_left_is_told no_memory_left
	run few_descriptors_do_not_stop_the_daemon few_descriptors
	both few_descriptors_of_the_client_are_enough client_with_few_descriptors 64
	both soft_limit_of_descriptors_is_raised client_with_few_descriptors 20:4096
	run few_descriptors_of_the_daemon_are_shared daemon_with_few_descriptors
	run no_descriptor_left_is_told_busy busy_descriptors
	run more_exports_than_descriptors many_exports
	run silent_client_is_dropped silent_client
	run "${count}_connections_in_a_row" in_a_row "$count"
}
