# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Clients that mean no good, see tests/hostile: the daemon lives, keeps nothing of them, and serves the next good one.

# besieged_daemon [LINE...]: wants a key, has few places, and is not patient
besieged_daemon()
{
	# memory that was freed is to be free again, or its size would tell nothing
	ASAN_OPTIONS+=:quarantine_size_mb=1:thread_local_quarantine_size_kb=64
	"$build/rdcpd" --generate-key "$case_dir/key" >/dev/null || fail "no key"
	auth=key identity=(-i "$case_dir/key")
	exports+="
[client good]
key-file = $case_dir/key
exports = srv"
	daemon_start "max-sessions = 8" "handshake-timeout = 2" "idle-timeout = 5" "$@"
	text f content
	good_copy
	await 10 at_rest "$daemon" 1000 "$idle_tasks" || fail "the first session does not end"
	usage_of "$daemon"
	fds_before=$fds
}

# attack COUNT WIDTH SEED ATTACK
attack()
{
	tally=$(timeout -k 5 $((120 * slow)) "$build/hostile" -t "$transport" -k "$case_dir/key" -d "$there" -n "$1" -w "$2" \
		-s "$3" "$4" "$host" "$port" 2>&1) || fail "$tally"
}

# sets let_in, how many got a REP
count_let_in()
{
	let_in=${tally#*ended, } let_in=${let_in%% let in*}
}

expect_none_let_in()
{
	count_let_in
	[ "$let_in" = 0 ] || fail "$tally"
}

expect_some_let_in()
{
	count_let_in
	[ "$let_in" -gt 0 ] || fail "$tally"
}

# resident: sets rss, KiB
resident()
{
	local word rest

	while read -r word rss rest; do
		[ "$word" != VmRSS: ] || return 0
	done <"/proc/$daemon/status"
	fail "the daemon is dead: $(tail -n 3 "$log")"
}

good_copy()
{
	rm -f g
	copy f "$host:$there/good"
	expect_ok
	copy "$host:$there/good" g
	expect_ok
	holds g content
}

# nothing of them is left, and a good client is served
expect_peace()
{
	local left

	await 20 at_rest "$daemon" "$fds_before" "$idle_tasks" || {
		usage_of "$daemon"
		fail "$fds descriptors instead of $fds_before, $tasks threads; $tally"
	}
	left=("$there"/.*.rdcp-part)
	[ ! -e "${left[0]}" ] || fail "left: ${left[*]}"
	good_copy
	daemon_stop
	[ "$status" = 0 ] || fail "the daemon ends with status $status: $(tail -n 3 "$log")"
}

# expect_flat FIRST SECOND: the second wave cost nothing that the first had not
expect_flat()
{
	# shadow memory and quarantines grow with use: there the leak checkers look
	case $build in *asan* | *tsan*) return 0 ;; esac
	[ $(($2 - $1)) -lt 8192 ] || fail "$1 KiB after the first wave, $2 KiB after the second"
}

# waves COUNT WIDTH ATTACK: twice, the second larger
waves()
{
	local first

	attack "$1" "$2" 1 "$3"
	resident
	first=$rss
	attack $(("$1" * 2)) "$2" 2 "$3"
	resident
	expect_flat "$first" "$rss"
}

strangers_with_garbage()
{
	besieged_daemon
	waves $((300 / slow)) 4 garbage
	expect_none_let_in
	expect_peace
}

strangers_without_a_key()
{
	besieged_daemon
	waves $((300 / slow)) 16 flood
	expect_none_let_in
	expect_peace
}

# with so many keys each wrong proof costs the daemon something; it does not keep it from what else it is to do
strangers_by_the_thousand()
{
	local crowd lines began i

	need python3
	for ((i = 0; i < 50; i++)); do
		"$build/rdcpd" --generate-key "$case_dir/key$i" >/dev/null || fail "no key"
		exports+="
[client other$i]
key-file = $case_dir/key$i"
	done
	besieged_daemon "status-socket = $case_dir/status.sock"
	began=$SECONDS
	timeout -k 5 $((120 * slow)) "$build/hostile" -t "$transport" -n 1000000 -w 64 forge "$host" "$port" \
		>"$case_dir/crowd" 2>&1 &
	crowd=$!
	pids+=("$crowd")
	await 10 refused_at_least 500 || fail "nobody is refused: $said"
	for i in 1 2 3; do
		said=$(timeout $((2 * slow)) "$build/rdcpd" -c "$conf" --status 2>&1) || fail "the daemon does not say how it is: $said"
		# whoever has a key gets in, after a try or two of the kernel's to connect
		good_copy
	done
	kill -HUP "$daemon"
	await 5 daemon_says 'configuration reloaded' || fail "it does not read its configuration again"
	! gone "$crowd" || fail "they are gone already: $(<"$case_dir/crowd")"
	refused_at_least 1000 || fail "refused: $said"
	daemon_says 'more connections within a second' || fail "no line tells how many have none"
	lines=$(daemon_count ': refused')
	[ "$lines" -le $((6 * (SECONDS - began + 1))) ] || fail "$lines lines about refusals in $((SECONDS - began)) s"
	kill -TERM "$crowd" # timeout(1) hands that on
	wait "$crowd" 2>/dev/null
	tally=$(<"$case_dir/crowd")
	expect_peace
}

# sets said
refused_at_least()
{
	said=$(timeout 20 "$build/rdcpd" -c "$conf" --status --json 2>&1) || return 1
	[ "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["refused"])' <<<"$said")" -ge "$1" ]
}

strangers_that_say_nothing()
{
	[ "$transport" = tcp ] || skip "on RDMA nobody is there before its request"
	besieged_daemon
	attack 150 100 1 strangers
	expect_peace
}

clients_that_leave()
{
	besieged_daemon
	waves $((200 / slow)) 6 leave
	expect_some_let_in
	expect_peace
}

# all places taken: the next one is told, and waits no longer than the daemon's patience
clients_that_say_nothing()
{
	local crowd

	besieged_daemon
	timeout -k 5 $((60 * slow)) "$build/hostile" -t "$transport" -k "$case_dir/key" -n 8 -w 8 silent "$host" "$port" \
		>"$case_dir/silent" 2>&1 &
	crowd=$!
	pids+=("$crowd")
	await 10 all_places_taken || fail "the silent clients are not let in"
	copy f "$host:$there/x"
	expect 4 "busy"
	await 30 gone "$crowd" || fail "the silent clients are not hung up on"
	wait "$crowd" || fail "$(<"$case_dir/silent")"
	tally=$(<"$case_dir/silent")
	count_let_in
	[ "$let_in" = 8 ] || fail "$tally"
	expect_peace
}

all_places_taken()
{
	[ "$(daemon_count "of client 'good'")" -ge 10 ]
}

clients_with_spoilt_records()
{
	local count=600

	[ "$transport" = tcp ] || count=$((80 / slow)) # each makes and frees megabytes of queues in the kernel
	besieged_daemon
	waves "$count" 6 mutate
	expect_some_let_in
	[ ! -e "$work/b" ] || fail "something was written outside of the export"
	expect_peace
}

hostile()
{
	run hostile_garbage strangers_with_garbage
	run hostile_flood strangers_without_a_key
	run hostile_thousands strangers_by_the_thousand
	run hostile_strangers strangers_that_say_nothing
	run hostile_leave clients_that_leave
	run hostile_silent clients_that_say_nothing
	run hostile_mutate clients_with_spoilt_records
}
