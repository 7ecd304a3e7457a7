# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What a copy tells while it runs and at its end: --stats, --json, SIGUSR1, and ^C in every state.

# a_tree FOLDER: five files, one of which cannot be copied
a_tree()
{
	mkdir -p "$1/sub"
	text "$1/one" content
	text "$1/sub/two" "more content"
	: >"$1/empty"
	pattern "$1/large" 3000000
	mkfifo "$1/fifo"
}

# ---- counts

stats()
{
	local line

	a_tree "$from/t"
	transfer -r --stats t g
	expect 1 "fifo': not a regular file"
	for line in "files: 4 copied, 0 skipped, 1 failed" "bytes sent: 3000021 (2.9 MiB)" \
		"bytes stored: 3000021 (2.9 MiB)" "slots: 32 of 1.0 MiB"; do
		[[ $out == *"$line"* ]] || fail "'$line' is not in: $out"
	done
	[[ $out =~ transfer:\ ([0-9a-f-]{36}) ]] || fail "no id: $out"
	daemon_says "transfer ${BASH_REMATCH[1]}" || fail "the daemon knows another id than ${BASH_REMATCH[1]}"
	[[ $out != *[$'\r\e\b\a']* ]] || fail "control bytes: $out"
}

# ---- objects

# object FILTER...: what jq makes of the objects
objects()
{
	printf '%s\n' "$out" | jq -cer "$@" || fail "not of JSON, or not in it: $*; $out"
}

# equals TEXT FILTER
equals()
{
	local got

	got=$(objects "$2") || exit
	[ "$got" = "$1" ] || fail "$2: '$got' instead of '$1'"
}

json_of_a_tree()
{
	need jq
	a_tree "$from/t"
	transfer -r --json --progress=always t g
	expect 1 "fifo': not a regular file"
	out=$(printf '%s\n' "$out" | jq -cs .) || fail "not JSON"
	equals 6 length
	equals 4 'map(select(.type=="file" and .result=="copied"))|length'
	equals 3000000 'map(select((.source // "")|endswith("large")))[0].bytes'
	equals 9 'map(select(.result=="failed" and .type=="file"))[0].error.status'
	equals '["summary",1,"failed",1]' '.[-1]|[.type,.schema,.result,.exit]'
	equals '{"copied":4,"skipped":0,"failed":1}' '.[-1].files'
	equals '[3000021,3000021]' '.[-1].bytes|[.sent,.stored]'
	daemon_says "transfer $(objects '.[-1].transfer')" || fail "the daemon knows another id"
}

json_of_any_name()
{
	local name=$'\xff\e]0;x\a\n"q\\\u202e'

	need jq
	text "$from/$name" content
	transfer --json "./$name" g 2>/dev/null
	expect_ok
	[[ $out != *[$'\r\e\b\a\xff']* ]] || fail "control bytes: $out"
	out=$(printf '%s\n' "$out" | jq -cs .) || fail "not JSON"
	objects '.[0].source_base64' | base64 -d >decoded || fail "not base64"
	[[ $(<decoded) == */"./$name" ]] || fail "another name: $(od -c decoded)"
}

json_of_errors()
{
	need jq
	text f content
	timeout 20 "$build/rdcp" --transport=tcp -P 1 -i none --connect-timeout=5 --json f 127.0.0.1:g >"$case_dir/out" 2>"$case_dir/err"
	status=$?
	collect_output
	expect 3
	out=$(printf '%s\n' "$out" | jq -cs .) || fail "not JSON"
	equals '["error",3]' '.[0]|[.type,.exit]'
	equals '["summary",3,null]' '.[1]|[.type,.exit,.transfer]'
}

# The files are copied, but somebody did not get to know.
json_into_a_full_disk()
{
	[ -w /dev/full ] || skip "no /dev/full"
	text f content
	rdcp --json f "$host:$there/g" </dev/null >/dev/full 2>"$case_dir/err"
	status=$? err=$(<"$case_dir/err")
	expect 1 "standard output: "
	expect_one_line
	holds "$there/g" content
}

# ---- signals

# said TEXT: on the standard error of the copy in the background
said()
{
	[ -e "$case_dir/err" ] && [[ $(<"$case_dir/err") == *"$1"* ]]
}

# end_long_copy STATUS TEXT...: interrupted, and nothing stays
end_long_copy()
{
	end_copy 2
	expect "$@"
	await 10 no_part_in "$to" || fail "the temporary file is left"
}

how_far()
{
	start_long_copy f g
	kill -USR1 "$client"
	await 5 said "iB/s, " || fail "it says: $(<"$case_dir/err")"
	! gone "$client" || fail "it ends"
	kill -INT "$client"
	end_long_copy 130 "'f': " "interrupted, 0 files were copied"
	[[ $err != *[$'\r\e\b\a']* ]] || fail "control bytes: $err"
}

# What is whole by then, and known to be, is named: so many small files that they do not all wait for the end of the large one.
interrupted_between()
{
	local i f small=()

	for i in {1..200}; do
		small+=("f$i")
		text "f$i" content
	done
	way=push from=$here to=$there
	truncate -s 1G large
	start_copy --json --no-resume --no-sparse --slot-size=4K --slots=2 "${small[@]}" large missing "$host:$there/"
	await 10 told_of f1 || fail "nothing is copied: $(<"$case_dir/err")"
	kill -INT "$client"
	end_long_copy 130 "'f1' was copied" "interrupted, "
	for f in "${small[@]}"; do
		[[ $err != *"'$f' was copied"* ]] || holds "$there/$f" content
	done
}

# told_of FILE: the copy in the background has an object for it
told_of()
{
	[ -e "$case_dir/out" ] && [[ $(<"$case_dir/out") == *"\"$1\""* ]]
}

interrupted_while_connecting()
{
	[ "${RDCP_LAB_KIND-}" != uml-siw ] || skip "siw connects inside of a system call, and nothing but SIGKILL ends that"
	text f content
	daemon_start
	kill -STOP "$daemon"
	start_copy --connect-timeout=60 f "$host:$there/g"
	await 5 takes_signals "$client" || fail "it does not begin"
	await 5 asks_and_hears "'f': 0 B of 8 B" || fail "it does not begin"
	kill -INT "$client"
	end_copy 2
	kill -CONT "$daemon"
	expect 130 "interrupted, 0 files were copied"
}

# Nothing runs yet that could end in order: the names come from a pipe that nobody writes to.
interrupted_before_it_begins()
{
	mkdir dir
	mkfifo rules
	start_copy -r --exclude-from=rules dir "$host:$there/g"
	await 5 takes_signals "$client" || fail "it does not begin"
	kill -INT "$client"
	end_copy 1
	expect 130 "interrupted, 0 files were copied"
}

# takes_signals PID: it blocks SIGUSR1, for the thread that waits for it
takes_signals()
{
	local key value

	while read -r key value; do
		[ "$key" != SigBlk: ] || return $((!(0x$value & 0x200)))
	done <"/proc/$1/status"
	return 1
}

# asks_and_hears TEXT
asks_and_hears()
{
	kill -USR1 "$client"
	said "$1"
}

# A disk that does not come back: a pull of a file whose sync never ends.
start_copy_that_hangs()
{
	need cc
	case $build in *san*) skip "what is loaded before a sanitizer breaks it" ;; esac
	cc -shared -fPIC -x c - -o "$case_dir/hang.so" <<-END || skip "no library can be made here"
		#include <unistd.h>
		static int hang(void) { return (int)write(2, "it syncs\\n", 9) + pause(); }
		int fsync(int fd) { return fd + hang(); }
		int fdatasync(int fd) { return fd + hang(); }
		int syncfs(int fd) { return fd + hang(); }
	END
	text "$there/f" content
	prefix_rdcp=(env LD_PRELOAD="$case_dir/hang.so")
	start_copy "$@" "$host:$there/f" g
	await 10 said "it syncs" || fail "it does not sync: $(<"$case_dir/err")"
}

# nobody could remove the temporary file
after_a_hang()
{
	expect 130 "interrupted, 0 files were copied"
	[ ! -e g ] || fail "it is there"
	rm ./.g.*.rdcp-part
}

interrupted_while_it_syncs()
{
	start_copy_that_hangs --json
	kill -INT "$client"
	end_copy 2
	after_a_hang
	[[ $out == *'"result":"interrupted","exit":130'* ]] || fail "no last object: $out"
}

interrupted_again()
{
	kill -INT "$client" 2>/dev/null
	gone "$client"
}

interrupted_twice()
{
	start_copy_that_hangs
	await 1 interrupted_again || fail "it goes on"
	end_copy 1
	after_a_hang
}

# Whoever ends it first, the loop or the second signal, says so, and the other does not: here the loop, which then waits for a reader of
# what --stats prints.
interrupted_in_a_hurry()
{
	local pipe

	mkfifo "$case_dir/out"
	exec {pipe}<>"$case_dir/out"
	head -c 65536 /dev/zero >"$case_dir/out"
	start_long_copy --stats f g
	kill -INT "$client"
	await 5 said "interrupted, 0 files" || fail "it says: $(<"$case_dir/err")"
	kill -INT "$client" || fail "it did not wait"
	await 5 gone "$client" || fail "it goes on"
	wait "$client" 2>/dev/null
	status=$? err=$(<"$case_dir/err")
	exec {pipe}<&-
	expect 130
	[[ $err != *interrupted*interrupted* ]] || fail "it says: $err"
	rm -f "$there"/.*.rdcp-part
}

# nohup(1), trap '' in a script: a signal that is ignored stays ignored, and the others are not
ignored_signal()
{
	local signal=$1 other=$2 code=$3

	prefix_rdcp=(env --ignore-signal="$signal")
	start_long_copy f g
	kill -"$signal" "$client"
	kill -USR1 "$client"
	await 5 said "iB/s, " || fail "it says: $(<"$case_dir/err")"
	kill -"$other" "$client"
	end_long_copy "$code" "interrupted, "
}

reports()
{
	both stats_count_a_tree stats
	both json_says_it_all json_of_a_tree
	both json_of_any_name_is_valid json_of_any_name
	run json_of_errors_has_the_status json_of_errors
	run json_into_a_full_disk_is_an_error json_into_a_full_disk
	both sigusr1_says_how_far_it_is how_far
	run interrupted_copy_names_what_is_done interrupted_between
	run interrupted_before_it_begins_ends_at_once interrupted_before_it_begins
	run interrupted_while_connecting_ends_in_time interrupted_while_connecting
	run interrupted_while_it_syncs_ends_in_time interrupted_while_it_syncs
	run interrupted_twice_ends_at_once interrupted_twice
	run two_interrupts_are_told_once there_and_back push interrupted_in_a_hurry
	both ignored_hangup_stays_ignored ignored_signal HUP TERM 143
	run ignored_interrupt_stays_ignored there_and_back push ignored_signal INT TERM 143
	run ignored_end_stays_ignored there_and_back push ignored_signal TERM INT 130
}
