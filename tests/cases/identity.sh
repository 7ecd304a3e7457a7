# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# user = in a [client] section: whose files they are, and what that user may touch. Alice is nobody here, bob is the daemon itself.

# user_daemon [LINE...]: starts it, as root or with the words of `prefix`
user_daemon()
{
	local name keys=$case_dir

	need_root
	for name in alice bob; do
		"$build/rdcpd" --generate-key "$keys/$name" >/dev/null || fail "no key for $name"
		chgrp "${owner:-root}" "$keys/$name" && chmod 0640 "$keys/$name"
	done
	auth=key
	exports+="
[client alice]
key-file = $keys/alice
user = nobody
[client bob]
key-file = $keys/bob"
	daemon_start "$@"
	! daemon_says 'may not act as user' || fail "$(<"$log")"
	text f content
	identity=(-i "$keys/alice")
}

# The daemon is user `daemon` with the two capabilities of the drop-in, and no other.
unprivileged()
{
	need setpriv
	owner=daemon
	prefix=(setpriv --reuid=daemon --regid=daemon --clear-groups "--inh-caps=-all,+setuid,+setgid"
		"--ambient-caps=-all,+setuid,+setgid" --no-new-privs)
	"${prefix[@]}" true 2>/dev/null || skip "cannot become user daemon here"
	user_daemon "$@"
}

files_are_the_users()
{
	"$1"
	chown nobody "$there"
	copy f "$host:$there/f"
	expect_ok
	holds "$there/f" content
	[ "$(stat -c %U:%g "$there/f")" = "nobody:$(id -g nobody)" ] || fail "it belongs to $(stat -c %U:%g "$there/f")"
	chmod 0600 "$there/f"
	copy "$host:$there/f" g
	expect_ok
	holds g content
}

# Its own files are refused to nobody, whatever the daemon may read and write.
foreign_files_are_refused()
{
	"$1"
	chown nobody "$there"
	mkdir -m 0700 "$there/private"
	text "$there/private/g" secret
	chown -R daemon "$there/private"
	text "$there/root" secret
	chmod 0600 "$there/root"
	copy f "$host:$there/private/f"
	expect 1 "ermission"
	copy "$host:$there/private/g" g
	expect 1 "ermission"
	copy "$host:$there/root" g
	expect 1 "ermission"
	[ ! -e g ] || fail "it was read"
	chmod 0755 "$there/private"
	copy f "$host:$there/private/f"
	expect 1 "ermission"
	copy "$host:$there/private/g" g
	expect_ok
	chown root "$there"
	copy f "$host:$there/h"
	expect 1 "ermission"
	[ ! -e "$there/h" ] && [ ! -e "$there/private/f" ] || fail "it was stored"
}

# What is unfinished lies in a directory that only nobody may change.
unfinished_files_are_removed()
{
	local from=$here to=$there way=push

	unprivileged
	chown nobody "$there"
	chmod 0700 "$there"
	start_long_copy long long
	kill -TERM "$client"
	end_copy 10
	await 10 daemon_says "session ends" || fail "the session does not end: $(<"$log")"
	await 5 nothing_in "$there" || fail "left: $(ls -A "$there")"
}

nothing_in()
{
	[ -z "$(ls -A "$1")" ]
}

# The others have the daemon's rights, and not its capabilities.
others_have_the_daemons_rights()
{
	local task

	unprivileged
	chown nobody "$there"
	identity=(-i "$case_dir/bob")
	copy f "$host:$there/f"
	expect 1 "ermission"
	chown daemon "$there"
	copy f "$host:$there/f"
	expect_ok
	[ "$(stat -c %U "$there/f")" = daemon ] || fail "it belongs to $(stat -c %U "$there/f")"
}

# A worker that has the capabilities could be talked into using them.
workers_have_no_capabilities()
{
	local from=$here to=$there way=push name=$1 task seen=0

	unprivileged
	chown "$2" "$there"
	identity=(-i "$case_dir/$name")
	start_long_copy long long
	for task in "/proc/$daemon/task/"*; do
		[ "$(<"$task/comm")" = io ] || continue
		seen=$((seen + 1))
		grep -q '^CapEff:.*[1-9a-f]' "$task/status" && fail "a worker has $(grep CapEff "$task/status")"
		grep -q '^CapPrm:.*[1-9a-f]' "$task/status" && fail "a worker may have $(grep CapPrm "$task/status")"
		[ "$(awk '$1 == "Uid:" { print $5 }' "$task/status")" = "$(id -u "$2")" ] ||
			fail "a worker is $(grep Uid "$task/status")"
	done
	[ "$seen" -gt 0 ] || fail "no workers found"
	kill -TERM "$client"
	end_copy 10
	await 10 daemon_says "session ends" || fail "the session does not end: $(<"$log")"
}

without_the_capability()
{
	local name keys=$case_dir

	need_root
	need setpriv
	prefix=(setpriv --reuid=daemon --regid=daemon --clear-groups)
	"${prefix[@]}" true 2>/dev/null || skip "cannot become user daemon here"
	for name in alice bob; do
		"$build/rdcpd" --generate-key "$keys/$name" >/dev/null || fail "no key for $name"
		chgrp daemon "$keys/$name" && chmod 0640 "$keys/$name"
	done
	auth=key
	exports+="
[client alice]
key-file = $keys/alice
user = nobody
[client bob]
key-file = $keys/bob"
	daemon_start
	await 10 daemon_says "client 'alice': the daemon may not act as user 'nobody'" || fail "it does not say so: $(<"$log")"
	"${prefix[@]}" "$build/rdcpd" -c "$conf" --check-config >"$case_dir/check" 2>&1 || fail "$(<"$case_dir/check")"
	[[ $(<"$case_dir/check") == *"may not act as user 'nobody'"* ]] || fail "the check says: $(<"$case_dir/check")"
	text f content
	chown daemon "$there"
	identity=(-i "$keys/alice")
	copy f "$host:$there/f"
	expect 4 "may not act as your user"
	expect_one_line
	identity=(-i "$keys/bob")
	copy f "$host:$there/f"
	expect_ok
}

no_such_user()
{
	auth=key
	"$build/rdcpd" --generate-key ./key >/dev/null
	printf '%s\n' '[daemon]' 'auth = key' "$exports" '[client alice]' "key-file = $PWD/key" "user = $1" >conf
	"$build/rdcpd" -c conf --check-config >out 2>&1
	status=$?
	[ "$status" = 78 ] || fail "exit status $status"
	[[ $(<out) == *"user '$1': "*"$2"* ]] || fail "it says: $(<out)"
}

identity()
{
	run files_of_a_user_are_the_users files_are_the_users user_daemon
	run files_of_a_user_are_the_users_without_root files_are_the_users unprivileged
	run foreign_files_are_refused_to_a_user foreign_files_are_refused user_daemon
	run foreign_files_are_refused_to_a_user_without_root foreign_files_are_refused unprivileged
	run unfinished_files_of_a_user_are_removed unfinished_files_are_removed
	run clients_without_user_have_the_daemons_rights others_have_the_daemons_rights
	run workers_of_a_user_have_no_capabilities workers_have_no_capabilities alice nobody
	run workers_of_the_daemon_have_no_capabilities workers_have_no_capabilities bob daemon
	run user_without_the_capability_is_refused without_the_capability
	run user_that_is_not_there_is_an_error no_such_user no-such-user-here 'no such user'
	run user_root_is_an_error no_such_user root root
}
