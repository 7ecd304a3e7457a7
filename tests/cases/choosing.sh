# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Which files are copied: rules, lists of names, what is skipped, what only would be copied, patterns of remote names.
# shellcheck disable=SC2154

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

choosing()
{
	both rules_count_in_their_order rules_in_order
	both rules_of_files_count rules_of_files
	both rules_can_leave_one_folder all_but_one_folder
	both rules_do_not_touch_what_is_named named_files_are_no_matter_of_rules
	run rule_that_cannot_be_used_is_refused bad_rules
	both rules_up_to_their_number many_rules
}
