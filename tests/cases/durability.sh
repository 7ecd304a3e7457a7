# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# When bytes and names reach stable storage, as system calls of the receiving side.

# calls_of FILE: strace's lines as one letter a call that returned: W a write at an offset, S fsync of a file, D of a directory,
# N a new name
calls_of()
{
	awk '
	function add(c) { if (c != "W" || substr(s, length(s)) != "W") s = s c }
	/ = -1 / { next }
	/openat\(.*O_DIRECTORY/ { dir = $NF }
	/<\.\.\. openat resumed/ && wanted[$1] { dir = $NF }
	{ wanted[$1] = /openat\(.*O_DIRECTORY.*unfinished/ }
	/pwrite64(\(| resumed)/ && !/unfinished/ { add("W") }
	/fsync\(/ { match($0, /fsync\([0-9]+/); fd[$1] = substr($0, RSTART + 6, RLENGTH - 6) }
	/fsync(\(| resumed)/ && !/unfinished/ { add(fd[$1] == dir ? "D" : "S") }
	/rename[a-z0-9]*(\(| resumed)/ && !/unfinished/ { add("N") }
	END { print s }' "$1"
}

traced_to_the_end()
{
	[[ $(<"$case_dir/trace") == *"+++ exited"* ]]
}

# order OPTION CALLS
order()
{
	local calls strace=(strace -D -f -o "$case_dir/trace" -e "trace=openat,pwrite64,fsync,rename,renameat,renameat2")

	need strace
	# its end cannot look for leaks under a tracer
	ASAN_OPTIONS+=:detect_leaks=0
	: >"$case_dir/trace"
	if [ "$way" = push ]; then
		prefix=("${strace[@]}")
		daemon_start
	else
		prefix_rdcp=("${strace[@]}")
	fi
	pattern "$from/f" 300000
	transfer "$1" --slot-size=64K --slots=2 f g
	expect_ok
	same "$from/f" "$to/g"
	[ "$way" = pull ] || daemon_stop
	await 10 traced_to_the_end || fail "strace does not end: $(tail -n 3 "$case_dir/trace")"
	calls=$(calls_of "$case_dir/trace")
	[[ $calls == *"$2" ]] || fail "$calls instead of $2"
	[ "$1" != --fsync=none ] || [[ $calls != *[SD]* ]] || fail "$calls has a sync"
}

# the answer does not come before the directory is synced: the daemon hangs in between
durability()
{
	both fsync_end_syncs_before_the_name_and_after order --fsync=end WSND
	both fsync_file_syncs_before_the_name_and_after order --fsync=file WSND
	both fsync_none_does_not_sync order --fsync=none WN
}
