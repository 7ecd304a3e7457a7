# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Standard input and output as source and destination; how fast it may be.

# ---- standard input

# from_pipe NAME [OPTION...]: what comes from a pipe goes to NAME at the host
from_pipe()
{
	local name=$1

	shift
	rdcp "$@" - "$host:$there/$name" >"$case_dir/out" 2>"$case_dir/err"
	status=$?
	collect_output
}

in_of_size()
{
	pattern f "$1"
	from_pipe g < <(cat f)
	expect_ok
	same f "$there/g"
}

in_of_file_goes_on_where_it_stands()
{
	pattern f 100000
	{
		read -rN 5 _
		from_pipe g
	} < <(printf 'head,tail')
	expect_ok
	[ "$(<"$there/g")" = tail ] || fail "it holds '$(<"$there/g")'"
	from_pipe h <f
	expect_ok
	same f "$there/h"
}

in_of_pieces()
{
	pattern f 300000
	from_pipe g --slot-size=64K < <(
		head -c 1 f
		nap
		head -c 65536 f | tail -c +2
		nap
		tail -c +65537 f
	)
	expect_ok
	same f "$there/g"
}

in_has_mode_of_umask()
{
	umask 027
	from_pipe g <<<content
	expect_ok
	holds "$there/g" content
	[ "$(stat -c %a "$there/g")" = 640 ] || fail "mode $(stat -c %a "$there/g")"
}

in_needs_a_name()
{
	local target

	mkdir "$there/d"
	for target in "$host:" "$host:." "$host:$there/"; do
		rdcp - "$target" <<<x >"$case_dir/out" 2>"$case_dir/err"
		status=$?
		collect_output
		expect 2 "name the file"
	done
	from_pipe d <<<x
	expect 1 "'standard input': is a directory" "name the file"
	expect_one_line
	[ -z "$(ls -A "$there/d")" ] || fail "something is in the directory"
}

in_replaces_only_when_it_ended()
{
	text "$there/g" old
	mkfifo f
	exec 3<>f
	start_copy_of_input f "$there/g"
	echo new >&3
	await 5 temporary_in "$there" || fail "the copy does not begin; $(<"$case_dir/err")"
	holds "$there/g" old
	exec 3>&-
	end_copy 10
	expect_ok
	holds "$there/g" new
}

temporary_in()
{
	[ -n "$(compgen -G "$1/.*.rdcp-part")" ]
}

# start_copy_of_input FIFO DEST: in the background
start_copy_of_input()
{
	"${background[@]}" "$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" - "$host:$2" <"$1" >"$case_dir/out" \
		2>"$case_dir/err" 3>&- {nap_fd}<&- &
	client=$!
	pids+=("$client")
}

# A worker waits for input that does not come.
in_interrupted()
{
	text "$there/g" old
	mkfifo f
	exec 3<>f
	start_copy_of_input f "$there/g"
	await 5 temporary_in "$there" || fail "the copy does not begin; $(<"$case_dir/err")"
	kill -INT "$client"
	end_copy 10
	expect 130 interrupted
	[ "$took" -lt $((2000 * slow)) ] || fail "it took $took ms"
	holds "$there/g" old
	exec 3>&-
	await 5 daemon_has_no_temporary || fail "the temporary stays"
}

daemon_has_no_temporary()
{
	! temporary_in "$there"
}

in_connection_lost()
{
	daemon_start
	mkfifo f
	exec 3<>f
	start_copy_of_input f "$there/g"
	await 5 temporary_in "$there" || fail "the copy does not begin; $(<"$case_dir/err")"
	kill -KILL "$daemon"
	end_copy 30
	[ "$status" = 5 ] || [ "$status" = 6 ] || fail "exit status $status; $err"
	exec 3>&-
	rm -f "$there"/.*.rdcp-part
}

in_refused_by_the_daemon_ends_at_once()
{
	mkdir "$there/d"
	mkfifo f
	exec 3<>f
	start_copy_of_input f "$there/d"
	end_copy 10
	expect 1 "is a directory"
	exec 3>&-
}

in_closed()
{
	from_pipe g <&-
	expect 1 "standard input"
	[ ! -e "$there/g" ] || fail "there is a file"
}

in_directory()
{
	from_pipe g <.
	expect 1 "'standard input': is a directory"
	[ ! -e "$there/g" ] || fail "there is a file"
}

# ---- standard output

# to_stdout NAME: $there/NAME into what standard output is
to_stdout()
{
	rdcp "$host:$there/$1" - 2>"$case_dir/err"
	status=$?
	err=$(<"$case_dir/err")
}

out_of_size()
{
	pattern "$there/f" "$1"
	set -o pipefail
	rdcp "$host:$there/f" - 2>"$case_dir/err" | cat >g
	status=$? err=$(<"$case_dir/err")
	expect_ok
	same "$there/f" g
}

out_to_file()
{
	pattern "$there/f" 5000000
	text g head
	to_stdout f >>g
	expect_ok
	{
		echo head
		cat "$there/f"
	} | cmp - g || fail "not what was appended"
}

out_small_slots_in_order()
{
	pattern "$there/f" 1000000
	rdcp --slot-size=4K --slots=64 --io-threads=8 "$host:$there/f" - 2>"$case_dir/err" | cmp - "$there/f" ||
		fail "not in order; $(<"$case_dir/err")"
}

out_of_holes()
{
	truncate -s 3000000 "$there/f"
	printf x | dd of="$there/f" bs=1 seek=1500000 conv=notrunc status=none
	rdcp "$host:$there/f" - 2>"$case_dir/err" | cmp - "$there/f" || fail "holes are no zeros; $(<"$case_dir/err")"
}

out_reader_gone()
{
	pattern "$there/f" 3000000
	rdcp "$host:$there/f" - 2>"$case_dir/err" | head -c 10 >g
	status=${PIPESTATUS[0]} err=$(<"$case_dir/err")
	expect 1 "'$there/f'" "Broken pipe" "standard output"
	expect_one_line
}

out_full()
{
	[ -c /dev/full ] || skip "no /dev/full"
	pattern "$there/f" 3000000
	to_stdout f >/dev/full
	expect 1 "'$there/f'" "no space left" "standard output"
	expect_one_line
}

out_missing()
{
	to_stdout nothing >g
	expect 1 "no such file"
	[ ! -s g ] || fail "something was written"
}

out_interrupted()
{
	pattern "$there/f" 3000000
	mkfifo p
	exec 3<>p
	"${background[@]}" "$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" "$host:$there/f" - </dev/null >p \
		2>"$case_dir/err" 3>&- {nap_fd}<&- &
	client=$!
	pids+=("$client")
	read -rN 1 -t 10 -u 3 _ || fail "nothing comes; $(<"$case_dir/err")"
	kill -INT "$client"
	await 10 gone "$client" || fail "rdcp does not end"
	wait "$client"
	status=$?
	[ "$status" = 130 ] || fail "exit status $status"
	exec 3>&-
}

tar_there_and_back()
{
	need tar
	mkdir -p tree/sub back
	text tree/a a
	text tree/sub/b b
	from_pipe x.tar < <(tar c tree)
	expect_ok
	rdcp "$host:$there/x.tar" - 2>"$case_dir/err" | tar x -C back || fail "tar failed; $(<"$case_dir/err")"
	holds back/tree/a a
	holds back/tree/sub/b b
}

no_progress_in_the_data()
{
	pattern "$there/f" 200000
	rdcp --progress=always --limit-rate=100K "$host:$there/f" - 2>"$case_dir/err" | cmp - "$there/f" ||
		fail "the data is not all that was written"
	[ -s "$case_dir/err" ] || fail "no progress was shown"
}

# ---- speed

limited()
{
	local began

	pattern "$from/f" 400000
	clock
	began=$now
	transfer --limit-rate=400K f g
	expect_ok
	clock
	[ $((now - began)) -ge 900 ] || fail "it took $((now - began)) ms"
	same "$from/f" "$to/g"
}

# ---- past the page cache

# option_of_size OPTION BYTES
option_of_size()
{
	pattern "$from/f" "$2"
	text "$to/g" old
	transfer "$1" f g
	expect_ok
	same "$from/f" "$to/g"
}

both_options_for_holes()
{
	truncate -s 5000001 "$from/f"
	printf x | dd of="$from/f" bs=1 seek=2500001 conv=notrunc status=none
	transfer --direct --verify --slot-size=64K f g
	expect_ok
	same "$from/f" "$to/g"
}

both_options_for_trees()
{
	mkdir -p "$from/d/sub"
	pattern "$from/d/large" 2500000
	text "$from/d/sub/small" small
	chmod 0444 "$from/d/large"
	transfer -rp --direct --verify d e
	expect_ok
	same "$from/d/large" "$to/e/large"
	holds "$to/e/sub/small" small
	[ "$(stat -c %a "$to/e/large")" = 444 ] || fail "its mode is $(stat -c %a "$to/e/large")"
}

# Whoever can read past the cache leaves nothing there; on other file systems there is nothing to see.
direct_leaves_the_cache_alone()
{
	need fincore
	head -c 4194304 /dev/zero >"$from/f"
	dd if="$from/f" of=/dev/null bs=1M iflag=direct status=none 2>/dev/null || skip "no direct reading here"
	sync "$from/f"
	dd of="$from/f" oflag=nocache conv=notrunc,fdatasync count=0 status=none
	transfer --direct --no-sparse f g
	expect_ok
	[ "$(fincore -nb -o RES "$to/g")" -lt 1048576 ] || fail "$(fincore "$to/g")"
}

verify_stdout()
{
	text "$there/f" x
	rdcp --verify "$host:$there/f" - >g 2>"$case_dir/err"
	status=$? err=$(<"$case_dir/err")
	expect 2 --verify
}

streams()
{
	local size

	for size in 0 1 65536 1048575 1048576 1048577 20000000; do
		run "stdin_of_${size}_bytes" in_of_size "$size"
		run "stdout_of_${size}_bytes" out_of_size "$size"
	done
	run stdin_that_is_a_file in_of_file_goes_on_where_it_stands
	run stdin_in_pieces in_of_pieces
	run stdin_gets_the_mode_of_the_umask in_has_mode_of_umask
	run stdin_needs_a_name in_needs_a_name
	run stdin_gets_its_name_at_the_end in_replaces_only_when_it_ended
	run stdin_interrupted in_interrupted
	run stdin_when_the_connection_is_lost in_connection_lost
	run stdin_refused_by_the_daemon in_refused_by_the_daemon_ends_at_once
	run stdin_closed_is_an_error in_closed
	run stdin_directory_is_an_error in_directory
	run stdout_appends_to_a_file out_to_file
	run stdout_of_small_slots_is_in_order out_small_slots_in_order
	run stdout_of_holes_is_zeros out_of_holes
	run stdout_without_a_reader out_reader_gone
	run stdout_to_a_full_disk out_full
	run stdout_of_nothing out_missing
	run stdout_interrupted out_interrupted
	run tar_goes_there_and_back tar_there_and_back
	run stdout_has_no_progress_in_it no_progress_in_the_data
	both limit_is_kept limited
	for size in 0 1 4096 1048575 1048576 1048577 5000000; do
		both "direct_of_${size}_bytes" option_of_size --direct "$size"
		both "verified_of_${size}_bytes" option_of_size --verify "$size"
	done
	both direct_and_verified_holes both_options_for_holes
	both direct_and_verified_trees both_options_for_trees
	both direct_leaves_the_cache_alone direct_leaves_the_cache_alone
	run stdout_cannot_be_verified verify_stdout
}
