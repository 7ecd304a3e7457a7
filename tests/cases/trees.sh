# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Directories with -r: where they go, by what cp does with the same, what is in them, and what becomes of the rest when
# something of them cannot be copied.

# ---- what is compared

# tree_of DIR FORMAT: one line for each entry, by find's FORMAT
tree_of()
{
	(cd "$1" && find . -mindepth 1 -printf "$2\\0" | sort -z | tr '\n\0' '?\n')
}

# same_tree A B [FORMAT]: the same names, kinds, link texts and bytes, and what the format shows besides
same_tree()
{
	local a b format=${3-} at

	a=$(tree_of "$1" "%P %y %l $format") b=$(tree_of "$2" "%P %y %l $format")
	[ "$a" = "$b" ] || fail "$(diff <(echo "$a") <(echo "$b") | head -n 8)"
	at=$(diff -r --no-dereference "$1" "$2" 2>&1 | head -n 3)
	[ -z "$at" ] || fail "$at"
}

# exactly_same_tree A B: with modes and times
exactly_same_tree()
{
	same_tree "$1" "$2" "%m %T@"
}

# some_tree DIR: a bit of everything
some_tree()
{
	mkdir -p "$1/a/b/c" "$1/empty" "$1/.hidden"
	text "$1/f" content
	: >"$1/none"
	pattern "$1/a/large" 300000
	text "$1/a/b/c/deep" content
	text "$1/.hidden/f" content
	ln -s f "$1/link"
	ln -s nowhere "$1/a/dangling"
	ln -s /nowhere/at/all "$1/absolute"
	ln -s b "$1/a/to-directory"
}

# ---- destinations and sources: cp decides

# A fresh folder of destinations, in which names say what they are.
make_destinations()
{
	mkdir -p "$1/dir/sub" "$1/full/src/empty" "$1/blocked"
	text "$1/file" old
	text "$1/full/src/f" old
	text "$1/full/src/other" old
	text "$1/blocked/src" old
	ln -s dir "$1/link"
	ln -s nowhere "$1/dangling"
}

# like_cp DEST SOURCE...: the same comes of it as of cp -r, well or not
like_cp()
{
	local dest=$1 source words=() rc

	shift
	rm -rf "$to/x" ref
	make_destinations "$to/x"
	make_destinations ref
	for source; do
		if [ "$way" = push ]; then words+=("$from/$source"); else words+=("$host:$from/$source"); fi
	done
	if [ "$way" = push ]; then words+=("$host:$to/x/$dest"); else words+=("$to/x/$dest"); fi
	(cd "$from" && cp -r "$@" "$here/ref/$dest") 2>cp.err
	rc=$?
	copy -r --fsync=none "${words[@]}"
	[ "$rc" = "$status" ] || fail "$* to '$dest': cp ends with $rc, rdcp with $status; $(<cp.err); $err"
	(same_tree ref "$to/x") || fail "$* to '$dest': $(<"$work/why")"
}

places()
{
	local dest

	some_tree "$from/src"
	for dest in new new/ dir dir/ dir/. dir//new full full/ full/src link link/ link/new blocked file file/ file/new missing/new \
		missing/new/ dangling; do
		like_cp "$dest" src
	done
	[ "$way" = pull ] || return 0
	for dest in dir/.. dir/sub/../new; do # a daemon takes no '..' in a path
		like_cp "$dest" src
	done
}

sources()
{
	local source

	some_tree "$from/src"
	for source in src/ src/. src/a/.. ./src src//a src/a/ src/empty src/empty/. src/to-none; do
		[ "$way$source" != pullsrc/a/.. ] || continue # a daemon takes no '..' in a path
		like_cp new "$source"
		like_cp dir "$source"
		like_cp full "$source"
	done
}

# A directory that is named by a link: what it leads to, as scp does.
source_link()
{
	some_tree "$from/src"
	ln -s src "$from/link"
	transfer -r link new
	expect_ok
	same_tree "$from/src" "$to/new"
	transfer -r link/ new2
	expect_ok
	same_tree "$from/src" "$to/new2"
}

many_sources()
{
	some_tree "$from/src"
	some_tree "$from/src2"
	text "$from/src2/only" content
	text "$from/file" content
	mkdir "$from/nothing"
	like_cp dir src file src2 nothing
	like_cp dir/ file src src2/a
	like_cp new src src2
	like_cp file src src2
	like_cp dir src src2/. file
	like_cp full file src
	like_cp dir missing src file
}

# into_itself NAME: $there/a is copied to $there/a/NAME
into_itself()
{
	local name=$1

	if [ "$way" = push ]; then
		copy -r "$there/a" "$host:$there/a/$name"
	else
		copy -r "$host:$there/a" "$there/a/$name"
	fi
	expect 1 "cannot be copied into itself"
}

own_copies()
{
	mkdir -p "$there/a/b/c" ref/a/b/c
	text "$there/a/f" content
	text ref/a/f content
	cp -r ref/a ref/copy
	mv ref/copy ref/a/b/a
	into_itself b
	same_tree ref/a "$there/a"
	into_itself b # where it is there already
	same_tree ref/a "$there/a"
	into_itself new
	holds "$there/a/new/b/a/f" content
	[ ! -e "$there/a/new/new" ] || fail "$(find "$there")"
	if [ "$way" = push ]; then
		copy -r "$there/a/." "$host:$there/a"
	else
		copy -r "$host:$there/a/." "$there/a"
	fi
	expect 1 "the destination is the source itself"
}

without_r()
{
	some_tree "$from/src"
	text "$from/file" content
	mkdir "$to/dir"
	transfer src new
	expect 1 "src': is a directory"
	[ ! -e "$to/new" ] || fail "it was made"
	if [ "$way" = push ]; then
		copy "$from/src" "$from/file" "$host:$to/dir"
	else
		copy "$host:$from/src" "$host:$from/file" "$to/dir"
	fi
	expect 1 "src': is a directory"
	holds "$to/dir/file" content
	[ ! -e "$to/dir/src" ] || fail "it was made"
}

# The first export is where a path without a slash begins.
default_export()
{
	some_tree src
	exports="[export rdcp]
path = $there
access = read-write"
	daemon_start
	copy -r src "$host:"
	expect_ok
	same_tree src "$there/src"
	copy -r src "$host:new"
	expect_ok
	same_tree src "$there/new"
	copy -r src/. "$host:."
	expect_ok
	holds "$there/a/b/c/deep" content
	copy -r src "$host:."
	expect_ok
	rm -r "$there/new" "$there/src"
	mkdir back
	copy -r "$host:." back
	expect_ok
	same_tree "$there" back
	copy -r "$host:" back2
	expect_ok
	same_tree "$there" back2
	copy -r src "$host:.."
	[ "$status" != 0 ] || fail "it went out of the export"
	copy -r src "$host:../x"
	[ "$status" != 0 ] || fail "it went out of the export"
	copy -r "$host:.." back3
	[ "$status" != 0 ] && [ ! -e back3 ] || fail "it came from outside of the export"
}

make_path()
{
	some_tree "$from/src"
	text "$from/file" content
	transfer -r --mkpath src new/a/b
	expect_ok
	same_tree "$from/src" "$to/new/a/b"
	transfer --mkpath file new2/a/b
	expect_ok
	holds "$to/new2/a/b" content
	transfer --mkpath file new3/a/b/
	expect_ok
	holds "$to/new3/a/b/file" content
	transfer --mkpath file new4/./a//b
	expect_ok
	holds "$to/new4/a/b" content
	transfer --mkpath file file/a/b
	expect_ok
	holds "$to/file/a/b" content
	text "$to/old" old
	transfer --mkpath file old/a/b
	expect 1 "not a directory"
	holds "$to/old" old
	if [ "$way" = push ]; then
		copy -r --mkpath "$from/src" "$from/file" "$host:$to/new5/a"
	else
		copy -r --mkpath "$host:$from/src" "$host:$from/file" "$to/new5/a"
	fi
	expect_ok
	same_tree "$from/src" "$to/new5/a/src"
	holds "$to/new5/a/file" content
}

# ---- what is in them

generated()
{
	local seed

	need perl
	need_root
	for seed in "$@"; do
		rm -rf "$from/src" "$to/dst" ref
		"$tests/make-tree" "$seed" 65536 "$from/src" || fail "no tree"
		transfer -rp --slot-size=64K --slots=8 src dst
		expect_ok
		cp -a "$from/src" ref
		(exactly_same_tree ref "$to/dst") || fail "seed $seed: $(<"$work/why")"
		# over itself, with the defaults
		transfer -rp src/. dst
		expect_ok
		(exactly_same_tree ref "$to/dst") || fail "seed $seed, second copy: $(<"$work/why")"
	done
}

times_of_directories()
{
	some_tree "$from/src"
	touch -d @86400.25 "$from/src/a/b/c" "$from/src/empty"
	touch -d @-5 "$from/src/a"
	touch -h -d @7.5 "$from/src/link"
	touch -d @4294967297.125 "$from/src"
	transfer -rp src dst
	expect_ok
	exactly_same_tree "$from/src" "$to/dst"
	[ "$(stat -c %Y "$to/dst")" = 4294967297 ] || fail "the top has another time"
}

# Not as root: permissions hold.
unprivileged=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# sender_is_nobody, receiver_is_nobody: the side that reads, the side that writes
sender_is_nobody()
{
	need_root
	need setpriv
	if [ "$way" = push ]; then
		prefix_rdcp=("${unprivileged[@]}")
	else
		prefix=("${unprivileged[@]}")
		daemon_start
	fi
}

receiver_is_nobody()
{
	need_root
	need setpriv
	chown 65534 "$to"
	if [ "$way" = pull ]; then
		prefix_rdcp=("${unprivileged[@]}")
	else
		prefix=("${unprivileged[@]}")
		daemon_start
	fi
}

read_only_directories()
{
	some_tree "$from/src"
	chmod 0555 "$from/src/a/b/c" "$from/src/a/b" "$from/src/empty"
	chmod 0500 "$from/src/a"
	chmod 0111 "$from/src/.hidden"
	chmod 0555 "$from/src"
	receiver_is_nobody
	transfer -rp src dst
	expect_ok
	exactly_same_tree "$from/src" "$to/dst"
	transfer -r src dst2
	expect_ok
	same_tree "$from/src" "$to/dst2" "%m"
}

kept_modes()
{
	mkdir -p "$from/src/a/b" "$to/src/a"
	text "$from/src/a/b/f" content
	chmod 0555 "$from/src/a/b" "$from/src/a" "$from/src"
	chmod 0750 "$to/src/a"
	chmod 0711 "$to/src"
	transfer -r src .
	expect_ok
	[ "$(stat -c %a "$to/src" "$to/src/a" "$to/src/a/b")" = $'711\n750\n555' ] || fail "$(stat -c '%n %a' "$to/src" "$to/src/a"*)"
	transfer -rp src .
	expect_ok
	exactly_same_tree "$from/src" "$to/src"
}

unreadable()
{
	some_tree "$from/src"
	text "$from/src/secret" content
	chmod 0600 "$from/src/secret"
	mkdir -m 0700 "$from/src/closed"
	text "$from/src/closed/f" content
	sender_is_nobody
	transfer -r src dst
	expect 1 "src/secret': permission denied" "src/closed': permission denied" "2 failed"
	[ ! -e "$to/dst/secret" ] || fail "something came of it"
	rm -r "$from/src/secret" "$from/src/closed/f" "$to/dst/closed"
	rmdir "$from/src/closed"
	same_tree "$from/src" "$to/dst"
}

unreadable_top()
{
	some_tree "$from/src"
	chmod 0700 "$from/src"
	sender_is_nobody
	transfer -r src dst
	expect 1 "src': permission denied"
	[ ! -e "$to/dst" ] || fail "something came of it"
}

# A directory that cannot be made is told once, and not once for each entry in it, nor once more when it would get its
# attributes. So does the daemon.
blocked_directory()
{
	need perl
	daemon_start
	mkdir -p "$from/src/a/b/c" "$from/src/z" "$to/src"
	files_in "$from/src/a" 700 3000
	files_in "$from/src/a/b/c" 300 10
	text "$from/src/z/f" content
	text "$to/src/a" "in the way"
	transfer "$1" src .
	expect 1 "src/a': not a directory" \
		"src/a': 1002 entries beneath it were not copied, either" "1 file was copied, 1003 failed"
	[ "$(wc -l <<<"$err")" = 3 ] || fail "$err"
	holds "$to/src/z/f" content
	holds "$to/src/a" "in the way"
	await 10 daemon_says "session ends"
	await 10 daemon_says "src/a': 1002 entries beneath it were not" || fail "$(<"$log")"
	await 10 daemon_says "1003 failed" || fail "$(<"$log")"
	[ "$(daemon_count "src/a/")" = 0 ] || fail "$(<"$log")"
}

special_files()
{
	need perl
	some_tree "$from/src"
	mkfifo "$from/src/a/fifo"
	perl -MSocket -e 'chdir shift; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("socket")) or die' "$from/src"
	transfer -r src dst
	expect 1 "src/a/fifo': not a regular file" "src/socket': not a regular file" "9 files were copied, 2 failed"
	rm "$from/src/a/fifo" "$from/src/socket"
	same_tree "$from/src" "$to/dst"
}

names()
{
	local name long

	printf -v long '%0255d' 0
	mkdir "$from/src"
	for name in $'new\nline' '-dash' ' ' '*' \\ 'a:b' $'\xff\xfe' $'\e]0;x\a' '...' '~' "$long" .f.abcdefgh.rdcp-par; do
		mkdir "$from/src/$name"
		text "$from/src/$name/$name" content
		ln -s -- "$name" "$from/src/$name/link"
	done
	transfer -r src dst
	expect_ok
	same_tree "$from/src" "$to/dst"
	transfer -rv src dst2
	expect 0
	[[ $err$out != *[$'\e\a\xff']* ]] || fail "bytes of names reach the terminal"
}

# As deep as a path of 4095 bytes goes, from the top; the daemon and the client can reach that only step by step.
deep()
{
	local name i

	printf -v name '%0254d' 0
	mkdir "$from/src"
	(
		cd "$from/src" || exit
		for i in {1..15}; do
			mkdir "$name" && cd "$name" || exit
			text f content
		done
		: >"$name"
	) || fail "no deep tree"
	transfer -r src dst
	expect_ok
	[ "$(cd "$to/dst" && find . | wc -l)" = "$(cd "$from/src" && find . | wc -l)" ] || fail "not all is there"
	(
		cd "$from/src" || exit
		for i in {1..15}; do cd "$name" || exit; done
		mkdir "${name:0:30}" && cd "${name:0:30}" && : >"$name"
	) || fail "no deeper tree"
	transfer -r src dst2
	expect 1 "file name too long" "1 failed"
	(cd "$to/dst2" && cd "$name/$name/$name" && holds f content) || fail "what is not so deep is missing"
}

# files_in DIR COUNT BYTES
files_in()
{
	perl -e 'my ($dir, $count, $bytes) = @ARGV; for my $i (1 .. $count) { open(F, ">", "$dir/$i") or die; print F substr("$i " x $bytes, 0, $bytes) }' \
		"$1" "$2" "$3"
}

many_files()
{
	need perl
	mkdir "$from/src"
	files_in "$from/src" "$1" "$2"
	transfer -r src dst
	expect_ok
	same_tree "$from/src" "$to/dst"
	transfer -r src dst
	expect_ok
	same_tree "$from/src" "$to/dst/src"
}

# vast COUNT: one directory of so many files, there and back
vast()
{
	local rdcp_seconds=100

	need perl
	mkdir "$here/src"
	files_in "$here/src" "$1" 100
	copy -r "$here/src" "$host:$there/dst"
	expect_ok
	copy -r "$host:$there/dst" "$here/back"
	expect_ok
	perl -e 'my ($dir, $count, $bytes) = @ARGV; local $/;
		for my $i (1 .. $count) { open(F, "<", "$dir/$i") && <F> eq substr("$i " x $bytes, 0, $bytes) or die "$i differs\n" }
		opendir(D, $dir); my @all = readdir(D); die "there are others\n" if @all != $count + 2' \
		"$here/back" "$1" 100 2>"$case_dir/why" || fail "$(<"$case_dir/why")"
}

# ---- what goes wrong on the way

# While it is copied, files come, go and grow: the copy ends, each file is whole or named.
changing()
{
	local i churn

	need perl
	mkdir -p "$from/src/stable" "$from/src/moving"
	files_in "$from/src/stable" 300 5000
	files_in "$from/src/moving" 300 5000
	perl -e 'chdir shift or die; $SIG{ALRM} = sub { exit }; alarm 60;
		for (my $n = 0;; $n++) {
			my $i = 1 + int(rand(300)), my $what = $n % 5;
			unlink $i if $what == 0;
			if ($what == 1) { open F, ">>", $i; print F "more"; close F }
			rename $i, "new$i" if $what == 2;
			if ($what == 3) { unlink $i; symlink "no/such", $i }
			if ($what == 4) { unlink $i; mkdir $i }
			if ($n % 1000 == 0) { rename "../moving", "../gone"; mkdir "../moving"; chdir "../moving" }
		}' "$from/src/moving" &
	churn=$!
	pids+=("$churn")
	for i in 1 2 3; do
		rm -rf "$to/dst"
		transfer -r --slot-size=16K --slots=4 src dst
		[ "$status" -le 1 ] || fail "exit status $status; $err"
		[ "$status" = 0 ] || [ -n "$err" ] || fail "not a word"
		[ -d "$to/dst/stable" ] || fail "nothing came"
		(same_tree "$from/src/stable" "$to/dst/stable") || fail "$(<"$work/why")"
	done
	kill "$churn"
}

small_disk()
{
	need_root
	mkdir "$to/small"
	mount -t tmpfs -o size="$1,mode=755${2-}" small "$to/small" 2>/dev/null || skip "no mounts here"
	mounts+=("$to/small")
}

disk_full()
{
	local copied

	need perl
	small_disk 2m
	mkdir -p "$from/src/a" "$from/src/b"
	files_in "$from/src/a" 300 10000
	text "$from/src/b/f" content
	transfer -r src small/dst
	expect 1 "no space left on device" "failed"
	[ -d "$to/small/dst/b" ] || fail "the rest was not tried"
	copied=$(find "$to/small" -type f -name '[0-9]*' | wc -l)
	[ "$copied" -gt 50 ] && [[ $err == *"$((copied + $([ -f "$to/small/dst/b/f" ] && echo 1 || echo 0))) files were copied"* ]] ||
		fail "$copied are there: ${err##*$'\n'}"
	! compgen -G "$to/small/dst/*/.*.rdcp-part" >/dev/null || fail "temporary files are left"
	for i in "$to/small/dst/a/"*; do
		same "$from/src/a/${i##*/}" "$i"
	done
}

no_inodes()
{
	need perl
	small_disk 20m ,nr_inodes=60
	mkdir -p "$from/src/"{a,b,c}
	for i in a b c; do files_in "$from/src/$i" 40 100; done
	transfer -r src small/dst
	expect 1 "no space left on device"
	! compgen -G "$to/small/dst/*/.*.rdcp-part" >/dev/null || fail "temporary files are left"
}

# start_tree_copy: small files, so many that it takes a while, in the background
start_tree_copy()
{
	need perl
	mkdir "$from/src"
	files_in "$from/src" 3000 6000
	towards -rp --slot-size=4K --slots=2 src dst
	start_copy "${words[@]}"
	await 10 some_are_there || fail "the copy does not begin; $(<"$case_dir/err")"
	! gone "$client" || fail "the copy is over already; $(<"$case_dir/err")"
}

some_are_there()
{
	compgen -G "$to/dst/*1" >/dev/null
}

# What has its name is whole.
what_is_there_is_whole()
{
	local f

	for f in "$to"/dst/*; do
		cmp -s "$f" "$from/src/${f##*/}" || fail "'$f' is not whole"
	done
}

interrupted()
{
	start_tree_copy
	kill -INT "$client"
	end_copy 2
	expect 130 "interrupted, "
	what_is_there_is_whole
	await 10 no_part_in "$to/dst" || fail "temporary files are left"
}

# A daemon that is killed leaves what it was writing, and only that.
daemon_killed()
{
	local parts

	daemon_start
	start_tree_copy
	kill -KILL "$daemon"
	end_copy 20
	[ "$status" != 0 ] || fail "exit status 0"
	what_is_there_is_whole
	[ "$way" = push ] || no_part_in "$to/dst" || fail "temporary files are left"
	parts=("$to/dst/".*.rdcp-part)
	[ ${#parts[@]} -le 256 ] || fail "${#parts[@]} temporary files"
	rm -f "$to/dst/".*.rdcp-part
	daemon_start
	transfer -rp src/. dst
	expect_ok
	exactly_same_tree "$from/src" "$to/dst"
}

# progress_is PATTERN: a line of progress was drawn that is like it
progress_is()
{
	[[ $(cat "$case_dir/out" 2>/dev/null) =~ $1 ]]
}

# Pieces of copies that are under way or were interrupted: they are no part of a tree, and who wants one has to name it.
unfinished()
{
	local part=.f.abcdefgh.rdcp-part

	mkdir -p "$from/src/a"
	text "$from/src/f" whole
	text "$from/src/$part" piece
	text "$from/src/a/$part" piece
	transfer -r --stats src dst
	expect_ok
	[[ $out == *"1 copied, 0 skipped, 0 failed"* ]] || fail "$out"
	holds "$to/dst/f" whole
	no_part_in "$to/dst" && no_part_in "$to/dst/a" || fail "a piece was copied"
	if [ "$way" = push ]; then
		transfer -r --remove-source-files src dst
		expect_ok
		[ ! -e "$from/src/f" ] || fail "the source is still there"
		holds "$from/src/$part" piece
	fi
	transfer "src/$part" piece
	expect_ok
	holds "$to/piece" piece
	rm "$from/src/$part" "$from/src/a/$part"
}

# Long before it has met all of them, the line tells how many files there are, and how long it is going to take.
counted_ahead()
{
	local i

	mkdir -p "$from/src/a/b" "$from/other"
	pattern "$from/src/a/f" 50000
	for ((i = 0; i < 600; i++)); do
		ln "$from/src/a/f" "$from/src/a/b/$i"
		ln "$from/src/a/f" "$from/other/$i"
	done
	if [ "$way" = push ]; then
		start_copy -r --progress=always --limit-rate=2M "$from/src" "$from/other" "$host:$to"
	else
		start_copy -r --progress=always --limit-rate=2M "$host:$from/src" "$host:$from/other" "$to"
	fi
	await 25 progress_is ' [0-9]+% .*/1201 files .* [0-9:]+ ETA' || fail "$(<"$case_dir/out")"
	! gone "$client" || fail "it is over already"
	kill -INT "$client"
	end_copy 10
	expect 130
}

trees()
{
	local seeds=(1 2 3 4)

	[ "$transport" = tcp ] || seeds=(5 6)
	both directory_goes_where_cp_puts_it places
	both directory_is_named_as_for_cp sources
	both link_to_a_directory_is_followed_as_a_source source_link
	both many_sources_go_where_cp_puts_them many_sources
	both directory_is_not_copied_into_itself own_copies
	both directory_without_r_is_an_error without_r
	run directory_goes_into_the_export_itself default_export
	both missing_directories_are_made_if_wanted make_path
	both generated_trees_are_what_cp_makes_of_them generated "${seeds[@]}"
	both directories_keep_their_times times_of_directories
	both read_only_directories_are_filled read_only_directories
	both directories_that_were_there_keep_their_mode kept_modes
	both unreadable_entries_are_named_and_the_rest_arrives unreadable
	both unreadable_directory_is_an_error unreadable_top
	both blocked_directory_is_told_once blocked_directory -r
	both blocked_directory_of_an_archive_is_told_once blocked_directory -a
	both special_files_are_named_and_the_rest_arrives special_files
	both names_of_any_bytes_arrive names
	both deep_tree_arrives deep
	both thousand_files_of_a_directory_arrive many_files 1000 3000
	both tree_that_changes_comes_to_an_end changing
	both unfinished_files_are_left_out unfinished
	both total_is_counted_ahead counted_ahead
	both full_disk_leaves_whole_files disk_full
	both no_inodes_leave_whole_files no_inodes
	both interrupted_tree_leaves_whole_files interrupted
	both killed_daemon_leaves_whole_files daemon_killed
}
