# shellcheck shell=bash disable=SC2034,SC2088,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Names that are hard to pass on, and the ways a remote place is written.

# named NAME: there under another name and back under the same
named()
{
	local name=$1

	printf '%s' content >"$from/$name"
	transfer "$name" "$name"
	expect_ok
	holds "$to/$name" content
	rm "$to/$name"
	transfer "$name" .
	expect_ok
	holds "$to/$name" content
}

too_long()
{
	local name

	printf -v name '%0256d' 0
	text f content
	copy f "$host:$there/$name"
	expect 1 "f': file name too long"
	copy "$host:$there/$name" g
	expect 1 "file name too long"
}

long_path()
{
	local path=$there i name

	printf -v name '%0250d' 0
	for i in 1 2 3 4; do path+=/$name; done
	mkdir -p "$path"
	text f content
	copy f "$host:$path/g"
	expect_ok
	holds "$path/g" content
	for i in {1..13}; do path+=/$name; done
	copy f "$host:$path/g"
	expect 2 "4095 bytes"
	expect_one_line
	printf -v name '%0100000d' 0
	copy f "$host:$name"
	expect 2
	expect_one_line
}

dash()
{
	text -f content
	copy ./-f "$host:$there/-f"
	expect_ok
	holds "$there/-f" content
	copy -- -f "$host:$there/g"
	expect_ok
	holds "$there/g" content
}

host_with_a_dash()
{
	text f content
	copy -- f "-oProxyCommand=true:$there/g"
	[ "$status" = 2 ] || [ "$status" = 3 ] || fail "exit status $status; $err"
	expect_one_line
}

colon()
{
	text a:b content
	copy ./a:b "$host:$there/"
	expect_ok
	holds "$there/a:b" content
	copy "$PWD/a:b" "$host:$there/c:d"
	expect_ok
	holds "$there/c:d" content
	copy "$host:$there/c:d" ./e:f
	expect_ok
	holds e:f content
}

# A file that is there and looks like a host: said what to write instead.
colon_hint()
{
	[[ $build != *tsan* ]] || skip "ThreadSanitizer does not survive getaddrinfo_a(3)"
	text nowhere.invalid:b content
	copy nowhere.invalid:b .
	expect 3 "./nowhere.invalid:b"
}

relative_path()
{
	local name=${there##*/}

	text f content
	copy f "$host:$name/g"
	expect_ok
	holds "$there/g" content
	copy "$host:$name/g" h
	expect_ok
	holds h content
	copy f "$host:"
	expect_ok
	holds "$srv/f" content
	rm "$srv/f"
}

# no home directories, and no file with such a name by mistake
tilde()
{
	local path name=${there##*/}

	text f content
	for path in '~' '~/' '~/g' '~root/g'; do
		copy f "$host:$path"
		expect 2 "'$host:$path': there are no home directories"
		expect_one_line
		copy "$host:$path" g
		expect 2 "HOST:./~NAME"
	done
	copy --list "$host:~*"
	expect 2 "HOST:./~NAME"
	! compgen -G "$srv/~*" >/dev/null || fail "a file was made: $(echo "$srv/"~*)"
	text '~x' content
	copy '~x' "$host:$name/"
	expect_ok
	holds "$there/~x" content
	mv "$there/~x" "$srv/~x"
	copy "$host:./~?" .
	expect_ok
	copy "$host:./~x" y
	expect_ok
	rm "$srv/~x"
	holds y content
}

url()
{
	text f content
	copy f "rdcp://$host:$port$there/a%20b"
	expect_ok
	holds "$there/a b" content
	copy "rdcp://$host$there/a%20b" g
	expect_ok
	holds g content
}

dots_in_a_path()
{
	mkdir "$there/a" "$there/b"
	text f content
	copy f "$host:$there/./b/./g"
	expect_ok
	holds "$there/b/g" content
	copy f "$host:$there/a/../b/h"
	expect 1 "'..' is not allowed"
	expect_one_line
	copy "$host:$there//b//g" h
	expect_ok
	holds h content
}

# What a name does to a terminal or a journal: nothing.
no_control_bytes()
{
	local name=$'e\e]0;x\a\x9b2J\u202e\nrdcp: forged' log_text

	printf '%s' content >"$name"
	copy -v "./$name" "$host:$there/"
	expect 0 "' -> '"
	[[ $err != *[$'\e\a\x9b']* && $err != *$'\nrdcp: forged'* ]] || fail "it says: $err"
	copy "$host:$there/missing-$name" g
	expect 1
	expect_one_line
	[[ $err != *[$'\e\a\x9b']* ]] || fail "it says: $err"
	await 5 daemon_says 'missing-e' || fail "not in the daemon's log"
	log_text=$(<"$log")
	[[ $log_text != *[$'\e\a\x9b']* && $log_text != *$'\nrdcp: forged'* ]] || fail "the daemon says: $log_text"
}

# A terminal of eight bits obeys 0x80 to 0x9f wherever they are, in characters of UTF-8 as well: there they are octal.
no_bytes_above_ascii()
{
	local LC_ALL=C name=$'\xc3\x9b2J' shown='\303\2332J' line

	printf '%s' content >"$name"
	copy -v "$name" "$host:$there/"
	expect 0 "'$shown' -> '"
	copy -n "$name" "$host:$there/"
	[[ $out == "'$shown' -> '"* ]] || fail "-n: $out"
	copy "$host:$there/missing-$name" g
	expect 1 "missing-$shown"
	copy --json "$name" "$host:$there/"
	expect_ok
	[[ $out == *"\"source\":\"$name\""* ]] || fail "--json: $out"
	need script
	line=$(script -qec "$(printf '%q ' "$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" --list "$host:$there")" /dev/null \
		</dev/null)
	[[ $line == *"$shown"* && $line != *$'\x9b'* ]] || fail "--list: $line"
}

# Paths that differ at the end only, as long as they get: each is named, by whoever names it.
long_names()
{
	local deep=src i name

	printf -v name '%0240d' 0
	for i in 1 2 3 4 5 6 7; do deep+=/$name; done
	mkdir -p "$deep"
	text "$deep/alpha.txt" content
	text "$deep/beta.txt" content
	copy -r -n src "$host:$there/x"
	expect_ok
	[[ $out == *"$deep/alpha.txt' -> "* && $out == *"$deep/beta.txt' -> "* ]] || fail "-n: $out"
	copy -rv src "$host:$there/x"
	expect 0 "'$deep/alpha.txt' -> '" "'$deep/beta.txt' -> '"
	rm -r "$there/x"
	mkdir -p "$there/x/${deep#src/}/alpha.txt" "$there/x/${deep#src/}/beta.txt"
	daemon_start
	copy -r src/. "$host:$there/x"
	expect 1 "${deep#src/}/alpha.txt': is a directory" "${deep#src/}/beta.txt': is a directory"
	await 5 daemon_says "${deep#src/}/alpha.txt' was not stored" || fail "the daemon says: $(<"$log")"
	await 5 daemon_says "${deep#src/}/beta.txt' was not stored" || fail "the daemon says: $(<"$log")"
	daemon_stop
	copy --files-from="$deep/gamma.txt" . "$host:"
	expect 2 "gamma.txt': No such file"
	copy "a@b:$deep/gamma.txt" x
	expect 2 "gamma.txt': rdcpd knows keys"
}

names()
{
	local long

	printf -v long '%0255d' 0
	both name_with_spaces named ' a  b '
	both name_with_newline named $'a\nb'
	both name_with_quotes named "'a\"b\`c\$d\\e"
	both name_with_glob named '*?[a]'
	both name_not_utf8 named $'\xff\xfe\x80'
	both name_of_255_bytes named "$long"
	both name_with_percent named 'a%20b%s'
	both name_with_umlaut named 'äöü€𝄞'
	both name_like_an_option named '--help'
	both name_like_a_temporary named '.a.abcdefgh.rdcp-par'
	run name_of_256_bytes_is_an_error too_long
	run path_too_long_is_an_error long_path
	run names_are_told_to_their_end long_names
	run local_name_with_a_dash dash
	run host_with_a_dash_is_an_error host_with_a_dash
	run local_name_with_a_colon colon
	run host_that_is_a_file_gets_a_hint colon_hint
	run relative_path_is_in_the_first_export relative_path
	run home_directory_is_refused tilde
	run url_with_port_and_escapes url
	run dots_in_a_path dots_in_a_path
	run names_are_escaped_for_people no_control_bytes
	run names_are_ascii_where_the_locale_is no_bytes_above_ascii
}
