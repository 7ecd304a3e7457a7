# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What is printed where, and exit statuses of command lines that cannot work.

no_control_bytes_in()
{
	[[ $1 != *[$'\r\e\b\a']* ]] || fail "control bytes: $1"
}

silent()
{
	text "$from/f" content
	transfer f g
	expect_ok
	[ -z "$out" ] || fail "it prints: $out"
	transfer -q f g
	expect_ok
	[ -z "$out" ] || fail "it prints: $out"
}

verbose()
{
	text "$from/f" content
	transfer -v f g
	expect 0 "f' -> '" "g', 8 B"
	expect_one_line
	no_control_bytes_in "$out$err"
	transfer -vv f g
	expect 0 "transfer"
	no_control_bytes_in "$out$err"
	transfer -q nothing g
	expect 1 "no such file"
	expect_one_line
}

# A line each second and a last one, without anything that moves a cursor.
progress_into_a_pipe()
{
	pattern "$from/f" 3000000
	transfer --progress=always f g
	expect_ok
	[[ $out == *100%* ]] || fail "it prints: $out"
	no_control_bytes_in "$out"
}

# on_terminal COLUMNS: the words of rdcp under a terminal of that width; sets status and out
on_terminal()
{
	local command

	need script stty
	printf -v command '%q ' "$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" "${words[@]}"
	timeout 60 script -qefc "stty cols $1; $command" "$case_dir/typescript" </dev/null >/dev/null 2>&1
	status=$? err=
	out=$(tr -d '\0' <"$case_dir/typescript")
}

progress_on_a_terminal()
{
	local line

	pattern "$from/file" 20000000
	towards file g
	on_terminal 60
	expect 0
	[[ $out == *$'\r'*file*100%* ]] || fail "no progress: $out"
	same "$from/file" "$to/g"
	while IFS= read -rd $'\r' line; do
		[ ${#line} -le 60 ] || fail "${#line} columns: $line"
	done < <(grep -a 100% "$case_dir/typescript")
	towards -q file g
	on_terminal 60
	expect 0
	[[ $out != *100%* ]] || fail "progress in spite of -q: $out"
}

narrow_terminals()
{
	local columns

	text "$from/f" content
	towards f g
	for columns in 0 1 2 20 400; do
		on_terminal "$columns"
		expect 0
	done
	COLUMNS=0 transfer --progress=always f g
	expect_ok
	COLUMNS=x TERM='' transfer --progress=always f g
	expect_ok
}

full_output()
{
	[ -w /dev/full ] || skip "no /dev/full"
	text "$from/f" content
	towards --progress=always f g
	rdcp "${words[@]}" </dev/null >/dev/full 2>"$case_dir/err"
	status=$? err=$(<"$case_dir/err")
	expect 0
	holds "$to/g" content
}

# slowly OUT|ERR FILE WORD...: rdcp with a pipe that does not block as its standard output or error; FILE gets what a reader that
# lets the pipe run full takes from it. Sets status.
slowly()
{
	local which=$1 file=$2

	shift 2
	need perl
	# shellcheck disable=SC2016
	timeout -k 5 $((30 * slow)) perl -e '
		use Fcntl;
		my ($which, $file, @command) = @ARGV;
		pipe R, W or die;
		fcntl W, F_SETFL, O_WRONLY | O_NONBLOCK or die;
		fcntl W, 1031, 4096; # F_SETPIPE_SZ
		my $pid = fork;
		if (!$pid) {
			close R;
			open $which eq "OUT" ? STDOUT : STDERR, ">&", \*W or die;
			exec @command;
		}
		close W;
		open F, ">", $file or die;
		for (my $turn = 0; sysread R, my $bytes, 4096; $turn++) {
			print F $bytes;
			select undef, undef, undef, 0.05 if $turn < 4;
		}
		close F or die;
		waitpid $pid, 0;
		exit $? >> 8' \
		"$which" "$file" "$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" "$@" </dev/null 2>"$case_dir/err"
	status=$?
	err=$(<"$case_dir/err")
}

# lines FILE N [PATTERN]
has_lines()
{
	local n

	n=$(grep -c "${3-}" "$1")
	[ "$n" = "$2" ] || fail "$n lines of $2"
}

# Somebody who shares the descriptor has set O_NONBLOCK.
output_that_does_not_block()
{
	local i names=a_name_that_is_not_short_

	mkdir dir
	for i in {1..600}; do : >"dir/$names$i"; done
	slowly OUT list -r -n dir "$host:$there/"
	expect_ok
	has_lines list 600 "' -> '"
	slowly OUT list -r --json dir "$host:$there/"
	expect_ok
	has_lines list 601 '^{.*}$'
	slowly OUT list --list "$host:$there/dir"
	expect_ok
	has_lines list 600
	slowly ERR list -r -v dir "$host:$there/"
	expect 0
	has_lines list 600 "' -> '"
	slowly OUT list --help
	expect_ok
	same list <("$build/rdcp" --help)
}

# ... on what a list is read from: a slow writer
input_that_does_not_block()
{
	local i

	need perl
	mkdir dir
	for i in {1..100}; do : >"dir/$i"; done
	# shellcheck disable=SC2016
	timeout -k 5 $((30 * slow)) perl -e '
		use Fcntl;
		pipe R, W or die;
		fcntl R, F_SETFL, O_RDONLY | O_NONBLOCK or die;
		if (!fork) {
			close W;
			open STDIN, "<&", \*R or die;
			exec @ARGV;
		}
		close R;
		for (1 .. 100) {
			select undef, undef, undef, 0.1 if $_ % 50 == 1;
			syswrite W, "$_\n" or die;
		}
		close W;
		wait;
		exit $? >> 8' \
		"$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" --files-from=- dir "$host:$there/x" 2>"$case_dir/err"
	status=$? err=$(<"$case_dir/err")
	expect_ok
	[ "$(ls -A "$there/x")" = "$(ls -A dir)" ] || fail "there is: $(ls -A "$there/x")"
}

# into_full STATUS WORD...: what cannot be written is not said to be well
into_full()
{
	local want=$1

	shift
	"$@" </dev/null >/dev/full 2>"$case_dir/err"
	status=$? err=$(<"$case_dir/err")
	expect "$want" "standard output: No space left"
	expect_one_line
}

lost_output()
{
	[ -w /dev/full ] || skip "no /dev/full"
	text f content
	into_full 1 rdcp --help
	into_full 1 rdcp --version
	into_full 1 rdcp -n f "$host:$there/g"
	text "$there/x" content
	into_full 1 rdcp --list "$host:$there"
	into_full 1 rdcp --stats f "$host:$there/g"
	holds "$there/g" content
	into_full 1 timeout 20 "$build/rdcpd" --help
	into_full 1 timeout 20 "$build/rdcpd" -c "$conf" --check-config
	daemon_start "status-socket = $case_dir/status"
	into_full 1 timeout 20 "$build/rdcpd" -c "$conf" --status
	into_full 1 timeout 20 "$build/rdcpd" -c "$conf" --status --json
	daemon_stop
	# nobody reads
	rdcp --help </dev/null 2>"$case_dir/err" | true
	status=${PIPESTATUS[0]} err=
	[ "$status" != 0 ] || fail "a broken pipe is well"
}

# The first file that is opened must not become descriptor 0, 1 or 2.
closed_descriptors()
{
	text "$from/f" content
	towards -v --progress=always f g
	rdcp "${words[@]}" <&- >&- 2>&-
	status=$? err=
	expect 0
	holds "$to/g" content
	rdcp "${words[@]}" <&- >&- 2>/dev/null
	status=$?
	expect 0
	holds "$from/f" content
	holds "$to/g" content
}

# usage WORD...: refused with a sentence, before anything else
usage()
{
	timeout 20 "$build/rdcp" "$@" </dev/null >"$case_dir/out" 2>"$case_dir/err"
	status=$?
	collect_output
	expect 2
	expect_one_line
	[ -z "$out" ] || fail "'$*' prints: $out"
}

usage_errors()
{
	text f content
	usage
	usage f
	usage --nonsense f h:g
	usage -Z f h:g
	usage f g
	usage h:f i:g
	usage f h:f g
	usage h:f i:f g
	usage --slot-size=5000 f h:g
	usage --slots=0 f h:g
	usage --slot-size=64M --slots=4096 f h:g
	usage --timeout=0 f h:g
	usage --timeout=-1 f h:g
	usage --fsync=maybe f h:g
	usage --transport=pigeon f h:g
	usage -P 65536 f h:g
	usage -P f h:g
	usage --progress
	usage '' h:g
	usage f :g
	usage f '[fe80::1:g'
	usage f rdcp://h:0/g
}

help_and_version()
{
	out=$("$build/rdcp" --help) && [[ $out == usage:* ]] || fail "--help: $out"
	out=$("$build/rdcp" -V) && [[ $out == rdcp\ * ]] || fail "--version: $out"
	out=$("$build/rdcpd" --help) && [[ $out == [Uu]sage:* ]] || fail "rdcpd --help: $out"
	out=$("$build/rdcpd" -V) && [[ $out == rdcpd\ * ]] || fail "rdcpd --version: $out"
	timeout 20 "$build/rdcpd" --nonsense >/dev/null 2>err
	status=$? err=$(<err)
	expect 2 "rdcpd"
	timeout 20 "$build/rdcpd" -c nothing >/dev/null 2>err
	status=$? err=$(<err)
	expect 78 "nothing"
}

# The daemon's log has path, reason and peer of each failure.
daemon_log()
{
	copy "$host:$there/missing" g
	expect 1
	await 5 daemon_says "missing' was not sent: no such file" || fail "the daemon says: $(tail -n 3 "$log")"
	text f content
	copy f "$host:$there/missing/f"
	expect 1
	await 5 daemon_says "missing/f' was not stored: no such file" || fail "the daemon says: $(tail -n 3 "$log")"
	copy f "$host:/elsewhere"
	expect 1
	await 5 daemon_says "'/elsewhere' was not stored: not allowed" || fail "the daemon says: $(tail -n 3 "$log")"
}

# A line for each file only where it is wanted, and the account behind all that failed.
daemon_log_of_many()
{
	local name

	daemon_start
	text f content
	copy f "$host:$there/f"
	expect_ok
	await 5 daemon_says "account: push, 1 files, 0 failed" || fail "the daemon says: $(tail -n 3 "$log")"
	! daemon_says "f'" || fail "the daemon says: $(<"$log")"
	for name in {1..150}; do echo "$name"; done >list
	copy --files-from=list "$host:$there" x
	expect 1
	await 5 daemon_says "account: pull, 0 files, 150 failed" || fail "the daemon says: $(tail -n 3 "$log")"
	[ "$(daemon_count ' was not sent')" = 100 ] || fail "$(daemon_count ' was not sent') lines"
	daemon_says "50 more lines about files that failed were left out" || fail "the daemon says: $(tail -n 3 "$log")"
	daemon_stop
	daemon_start 'log-files = yes'
	copy f "$host:$there/f"
	copy "$host:$there/f" g
	expect_ok
	await 5 daemon_says "account: pull" || fail "the daemon says: $(tail -n 3 "$log")"
	daemon_says " stored '" && daemon_says " sent '" || fail "the daemon says: $(<"$log")"
	copy --files-from=list "$host:$there" x
	await 5 daemon_says "150 failed" || fail "the daemon says: $(tail -n 3 "$log")"
	[ "$(daemon_count ' was not sent')" = 150 ] || fail "$(daemon_count ' was not sent') lines"
	daemon_stop
}

output()
{
	both nothing_is_printed_without_a_terminal silent
	both verbose_is_a_line_a_file verbose
	both progress_into_a_pipe_has_no_control_bytes progress_into_a_pipe
	both progress_on_a_terminal_fits progress_on_a_terminal
	run narrow_terminals_do_no_harm there_and_back push narrow_terminals
	both full_output_does_no_harm full_output
	run output_that_does_not_block_is_whole output_that_does_not_block
	run input_that_does_not_block_is_whole input_that_does_not_block
	run lost_output_is_an_error lost_output
	both closed_descriptors_do_no_harm closed_descriptors
	run usage_errors_are_status_2 usage_errors
	run help_and_version_are_on_stdout help_and_version
	run daemon_log_names_failures daemon_log
	run daemon_log_is_not_flooded daemon_log_of_many
}
