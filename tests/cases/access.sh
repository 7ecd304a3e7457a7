# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Keys, exports, and what is outside of them.

# ---- keys

# keyed_daemon [LINE...]: with two clients, alice who may do all and bob who may only read $ro
keyed_daemon()
{
	local name keys=$case_dir

	for name in alice bob mallory; do
		"$build/rdcpd" --generate-key "$keys/$name" >/dev/null || fail "no key for $name"
	done
	auth=key
	exports+="
[client alice]
key-file = $keys/alice
exports = srv, ro
[client bob]
key-file = $keys/bob
exports = ro"
	daemon_start "$@"
	text f content
}

right_key()
{
	keyed_daemon
	identity=(-i "$case_dir/alice")
	copy f "$host:$there/f"
	expect_ok
	copy "$host:$there/f" g
	expect_ok
	holds g content
}

key_from_variable_and_home()
{
	keyed_daemon
	identity=()
	RDCP_KEY_FILE=$case_dir/alice copy f "$host:$there/f"
	expect_ok
	mkdir -p "$HOME/.config/rdcp"
	cp "$case_dir/alice" "$HOME/.config/rdcp/key"
	unset RDCP_KEY_FILE
	copy f "$host:$there/g"
	rm -r "$HOME/.config"
	expect_ok
}

wrong_key()
{
	keyed_daemon
	identity=(-i "$case_dir/mallory")
	copy f "$host:$there/f"
	expect 4 "does not know the key"
	expect_one_line
	[ ! -e "$there/f" ] || fail "it was stored"
}

no_key()
{
	keyed_daemon
	copy f "$host:$there/f"
	expect 4 "wants a key"
	expect_one_line
	identity=()
	unset RDCP_KEY_FILE
	copy f "$host:$there/f"
	expect 4 "wants a key"
	[ ! -e "$there/f" ] || fail "it was stored"
}

# A client that has a key does not talk to a daemon that cannot prove to have it.
unproven_daemon()
{
	"$build/rdcpd" --generate-key ./key >/dev/null
	text f content
	identity=(-i key)
	copy f "$host:$there/f"
	expect 4 "does not prove"
	[ ! -e "$there/f" ] || fail "it was stored"
}

loose_key_of_client()
{
	"$build/rdcpd" --generate-key ./key >/dev/null
	chmod 0644 key
	text f content
	identity=(-i key)
	copy f "$host:$there/f"
	expect 2 "key"
	expect_one_line
}

missing_key_of_client()
{
	text f content
	identity=(-i nothing)
	copy f "$host:$there/f"
	expect 2 "nothing"
	expect_one_line
}

# refuses_to_start TEXT [LINE...]: rdcpd ends with status 78 and TEXT with file and line
refuses_to_start()
{
	local text=$1

	shift
	printf '%s\n' "[daemon]" "$@" "transport = $transport" "$exports" >conf
	timeout 20 "$build/rdcpd" -c conf </dev/null >out 2>&1
	status=$? err=$(<out)
	[ "$status" = 78 ] || fail "exit status $status; $err"
	[[ $err == *"$text"* ]] || fail "'$text' is not in: $err"
	timeout 20 "$build/rdcpd" -c conf --check-config </dev/null >/dev/null 2>&1
	status=$?
	[ "$status" = 78 ] || fail "--check-config: exit status $status"
}

loose_key_of_daemon()
{
	"$build/rdcpd" --generate-key ./key >/dev/null
	chmod 0644 key
	exports+="
[client alice]
key-file = $PWD/key"
	refuses_to_start "key" "auth = key"
}

generated_key()
{
	"$build/rdcpd" --generate-key ./key >/dev/null || fail "exit status $?"
	[ "$(stat -c %a key)" = 600 ] || fail "mode $(stat -c %a key)"
	! "$build/rdcpd" --generate-key ./key >/dev/null 2>&1 || fail "an existing key was replaced"
}

# From nothing to a copy with what --generate-key says.
key_of_a_name()
{
	local said

	mkdir keys
	said=$("$build/rdcpd" -c "$PWD/conf" --generate-key dora) || fail "exit status $?"
	[ -f keys/dora.key ] || fail "no keys/dora.key: $said"
	[[ $said == *"/conf.d/dora.conf"* ]] || fail "no drop-in is named: $said"
	! "$build/rdcpd" -c "$PWD/conf" --generate-key 'do ra' 2>/dev/null || fail "a name that no client can have"
	auth=key exports+=$'\n'${said#*reload:$'\n'}
	daemon_start
	identity=(-i keys/dora.key)
	text f content
	copy f "$host:$there/f"
	expect_ok
}

# A fingerprint is what anybody can make of the key, and no part of it.
listed_keys()
{
	local said print

	keyed_daemon
	said=$("$build/rdcpd" -c "$conf" --list-keys) || fail "exit status $?"
	print=$(cut -d' ' -f2 "$case_dir/alice" | base64 -d | sha256sum | cut -c1-16)
	[[ $said == *"alice "*" $print "*" srv:rw,ro:ro "*"$case_dir/alice"* ]] || fail "no $print of alice: $said"
	[[ $said == *"bob "*" ro:ro "*"$case_dir/bob"* ]] || fail "no bob: $said"
	[[ $said != *"$(cut -d' ' -f2 "$case_dir/alice" | cut -c1-8)"* ]] || fail "that is the key"
	identity=(-i "$case_dir/alice")
	copy f "$host:$there/f"
	expect_ok
	daemon_says "of client 'alice', key $print" || fail "the log does not tell which key: $(<"$log")"
	chmod 0666 "$case_dir/alice"
	"$build/rdcpd" -c "$conf" --list-keys >/dev/null 2>&1
	status=$?
	[ "$status" = 78 ] || fail "exit status $status of a configuration that is none"
}

client_has_its_exports()
{
	keyed_daemon
	text "$ro/f" readable
	identity=(-i "$case_dir/bob")
	copy "$host:$ro/f" g
	expect_ok
	holds g readable
	copy "$host:f" h
	expect_ok
	copy f "$host:$there/f"
	expect 1 "not allowed"
	copy "$host:$there/f" i
	expect 1 "not allowed"
	rm "$ro/f"
}

# ---- limits of one client

# alice_has LINE: keyed_daemon, which hears of one more line about alice
alice_has()
{
	keyed_daemon
	sed -i "s|^\[client alice\]|&\n$1|" "$conf"
	kill -HUP "$daemon"
	await 10 daemon_says 'configuration reloaded' || fail "no reload: $(<"$log")"
	identity=(-i "$case_dir/alice")
}

# A right key from elsewhere hears what a wrong one does.
address_elsewhere()
{
	local told

	alice_has "addresses = 192.0.2.0/24 2001:db8::/32"
	identity=(-i "$case_dir/mallory")
	copy f "$host:$there/f"
	expect 4
	told=${err//mallory/NAME}
	identity=(-i "$case_dir/alice")
	copy f "$host:$there/f"
	expect 4
	[ "${err//alice/NAME}" = "$told" ] || fail "'$err' is not '$told'"
	await 10 daemon_says "client 'alice': the key is right, but the address is not" || fail "not in the log: $(<"$log")"
	sed -i "s|^addresses = .*|addresses = 192.0.2.0/24 127.0.0.0/8 ${host%%%*}|" "$conf"
	kill -HUP "$daemon"
	await 10 lets_alice_in || fail "she is not let in: $err"
}

lets_alice_in()
{
	copy f "$host:$there/f"
	[ "$status" = 0 ]
}

read_only_client()
{
	alice_has "access = read-only"
	copy f "$host:$there/f"
	expect 1 "client 'alice' is read-only"
	text "$there/g" words
	copy "$host:$there/g" g
	expect_ok
}

sessions_of_one_client()
{
	local from=$here to=$there way=push

	alice_has "max-sessions = 1"
	start_long_copy long long
	copy f "$host:$there/f"
	expect 4 "busy" "max-sessions"
	identity=(-i "$case_dir/bob")
	text "$ro/g" words
	copy "$host:$ro/g" g
	rm "$ro/g"
	expect_ok
	kill -TERM "$client"
	end_copy 10
	identity=(-i "$case_dir/alice")
	await 10 lets_alice_in || fail "it stays busy: $err"
}

# lasted_at_least MS COMMAND...: COMMAND, a copy, and how long it may not be shorter than
lasted_at_least()
{
	local least=$1 began

	shift
	clock
	began=$now
	"$@"
	expect_ok
	clock
	[ $((now - began)) -ge "$least" ] || fail "it took $((now - began)) ms"
}

# 800 kB at 400 KiB a second, there and back; then half of that beside another copy, which takes its share
rate_of_one_client()
{
	local from=$here to=$there way=push

	alice_has "max-rate = 400K"
	pattern f 800000
	lasted_at_least 1700 copy f "$host:$there/f"
	same f "$there/f"
	lasted_at_least 1700 copy "$host:$there/f" g
	same f g
	pattern half 400000
	pattern long 200000000
	start_copy --no-resume long "$host:$there/long"
	await 10 part_in "$there" || fail "the copy does not begin; $(<"$case_dir/err")"
	lasted_at_least 1700 copy half "$host:$there/half"
	same half "$there/half"
	! gone "$client" || fail "the other copy is over already; $(<"$case_dir/err")"
	kill -TERM "$client"
	end_copy 10
	await 10 no_part_in "$there" || fail "the temporary file is left"
}

# A copy that would take an hour is over soon when the limit is lifted.
lifted_rate()
{
	local from=$here to=$there way=push

	alice_has "max-rate = 64K"
	pattern f 200000000
	start_copy f "$host:$there/f"
	await 10 part_in "$there" || fail "the copy does not begin; $(<"$case_dir/err")"
	sed -i "/^max-rate/d" "$conf"
	kill -HUP "$daemon"
	end_copy 60
	expect_ok
	same f "$there/f"
}

# From one key to the next: both are good until the old one is taken out of the list.
rotated_key()
{
	local from=$here to=$there way=push

	keyed_daemon
	"$build/rdcpd" --generate-key "$case_dir/alice.new" >/dev/null || fail "no key"
	identity=(-i "$case_dir/alice")
	start_long_copy long long
	sed -i "s|^key-file = $case_dir/alice\$|& $case_dir/alice.new|" "$conf"
	kill -HUP "$daemon"
	await 10 daemon_says 'configuration reloaded' || fail "no reload: $(<"$log")"
	copy f "$host:$there/f"
	expect_ok
	identity=(-i "$case_dir/alice.new")
	copy f "$host:$there/g"
	expect_ok
	! gone "$client" || fail "the session ended: $(<"$case_dir/err")"
	sed -i "s|^key-file = $case_dir/alice |key-file = |" "$conf"
	kill -HUP "$daemon"
	end_copy 30
	expect 4 'does not allow it'
	copy f "$host:$there/h"
	expect_ok
	identity=(-i "$case_dir/alice")
	copy f "$host:$there/i"
	expect 4 "does not know the key"
}

# ---- exports

read_only_export()
{
	text f content
	copy f "$host:$ro/f"
	expect 1 "f': "
	expect_one_line
	[ -z "$(ls -A "$ro")" ] || fail "something is there"
	text "$ro/g" readable
	copy "$host:$ro/g" g
	rm "$ro/g"
	expect_ok
}

# outside PATH: neither read nor written
outside()
{
	text "$work/d/secret" secret
	text f content
	copy "$host:$1" g
	expect 1 "not allowed"
	expect_one_line
	[ ! -e g ] || fail "it was read"
	copy f "$host:$1"
	expect 1 "not allowed"
	holds "$work/d/secret" secret
	rm "$work/d/secret"
}

outside_absolute()
{
	outside "$work/d/secret"
}

outside_by_dots()
{
	outside "$there/../../d/secret"
	outside "../d/secret"
}

outside_by_similar_name()
{
	mkdir "${srv}2"
	text f content
	copy f "$host:${srv}2/f"
	expect 1 "not allowed"
	rmdir "${srv}2" || fail "it was stored"
}

outside_by_link()
{
	ln -s ../../d "$there/out"
	outside "$there/out/secret"
	text "$work/d/secret" secret
	ln -s ../../d/secret "$there/file"
	ln -s "$work/d/secret" "$there/absolute"
	copy "$host:$there/file" g
	expect 1 "not allowed"
	copy "$host:$there/absolute" g
	expect 1 "not allowed"
	[ ! -e g ] || fail "it was read"
	rm "$work/d/secret"
}

# A link that is swapped while copies run: none may land outside.
outside_by_race()
{
	local i swapper

	mkdir "$there/a" "$work/d/out"
	ln -s ../../d/out "$there/b"
	text f content
	(
		trap 'exit 0' TERM
		while :; do
			mv -T "$there/a" "$there/c"
			mv -T "$there/b" "$there/a"
			mv -T "$there/a" "$there/b"
			mv -T "$there/c" "$there/a"
		done 2>/dev/null
	) &
	swapper=$!
	pids+=("$swapper")
	for i in {1..25}; do
		copy f "$host:$there/a/f$i"
	done
	kill "$swapper"
	wait "$swapper"
	[ -z "$(ls -A "$work/d/out")" ] || fail "stored outside: $(ls -A "$work/d/out")"
	rmdir "$work/d/out"
}

auth_has_no_default()
{
	refuses_to_start "auth" "listen = $host"
}

unknown_word()
{
	refuses_to_start "conf:3: " "auth = none" "auht = none"
}

# $1, read-only, is refused beside the read-write export $srv, which holds the same files
nested_in_srv()
{
	[ -e "$case_dir/key" ] || "$build/rdcpd" --generate-key "$case_dir/key" >/dev/null || fail "no key"
	printf '%s\n' '[daemon]' 'auth = key' "[export outer]" "path = $srv" "access = read-write" "[export inner]" \
		"path = $1" "[client alice]" "key-file = $case_dir/key" >conf
	timeout 20 "$build/rdcpd" -c conf --check-config </dev/null >/dev/null 2>"$case_dir/err"
	status=$? err=$(<"$case_dir/err")
	[ "$status" = 78 ] || fail "exit status $status: $err"
	[[ $err == *"conf:8: client 'alice' has export 'inner' ('$1', read-only) in export 'outer' ('$srv', read-write)"* ]] ||
		fail "it says: $err"
}

nested_export()
{
	mkdir "$there/inner"
	nested_in_srv "$there/inner"
	ln -s "$there" link
	nested_in_srv "$PWD/link/inner"
}

nested_export_by_mount()
{
	mkdir "$there/inner" bound other
	need_root
	mount --bind "$there/inner" bound 2>/dev/null || skip "no mounts here"
	mounts+=("$PWD/bound")
	nested_in_srv "$PWD/bound"
	# what is mounted in an export is in it, too
	mkdir "$there/mounted" other/inner
	mount --bind other "$there/mounted"
	mounts+=("$there/mounted")
	nested_in_srv "$PWD/other/inner"
}

access()
{
	run right_key_is_let_in right_key
	run key_is_found_in_its_places key_from_variable_and_home
	run wrong_key_is_refused wrong_key
	run no_key_is_refused no_key
	run daemon_without_the_key_is_refused unproven_daemon
	run loose_key_of_client_is_refused loose_key_of_client
	run missing_key_of_client_is_an_error missing_key_of_client
	run loose_key_of_daemon_is_refused loose_key_of_daemon
	run generated_key_is_private generated_key
	run generated_key_of_a_name_is_ready_to_use key_of_a_name
	run listed_keys_are_fingerprints listed_keys
	run client_has_only_its_exports client_has_its_exports
	run right_key_from_elsewhere_is_told_as_a_wrong_one address_elsewhere
	run read_only_client_only_reads read_only_client
	run sessions_of_one_client_are_limited sessions_of_one_client
	run rate_of_one_client_is_limited rate_of_one_client
	run lifted_rate_is_lifted_for_those_who_copy lifted_rate
	run both_keys_are_good_while_one_is_rotated rotated_key
	run read_only_export_is_only_read read_only_export
	run absolute_path_outside_is_refused outside_absolute
	run dots_to_the_outside_are_refused outside_by_dots
	run similar_name_is_outside outside_by_similar_name
	run link_to_the_outside_is_refused outside_by_link
	run link_swapped_meanwhile_does_not_lead_outside outside_by_race
	run nested_export_with_other_rights_is_refused nested_export
	run nested_export_behind_a_mount_is_refused nested_export_by_mount
	run daemon_needs_auth auth_has_no_default
	run unknown_word_is_an_error_with_its_line unknown_word
}
