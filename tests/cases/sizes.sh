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
	copy --fsync=none --slot-size=4M --slots=8 f "$host:$big/f"
	sum=$(cmp f "$big/f" 2>&1)
	rm -r "$big"
	expect_ok
	[ -z "$sum" ] || fail "$sum"
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
	both many_files_in_one_run many_files
}
