# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What the daemon tells of itself while it runs.

# told_daemon [LINE...]: with a status socket of its own
told_daemon()
{
	socket=$case_dir/status.sock
	daemon_start "status-socket = $socket" "$@"
}

# tell [OPTION...]: sets said
tell()
{
	said=$(timeout 20 "$build/rdcpd" -c "$conf" --status "$@" 2>&1)
	status=$?
}

# value NAME: of that name in $said, which is JSON
value()
{
	python3 -c 'import json, sys
v = json.load(sys.stdin)
for name in sys.argv[1].split("."):
    v = v[int(name)] if name.isdigit() else v[name]
print(v)' "$1" <<<"$said"
}

status_of_an_idle_daemon()
{
	need python3
	told_daemon
	tell
	[ "$status" = 0 ] || fail "exit status $status: $said"
	[[ $said == "rdcpd "*"0 of 32 sessions"* ]] || fail "it says: $said"
	tell --json
	[ "$status" = 0 ] || fail "exit status $status: $said"
	[ "$(value pid)" = "$daemon" ] || fail "that is no JSON with the daemon's pid: $said"
	[ "$(value sessions)" = "[]" ] || fail "there are sessions: $said"
	[ "$(stat -c %a "$socket")" = 600 ] || fail "the socket has mode $(stat -c %a "$socket")"
}

# shows what a session does: $1 is the way
status_of_a_session()
{
	need python3
	local auth=key
	"$build/rdcpd" --generate-key "$case_dir/alice" >/dev/null || fail "no key"
	exports+="
[client alice]
key-file = $case_dir/alice"
	identity=(-i "$case_dir/alice")
	told_daemon
	start_long_copy long dest
	await 10 shows_the_copy || fail "it does not show the copy: $said; $why"
	tell
	[[ $said == *"alice"*"$way"* ]] || fail "it says: $said"
	kill -TERM "$client"
	end_copy 10
	await 10 shows_none || fail "the session stays: $said"
}

shows_the_copy()
{
	tell --json
	why=$(
		set -e
		[ "$(value sessions.0.client)" = alice ]
		[ "$(value sessions.0.direction)" = "$way" ]
		[ "$(value sessions.0.user)" = None ]
		[ "$(value sessions.0.bytes)" -gt 0 ]
		[ "$(value sessions.0.rate)" -gt 0 ]
		[ "$(value sessions.0.file_size)" = 1073741824 ]
		[[ $(value sessions.0.file) == */long || $(value sessions.0.file) == */dest ]]
		[[ $(value sessions.0.id) =~ ^[0-9a-f-]{36}$ ]]
		[ "$(value pinned)" -gt 0 ]
	) 2>&1
}

shows_none()
{
	tell --json
	[ "$(value sessions)" = "[]" ]
}

status_of_nobody()
{
	told_daemon
	kill -KILL "$daemon"
	await 10 gone "$daemon" || fail "it lives"
	wait "$daemon" 2>/dev/null
	tell
	[ "$status" = 1 ] || fail "exit status $status: $said"
	[[ $said == "rdcpd: no daemon answers at '$socket': Connection refused" ]] || fail "it says: $said"
	# its successor takes the place of what is left of it
	told_daemon
	tell
	[ "$status" = 0 ] || fail "exit status $status: $said"
	daemon_stop
	[ ! -e "$socket" ] || fail "the socket is still there"
	printf '[daemon]\nstatus-socket = none\n' >"$conf"
	tell
	[ "$status" = 1 ] || fail "exit status $status: $said"
	timeout 20 "$build/rdcpd" --json >/dev/null 2>&1
	[ $? = 2 ] || fail "--json alone is no mistake"
}

status_socket_moves()
{
	told_daemon
	sed -i "s|^status-socket = .*|status-socket = $case_dir/other.sock|" "$conf"
	kill -HUP "$daemon"
	await 10 daemon_says 'configuration reloaded' || fail "no reload: $(<"$log")"
	tell
	[ "$status" = 0 ] || fail "exit status $status: $said"
	[ ! -e "$socket" ] || fail "the old socket is still there"
}

# metric LINE...: all of them are in the metrics file
metric()
{
	local text line

	text=$'\n'$(<"$case_dir/m/rdcpd.prom")$'\n' || return
	for line in "$@"; do
		[[ $text == *$'\n'"$line"$'\n'* ]] || return
	done
} 2>/dev/null

metrics_of_a_daemon()
{
	local from=$here to=$there way=push

	mkdir "$case_dir/m"
	told_daemon "metrics-file = $case_dir/m/rdcpd.prom" "max-sessions = 1"
	await 10 metric 'rdcpd_sessions{direction="push"} 0' 'rdcpd_sessions_limit 1' \
		'rdcpd_sessions_ended_total{result="ok"} 0' || fail "$(<"$case_dir/m/rdcpd.prom")"
	text f content
	copy f "$host:$there/f"
	expect_ok
	start_long_copy long long
	copy f "$host:$there/g"
	expect 4
	await 10 metric 'rdcpd_sessions{direction="push"} 1' 'rdcpd_files_total{direction="push",result="ok"} 1' \
		'rdcpd_sessions_ended_total{result="ok"} 1' 'rdcpd_refusals_total{reason="busy"} 1' ||
		fail "$(<"$case_dir/m/rdcpd.prom")"
	kill -KILL "$client"
	end_copy 10
	await 10 metric 'rdcpd_sessions{direction="push"} 0' 'rdcpd_sessions_ended_total{result="lost"} 1' \
		'rdcpd_pinned_bytes 0' || fail "$(<"$case_dir/m/rdcpd.prom")"
	daemon_stop
	[ -z "$(ls -A "$case_dir/m")" ] || fail "left: $(ls -A "$case_dir/m")"
}

# a_tree_of_five FOLDER: five files; directories count as none, as in the client's report
a_tree_of_five()
{
	mkdir -p "$1/empty" "$1/sub"
	text "$1/a" content
	text "$1/b" content
	text "$1/sub/c" content
	: >"$1/sub/d"
	ln -s a "$1/sub/e"
}

# expect_account TEXT: the daemon writes one that begins so
expect_account()
{
	await 10 daemon_says ": account: $1" || fail "no account '$1': $(<"$log")"
}

account_of_a_session()
{
	local from=$here to=$there way=push

	told_daemon
	text f content
	text g more
	copy f g "$host:$there"
	expect_ok
	expect_account "push, 2 files, 0 failed, 13 bytes, "
	daemon_says " s, ok" || fail "not well: $(<"$log")"
	copy "$host:$there/f" "$host:$there/none" .
	expect 1
	expect_account "pull, 1 files, 1 failed, 8 bytes, "
	daemon_says " s, partial" || fail "not partial: $(<"$log")"
	a_tree_of_five t
	copy -r --stats t "$host:$there"
	expect_ok
	[[ $out == *"files: 5 copied"* ]] || fail "another number: $out"
	expect_account "push, 5 files, 0 failed, "
	copy -r "$host:$there/t" back
	expect_ok
	expect_account "pull, 5 files, 0 failed, "
	start_long_copy long long
	kill -KILL "$client"
	end_copy 10
	await 10 daemon_says " s, lost" || fail "not lost: $(<"$log")"
	[ "$(daemon_count ': account: ')" = 5 ] || fail "not an account each: $(<"$log")"
}

# A daemon that was killed has left something in a place of its own, and something that is none of its business.
partials_of_a_crash()
{
	local from=$here to=$there/deep way=push f

	mkdir "$there/deep"
	told_daemon "metrics-file = $case_dir/rdcpd.prom"
	start_long_copy long long
	kill -KILL "$daemon"
	await 10 gone "$daemon" || fail "it lives"
	wait "$daemon" 2>/dev/null
	end_copy 30
	f=$(echo "$there"/deep/.long.*.rdcp-part)
	[ -f "$f" ] || fail "nothing was left: $(ls -lA "$there" "$there/deep")"
	text "$there/.note.rdcp-part" mine
	await 10 older_than_two_seconds "$f" || fail "time stands still"
	told_daemon "partial-age = 1h"
	await 10 daemon_says "listening on" || fail "no daemon"
	[ -f "$f" ] || fail "it was not old enough: $(<"$log")"
	sed -i "s/^partial-age = .*/partial-age = 1s/" "$conf"
	kill -HUP "$daemon"
	await 10 daemon_says "removed the unfinished '$f', " || fail "it is still there: $(<"$log")"
	[ ! -e "$f" ] || fail "it is still there"
	holds "$there/.note.rdcp-part" mine
	rm "$there/.note.rdcp-part"
}

older_than_two_seconds()
{
	[ $((EPOCHSECONDS - $(stat -c %Z "$1"))) -gt 2 ]
}

status()
{
	run status_of_an_idle_daemon_is_told status_of_an_idle_daemon
	both session_is_shown_while_it_lasts status_of_a_session
	run session_ends_with_an_account account_of_a_session
	run metrics_are_written_and_go_with_the_daemon metrics_of_a_daemon
	run partial_files_of_a_crash_are_removed partials_of_a_crash
	run status_of_a_dead_daemon_is_an_error status_of_nobody
	run status_socket_moves_with_a_reload status_socket_moves
}
