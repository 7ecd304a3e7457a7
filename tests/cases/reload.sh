# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# SIGHUP: a new configuration is for new sessions, those that are under way go on, and one with a mistake changes nothing.
# Each case has a daemon of its own.

reloaded()
{
	kill -HUP "$daemon"
	await 10 daemon_says "$1" || fail "it does not say '$1': $(<"$log")"
}

reload_keeps_a_session()
{
	local from=$here to=$there way=push
	long_size=16M

	daemon_start
	start_long_copy f f
	sed -i 's/^access = read-write/access = read-only/' "$conf"
	reloaded 'configuration reloaded'
	! gone "$client" || fail "the copy was over too early, or ended: $(<"$case_dir/err")"
	end_copy 60
	expect_ok
	same "$here/f" "$there/f"
	copy "$here/f" "$host:$there/g"
	expect 1 'read-only'
}

reload_with_a_mistake_changes_nothing()
{
	text "$here/f" words
	daemon_start
	sed -i 's/^auth = .*/auth = maybe/' "$conf"
	reloaded 'keeping the old one'
	await 10 daemon_says "$conf:2: auth: 'maybe'" || fail "no place is named: $(<"$log")"
	copy "$here/f" "$host:$there/f"
	expect_ok
	sed -i 's/^auth = .*/auth = none/' "$conf"
	reloaded 'configuration reloaded'
}

reload_changes_addresses()
{
	local old

	text "$here/f" words
	daemon_start
	old=$port
	port=$((port + 1 - 2 * (port % 2)))
	sed -i "s/^listen = .*/listen = $host:$old $host:$port/" "$conf"
	reloaded "listening on $host:$port"
	[ "$(daemon_count "listening on $host:$old")" = 1 ] || fail "the old address was not left alone: $(<"$log")"
	copy "$here/f" "$host:$there/f"
	expect_ok
	sed -i "s/^listen = .*/listen = $host:$port/" "$conf"
	reloaded "no longer listening on $host:$old"
	copy "$here/f" "$host:$there/g"
	expect_ok
	port=$old
	copy "$here/f" "$host:$there/h"
	expect 3
}

reload_ends_sessions_of_a_removed_client()
{
	local from=$here to=$there way=push auth=key exports="$exports" name

	for name in alice bob; do
		"$build/rdcpd" --generate-key "$here/$name.key" >/dev/null || fail "no key"
	done
	exports+="
[client alice]
key-file = $here/alice.key
[client bob]
key-file = $here/bob.key"
	identity=(-i "$here/alice.key")
	daemon_start
	start_long_copy f f
	sed -i '/^\[client alice\]/,+1d' "$conf"
	reloaded 'configuration reloaded'
	end_copy 30
	expect 4 'does not allow it'
	[ ! -e "$there/f" ] || fail "the file is there"
	copy "$here/alice.key" "$host:$there/g"
	expect 4
	identity=(-i "$here/bob.key")
	copy "$here/alice.key" "$host:$there/g"
	expect_ok
}

reload()
{
	run reload_keeps_a_session reload_keeps_a_session
	run reload_with_a_mistake_changes_nothing reload_with_a_mistake_changes_nothing
	run reload_changes_addresses reload_changes_addresses
	run reload_ends_sessions_of_a_removed_client reload_ends_sessions_of_a_removed_client
}
