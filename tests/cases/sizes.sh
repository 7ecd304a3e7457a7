# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Files of all sizes, through windows of all shapes.

# there_again OPTION... SIZE: a pattern of SIZE bytes to the daemon and back
there_again()
{
	local options=("${@:1:$#-1}") size=${*: -1}

	pattern f "$size"
	copy "${options[@]}" f "$host:$there/f"
	expect_ok
	same f "$there/f"
	copy "${options[@]}" "$host:$there/f" g
	expect_ok
	same f g
}

sparse_file()
{
	pattern "$from/f" 5000
	truncate -s 3M "$from/f"
	head -c 5000 "$work/pattern" >>"$from/f"
	truncate -s 9000001 "$from/f"
	transfer f g
	expect_ok
	same "$from/f" "$to/g"
}

all_hole()
{
	truncate -s 5M "$from/f"
	transfer f g
	expect_ok
	same "$from/f" "$to/g"
}

# Offsets that do not fit 32 bits. The work folder may be small: wherever there is room for the copy.
beyond_4_gib()
{
	local size=$((5 * 1024 * 1024 * 1024)) place="" p sum

	for p in /dev/shm "$work"; do
		# what is on a tmpfs is memory
		! awk -v p="$p" '/^MemAvailable/ { exit !(p != "/dev/shm" || $2 > 10000000) }' /proc/meminfo ||
			[ "$(df --output=avail -B1M "$p" | tail -n 1)" -lt 6000 ] || { place=$p; break; }
	done
	[ -n "$place" ] || skip "no room for 5 GiB"
	big=$(mktemp -d "$place/rdcp-test.XXXXXX") || fail "no folder in $place"
	exports="[export big]
path = $big
access = read-write"
	daemon_start "max-slot-size = 4M"
	truncate -s "$size" f
	echo "at the end" >>f
	printf 'behind 4 GiB' | dd of=f bs=1 seek=4294967295 conv=notrunc status=none
	rdcp_seconds=60
	copy --fsync=none --no-sparse --slot-size=4M --slots=8 f "$host:$big/f"
	sum=$(cmp f "$big/f" 2>&1)
	rm -r "$big"
	expect_ok
	[ -z "$sum" ] || fail "$sum"
}

# blocks_at_most KIB FILE
blocks_at_most()
{
	local kib

	kib=$(du -k "$2")
	kib=${kib%%[^0-9]*}
	[ "$kib" -le "$1" ] || fail "$2 takes $kib KiB"
}

# 10 GiB with 1 MiB in the middle: what the hole would take is neither read nor sent nor stored.
holes_stay_holes()
{
	pattern "$from/f" 1048576
	truncate -s 5G "$from/g"
	cat "$from/f" >>"$from/g"
	truncate -s 10G "$from/g"
	blocks_at_most 2048 "$from/g"
	towards "$@" g h
	start_copy "${words[@]}"
	end_copy 20
	expect_ok
	[ "$(stat -c %s "$to/h")" = 10737418240 ] || fail "$(stat -c %s "$to/h") bytes"
	blocks_at_most 2048 "$to/h"
	cmp -s -n 1048576 "$from/f" <(tail -c +5368709121 "$to/h") || fail "the data in the middle is not the same"
}

# of all kinds: at the beginning, at the end, next to single bytes, smaller than a slot; in a tree, too
many_holes()
{
	mkdir "$from/d"
	truncate -s 3M "$from/d/f"
	for at in 0 70000 200000 1048576 2097151; do
		printf x | dd of="$from/d/f" bs=1 seek=$at conv=notrunc status=none
	done
	truncate -s 100000 "$from/d/g"
	truncate -s 10000 "$from/d/h"
	printf end >>"$from/d/h"
	transfer -r --slot-size=64K d d
	expect_ok
	for f in f g h; do
		same "$from/d/$f" "$to/d/$f"
	done
	blocks_at_most 64 "$to/d/f"
	blocks_at_most 0 "$to/d/g"
}

holes_can_be_filled()
{
	truncate -s 3M "$from/f"
	transfer --no-sparse f g
	expect_ok
	same "$from/f" "$to/g"
	! blocks_are_less_than 3072 "$to/g" || fail "there are holes"
}

blocks_are_less_than()
{
	local kib

	kib=$(du -k "$2")
	[ "${kib%%[^0-9]*}" -lt "$1" ]
}

many_files()
{
	local i list=()

	for i in {1..300}; do
		text "$from/$i" "file $i"
		list+=("$i")
	done
	if [ "$way" = push ]; then copy "${list[@]/#/$from/}" "$host:$to"; else copy "${list[@]/#/$host:$from/}" "$to"; fi
	expect_ok
	for i in "${list[@]}"; do
		holds "$to/$i" "file $i"
	done
}

sizes()
{
	local n slot=65536 chunks=20000

	# in the emulated guest a file of many chunks takes too long
	[ "$slow" -le 4 ] || chunks=2000
	for n in 0 1 7 4095 4096 4097 1444 1445 1446 $((slot - 1)) $slot $((slot + 1)) $((3 * 4 * slot + 7)); do
		run "size_${n}_both_ways" there_again --slot-size=64K --slots=4 "$n"
	done
	run "smallest_window_${chunks}_chunks" there_again --slot-size=4K --slots=2 $((chunks * 4096))
	run one_slot_both_ways there_again --slot-size=4K --slots=1 100001
	run default_window_both_ways there_again 20000003
	run window_larger_than_granted there_again --slot-size=64M --slots=8 20000003
	run many_slots_both_ways there_again --slot-size=4K --slots=4096 20000003
	both sparse_file_is_the_same sparse_file
	both hole_only_is_the_same all_hole
	both large_hole_stays_one holes_stay_holes
	both holes_of_all_kinds_stay many_holes
	both no_sparse_fills_holes holes_can_be_filled
	both many_files_in_one_run many_files
}
