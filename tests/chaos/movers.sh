# shellcheck shell=bash disable=SC2034,SC2154,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# The copies of a round of chaos. A mover is a process that runs `rdcp` again and again: a version of the tree (or one large file) to
# its destination, until that has succeeded, then the other version to the same place. After every run it looks whether what has
# to be true is so, whatever happened meanwhile. In calm it ends with a run that succeeds.
#
# Of mover i, from the plan: mover_way (push, pull), mover_what (tree, file), mover_words (options), mover_to (a file system of
# its own, small, that holds the destination `to`).

mover_way=() mover_what=() mover_words=() mover_to=()

pick()
{
	picked=${*: RANDOM % $# + 1:1}
}

plan_movers()
{
	local i words

	plan_text=()
	for i in 0 1; do
		pick push pull && mover_way[i]=$picked
		pick tree tree tree file && mover_what[i]=$picked
		words="--retries=$retries --timeout=$timeout --connect-timeout=$timeout"
		if [ "${mover_what[i]}" = tree ]; then
			pick -a -a -rp -r && words+=" $picked"
		else
			pick -p "" && words+=" $picked"
		fi
		pick --slot-size=1M --slot-size=64K --slot-size=4K && words+=" $picked"
		pick --slots=32 --slots=4 --slots=2 && words+=" $picked"
		pick "" --limit-rate=4M --limit-rate=10M && words+=" $picked"
		pick "" "" --fsync=file --fsync=none && words+=" $picked"
		pick "" "" "" --verify --direct --no-resume --io-threads=1 --no-sparse && words+=" $picked"
		if [ "${mover_way[i]}-${mover_what[i]}" = push-tree ]; then
			pick "" "" --remove-source-files && words+=" $picked"
		fi
		mover_words[i]=$words
		plan_text+=("mover $i: ${mover_way[i]} ${mover_what[i]} ${words#* --connect-timeout=* };")
	done
}

prepare_mover()
{
	local dir=$work/mover$1 to=$srv/to$1

	[ "${mover_way[$1]}" = push ] || to=$work/here/to$1
	mover_to[$1]=$to
	mkdir "$dir" "$to"
	: >"$dir/runs"
	mount -t tmpfs -o size=100m to "$to" || complain "no tmpfs"
	mkdir "$to/to"
}

end_mover()
{
	umount "${mover_to[$1]}"
	rmdir "${mover_to[$1]}"
}

# ---- the truth

# differing A B: names, relative, of what is not in B as it is in A; and what is only in B, with a '+'
differing()
{
	diff -rq --no-dereference "$1" "$2" | awk -v a="$1" -v b="$2" '
	/^Only in / { # "Only in DIR: NAME"
		sub(/^Only in /, "")
		i = index($0, ": ")
		path = substr($0, 1, i - 1) "/" substr($0, i + 2)
		if (index(path, b "/") == 1) print "+" substr(path, length(b) + 2)
		else print substr(path, length(a) + 2)
		next
	}
	{ # "Files A/x and B/x differ", "Symbolic links A/x and ...", "File A/x is a ... while ..."
		i = index($0, a "/")
		rest = substr($0, i + length(a) + 1)
		sub(/ (and|is a) .*/, "", rest)
		print rest
	}' | sort
}

# list FOLDER: what -a keeps of everything in it
list()
{
	(cd "$1" && find . ! -name '.*.rdcp-part' -printf "$2" | sort)
}

# links FOLDER: which names are one file, a line for each
links()
{
	(cd "$1" && find . -type f -links +1 -printf '%i %P\n' | sort) | awk '
	$1 == last { names = names " " $2; next }
	{ print names; last = $1; names = $2 }
	END { print names }' | grep ' ' | sort
}

# check_content NEW OLD TO: each name is the new or the old one, whole, or not there at all when there was no old one
check_content()
{
	local new=$1 old=$2 to=$3 name

	differing "$new" "$to" >"$dir/not_new"
	differing "$old" "$to" >"$dir/not_old"
	while read -r name; do
		case $name in
		+*.rdcp-part) ;;
		+*) complain "$who: '${name#+}' has come from nowhere" ;;
		*) [ -e "$to/$name" ] || [ -L "$to/$name" ] || [ "$had_old" = no ] || complain "$who: '$name' is gone" ;;
		esac
		[ ! -f "$to/$name" ] || [ -L "$to/$name" ] || complain "$who: '$name' is neither old nor new: $(wrong "$to/$name")"
	done < <(comm -12 "$dir/not_new" "$dir/not_old")
}

wrong()
{
	echo "$(stat -c '%s bytes, inode %i' "$1"), from the new at $(cmp "$new/$name" "$1" 2>&1 | sed 's/.* differ: //'), from the old at" \
		"$(cmp "$old/$name" "$1" 2>&1 | sed 's/.* differ: //')"
}

# check_said NEW: what was said to be copied is there
check_said()
{
	sed -n 's/^{"type":"file","result":"copied","source":"\([^"]*\)".*/\1/p' "$dir/out" | sed 's,.*/\./,,; s,.*/,&,' |
		if [ "$what" = tree ]; then cat; else sed 's,.*/,,'; fi | sort -u >"$dir/said"
	local lies

	lies=$(comm -12 "$dir/said" "$dir/not_new" | head -n 5)
	[ -z "$lies" ] || complain "$who: said to be copied and not there: $lies"
}

# check_success NEW TO: all of it is true
check_success()
{
	local new=$1 to=$2 wrong

	wrong=$(grep -v '^+' "$dir/not_new" | head -n 5)
	[ -z "$wrong" ] || complain "$who: exit status 0, and not there: $wrong"
	case " $words " in
	*" --remove-source-files "*)
		wrong=$(find "$source" ! -type d | head -n 5)
		[ -z "$wrong" ] || complain "$who: exit status 0, and the sources are there: $wrong"
		;;
	*" -a "* | *" -rp "*)
		format='%P %y %m %T@ %l'
		[[ " $words " != *" -a "* ]] || format+=' %U %G'
		wrong=$(diff <(list "$new" "$format\n") <(list "$to" "$format\n") | head -n 5)
		[ -z "$wrong" ] || complain "$who: exit status 0, and attributes differ: $wrong"
		;;
	esac
	if [[ " $words " = *" -a "* && " $words " != *" --remove-source-files "* ]]; then
		wrong=$(diff <(links "$new") <(links "$to") | head -n 5)
		[ -z "$wrong" ] || complain "$who: exit status 0, and links differ: $wrong"
	fi
}

# check_removed NEW: a source that is gone has a copy
check_removed()
{
	local name

	while read -r name; do
		[ -e "$source/$name" ] || [ -L "$source/$name" ] || complain "$who: '$name' was removed and is not there"
	done < <(grep -v '^+' "$dir/not_new")
}

# was the destination's file system full at some time since the run began?
was_filled()
{
	local until=0

	[ -e "$dir/filling" ] && return
	{ until=$(<"$dir/filled"); } 2>/dev/null
	[ "${until:-0}" -ge "$began" ]
}

# check_status: a failure has a line that names a cause, and no other status than those of rdcp(1) comes
check_status()
{
	local last

	last=$(tail -n 1 "$dir/err")
	case $status in
	0) return ;;
	130 | 143) [ -e "$dir/killed" ] || complain "$who: exit status $status" ;;
	137) [ -e "$dir/killed" ] || complain "$who: exit status $status, and nobody killed it" && return ;;
	1) was_filled || complain "$who: exit status 1: $(tail -n 3 "$dir/err")" ;;
	3 | 4 | 5 | 6) ;;
	*) complain "$who: exit status $status: $(tail -n 3 "$dir/err")" ;;
	esac
	[[ $last == "rdcp: "*" "* ]] || complain "$who: exit status $status without a reason: '$last'"
}

# ---- a run

# What a client may take when nothing is in its way any more: an attempt that is silent, the longest pause between two, one that connects,
# and the copy itself.
run_limit()
{
	limit=$((timeout + 8 + timeout + 15 * slow))
}

# who is stuck, and where
stacks()
{
	local pid

	for pid in "$client" "$(pgrep -x -P $$ rdcpd | tail -n 1)"; do
		echo "# stacks of $pid: $(state_of "$pid" | tr '\n' ';')"
		! command -v gdb >/dev/null ||
			timeout 60 gdb -p "$pid" -batch -ex 'thread apply all backtrace' 2>/dev/null | sed 's/^/#   /'
	done
}

# one run; sets status
run_client()
{
	local now since options

	read -ra options <<<"$words"
	"$build/rdcp" --transport="$transport" -P "$port" -i none --json "${options[@]}" "$source$suffix" "$dest" </dev/null \
		>"$dir/out" 2>"$dir/err" {nap_fd}<&- &
	client=$!
	echo "$client" >"$dir/pid"
	clock
	since=$now began=$now
	until gone "$client"; do
		pause 60
		[ -e "$work/calm" ] || since=$now
		if [ $((now - since)) -gt $((limit * 1000)) ]; then
			complain "$who: rdcp is not done $limit s after the last fault: $(tail -n 2 "$dir/err")"
			stacks
			kill -KILL "$client"
			: >"$dir/killed"
		fi
	done
	wait "$client" 2>/dev/null
	status=$?
	: >"$dir/pid"
	echo "$status" >>"$dir/runs"
}

# mover NUMBER: see above; a process of its own
mover()
{
	local i=$1 way=${mover_way[$1]} what=${mover_what[$1]} words=${mover_words[$1]} to=${mover_to[$1]}/to dir=$work/mover$1
	local version=0 had_old=no status=0 calm who source suffix dest new old limit began

	trap - EXIT
	run_limit
	RANDOM=$((first_seed % 32768))
	while :; do
		who="$way $what $words, version $version"
		new=$srv/versions/$version old=$srv/versions/$((1 - version))
		prepare_source
		calm=$([ -e "$work/calm" ] && echo yes)
		run_client
		check_status
		check_content "$new_tree" "$old_tree" "$to"
		check_said
		[[ " $words " != *" --remove-source-files "* ]] || check_removed
		[ "$status" != 0 ] || check_success "$new_tree" "$to"
		rm -f "$dir/killed"
		if [ "$calm" ]; then
			[ "$status" = 0 ] || complain "$who: exit status $status in calm: $(tail -n 2 "$dir/err")"
			break
		fi
		if [ "$status" = 0 ]; then next_version; else pause 300; fi
	done
	check_parts
}

# where the run copies from: the versions, or a copy of one if its files are to be removed; what is compared are trees in any case
prepare_source()
{
	suffix=/. source=$new new_tree=$new old_tree=$old
	if [ "$what" = file ]; then
		suffix='' source=$new/big1
		new_tree=$dir/view$version old_tree=$dir/view$((1 - version))
		[ -e "$new_tree" ] || { mkdir "$new_tree" && ln "$new/big1" "$new_tree/big1"; }
		[ -e "$old_tree" ] || { mkdir "$old_tree" && ln "$old/big1" "$old_tree/big1"; }
	fi
	case " $words " in
	*" --remove-source-files "*)
		source=$dir/clone
		[ -e "$source" ] || cp -a "$new" "$source"
		;;
	esac
	dest=$host:$to
	[ "$way" = push ] || { dest=$to source=$host:$source; }
}

# Now and then the destination is empty for the next.
next_version()
{
	version=$((1 - version)) had_old=yes
	rm -rf "$dir/clone"
	if [ $((RANDOM % 3)) = 0 ]; then
		rm -rf "${to:?}" && mkdir "$to"
		had_old=no
	fi
}

# Only who dies leaves unfinished files, and of the large ones the next copy of the same version is rid.
check_parts()
{
	local parts

	parts=$(find "$to" -name '.*.rdcp-part')
	[ -z "$parts" ] || echo "# left of those that were killed: $(wc -l <<<"$parts")"
}
