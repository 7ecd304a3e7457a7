# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015,SC2153
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What can happen to links, devices and addresses; lab only. A case that takes something away puts it back.

# shellcheck disable=SC1091
. "$tests/lab/pair.sh"
driver=${RDCP_LAB_KIND#*-}
netdev=$RDCP_LAB_NETDEV device=$RDCP_LAB_DEVICE

# The machine's own device and network are not for playing.
guest_only()
{
	[ "$RDCP_LAB_KIND" != machine ] || skip "only in a guest"
}

link_is_active()
{
	[[ $(timeout 20 rdma link show "$device/1" 2>/dev/null) == *ACTIVE* ]]
}

# ---- addresses

loopback_hint()
{
	text f content
	copy f "127.0.0.1:$there/f"
	# iWARP's loopback works in some kernels
	[ "$status" = 0 ] && [ -e "$there/f" ] && return
	expect 3 "loopback" "$RDCP_LAB_ADDR"
	expect_one_line
}

nobody_has_that_address()
{
	guest_only
	[ "$driver" != siw ] || skip "siw connects inside of a system call, and nothing but SIGKILL ends that"
	text f content
	copy --connect-timeout=2 f "${RDCP_LAB_ADDR%.*}.77:$there/f"
	expect 3
	expect_one_line
}

not_an_rdma_network()
{
	text f content
	copy --connect-timeout=2 f "203.0.113.1:$there/f"
	expect 3
	expect_one_line
}

ipv6()
{
	[ -n "$RDCP_LAB_ADDR6" ] || skip "no IPv6 address"
	listen="*"
	daemon_start
	pattern f 300000
	copy f "[$RDCP_LAB_ADDR6]:$there/f"
	expect_ok
	same f "$there/f"
	copy -6 "[$RDCP_LAB_ADDR6]:$there/f" g
	expect_ok
	same f g
	copy f "$host:$there/h"
	expect_ok
	copy -4 f "[$RDCP_LAB_ADDR6]:$there/i"
	expect 3
}

ipv6_link_local()
{
	local addr

	addr=$(ip -6 -o addr show dev "$netdev" scope link | awk '{ sub("/.*", "", $4); print $4; exit }')
	[ -n "$addr" ] || skip "no link-local address"
	listen="*"
	daemon_start
	text f content
	copy f "[$addr%$netdev]:$there/f"
	expect_ok
	holds "$there/f" content
}

doctor_is_content()
{
	timeout $((30 * slow)) "$build/rdcp" --doctor -i none -P "$port" "$host" </dev/null >"$case_dir/out" 2>"$case_dir/err"
	status=$?
	collect_output
	[ "$status" = 0 ] || fail "exit status $status: $out $err"
	[[ $out == *"$device"* ]] || fail "it does not name the device: $out"
}

# ---- what is missing

# The largest window that may be locked is far less than the default one.
memlock_too_small()
{
	need prlimit setpriv
	# inside of a guest of its own, root may lock what it likes
	prefix_rdcp=(prlimit --memlock=65536 setpriv --reuid=65534 --regid=65534 --clear-groups)
	pattern f 9000000
	chmod 0755 .
	copy --slot-size=1M --slots=8 f "$host:$there/f"
	expect 3 "memory" "64.0 KiB" "ulimit -l"
	expect_one_line
}

# A small window fits a small limit.
memlock_small_window()
{
	need prlimit setpriv
	prefix_rdcp=(prlimit --memlock=4000000 setpriv --reuid=65534 --regid=65534 --clear-groups)
	pattern f 9000000
	chmod 0755 .
	copy --slot-size=64K --slots=4 f "$host:$there/f"
	expect_ok
	same f "$there/f"
}

no_connection_manager()
{
	guest_only
	[ -e /dev/infiniband/rdma_cm ] || fail "there is none to take away"
	text f content
	mv /dev/infiniband/rdma_cm "$work/rdma_cm"
	copy f "$host:$there/f"
	mv "$work/rdma_cm" /dev/infiniband/rdma_cm
	expect 3 "rdma_ucm"
	expect_one_line
}

# ---- in the middle of a copy

# The network interface goes down: the client ends in time, the daemon frees what it had, the old file stays.
link_down()
{
	guest_only
	text "$to/g" old
	start_long_copy --timeout=3 f g
	ip link set "$netdev" down
	end_copy 20
	await 30 no_part_in "$to" || fail "the temporary file is left"
	await 30 at_rest "$daemon" "$idle_fds" "$idle_tasks" || fail "the daemon keeps $fds descriptors, $tasks threads"
	ip link set "$netdev" up
	ip addr add "$RDCP_LAB_ADDR6/64" dev "$netdev" nodad 2>/dev/null
	[ "$status" = 5 ] || [ "$status" = 6 ] || fail "exit status $status; $err"
	expect_one_line
	holds "$to/g" old
	await 10 link_is_active || fail "$device does not come back"
	# rxe of Linux 6.1 cannot connect any more when it has tried to disconnect without a link, rping(1) neither
	[ "$driver" != rxe ] || return 0
	text "$from/h" next
	await 20 copies_again || fail "no copy any more: $err"
	holds "$to/g" next
}

copies_again()
{
	transfer --connect-timeout=2 h g
	[ "$status" = 0 ]
}

# The device is taken away. Drivers without disassociate_ucontext (rxe, siw) wait with that until the last process has
# closed it, and tell nobody, or only those who listen to the connection manager: so the copy ends well or badly, both sides
# can be ended, and then the device is gone and can come back.
device_removed()
{
	local removal

	guest_only
	text "$to/g" old
	daemon_start
	long_size=32M
	start_long_copy --timeout=5 f g
	rdma link delete "$device" &
	removal=$!
	end_copy 40
	case $status in
	0) same "$from/f" "$to/g" ;;
	5 | 6) holds "$to/g" old ;;
	*) fail "exit status $status; $err" ;;
	esac
	await 10 no_part_in "$to" || fail "the temporary file is left"
	! gone "$daemon" || fail "the daemon died: $(tail -n 5 "$log")"
	daemon_stop
	[ "$status" = 0 ] || fail "the daemon ends with status $status"
	await 20 gone "$removal" || fail "the device is still in use"
	rdma link add "$device" type "$driver" netdev "$netdev" || fail "the device cannot be made again"
	await 10 link_is_active || fail "$device does not come back"
	daemon_start
	text "$from/h" next
	transfer h g
	expect_ok
	holds "$to/g" next
}

# Packets of siw pass the loopback interface; for rxe a wire has to be made, and each loss costs it a fraction of a second.
loss_and_delay()
{
	local queues=(lo) q lost=0 harm=(loss 1% delay 1ms reorder 5%)

	guest_only
	need tc
	if [ "$driver" = rxe ]; then
		pair_is_active || make_pair || fail "no wire"
		await 10 pair_is_active || fail "the devices on the wire are not active"
		queues=("${pair_ends[@]}") harm=(loss 0.3% delay 1ms) host=$pair_address
		daemon_start
	fi
	pattern "$from/f" 8000000
	for q in "${queues[@]}"; do
		tc qdisc replace dev "$q" root netem "${harm[@]}" || fail "no netem on $q"
	done
	transfer --slot-size=256K --slots=8 --timeout=20 f g
	for q in "${queues[@]}"; do
		lost=$((lost + $(tc -s qdisc show dev "$q" | sed -n 's/.*dropped \([0-9]*\).*/\1/p')))
		tc qdisc del dev "$q" root
	done
	expect_ok
	same "$from/f" "$to/g"
	[ "$lost" -gt 0 ] || fail "no packet was lost"
}

small_mtu()
{
	local mtu

	guest_only
	mtu=$(<"/sys/class/net/$netdev/mtu")
	ip link set "$netdev" mtu 1500 || skip "no other MTU"
	await 10 link_is_active
	pattern "$from/f" 3000000
	transfer f g
	ip link set "$netdev" mtu "$mtu"
	await 10 link_is_active
	expect_ok
	same "$from/f" "$to/g"
}

fabric()
{
	run loopback_address_gets_a_hint loopback_hint
	run address_of_nobody_is_an_error nobody_has_that_address
	run address_without_rdma_is_an_error not_an_rdma_network
	run ipv6_and_ipv4_by_the_wildcard ipv6
	run ipv6_link_local ipv6_link_local
	run doctor_is_content doctor_is_content
	run memlock_too_small_names_the_numbers memlock_too_small
	run memlock_of_a_small_window_is_enough memlock_small_window
	run missing_connection_manager_names_the_module no_connection_manager
	both small_mtu_carries_copies small_mtu
	both loss_and_delay_do_not_hurt loss_and_delay
}

# Each begins with a device and a daemon that nothing has happened to; when the device is to go, no other daemon holds it.
outages()
{
	local way

	[ "$RDCP_LAB_KIND" != machine ] || return
	for way in push pull; do
		run "${way}_link_that_goes_down_ends_the_copy" there_and_back "$way" link_down
		daemon_stop
		timeout 20 rdma link delete "$device"
		rdma link add "$device" type "$driver" netdev "$netdev"
		await 10 link_is_active || verdict "not ok" "${way}_device_comes_back" "$device is not active"
		daemon=
		run "${way}_device_that_is_removed_can_come_back" there_and_back "$way" device_removed
		serve
	done
}
