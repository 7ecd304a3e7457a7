# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Many clients at one time: each succeeds, or is told that the daemon is busy; what they take is what rdcp-sizing(7) says, and
# equal ones take about the same time. `SCRIPT PATTERN 'COUNT ...'` has crowds of other sizes.

# of each client, as rdcp-sizing(7) counts: its window, 2 MiB for messages and queues, 4 + 1 threads, descriptors of up to 256 files
crowd_window=(--slot-size=256K --slots=8 --connect-timeout=60)
session_kib=$(((2 + 2) * 1024)) session_tasks=5 session_fds=530

# serve_crowd COUNT [LINE...]: a daemon as the service starts it; sets what it has at rest
serve_crowd()
{
	ulimit -Sn "$(ulimit -Hn)"
	daemon_start "max-sessions = $(($1 + 4))" "handshake-timeout = 60s" "status-socket = $case_dir/status" "${@:2}"
	text warm warm
	copy warm "$host:$there/warm"
	[ "$status" = 0 ] || fail "not even one client: $err"
	await 5 daemon_is_quiet
	usage_of "$daemon"
	quiet_fds=$fds quiet_tasks=$tasks
	memory_of "$daemon"
	quiet_rss=$rss most_fds=0 most_tasks=0 most_rss=0 most_pinned=0
}

daemon_is_quiet()
{
	usage_of "$daemon"
	[ "$tasks" -le "$idle_tasks" ]
}

# sets rss and pinned, in KiB
memory_of()
{
	local word value

	while read -r word value _; do
		case $word in
		VmRSS:) rss=$value ;;
		VmPin:) pinned=$value ;;
		esac
	done <"/proc/$1/status"
}

# one_of_crowd NUMBER WORD...: waits for the others at the gate, so that the shell's own time to start them does not count
one_of_crowd()
{
	local i=$1 now began

	shift
	trap - EXIT
	read -r <"$case_dir/gate"
	clock
	began=$now
	"$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" "${crowd_window[@]}" "$@" </dev/null \
		>"${crowd_output:-$case_dir/out$i}" 2>"$case_dir/err$i" {nap_fd}<&-
	status=$?
	clock
	echo "$status $((now - began))" >"$case_dir/end$i"
}

# run_crowd COUNT WORD...: all at once, with %i in the words replaced by a number; sets statuses, took (ms), and what the daemon took at most
run_crowd()
{
	local count=$1 i gate members=() fd

	shift
	rm -f "$case_dir"/end*
	mkfifo "$case_dir/gate"
	for ((i = 0; i < count; i++)); do
		one_of_crowd "$i" "${@//%i/$i}" &
		members+=($!)
	done
	pids+=("${members[@]}")
	# whoever opens it is let in when it is closed again
	exec {gate}<>"$case_dir/gate"
	await 10 all_at_gate "${members[@]}"
	for ((i = 0; i < count; i++)); do echo; done >&"$gate"
	await 120 crowd_is_gone "${members[@]}" || fail "$(left_of_crowd "$count") of $count clients do not end; daemon: $(state_of "$daemon" | head -n 8)"
	exec {gate}>&-
	rm "$case_dir/gate"
	statuses=() took=()
	for ((i = 0; i < count; i++)); do
		read -r "statuses[i]" "took[i]" <"$case_dir/end$i"
	done
}

# sleeping in its read of the gate, each has no child and nothing else to wait for
all_at_gate()
{
	local p stat

	for p in "$@"; do
		{ read -ra stat <"/proc/$p/stat"; } 2>/dev/null || continue
		[ "${stat[2]}" = S ] || return 1
	done
}

crowd_is_gone()
{
	local p

	watch_daemon
	for p in "$@"; do
		gone "$p" || return 1
	done
}

left_of_crowd()
{
	local ended=("$case_dir"/end*)

	echo $(($1 - ${#ended[@]}))
}

watch_daemon()
{
	gone "$daemon" && fail "the daemon died: $(tail -n 3 "$log")"
	usage_of "$daemon"
	memory_of "$daemon" 2>/dev/null
	[ "$fds" -le "$most_fds" ] || most_fds=$fds
	[ "$tasks" -le "$most_tasks" ] || most_tasks=$tasks
	[ "$rss" -le "$most_rss" ] || most_rss=$rss
	[ "$pinned" -le "$most_pinned" ] || most_pinned=$pinned
}

# served COUNT: all were; of a hundred, for whom siw has too little and descriptors may be short, those who were not are told so
served()
{
	local i refused=0

	for ((i = 0; i < $1; i++)); do
		[ "${statuses[i]}" = 0 ] && continue
		[ "${statuses[i]}" = 4 ] && [[ $(<"$case_dir/err$i") == *"busy ("*")"* ]] ||
			fail "client $i of $1: exit status ${statuses[i]}; $(<"$case_dir/err$i"); the daemon: $(grep -vE '(account:|session ends|of client)' "$log" |
				sort -k 3 | uniq -c -f 2 | tail -n 5)"
		refused=$((refused + 1))
	done
	[ "$refused" = 0 ] || echo "# $refused of $1 clients are told that the daemon is busy"
	[ "$refused" = 0 ] || { [ "$1" -gt 32 ] && [ "$refused" -le $(($1 * 3 / 4)) ]; } || fail "$refused of $1 were refused: $(<"$case_dir/err0")"
}

# took_no_more COUNT: than rdcp-sizing(7) says of so many sessions
took_no_more()
{
	[ "$most_fds" -le $((quiet_fds + $1 * session_fds)) ] || fail "$most_fds descriptors for $1 sessions"
	[ "$most_tasks" -le $((quiet_tasks + $1 * session_tasks)) ] || fail "$most_tasks threads for $1 sessions"
	[ "$most_pinned" -le $(($1 * session_kib)) ] || fail "$most_pinned KiB are pinned for $1 sessions"
	case $build in *san*) return ;; esac # these have a memory of their own
	[ "$most_rss" -le $((quiet_rss + $1 * session_kib)) ] || fail "$most_rss KiB for $1 sessions, at rest $quiet_rss"
}

# gives_back: nothing of the crowd is left at the daemon
gives_back()
{
	await 10 at_rest "$daemon" "$quiet_fds" "$quiet_tasks" || fail "$fds descriptors after $quiet_fds, $tasks threads after $quiet_tasks"
	memory_of "$daemon"
	[ "$pinned" = 0 ] || fail "$pinned KiB stay pinned"
}

crowd_of_large_files()
{
	local count=$1 i

	pattern "$from/f" 4000000
	serve_crowd "$count"
	towards f f%i
	run_crowd "$count" "${words[@]}"
	served "$count"
	for ((i = 0; i < count; i++)); do
		[ "${statuses[i]}" != 0 ] || same "$from/f" "$to/f$i"
	done
	took_no_more "$count"
	gives_back
	rm "$to"/f*
}

crowd_of_small_files()
{
	local count=$1 i

	mkdir "$from/tree"
	for ((i = 0; i < 50; i++)); do
		printf '%0*d\n' $((i * 41 + 1)) "$i" >"$from/tree/$i"
	done
	serve_crowd "$count"
	towards -r tree t%i
	run_crowd "$count" "${words[@]}"
	served "$count"
	for ((i = 0; i < count; i++)); do
		[ "${statuses[i]}" != 0 ] || diff -r "$from/tree" "$to/t$i" >"$case_dir/diff" || fail "client $i: $(head -n 3 "$case_dir/diff")"
	done
	took_no_more "$count"
	gives_back
}

# More than the daemon takes in: who is not served is told so, and comes in later.
crowd_at_the_door()
{
	local count=$1 i served=0 busy=0 pinned_limit=$((16 * 4))

	pattern "$from/f" 4000000
	serve_crowd $((count * 2 / 3 - 4)) "max-pinned = ${pinned_limit}M"
	towards --limit-rate=4M f f%i
	run_crowd "$count" "${words[@]}"
	for ((i = 0; i < count; i++)); do
		case ${statuses[i]} in
		0)
			same "$from/f" "$to/f$i"
			served=$((served + 1))
			;;
		4)
			[[ $(<"$case_dir/err$i") == "rdcp: "*busy* ]] || fail "client $i is told: $(<"$case_dir/err$i")"
			[ ! -e "$to/f$i" ] || fail "client $i is busy and has copied"
			busy=$((busy + 1))
			;;
		*) fail "client $i: exit status ${statuses[i]}; $(<"$case_dir/err$i")" ;;
		esac
	done
	[ "$served" -gt 0 ] && [ "$busy" -gt 0 ] || fail "$served were served, $busy were not"
	[ "$most_pinned" -le $((pinned_limit * 1024)) ] || fail "$most_pinned KiB are pinned of $pinned_limit MiB"
	gives_back
	transfer f g
	expect_ok
	rm "$to"/f*
}

# Of equal copies the slowest takes at most twice as long as the fastest. The machine may be busy with something else for a moment.
crowd_is_fair()
{
	local count=$1 size=$2 try ratio=0 i fastest slowest

	truncate -s 0 "$from/f"
	pattern "$from/f" "$size"
	serve_crowd "$count"
	for try in 1 2 3; do
		if [ "$way" = pull ]; then
			crowd_output=/dev/null
			run_crowd "$count" "$host:$from/f" -
		else
			run_crowd "$count" --fsync=none "$from/f" "$host:$to/f%i"
			rm "$to"/f*
		fi
		served "$count"
		fastest=${took[0]} slowest=${took[0]}
		for i in "${took[@]}"; do
			[ "$i" -ge "$fastest" ] || fastest=$i
			[ "$i" -le "$slowest" ] || slowest=$i
		done
		echo "# $count equal copies, $way: $fastest to $slowest ms"
		[ "$slowest" -gt $((2 * fastest)) ] || return 0
	done
	fail "the fastest of $count took $fastest ms, the slowest $slowest ms"
}

crowd()
{
	local count

	case $build in *san*) set -- "${1:-8}" ;; esac
	for count in ${1:-8 32}; do
		both "crowd_of_${count}_with_a_large_file_each" crowd_of_large_files "$count"
		both "crowd_of_${count}_with_small_files" crowd_of_small_files "$count"
		if [ "$count" -ge 32 ]; then
			both "more_than_fit_of_${count}_are_told_busy" crowd_at_the_door "$count"
		elif [ "$count" = 8 ]; then
			case $build in *san*) continue ;; esac # where one's turn is not the scheduler's only
			both "fair_to_${count}_equal_copies" crowd_is_fair "$count" 20000000
		fi
	done
}
