# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# One side dies, hangs or is told to stop in the middle of a copy.

# ---- the client

# client_ends SIGNAL STATUS: nothing is left at the daemon, and the old file stays
client_ends()
{
	text "$to/g" old
	start_long_copy f g
	kill "-$1" "$client"
	end_copy 2
	expect "$2"
	await 10 no_part_in "$to" || fail "the temporary file is left"
	await 10 at_rest "$daemon" "$idle_fds" "$idle_tasks" || fail "the daemon keeps $fds descriptors, $tasks threads"
	holds "$to/g" old
}

# Killed, the client of a pull cannot clean up; what it leaves has a name that says what it is.
client_killed()
{
	text "$to/g" old
	start_long_copy f g
	kill -KILL "$client"
	end_copy 2
	[ "$way" = push ] || rm "$to"/.g.*.rdcp-part || fail "no temporary file of that name"
	await 10 no_part_in "$to" || fail "the temporary file is left"
	await 10 at_rest "$daemon" "$idle_fds" "$idle_tasks" || fail "the daemon keeps $fds descriptors, $tasks threads"
	holds "$to/g" old
	text "$from/h" next
	transfer h g
	expect_ok
	holds "$to/g" next
}

# Many clients die at random times, and another one's file is right all the while.
clients_killed_in_a_crowd()
{
	local i round victims

	pattern good 3000000
	truncate -s 200M f
	for round in 1 2 3 4 5; do
		victims=()
		for i in 1 2 3 4; do
			"$build/rdcp" --transport="$transport" -P "$port" -i none --no-resume --no-sparse --slot-size=64K --slots=4 f \
				"$host:$there/f$i" </dev/null >/dev/null 2>&1 &
			victims+=($!)
		done
		pids+=("${victims[@]}")
		start_copy --slot-size=4K --slots=4 good "$host:$there/good"
		for i in "${victims[@]}"; do
			nap
			kill -KILL "$i"
		done
		end_copy 30
		expect_ok
		same good "$there/good"
		wait "${victims[@]}" 2>/dev/null
	done
	to=$there
	await 20 no_part_in "$to" || fail "temporary files are left"
	! gone "$daemon" || fail "the daemon died"
}

# ---- the daemon

# A case of its own daemon, which does not end by itself any more.
daemon_killed()
{
	text "$to/g" old
	daemon_start
	start_long_copy --timeout=10 f g
	kill -KILL "$daemon"
	end_copy 12
	expect 5
	expect_one_line
	holds "$to/g" old
	[ "$way" = pull ] || rm "$to"/.g.*.rdcp-part || fail "no temporary file of that name"
	! part_in "$to" || fail "the temporary file is left"
	daemon_start
	text "$from/h" next
	transfer h g
	expect_ok
	holds "$to/g" next
}

daemon_hangs()
{
	text "$to/g" old
	daemon_start
	start_long_copy --timeout=2 f g
	kill -STOP "$daemon"
	end_copy 6
	expect 6
	expect_one_line
	holds "$to/g" old
	kill -CONT "$daemon"
	await 10 no_part_in "$to" || fail "the temporary file is left"
	await 10 daemon_says "session" || fail "nothing in its log"
	text "$from/h" next
	transfer h g
	expect_ok
}

# It does not even answer: no word of success, and an end in time.
daemon_hangs_before_the_answer()
{
	text "$from/f" content
	daemon_start
	kill -STOP "$daemon"
	towards --timeout=2 --connect-timeout=2 f g
	start_copy "${words[@]}"
	end_copy 10
	[ "$status" = 3 ] || [ "$status" = 6 ] || fail "exit status $status; $err"
	expect_one_line
	[ ! -e "$to/g" ] || fail "it is there"
	kill -CONT "$daemon"
}

daemon_stops()
{
	text "$to/g" old
	daemon_start
	start_long_copy f g
	daemon_stop
	[ "$status" = 0 ] || fail "the daemon ends with status $status"
	end_copy 2
	expect 4 "shutting down"
	expect_one_line
	! part_in "$to" || fail "the temporary file is left"
	holds "$to/g" old
}

nobody_listens()
{
	text "$from/f" content
	daemon_start
	daemon_stop
	transfer f g
	expect 3 "nobody listens on port $port"
	expect_one_line
}

deaths()
{
	both client_interrupted_ends_in_two_seconds client_ends INT 130
	both client_terminated_ends_in_two_seconds client_ends TERM 143
	both client_killed_leaves_the_old_file client_killed
	run clients_killed_in_a_crowd_hurt_nobody clients_killed_in_a_crowd
	both daemon_killed_leaves_the_old_file daemon_killed
	both daemon_that_hangs_is_a_timeout daemon_hangs
	both daemon_that_does_not_answer_is_an_error daemon_hangs_before_the_answer
	both daemon_that_stops_says_so daemon_stops
	both nobody_listens_is_an_error nobody_listens
}
