# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Sweeps: the k-th call of a kind fails, for k = 1, 2, ... until copies pass for a while. Whatever fails, the exit status
# says whether the file is there, the old one stays or the new one is whole, nothing is left, and the other side lives.

# whole_or_old: what has to be true of $to/g after a copy that ended with $status
whole_or_old()
{
	if [ "$status" = 0 ]; then
		same "$from/f" "$to/g"
	else
		[ "$status" -lt 100 ] || fail "call $k: exit status $status; $err"
		[ -n "$err" ] || fail "call $k: exit status $status without a word"
		cmp -s "$from/f" "$to/g" || holds "$to/g" old
	fi
	await 10 no_part_in "$to" || fail "call $k: the temporary file is left; $err"
}

# sweep LAST-FAILURE: calls `attempt` with k = 1, 2, ... until it passed eight times in a row
sweep()
{
	local passed=0 failed=0

	pattern "$from/f" 30000
	for ((k = 1; passed < 8; k++)); do
		text "$to/g" old
		attempt
		whole_or_old
		if [ "$status" = 0 ]; then passed=$((passed + 1)); else passed=0 failed=$((failed + 1)); fi
		[ "$k" -lt 200 ] || fail "no end of failures"
	done
	[ "$failed" -ge "$1" ] || fail "only $failed of $k calls failed"
}

# ---- file calls, by the build with fault injection

need_faults()
{
	grep -q RDCP_FAULT "$build/rdcpd" || skip "a build without fault injection"
}

# attempt_daemon WORDS: a daemon for each k; the client must hear of it and the daemon must end well.
attempt_daemon()
{
	RDCP_FAULT=$k:$fault daemon_start
	transfer "$@"
	local copied=$status
	! gone "$daemon" || fail "call $k: the daemon died"
	daemon_stop
	[ "$status" = 0 ] || fail "call $k: the daemon ends with status $status"
	status=$copied
}

attempt_client()
{
	RDCP_FAULT=$k:$fault transfer "$@"
}

daemon_file_calls()
{
	need_faults
	fault=$1
	attempt() { attempt_daemon --slot-size=4K --slots=4 f g; }
	sweep "$2"
}

client_file_calls()
{
	need_faults
	fault=$1
	attempt() { attempt_client --slot-size=4K --slots=4 f g; }
	sweep "$2"
}

# ---- going on with what was left, in a directory for that

# Each attempt finds what an interrupted copy has left. Where it fails that may stay, but only there.
resumed_file_calls()
{
	local passed=0 failed=0

	need_faults
	pattern "$from/f" 9000000
	towards --partial-dir=.part --limit-rate=4M f g
	start_copy "${words[@]}"
	await 20 part_in "$to/.part" || fail "the copy does not begin; $(<"$case_dir/err")"
	kill -INT "$client"
	end_copy 3
	await 10 at_rest "$daemon" "$idle_fds" "$idle_tasks" || fail "the daemon keeps $fds descriptors, $tasks threads"
	mv "$to/.part" "$case_dir/left"
	for ((k = 1; passed < 8; k++)); do
		rm -rf "$to/.part"
		cp -a "$case_dir/left" "$to/.part"
		text "$to/g" old
		resumed_attempt
		if [ "$status" = 0 ]; then passed=$((passed + 1)); else passed=0 failed=$((failed + 1)); fi
		[ "$k" -lt 200 ] || fail "no end of failures"
	done
	[ "$failed" -ge 5 ] || fail "only $failed calls failed"
	rm -rf "$to/.part"
}

# The whole side that stores is in one process: the daemon of a push, the client of a pull.
resumed_attempt()
{
	if [ "$way" = push ]; then
		RDCP_FAULT=$k:EIO daemon_start
		transfer --partial-dir=.part --slot-size=4M f g
		local copied=$status
		daemon_stop
		[ "$status" = 0 ] || fail "call $k: the daemon ends with status $status"
		status=$copied
	else
		RDCP_FAULT=$k:EIO transfer --partial-dir=.part --slot-size=4M f g
	fi
	[ "$status" -lt 100 ] || fail "call $k: exit status $status; $err"
	if [ "$status" = 0 ]; then
		same "$from/f" "$to/g"
	else
		[ -n "$err" ] || fail "call $k: exit status $status without a word"
		cmp -s "$from/f" "$to/g" || holds "$to/g" old
	fi
	! part_in "$to" || fail "call $k: a temporary beside the destination is left; $err"
}

# ---- a tree: names that are asked for, files that may stay as they are, attributes

# tree_file_calls SIDE: of the daemon or of the client
tree_file_calls()
{
	local passed=0 failed=0 name=d fault=EIO

	need_faults
	[ "$way" = push ] || name="[d]"
	mkdir -p "$from/d/e"
	text "$from/d/same" same
	text "$from/d/other" new
	text "$from/d/e/f" content
	ln "$from/d/e/f" "$from/d/hard"
	ln -s other "$from/d/link"
	for ((k = 1; passed < 8; k++)); do
		rm -rf "$to/d"
		mkdir "$to/d"
		text "$to/d/same" same
		text "$to/d/other" old
		"attempt_$1" -a --checksum "$name" .
		tree_is_sound
		if [ "$status" = 0 ]; then passed=$((passed + 1)); else passed=0 failed=$((failed + 1)); fi
		[ "$k" -lt 400 ] || fail "no end of failures"
	done
	[ "$failed" -ge 5 ] || fail "only $failed calls failed"
}

tree_is_sound()
{
	local left

	[ "$status" -lt 100 ] || fail "call $k: exit status $status; $err"
	holds "$to/d/same" same
	cmp -s "$from/d/other" "$to/d/other" || holds "$to/d/other" old
	if [ "$status" = 0 ]; then
		diff -r --no-dereference "$from/d" "$to/d" >"$case_dir/diff" || fail "call $k: $(head -n 5 "$case_dir/diff")"
	else
		[ -n "$err" ] || fail "call $k: exit status $status without a word"
	fi
	left=("$to"/d/.*.rdcp-part "$to"/d/e/.*.rdcp-part)
	[ ! -e "${left[0]}" ] && [ ! -e "${left[1]}" ] || fail "call $k: left: ${left[*]}; $err"
}

# ---- calls of the connection, by strace

# client_calls CALL ERROR: of the client; the daemon is the one that all cases share, and must come to rest
client_calls()
{
	need strace
	# its end cannot look for leaks under a tracer
	ASAN_OPTIONS+=:detect_leaks=0
	call=$1 error=$2
	attempt()
	{
		prefix_rdcp=(strace -D -f -o /dev/null -e "trace=$call" -e "inject=$call:error=$error:when=$k")
		transfer --slot-size=4K --slots=4 --timeout=5 f g
	}
	sweep 1
}

faults()
{
	both file_calls_of_the_daemon_fail_in_turn daemon_file_calls EIO 5
	both file_calls_of_the_client_fail_in_turn client_file_calls EIO 5
	both file_calls_of_the_daemon_find_no_space daemon_file_calls ENOSPC 5
	both file_calls_fail_in_turn_while_it_goes_on resumed_file_calls
	both file_calls_of_the_daemon_fail_in_turn_for_a_tree tree_file_calls daemon
	both file_calls_of_the_client_fail_in_turn_for_a_tree tree_file_calls client
	both sends_of_the_client_fail_in_turn client_calls sendmsg ENOBUFS
	both receives_of_the_client_fail_in_turn client_calls readv ECONNRESET
}
