# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Which files are copied: rules, lists of names, what is skipped, what only would be copied, patterns of remote names.
# shellcheck disable=SC2154,SC2034

# make FILE...: each with its own name as content, and the directories on the way
make()
{
	local f

	for f; do
		[[ $f != */* ]] || mkdir -p "${f%/*}"
		text "$f" "$f"
	done
}

# tree_is FOLDER NAME...: exactly these files and links, below it
tree_is()
{
	local tree=$1 found want

	shift
	found=$(cd "$tree" && find . ! -type d -printf '%P\n' | sort)
	want=$(printf '%s\n' "$@" | sort)
	[ "$found" = "$want" ] || fail "there is: ${found//$'\n'/ }, instead of: $*"
}

nothing_in()
{
	local found

	found=$(find "$1" -mindepth 1 2>/dev/null)
	[ -z "$found" ] || fail "there is: $found"
}

# ---- rules

some_tree()
{
	(cd "$from" && make src/x.o src/x.c src/a/y.o src/a/keep.o src/b/c/z.o src/b/c/z.h src/.git/conf)
}

rules_in_order()
{
	some_tree
	transfer -r --exclude=/.git --include=keep.o --exclude='*.o' src dst
	expect_ok
	tree_is "$to/dst" x.c a/keep.o b/c/z.h
	[ ! -e "$to/dst/.git" ] || fail "a directory that is left out was made"
}

rules_of_files()
{
	some_tree
	printf -- '+ keep.o\n# a comment\n\n*.o' >rules
	printf '.git\0' >rules0
	transfer -r --exclude-from=rules --exclude='/b/' src dst
	expect_ok
	tree_is "$to/dst" x.c a/keep.o .git/conf
	transfer -r --from0 --exclude-from=rules0 --include-from=/dev/null src again
	expect_ok
	tree_is "$to/again" x.o x.c a/y.o a/keep.o b/c/z.o b/c/z.h
}

all_but_one_folder()
{
	some_tree
	transfer -r --include=b/ --include='b/**' --exclude='*' src dst
	expect_ok
	tree_is "$to/dst" b/c/z.o b/c/z.h
}

named_files_are_no_matter_of_rules()
{
	make "$from/f.o"
	transfer --exclude='*.o' f.o g.o
	expect_ok
	same "$from/f.o" "$to/g.o"
}

bad_rules()
{
	mkdir src
	copy -r --exclude= src "$host:$there/"
	expect 2 "the pattern is empty"
	copy -r --exclude-from=nothing src "$host:$there/"
	expect 2 "nothing"
	expect_one_line
	nothing_in "$there"
}

# as many as there may be, and one more
many_rules()
{
	local rules=() i

	some_tree
	for ((i = 0; i < 1023; i++)); do
		rules+=("--exclude=no$i")
	done
	transfer -r "${rules[@]}" --exclude='*.o' src dst
	expect_ok
	tree_is "$to/dst" x.c b/c/z.h .git/conf
	transfer -r "${rules[@]}" --exclude='*.o' --exclude=b src again
	expect 2 "too many rules"
}

# ---- what is skipped

# an older, a newer and no file at the destination
update()
{
	(cd "$from" && make src/older src/newer src/same src/none && ln -s x src/link)
	mkdir "$to/src"
	text "$to/src/older" old
	text "$to/src/newer" new
	text "$to/src/same" kept
	touch -d '1 hour ago' "$from"/src/*
	touch -d '2 hours ago' "$to/src/older"
	touch -r "$from/src/same" "$to/src/same"
	transfer -r -p -u src .
	expect_ok
	holds "$to/src/older" src/older
	holds "$to/src/newer" new
	holds "$to/src/same" kept
	holds "$to/src/none" src/none
	[ -L "$to/src/link" ] || fail "there is no link"
	transfer -r -u -v src .
	expect 0 "'$from/src/newer' skipped: the one there is as new"
	[[ $err != *"' copied"* ]] || fail "copied again: $err"
}

# what is large is not sent to its end
update_large()
{
	truncate -s 300M "$from/f"
	touch -d '1 hour ago' "$from/f"
	text "$to/f" new
	transfer --no-sparse -u f f
	expect_ok
	holds "$to/f" new
	touch -d '2 hours ago' "$to/f"
	transfer -u f f
	expect_ok
	same "$from/f" "$to/f"
}

held()
{
	(cd "$from" && make src/a src/b && ln -s x src/link)
	mkdir "$to/src"
	text "$to/src/a" kept
	ln -s y "$to/src/link"
	touch -d '1 year ago' "$to/src/a"
	transfer -r --ignore-existing src .
	expect_ok
	holds "$to/src/a" kept
	holds "$to/src/b" src/b
	[ "$(readlink "$to/src/link")" = y ] || fail "the link was replaced"
	transfer --ignore-existing src/b src/a
	expect_ok
	holds "$to/src/a" kept
	transfer --no-clobber src/b src/a
	expect 1
}

# ---- what would be copied

# says_of_src NAME SIZE...: these would be copied
says_of_src()
{
	local want found line

	want=$(printf "'$from/src/%s' -> %s\n" "$@" | sort)
	found=$(while IFS= read -r line; do echo "${line% -> *} -> ${line##*, }"; done <<<"$out" | sort)
	[ "$found" = "$want" ] || fail "it says: $out"
}

dry()
{
	(cd "$from" && make src/a src/d/b && mkdir src/empty && ln -s x src/link)
	transfer -r -n src dst
	expect_ok
	says_of_src a '6 B' d/b '8 B' link '0 B'
	nothing_in "$to"
	transfer -r -n --mkpath src no/such/way
	expect_ok
	nothing_in "$to"
	transfer -r -n src no/such/way
	expect 1 "no such file"
	nothing_in "$to"
}

# against what is there
dry_update()
{
	(cd "$from" && make src/a src/b src/c/d src/e)
	transfer -r src .
	expect_ok
	rm "$to/src/b"
	text "$from/src/e" changed
	touch -d '1 hour ago' "$to/src/e"
	rm -r "$to/src/c"
	find "$to/src" -printf '%p %s %T@\n' | sort >before
	transfer -r -n -u src .
	expect_ok
	says_of_src b '6 B' c/d '8 B' e '8 B'
	find "$to/src" -printf '%p %s %T@\n' | sort | cmp - before || fail "something was changed"
}

# the same failures as without
dry_failures()
{
	make "$from/f" "$from/g"
	mkdir -p "$to/dir/f"
	mkfifo "$to/fifo"
	transfer -n f dir/
	expect 1 "is a directory"
	transfer -n f fifo
	expect 1
	transfer -n nothing x
	expect 1 "no such file"
	transfer -n --no-clobber f g
	expect_ok
	make "$to/h"
	transfer -n --no-clobber f h
	expect 1
	copy -n "$from/f" "$host:$ro/x"
	[ "$way" = pull ] || expect 1 "read-only"
}

# ---- lists of names

names_of_a_list()
{
	(cd "$from" && make src/a src/b src/d/e/f src/d/g src/x/y src/x/z)
	printf 'a\n./d/e/f\n../../d/g\n\nx\n' >list
	transfer -r --files-from=list src dst
	expect_ok
	tree_is "$to/dst" a d/e/f d/g x/y x/z
	transfer --files-from=list src again
	expect 1 "'$from/src/x': is a directory"
	tree_is "$to/again" a d/e/f d/g
	printf 'b\0d/e/f\0' >list0
	transfer --files-from=list0 --from0 src third/
	expect_ok
	tree_is "$to/third" b d/e/f
	printf 'a\nnothing\nd/nothing\n' >list
	transfer --files-from=list src fourth
	expect 1 "'$from/src/nothing': no such file" "'$from/src/d/nothing': no such file" "1 file was copied, 2 failed"
	tree_is "$to/fourth" a
}

# what find -printf '%P\n' writes: nothing in it is a comment, or an end of a line but the line feed
list_of_any_names()
{
	local name names=('#note' ';x' $'f\r' f '- y' ' z ' $'\r')

	mkdir "$from/src"
	for name in "${names[@]}"; do text "$from/src/$name" "of $name"; done
	printf '%s\n' "${names[@]}" >list
	transfer --files-from=list src dst
	expect_ok
	for name in "${names[@]}"; do holds "$to/dst/$name" "of $name"; done
	printf 'g\r\n' >list
	text "$from/src/g" other
	transfer --files-from=list src dst
	expect 1 "g\\015': no such file"
}

list_of_standard_input()
{
	make "$from/src/a" "$from/src/b/c"
	towards --files-from=- src dst
	rdcp "${words[@]}" <<<$'b/c' >"$case_dir/out" 2>"$case_dir/err"
	status=$?
	collect_output
	expect_ok
	tree_is "$to/dst" b/c
	: >empty
	transfer --files-from=empty src none
	expect_ok
	[ ! -e "$to/none" ] || fail "something was made"
}

lists_that_do_not_fit()
{
	make src/a b
	text list a
	copy --files-from=list src b "$host:$there/"
	expect 2 "--files-from takes one source"
	copy --files-from=nothing src "$host:$there/"
	expect 2 "nothing"
	nothing_in "$there"
}

# ---- sources that go

sources_are_removed()
{
	make src/a src/d/b src/skipped src/failed f g
	ln -s x src/link
	mkdir -p "$there/src/failed" "$there/src/skipped.d"
	text "$there/src/skipped" kept
	touch -d '1 hour' "$there/src/skipped"
	copy -r -u --remove-source-files src f "$host:$there/"
	expect 1 "'src/failed': is a directory"
	tree_is . src/skipped src/failed g
	[ -d src/d ] || fail "a directory was removed"
	tree_is "$there" src/a src/d/b src/skipped src/link f
}

# with_sources [OPTION...] NAME... DEST: several of them, push or pull as `way` says
with_sources()
{
	towards_from_several "$@"
	copy "${words[@]}"
}

towards_from_several()
{
	local word names=()

	words=()
	for word in "${@:1:$#-1}"; do
		case $word in
		-*) words+=("$word") ;;
		*) if [ "$way" = push ]; then names+=("$from/$word"); else names+=("$host:$from/$word"); fi ;;
		esac
	done
	word=$to/${*: -1}
	[ "$way" = pull ] || word=$host:$word
	words+=("${names[@]}" "$word")
}

just_made="it would overwrite what this copy has just made"

# As cp: the first one wins, however long it takes.
one_name_twice()
{
	local i

	(cd "$from" && make b/f a/g)
	pattern "$from/a/f" 3000000
	for i in end file none; do
		rm -rf "$to/d"
		mkdir "$to/d"
		with_sources --fsync=$i a/f b/f a/g d/
		expect 1 "b/f': not copied: $just_made" "2 files were copied, 1 failed"
		same "$from/a/f" "$to/d/f"
		holds "$to/d/g" a/g
	done
	with_sources a/f d # there was one before: it is replaced
	expect_ok
}

# Trees may be merged, but no file of one replaces that of another; links count as well.
merged_trees()
{
	(cd "$from" && make a/d/f a/only b/d/f b/d/other)
	ln -s f "$from/a/l"
	ln -s other "$from/b/l"
	with_sources -r a/. b/. .
	expect 1 "b/./d/f': not copied: $just_made" "b/./l': not copied: $just_made"
	tree_is "$to" d/f only d/other l
	holds "$to/d/f" a/d/f
	[ "$(readlink "$to/l")" = f ] || fail "$(ls -l "$to/l")"
}

# What was left alone was not made here: the next one may replace it.
skipped_is_not_made()
{
	(cd "$from" && make a/f b/f)
	text "$to/f" old
	touch -d '-3 hours' "$from/a/f"
	touch -d '-2 hours' "$to/f"
	touch -d '-1 hour' "$from/b/f"
	with_sources -u a/f b/f .
	expect_ok
	holds "$to/f" b/f
	with_sources --ignore-existing a/f b/f .
	expect_ok
	holds "$to/f" b/f
}

# The connection breaks between the two: the next attempt knows what the one before has made.
made_by_an_attempt_before()
{
	identity=(-i none --retries=8)
	daemon_start
	(cd "$from" && make a/f c/f c/g)
	mkdir "$from/b"
	pattern "$from/b/large" 50000000
	towards_from_several -r --timeout=10 --slot-size=4K --slots=2 a/. b/. c/. .
	start_copy "${words[@]}"
	await 20 part_in "$to" || fail "the copy does not begin; $(<"$case_dir/err")"
	kill -TERM "$daemon"
	await 10 gone "$daemon" || fail "the daemon does not end"
	daemon_again
	end_copy 40
	expect 1 "trying again in 1 s" "c/./f': not copied: $just_made"
	holds "$to/f" a/f
	holds "$to/g" c/g
	same "$from/b/large" "$to/large"
}

same_source_twice()
{
	(cd "$from" && make f g d/h)
	with_sources f g f .
	expect 0 "f' is named more than once, ignoring"
	expect_one_line
	tree_is "$to" f g
	with_sources -r d f d .
	expect 0 "d' is named more than once, ignoring"
	tree_is "$to" f g d/h
	printf '%s\n' d d/h f f >list
	transfer -r --files-from=list . x
	expect_ok
	tree_is "$to/x" d/h f
}

no_source_is_lost()
{
	make a/f b/f b/g f
	copy -r --remove-source-files a/. b/. "$host:$there/"
	expect 1 "'b/./f': not copied: $just_made"
	tree_is . b/f f
	tree_is "$there" f g
	holds "$there/f" a/f
	copy --remove-source-files b/f f "$host:$there/"
	expect 1 "'f': not copied: $just_made"
	tree_is . f
	holds "$there/f" b/f
}

# No name says that it is one place: a directory has two, as a file has where case does not matter.
one_place_with_two_names()
{
	local first=d second=e

	mkdir "$to/d"
	ln -s d "$to/e"
	(cd "$from" && make d/f e/f)
	printf '%s\n' d/f e/f >list
	transfer --files-from=list . .
	expect 1 "/f': not copied: $just_made" "1 file was copied, 1 failed"
	[[ $err == *"e/f': not"* ]] || first=e second=d
	[[ $err == *"$second/f': not"* ]] || fail "$err"
	holds "$to/d/f" "$first/f"
	[ "$way" = push ] || return 0
	transfer --remove-source-files --files-from=list . .
	expect 1 "1 file was copied, 1 failed"
	[ -f d/f ] || first=e
	[ -f d/f ] && [ -f e/f ] && fail "nothing was removed"
	[ -f d/f ] || [ -f e/f ] || fail "both sources are gone"
}

# By name and in a directory: what was removed already is no failure.
source_named_twice()
{
	make src/a src/d/b f
	ln f same
	printf '%s\n' a ./a d d//b >list
	copy -r --remove-source-files --files-from=list src "$host:$there/x"
	expect_ok
	copy --remove-source-files f same ./f "$host:$there/"
	expect 0 "'./f' is named more than once, ignoring"
	tree_is . list
	tree_is "$there" x/a x/d/b f same
}

changed_source_stays()
{
	make f
	ln -s f link
	copy --remove-source-files link "$host:$there/"
	expect 1 "'link': copied, but not removed: it is a symbolic link, and what it leads to was copied"
	[ -L link ] || fail "the link is gone"
	holds f f
	holds "$there/link" f
	make g
	copy --remove-source-files link g "$host:$there/"
	expect 1 "2 files were copied, 0 failed, 1 not removed"
	copy --remove-source-files -n f "$host:$there/x"
	expect_ok
	holds f f
	copy --remove-source-files "$host:$there/link" x
	expect 2 "a daemon lets no client remove its files"
	copy -r -L --remove-source-files . "$host:$there/x"
	expect 2 "-L"
}

source_stays_without_a_promise()
{
	truncate -s 1G f
	start_copy --no-sparse --slot-size=4K --slots=2 --remove-source-files f "$host:$there/f"
	await 10 part_in "$there" || fail "the copy does not begin"
	kill -INT "$client"
	end_copy 5
	expect 130
	[ -f f ] || fail "the source is gone"
	rm -f "$there"/.*.rdcp-part
}

# ---- names at the host

some_names()
{
	(cd "$there" && make data/a.bin data/b.bin data/c.txt data/.h.bin data/sub/x.bin other/o.bin 'lit*' litx &&
		ln -s data link && ln -s /etc out)
}

patterns()
{
	some_names
	mkdir dst
	copy "$host:$there/data/*.bin" dst
	expect_ok
	tree_is dst a.bin b.bin
	copy "$host:$there/data/.*" "$host:$there/*/o?bin" dst
	expect_ok
	tree_is dst a.bin b.bin .h.bin o.bin
	mkdir once
	copy "$host:$there/lit*" once
	expect_ok
	tree_is once 'lit*'
	copy "$host:$there/litx*" alone
	expect_ok
	holds alone litx
	copy -r "$host:$there/dat[a]" tree
	expect_ok
	tree_is tree a.bin b.bin c.txt .h.bin sub/x.bin
}

patterns_that_fail()
{
	some_names
	mkdir dst
	copy "$host:$there/no*" dst
	expect 1 "'$there/no*': no such file"
	expect_one_line
	copy "$host:$there/no*" "$host:$there/litx" dst
	expect 1 "no such file"
	tree_is dst litx
	copy "$host:$there/data/[as]*" dst
	expect 1 "'$there/data/sub': is a directory"
	tree_is dst litx a.bin
	copy "$host:$there/data/*.bin" one
	expect 1
	nothing_in one
	copy "$host:$there/out/pass*" dst
	expect 1 "not allowed"
	copy "$host:$there/../*" dst
	expect 1 "not allowed"
	tree_is dst litx a.bin
}

# as many as several records and messages hold
pattern_for_many()
{
	local i

	mkdir "$there/many" dst
	for ((i = 0; i < 1500; i++)); do
		: >"$there/many/a-rather-long-name-so-that-not-many-fit-into-one-message-$i"
	done
	copy "$host:$there/many/*-1*" dst
	expect_ok
	(cd "$there/many" && printf '%s\n' *-1*) >want
	(cd dst && printf '%s\n' *) | cmp - want || fail "not the same names"
}

list()
{
	some_names
	copy --list "$host:$there"
	expect_ok
	[ "$out" = "data/
link/
lit*
litx
other/
out" ] || fail "it says: $out"
	copy --list "$host:$there/data/a.bin"
	expect_ok
	[ "$out" = a.bin ] || fail "it says: $out"
	copy --list "$host:$there/data/*.bin"
	expect_ok
	[ "$out" = $'a.bin\nb.bin' ] || fail "it says: $out"
	rdcp --list --from0 "$host:$there/data/" | cmp - <(printf '.h.bin\0a.bin\0b.bin\0c.txt\0sub/\0') ||
		fail "not these names"
	copy --list "$host:$there/nothing"
	expect 1 "no such file"
	rdcp --list "$host:$there" >/dev/full 2>err
	status=$? err=$(<err)
	expect 1 "standard output: No space left on device"
	copy --list --json "$host:$there"
	expect 2
	copy --list data
	expect 2 "ls(1)"
	copy --list "$host:a" "$host:b"
	expect 2 "--list takes one place"
	mkdir "$there/empty"
	copy --list "$host:$there/empty"
	expect_ok
	[ -z "$out" ] || fail "it says: $out"
}

# The same bytes, whatever the time, are not sent again; other bytes of the same size and time are.
by_checksum()
{
	mkdir "$from/src" "$to/src"
	pattern "$from/src/large" 20000000
	pattern "$from/src/changed" 20000000
	text "$from/src/small" small
	text "$from/src/other" other
	: >"$from/src/empty"
	cp "$from"/src/* "$to/src/"
	touch -d '2001-01-01' "$to/src/large" "$to/src/small"
	printf X | dd of="$to/src/changed" bs=1 seek=10000000 conv=notrunc status=none
	printf OTHER >"$to/src/other"
	touch -r "$from/src/changed" "$to/src/changed"
	touch -r "$from/src/other" "$to/src/other"
	transfer -r -v --checksum src/. src
	expect 0 "src/./large' skipped: the one there has the same bytes" "src/./small' skipped"
	[[ $err != *"changed' skipped"* && $err != *"other' skipped"* ]] || fail "it says: $err"
	[ "$(stat -c %Y "$to/src/large")" = "$(date -d 2001-01-01 +%s)" ] || fail "the same file was replaced"
	for f in large changed small other empty; do
		same "$from/src/$f" "$to/src/$f"
	done
}

# nothing_sent OPTION...: of $from/src, which is in $to/src already
nothing_sent()
{
	local ended

	ended=$(daemon_count ' account: ')
	transfer -r --json "$@" src .
	expect_ok
	if [ "$way" = push ]; then
		[[ $out == *'"sent":0,"stored":0'* ]] || fail "$out"
	else
		await 10 accounts_are $((ended + 1)) || fail "no account"
		[[ $(grep ' account: ' "$log" | tail -n 1) == *' 0 bytes,'* ]] || fail "$(grep account: "$log")"
	fi
}

accounts_are()
{
	[ "$(daemon_count ' account: ')" = "$1" ]
}

# The bytes of small files that stay as they are are not sent; those of the others are.
bytes_stay()
{
	local i

	mkdir -p "$from/src/d/e" "$to"
	for ((i = 0; i < 150; i++)); do
		text "$from/src/$i" "$i"
		text "$from/src/d/$i" "d$i"
		text "$from/src/d/e/$i" "e$i"
	done
	pattern "$from/src/middle" 700000
	pattern "$from/src/d/larger" 3000000
	: >"$from/src/none"
	ln -s 1 "$from/src/d/link"
	touch -d '1 hour ago' "$from/src/none" # of no bytes, and not asked for
	cp -a "$from/src" "$to/src"
	nothing_sent -u
	nothing_sent --ignore-existing
	nothing_sent --checksum
	rm "$to"/src/d/1* "$to/src/middle"
	rm -r "$to/src/d/e"
	for i in -u --ignore-existing --checksum; do
		transfer -rp "$i" --slots=2 --slot-size=64K src .
		expect_ok
		diff -r --no-dereference "$from/src" "$to/src" >"$case_dir/diff" || fail "$i: $(head -n 5 "$case_dir/diff")"
		rm "$to"/src/d/2* "$to/src/d/larger"
	done
}

# Hours of reading: nobody waits for their end when nobody wants it any more.
checksum_is_given_up()
{
	local worked

	truncate -s 1T "$there/f" || skip "no such file here"
	daemon_start
	worked=$(ticks_of "$daemon")
	start_copy --checksum "$host:$there/f" g
	await 20 has_worked $((worked + 30)) || fail "the daemon does not read"
	kill -KILL "$client"
	end_copy 3
	await 10 daemon_says "account: " || fail "the daemon goes on with it: $(<"$log")"
}

# has_worked TICKS: the daemon
has_worked()
{
	[ "$(ticks_of "$daemon")" -ge "$1" ]
}

choosing()
{
	both rules_count_in_their_order rules_in_order
	both rules_of_files_count rules_of_files
	both rules_can_leave_one_folder all_but_one_folder
	both rules_do_not_touch_what_is_named named_files_are_no_matter_of_rules
	run rule_that_cannot_be_used_is_refused bad_rules
	both rules_up_to_their_number many_rules
	both update_leaves_what_is_newer update
	both update_of_a_large_file update_large
	both checksum_skips_the_same_bytes by_checksum
	run checksum_nobody_waits_for_is_given_up there_and_back push checksum_is_given_up
	both bytes_of_what_stays_are_not_sent bytes_stay
	both what_is_there_is_skipped held
	both dry_run_says_what_would_be_copied dry
	both dry_run_compares_with_what_is_there dry_update
	both dry_run_fails_like_the_copy dry_failures
	both list_of_names_is_copied names_of_a_list
	both list_has_names_and_no_comments list_of_any_names
	both list_of_standard_input_is_copied list_of_standard_input
	run list_that_does_not_fit_is_refused lists_that_do_not_fit
	run removed_sources_are_those_that_were_copied sources_are_removed
	run removed_source_named_twice source_named_twice
	both of_two_sources_with_one_name_the_first_wins one_name_twice
	both merged_trees_keep_what_the_first_has_made merged_trees
	both what_was_skipped_was_not_made skipped_is_not_made
	both what_an_attempt_has_made_the_next_keeps made_by_an_attempt_before
	both source_named_twice_is_copied_once same_source_twice
	both two_names_of_one_place_are_found one_place_with_two_names
	run source_stays_when_its_copy_was_refused no_source_is_lost
	run removed_source_is_what_was_read changed_source_stays
	run source_stays_without_a_promise source_stays_without_a_promise
	run pattern_stands_for_what_the_daemon_finds patterns
	run pattern_that_fails_is_told patterns_that_fail
	run pattern_for_many_names pattern_for_many
	run names_at_the_host_are_listed list
}
