# shellcheck shell=bash disable=SC2034,SC2154,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What -a keeps of trees, measured by what cp -a keeps; and -L.

# A daemon whose clients may store all there is.
permissive_daemon()
{
	exports="[export srv]
path = $srv
access = read-write
setuid = yes"
	daemon_start
}

need_attributes()
{
	need_root
	need getfattr setfattr getfacl setfacl perl
	setfattr -n user.probe -v x . 2>/dev/null || skip "no user attributes in this file system"
	setfattr -x user.probe .
}

# facts_of TREE: all that can be known of it but inode numbers, and the sizes of directories
facts_of()
{
	(
		cd "$1" || exit
		find . -type d -printf '%p|%y|%m|%U|%G|%T@\n' -o -printf '%p|%y|%m|%U|%G|%T@|%l|%n|%s\n' | sort
		getfattr -R -P -h -d -e hex -m - . | perl -0ne 'print sort split /(?<=\n\n)/'
		getfacl -R -P -p -n . 2>&1 | perl -0ne 'print sort split /(?<=\n\n)/'
		# shellcheck disable=SC2016
		find . ! -type d -links +1 -printf '%i %p\n' |
			perl -ne '/(\d+) (.*)/; push @{$g{$1}}, $2; END { print sort map { join(" ", sort @$_) . "\n" } values %g }'
	)
}

# same_tree A B
same_tree()
{
	local difference

	difference=$(diff <(facts_of "$1") <(facts_of "$2") | head -n 20)
	[ -z "$difference" ] || fail "$difference"
	difference=$(diff -r --no-dereference "$1" "$2" 2>&1 | head -n 5)
	[ -z "$difference" ] || fail "$difference"
}

cannot_make()
{
	[[ $1 != *"not supported"* ]] || skip "the file system cannot have that: $1"
	fail "cannot make the tree: $1"
}

# conforms COMMANDS...: what they make in an empty directory comes out of rdcp as it comes out of cp
conforms()
{
	need_attributes
	permissive_daemon
	mkdir "$from/tree"
	(cd "$from/tree" && eval "$*" 2>"$case_dir/err") || cannot_make "$(<"$case_dir/err")"
	cp -a "$from/tree" "$here/by-cp" || fail "cp fails"
	transfer -a tree copy
	expect_ok
	same_tree "$here/by-cp" "$to/copy"
}

# the commands of each row run in the directory that is to be copied
conformance_table()
{
	local name commands

	while IFS='|' read -r name commands; do
		both "like_cp_${name// /}" conforms "$commands"
	done <<-'END'
		modes_of_files         | for m in 0 400 444 600 777 4755 2755 1755 6711 7777; do echo "$m" >"$m"; chmod "$m" "$m"; done
		modes_of_directories   | for m in 0 500 555 700 777 2775 1777 4700 7777; do mkdir "$m"; echo f >"$m/f"; chmod "$m" "$m"; done
		owners                 | touch a b c; mkdir d; ln -s a l; chown 1234:2345 a; chown nobody:games b; chown 0:65533 c; chown 7:8 d .; chown -h 9:10 l
		owners_and_setuid      | touch a b; chown 1234:2345 a b; chmod 6755 a b; chmod 2750 .
		user_attributes        | echo x >f; : >empty; mkdir d; setfattr -n user.a -v b f; setfattr -n user.b -v 0x00ff0a f; setfattr -n user.none empty; setfattr -n user.d -v x d; setfattr -n user.top -v y .
		attributes_of_root     | echo x >f; ln -s f l; setfattr -n trusted.t -v t f; setfattr -h -n trusted.l -v l l; setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 f
		large_attributes       | for i in 1 2 3 4 5 6 7 8 9; do echo x >"$i"; setfattr -n user.large -v "$(printf %3500d 7)" "$i"; done
		attributes_read_only   | echo x >f; setfattr -n user.a -v b f; chmod 444 f
		acls_of_files          | echo x >f; echo y >g; setfacl -m u:1234:rw,g:games:r,m:rwx f; setfacl -m u:nobody:--- g; chmod 640 g
		acls_of_directories    | mkdir d; setfacl -m u:1234:rwx,d:u:nobody:rwx,d:g::---,d:m:rwx d; echo x >d/f; mkdir d/e; setfacl -b d/e; setfacl -k d/e
		hard_links             | mkdir d e; echo x >a; ln a d/b; ln a e/c; head -c 3000000 /dev/zero >big; ln big d/big; echo y >e/1; ln e/1 e/2; : >none; ln none d/none
		hard_links_of_symlinks | mkdir d; ln -s nowhere l; ln l d/m; ln l z; touch -h -d @5 l
		hard_links_with_all    | echo x >a; setfattr -n user.a -v b a; chown 5:6 a; setfacl -m u:1:r a; chmod 4755 a; ln a b; touch -d @-1.5 a
		symlinks               | ln -s nowhere dangling; ln -s /etc/passwd absolute; ln -s . self; mkdir d; ln -s ../d d/up; ln -s "$(printf %04000d 1)" long; touch -h -d @86399.25 dangling
		times                  | for t in 0 -1 -86400.5 2147483648 8589934592.123456789; do echo x >"f$t"; mkdir "d$t"; ln -s x "l$t"; touch -h -d "@$t" "f$t" "d$t" "l$t"; done; touch -d @99.000000001 .
		names                  | touch -- "-a" "a b" $'new\nline' $'\377' "$(printf %0255d 1)" '*' "a:b" '~'; mkdir -- $'d\n\033'; touch -- $'d\n\033/.x'
		empty_directories      | mkdir -p a/b/c/d e/f; touch -d @5 a/b/c/d a/b/c a/b a e/f e
		sizes                  | for s in 0 1 4095 4096 4097 524288 524289 1048575 1048576 1048577 3333333; do head -c "$s" /dev/urandom >"$s"; touch -d "@$s" "$s"; done
		many_files             | for i in $(seq 1200); do echo "$i" >"$i"; done; chown 12:34 1*; chmod 600 *9; setfattr -n user.n -v 5 5*
	END
}

# ---- what only rdcp knows

special_bits_need_the_export()
{
	need_attributes
	mkdir "$from/t"
	text "$from/t/f" content
	chmod 6755 "$from/t/f"
	mkdir -m 2775 "$from/t/d"
	setfattr -n user.a -v b "$from/t/f"
	setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 "$from/t/f"
	transfer -a t u
	expect 0 "t/f': set-user-ID" "'setuid = yes'" "the same is true of 1 other file"
	[ "$(wc -l <<<"$err")" = 2 ] || fail "$err"
	transfer -aq t u
	expect_ok
	[ "$(stat -c %a "$to/u/f" "$to/u/d")" = $'755\n775' ] || fail "$(stat -c '%n %a' "$to/u/"*)"
	[ "$(getfattr --absolute-names --only-values -n user.a "$to/u/f")" = b ] || fail "the other attribute is missing"
	! getfattr -n security.capability "$to/u/f" 2>/dev/null || fail "it has the capability"
}

setuid_of_somebody_else()
{
	need_attributes
	need setpriv
	text "$from/f" content
	chmod 4755 "$from/f"
	chown 1234 "$from/f"
	chown 65534:65534 "$to"
	chmod 755 "$work/here"
	prefix_rdcp=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	transfer -a f g
	expect_ok
	[ "$(stat -c '%a %u' "$to/g")" = '755 65534' ] || fail "$(stat -c '%a %u' "$to/g")"
}

numbers_are_kept()
{
	need_root
	text "$from/f" content
	chown 1234:nogroup "$from/f"
	transfer -a --numeric-ids f g
	expect_ok
	[ "$(stat -c '%u %g' "$to/g")" = "$(stat -c '%u %g' "$from/f")" ] || fail "$(stat -c '%u %g' "$to/g")"
}

# a file system that has none
missing_attributes_are_told()
{
	need_attributes
	mkdir "$from/t" "$to/ram"
	mount -t ramfs none "$to/ram" 2>/dev/null || skip "no ramfs"
	mounts+=("$to/ram")
	[ "$way" = pull ] || daemon_start
	text "$from/t/f" content
	text "$from/t/g" other
	setfattr -n user.a -v b "$from/t/f"
	transfer -a t ram
	expect 1 "t/f': copied, but not with all attributes: cannot set attribute 'user.a'"
	[[ $err != *"t/g'"* ]] || fail "$err"
	holds "$to/ram/t/f" content
	holds "$to/ram/t/g" other
}

links_followed()
{
	mkdir "$from/t" "$from/aside"
	text "$from/aside/f" content
	ln -s ../aside "$from/t/d"
	ln -s ../aside/f "$from/t/f"
	ln -s nowhere "$from/t/dangling"
	ln -s . "$from/t/circle"
	text "$from/t/z" end
	transfer -rL t u
	expect 1 "t/dangling': no such file or directory: the symlink leads nowhere" "t/circle': failed: the symlink leads in a circle"
	holds "$to/u/f" content
	holds "$to/u/d/f" content
	holds "$to/u/z" end
	[ ! -L "$to/u/d" ] && [ ! -L "$to/u/f" ] && [ ! -e "$to/u/circle" ] || fail "$(ls -l "$to/u")"
}

no_way_out_of_the_export()
{
	way=pull from=$there to=$here
	mkdir "$from/t"
	text "$work/outside" secret
	ln -s "$work/outside" "$from/t/absolute"
	ln -s ../../../outside "$from/t/relative"
	text "$from/t/z" end
	transfer -rL t u
	expect 1 "t/absolute': not allowed" "t/relative': not allowed" "leads out of the export"
	holds "$to/u/z" end
	[ ! -e "$to/u/absolute" ] && [ ! -e "$to/u/relative" ] || fail "$(ls -l "$to/u")"
}

# first_of FOLDER: the name that a walk comes across first
first_of()
{
	local names

	names=$(ls -U "$1")
	echo "${names%%$'\n'*}"
}

# Something else is in the place of the first name, and is skipped: the others are the file, and links to each other.
first_name_is_skipped()
{
	local i f first others=()

	mkdir "$from/t"
	text "$from/t/a" source
	ln "$from/t/a" "$from/t/b"
	ln "$from/t/a" "$from/t/c"
	touch -d '-1 hour' "$from/t/a"
	first=$(first_of "$from/t")
	for f in a b c; do
		[ "$f" = "$first" ] || others+=("$f")
	done
	for i in -u --ignore-existing; do
		rm -rf "$to/t"
		mkdir "$to/t"
		text "$to/t/$first" other
		transfer -a $i t .
		expect_ok
		holds "$to/t/$first" other
		for f in "${others[@]}"; do
			holds "$to/t/$f" source
			[ "$(stat -c %h "$to/t/$f")" = 2 ] || fail "$i: $f has $(stat -c %h "$to/t/$f") names"
		done
		rm "$to/t/$f"
		rm "$to/t/$first"
		ln -s nowhere "$to/t/$first"
		transfer -a $i t .
		expect_ok
		holds "$to/t/$f" source
	done
}

# What is skipped for being the same is what further names lead to.
first_name_is_the_same()
{
	local i first f

	mkdir "$from/t"
	text "$from/t/a" source
	ln "$from/t/a" "$from/t/b"
	first=$(first_of "$from/t")
	f=a
	[ "$first" = b ] || f=b
	for i in -u --ignore-existing --checksum; do
		rm -rf "$to/t"
		mkdir "$to/t"
		cp -p "$from/t/$first" "$to/t/"
		transfer -a $i t .
		expect_ok
		[ "$to/t/a" -ef "$to/t/b" ] || fail "$i: two files"
	done
}

# A later name is there, the first is not: that must end.
later_name_is_skipped()
{
	local i

	mkdir -p "$from/s/a" "$from/s/b"
	text "$from/s/a/f" content
	ln "$from/s/a/f" "$from/s/b/l"
	for i in -u --ignore-existing; do
		rm -rf "$to/d"
		mkdir -p "$to/d/b"
		cp -p "$from/s/b/l" "$to/d/b/"
		transfer -a $i s/. d
		expect_ok
		holds "$to/d/a/f" content
		holds "$to/d/b/l" content
	done
}

# More of them than may be under way at once, of files that are opened only when the receiver wants them.
attributes_without_room()
{
	local i

	need_attributes
	mkdir "$to/ram" "$from/ram"
	for i in "$from/ram" "$to/ram"; do
		mount -t tmpfs none "$i" 2>/dev/null || skip "no mounts here"
		mounts+=("$i")
	done
	daemon_start # sees the mounts
	mkdir "$from/ram/t"
	text "$from/ram/t/1" content
	setfattr -n user.large -v "$(printf %60000d 7)" "$from/ram/t/1" 2>/dev/null || skip "no large attributes here"
	for i in $(seq 2 100); do
		cp -a "$from/ram/t/1" "$from/ram/t/$i"
	done
	transfer -a -u ram/t ram
	expect_ok
	[ "$(getfattr -R --absolute-names -d "$to/ram/t" | grep -c user.large)" = 100 ] || fail "attributes are missing"
}

# names_in_the_way NAME...: of a file called a, b, c and d; each is told, and the others are one file
names_in_the_way()
{
	local name rest="a b c d "

	mkdir "$from/t"
	text "$from/t/a" content
	for name in b c d; do
		ln "$from/t/a" "$from/t/$name"
	done
	for name; do
		mkdir -p "$to/t/$name"
		rest=${rest/$name /}
	done
	transfer -a t .
	expect 1
	for name; do
		[[ $err == *"t/$name': is a directory"* ]] || fail "nothing about $name: $err"
	done
	for name in $rest; do
		holds "$to/t/$name" content
		[ "$to/t/$name" -ef "$to/t/${rest%% *}" ] || fail "$name is a file of its own"
	done
}

archive()
{
	conformance_table
	way=push run push_special_bits_need_the_export there_and_back push special_bits_need_the_export
	run pull_setuid_of_somebody_else_is_dropped there_and_back pull setuid_of_somebody_else
	both numeric_ids_are_kept numbers_are_kept
	both attributes_that_cannot_be_kept_are_told missing_attributes_are_told
	both symlinks_are_followed_with_L links_followed
	run symlinks_do_not_lead_out_of_the_export no_way_out_of_the_export
	both one_name_that_cannot_be_made_takes_no_other_with_it names_in_the_way b
	both the_first_name_that_cannot_be_made_takes_no_other_with_it names_in_the_way a c
	both the_last_name_that_can_be_made_is_made names_in_the_way a b c
	both names_that_cannot_be_made_are_all_told names_in_the_way a b c d
	both names_of_a_file_that_was_skipped_hold_the_source first_name_is_skipped
	both names_of_a_file_that_is_the_same_are_linked first_name_is_the_same
	both later_name_that_is_there_holds_up_nothing later_name_is_skipped
	both attributes_wait_for_room attributes_without_room
}
