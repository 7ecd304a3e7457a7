# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# A copy that was interrupted goes on where it was, and only with what is proven to be the file's.

big=64000000
partial_dir=. # where temporaries are, seen from $to

# partial_has MIN: the temporary file in $to has that many bytes; sets part and part_size
partial_has()
{
	local p

	for p in "$to/$partial_dir"/.g.*.rdcp-part; do
		[ -f "$p" ] || return 1
		part=$p
		part_size=$(stat -c %s "$p")
		[ "$part_size" -ge "$1" ] && return 0
	done
	return 1
}

# begin BYTES [OPTION...]: a slow copy of f to g, until it has stored so much
begin()
{
	[ -f "$from/f" ] || pattern "$from/f" "$big"
	towards --timeout=10 f g
	start_copy --slot-size=4K --slots=2 "${@:2}" "${words[@]}"
	await 10 partial_has "$1" || fail "the copy does not get there; $(<"$case_dir/err")"
}

# interrupt [SIGNAL]: until nobody has the temporary any more
interrupt()
{
	kill "-${1:-INT}" "$client"
	end_copy 3
	await 10 at_rest "$daemon" "$idle_fds" "$idle_tasks" || fail "the daemon keeps $fds descriptors, $tasks threads"
}

# goes_on MIN: the next copy finishes, and at least MIN bytes are not sent again
goes_on()
{
	local held

	transfer -v --slot-size="${slot_size:-4K}" f g
	expect 0 "f' -> "
	same "$from/f" "$to/g"
	! part_in "$to" || fail "the temporary file is left"
	held=$(sed -n 's/.*: \([0-9]*\) bytes were there from before.*/\1/p' "$case_dir/err")
	[ "${held:-0}" -ge "$1" ] || fail "only ${held:-0} bytes were kept of $1"
}

# client_ends_and_goes_on SIGNAL STATUS BYTES
client_ends_and_goes_on()
{
	text "$to/g" old
	begin "$3"
	kill "-$1" "$client"
	end_copy 3
	expect "$2"
	await 10 at_rest "$daemon" "$idle_fds" "$idle_tasks" || fail "the daemon keeps $fds descriptors, $tasks threads"
	holds "$to/g" old
	partial_has "$3" || fail "nothing is left to go on with"
	goes_on $(($3 / 4096 * 4096 - 8 * 4096))
}

client_killed_and_goes_on()
{
	begin "$1"
	interrupt KILL
	goes_on $(($1 / 2))
}

daemon_ends_and_goes_on()
{
	daemon_start
	begin 10000000
	kill "-$1" "$daemon"
	end_copy 12
	[ "$status" != 0 ] || fail "well without a daemon"
	daemon_start
	goes_on 5000000
}

# What is left is of another file by its time, and stays for whoever may still want it; by its bytes, and is not taken.
source_that_changed_starts_over()
{
	begin 4000000
	interrupt
	touch -d '2020-01-01' "$from/f"
	transfer -v --slot-size=4K f g
	expect 0 "f' -> "
	same "$from/f" "$to/g"
	! grep -q "from before" "$case_dir/err" || fail "went on with another file"
	rm "$to"/.g.*.rdcp-part || fail "the old temporary is gone"
}

damaged_parts_are_sent_again()
{
	begin 4000000
	interrupt
	partial_has 4000000 || fail "nothing is left to go on with"
	printf 'damage' | dd of="$part" bs=1 seek=1000000 conv=notrunc status=none
	transfer -v --slot-size=4K f g
	expect 0 "f' -> "
	same "$from/f" "$to/g"
	grep -q "from before" "$case_dir/err" || fail "started over"
}

# Larger than the file itself, or empty: whatever it is, what comes of it is the file.
odd_temporaries_do_no_harm()
{
	begin 1000000
	interrupt
	partial_has 1000000 || fail "nothing is left to go on with"
	truncate -s "$1" "$part"
	transfer f g
	expect_ok
	same "$from/f" "$to/g"
	! part_in "$to" || fail "the temporary file is left"
}

# A link in its place is not followed, and another user's file is not used.
planted_temporaries_are_not_used()
{
	need_root
	begin 1000000
	interrupt
	partial_has 1000000 || fail "nothing is left to go on with"
	text "$work/victim" mine
	rm "$part"
	if [ "$1" = link ]; then
		ln -s "$work/victim" "$part"
	else
		text "$part" planted
		chown 12345 "$part"
	fi
	transfer f g
	expect_ok
	same "$from/f" "$to/g"
	holds "$work/victim" mine
	rm "$part" "$work/victim"
}

two_at_once_do_not_share()
{
	begin 1000000
	transfer f g
	expect_ok
	same "$from/f" "$to/g"
	kill -INT "$client"
	wait "$client" 2>/dev/null
	rm -f "$to"/.g.*.rdcp-part
}

no_resume_leaves_nothing()
{
	pattern "$from/f" "$big"
	towards f g
	start_copy --no-resume --slot-size=4K --slots=2 "${words[@]}"
	await 10 partial_has 1000000 || fail "the copy does not get there"
	interrupt
	await 10 no_part_in "$to" || fail "the temporary file is left"
}

# ---- files with holes

# A file that is mostly holes: data of odd lengths at odd places, across the borders of slots, and a hole at its end.
make_holes()
{
	local i

	pattern "$case_dir/bytes" 1000000
	truncate -s 600000000 "$from/f"
	for i in {0..39}; do
		dd if="$case_dir/bytes" of="$from/f" bs=1M oflag=seek_bytes seek=$((i * 14004099)) iflag=count_bytes \
			count=$((800000 + i * 3000)) conv=notrunc status=none
	done
	[ "$(kib_of "$from/f")" -lt 300000 ] || skip "no holes on this file system"
}

kib_of()
{
	du -k "$1" | cut -f1
}

# begin_with_holes SIGNAL BYTES: interrupted when as much is there, holes included
begin_with_holes()
{
	make_holes
	towards --timeout=10 f g
	start_copy --slot-size=64K --slots=2 --limit-rate=20M "${words[@]}"
	await 20 partial_has "$2" || fail "the copy does not get there; $(<"$case_dir/err")"
	interrupt "$1"
	partial_has "$2" || fail "nothing is left to go on with"
}

# goes_on_with_holes MIN: and as many as MIN bytes of data are not sent again
goes_on_with_holes()
{
	slot_size=64K goes_on "$1"
	# where a piece was half there its holes were filled
	[ "$(kib_of "$to/g")" -le $(($(kib_of "$from/f") + 1000)) ] ||
		fail "$(kib_of "$to/g") KiB there, $(kib_of "$from/f") here"
}

holes_go_on()
{
	begin_with_holes "$1" 200000000
	goes_on_with_holes 8000000
}

# What is left has other bytes where the file has holes: in a slot with data, in one without, behind the last whole one, and behind
# all that was sent.
damaged_holes_are_mended()
{
	local at

	begin_with_holes INT 100000000
	for at in 820000 5000000 $((part_size - 1)) 570000000 599999000; do
		printf 'damage' | dd of="$part" bs=1 seek="$at" conv=notrunc status=none
	done
	goes_on_with_holes 1000000
}

# Blocks that nobody has written to are holes, but count: there is a question, and then nothing to send.
reserved_blocks_are_no_data()
{
	fallocate -l 20M "$from/f" 2>/dev/null || skip "no reserving on this file system"
	truncate -s 50M "$from/f"
	transfer f g
	expect_ok
	same "$from/f" "$to/g"
	[ "$(kib_of "$to/g")" -lt 1000 ] || fail "$(kib_of "$to/g") KiB there"
}

# ---- --partial-dir

# What is left is in the directory and not beside the destination; when the file is whole the directory is gone.
partial_dir_keeps_what_is_left()
{
	identity+=(--partial-dir=.part)
	partial_dir=.part
	text "$to/g" old
	begin 10000000
	interrupt "$1"
	[ "$(stat -c %a "$to/.part")" = 700 ] || fail "mode $(stat -c %a "$to/.part")"
	! part_in "$to" || fail "it is beside the destination"
	holds "$to/g" old
	goes_on 5000000
	[ ! -e "$to/.part" ] || fail "left: $(ls -lA "$to/.part")"
}

# With what somebody else has put there the directory stays; in a tree it is in each directory that files go into.
partial_dir_of_a_tree()
{
	mkdir -p "$from/d/e" "$to/d/e/.part"
	pattern "$from/d/e/f" "$big"
	pattern "$from/d/f" 9000000
	text "$to/d/e/.part/mine" mine
	towards --partial-dir=.part d .
	start_copy -r --slot-size=4K --slots=2 "${words[@]}"
	await 20 part_in "$to/d/e/.part" || fail "the copy does not begin; $(<"$case_dir/err")"
	interrupt
	transfer -r --partial-dir=.part d .
	expect_ok
	same "$from/d/f" "$to/d/f"
	same "$from/d/e/f" "$to/d/e/f"
	[ ! -e "$to/d/.part" ] || fail "left: $(ls -lA "$to/d/.part")"
	[ "$(ls -A "$to/d/e/.part")" = mine ] || fail "left: $(ls -lA "$to/d/e/.part")"
}

# It is there to come and to go: a directory of the tree with its name would go with it. The operands are in one directory, too.
partial_dir_in_a_tree()
{
	mkdir -p "$from/d/.part/e" "$from/.part"
	pattern "$from/d/f" 9000000
	text "$from/d/.part/g" content
	transfer -a --partial-dir=.part d .
	expect 1 "d/.part': failed: it has the name of the directory for partial files" "1 file was copied, 3 failed"
	same "$from/d/f" "$to/d/f"
	[ ! -e "$to/d/.part" ] || fail "left: $(ls -lA "$to/d/.part")"
	transfer -a --partial-dir=.part --exclude=.part d .
	expect_ok
	transfer -a --partial-dir=.part .part .
	expect_ok
	[ -d "$to/.part" ] || fail "it is not copied"
	transfer -a --partial-dir=.p d .
	expect_ok
	holds "$to/d/.part/g" content
}

# partial_dir_fails TEXT: nothing is copied, nothing is made, and the reason is told
partial_dir_fails()
{
	text "$to/g" old
	pattern "$from/f" 9000000
	transfer --partial-dir=.part f g
	expect 1 "'.part'" "$1"
	expect_one_line
	holds "$to/g" old
	! part_in "$to" || fail "the temporary file is left"
}

partial_dir_is_a_link()
{
	mkdir "$case_dir/elsewhere"
	ln -s "$case_dir/elsewhere" "$to/.part"
	partial_dir_fails "Not a directory"
	rmdir "$case_dir/elsewhere" || fail "it was followed"
}

partial_dir_is_mounted()
{
	need_root
	mkdir "$to/.part"
	mount -t tmpfs other "$to/.part" 2>/dev/null || skip "no mounts here"
	mounts+=("$to/.part")
	partial_dir_fails "it is on another file system"
}

# The daemon knows what is left by its name, wherever it is.
partial_dir_is_swept()
{
	local f

	identity=(-i none --partial-dir=.part)
	partial_dir=.part
	daemon_start
	begin 1000000
	interrupt
	daemon_stop
	partial_has 1000000 || fail "nothing is left"
	f=$part
	await 10 older_than_two_seconds "$f" || fail "time stands still"
	daemon_start "partial-age = 1s"
	await 10 daemon_says "removed the unfinished '$f'" || fail "it is still there: $(<"$log")"
	[ ! -e "$f" ] || fail "it is still there"
	transfer f g
	expect_ok
	[ ! -e "$to/.part" ] || fail "left: $(ls -lA "$to/.part")"
}

older_than_two_seconds()
{
	[ $(($(date +%s) - $(stat -c %Z "$1"))) -gt 2 ]
}

files_of_a_tree_go_on()
{
	mkdir "$from/d"
	pattern "$from/d/f" "$big"
	text "$from/d/small" x
	towards d e
	start_copy -r --slot-size=4K --slots=2 "${words[@]}"
	await 10 tree_part || fail "the copy does not begin; $(<"$case_dir/err")"
	interrupt
	transfer -r d/. e
	expect_ok
	same "$from/d/f" "$to/e/f"
	[ -z "$(find "$to/e" -name '*.rdcp-part')" ] || fail "the temporary file is left"
}

# What is held costs nothing of a limit: the rest of a second's worth or two is sent, not a minute's.
limited_copy_goes_on_at_once()
{
	begin 56000000 --limit-rate=20M # or it might be whole before it is interrupted
	interrupt
	towards -v --slot-size=4K --limit-rate=4M f g
	start_copy "${words[@]}"
	end_copy 30
	expect 0 "f' -> "
	same "$from/f" "$to/g"
	[[ $err == *"from before"* ]] || fail "started over"
	[ "$took" -lt $((8000 * slow)) ] || fail "took $took ms"
}

# restart_in_the_middle SIGNAL: of a copy of a tree
restart_in_the_middle()
{
	await 10 tree_part || fail "the copy does not begin; $(<"$case_dir/err")"
	kill "-$1" "$daemon"
	await 10 gone "$daemon" || fail "the daemon does not end"
	daemon_again
}

# Within one run: the daemon is restarted, and the copy goes on by itself.
daemon_restarts_and_the_copy_goes_on()
{
	identity=(-i none --retries=8)
	daemon_start
	mkdir "$from/d"
	pattern "$from/d/f" "$big"
	for i in 1 2 3 4 5 6 7 8 9; do
		text "$from/d/small$i" "$i"
	done
	towards d e
	start_copy -r --timeout=10 --slot-size=4K --slots=2 "${words[@]}"
	restart_in_the_middle "$1"
	end_copy 40
	expect 0 "trying again in 1 s"
	for i in f small1 small9; do
		same "$from/d/$i" "$to/e/$i"
	done
	# what was whole but had no name yet when the daemon was killed stays until partial-age
	[ "$1" != KILL ] || rm -f "$to"/e/.small*.rdcp-part
	[ -z "$(find "$to/e" -name '*.rdcp-part')" ] || fail "the temporary file is left"
}

# What a pattern stands for is asked once; the next attempt goes on with what was found.
restart_with_a_pattern()
{
	local i

	identity=(-i none --retries=8)
	daemon_start
	pattern "$from/f" "$big"
	for i in 1 2 3 4 5; do
		text "$from/a$i" "$i"
		text "$from/g$i" "$i"
	done
	mkdir "$to/e"
	start_copy -v --timeout=10 --slot-size=4K --slots=2 "$host:$from/[a-g]*" "$to/e"
	restart_in_the_middle "$1"
	text "$from/b" "not there when it was asked"
	end_copy 40
	expect 0 "trying again in 1 s"
	[ "$(grep -c "' -> '" "$case_dir/err")" = 11 ] || fail "$err"
	[ ! -e "$to/e/b" ] || fail "asked once more"
	for i in f a1 a5 g1 g5; do
		same "$from/$i" "$to/e/$i"
	done
}

# What is skipped, or fails, in one attempt is neither told nor counted once more in the next.
restart_counts_once()
{
	local i

	identity=(-i none --retries=8)
	daemon_start
	mkdir "$from/d" "$to/e"
	pattern "$from/d/f" "$big"
	for i in 1 2 3 4 5 6 7 8 9; do
		text "$from/d/small$i" "$i"
		text "$to/e/small$i" old
		mkdir "$from/d/b$i"
		text "$from/d/b$i/f" "$i"
		text "$to/e/b$i" "in the way"
	done
	towards d/. e
	start_copy -r --ignore-existing --timeout=10 --slot-size=4K --slots=2 "${words[@]}"
	restart_in_the_middle TERM
	end_copy 40
	expect 1 "trying again in 1 s" "1 file was copied, 9 skipped, 18 failed"
	same "$from/d/f" "$to/e/f"
}

# Of a file with two names one is copied, and the other is to come.
restart_keeps_hard_links()
{
	local i

	identity=(-i none --retries=8)
	daemon_start
	mkdir "$from/d" "$to/e"
	pattern "$from/d/f" "$big"
	for i in 1 2 3 4 5 6 7 8 9; do
		text "$from/d/a$i" "$i"
		ln "$from/d/a$i" "$from/d/b$i"
	done
	towards d/. e
	start_copy -a --fsync=file --timeout=10 --slot-size=4K --slots=2 "${words[@]}"
	restart_in_the_middle TERM
	end_copy 40
	expect 0 "trying again in 1 s"
	same "$from/d/f" "$to/e/f"
	for i in 1 2 3 4 5 6 7 8 9; do
		holds "$to/e/a$i" "$i"
		[ "$to/e/a$i" -ef "$to/e/b$i" ] || fail "a$i and b$i are two files"
	done
}

# Nobody is there again: as many attempts as were asked for, and the error of the last.
retries_end()
{
	identity=(-i none --retries=1)
	daemon_start
	begin 1000000
	kill -KILL "$daemon"
	end_copy 20
	[ "$status" != 0 ] || fail "well without a daemon"
	[[ $err == *"trying again in 1 s"* ]] || fail "it did not try again: $err"
	[[ $err != *"trying again in 2 s"* ]] || fail "it tried twice: $err"
	rm -f "$to"/.g.*.rdcp-part
}

tree_part()
{
	[ -n "$(find "$to/e" -name '.f.*.rdcp-part' -size +1000k 2>/dev/null)" ]
}

resume()
{
	local bytes

	for bytes in 100000 20000000 40000000; do
		both "interrupted_at_${bytes}_goes_on" client_ends_and_goes_on INT 130 "$bytes"
	done
	both client_killed_goes_on client_killed_and_goes_on 10000000
	both daemon_stopped_goes_on daemon_ends_and_goes_on TERM
	both daemon_killed_goes_on daemon_ends_and_goes_on KILL
	both source_that_changed_starts_over source_that_changed_starts_over
	both damaged_parts_are_sent_again damaged_parts_are_sent_again
	both empty_temporary_does_no_harm odd_temporaries_do_no_harm 0
	both long_temporary_does_no_harm odd_temporaries_do_no_harm 90000000
	both planted_link_is_not_followed planted_temporaries_are_not_used link
	both temporary_of_another_user_is_not_used planted_temporaries_are_not_used file
	both limited_copy_goes_on_at_once limited_copy_goes_on_at_once
	both holes_interrupted_go_on holes_go_on INT
	both holes_killed_go_on holes_go_on KILL
	both damaged_holes_are_mended damaged_holes_are_mended
	both reserved_blocks_are_no_data reserved_blocks_are_no_data
	both two_at_once_do_not_share two_at_once_do_not_share
	both no_resume_leaves_nothing no_resume_leaves_nothing
	both files_of_a_tree_go_on files_of_a_tree_go_on
	both partial_dir_keeps_what_an_interrupt_leaves partial_dir_keeps_what_is_left INT
	both partial_dir_keeps_what_a_kill_leaves partial_dir_keeps_what_is_left KILL
	both partial_dir_of_a_tree_keeps_what_is_left partial_dir_of_a_tree
	both partial_dir_in_a_tree_is_an_error partial_dir_in_a_tree
	both partial_dir_that_is_a_link_is_an_error partial_dir_is_a_link
	both partial_dir_of_another_file_system_is_an_error partial_dir_is_mounted
	run partial_dir_is_swept there_and_back push partial_dir_is_swept
	both daemon_restarted_is_only_a_pause daemon_restarts_and_the_copy_goes_on TERM
	both daemon_killed_and_back_is_only_a_pause daemon_restarts_and_the_copy_goes_on KILL
	run daemon_restarted_with_a_pattern there_and_back pull restart_with_a_pattern TERM
	run daemon_killed_with_a_pattern there_and_back pull restart_with_a_pattern KILL
	both daemon_restarted_counts_once restart_counts_once
	both daemon_restarted_keeps_hard_links restart_keeps_hard_links
	both daemon_gone_for_good_is_an_error retries_end
}
