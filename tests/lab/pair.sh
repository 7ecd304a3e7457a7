# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# For scripts in a guest with rxe: two interfaces that are the ends of one wire, an rxe device on each. What the guest sends to itself
# by rxe never becomes a packet that a queue could delay or drop; what goes from one end to the other does. For that, addresses
# of the guest itself have to be looked for on the wire first.

pair_ends=(wire0 wire1) pair_devices=(rxew0 rxew1)
pair_address=10.9.1.1

# whoever connects to $pair_address does it over the wire
make_pair()
{
	local f

	ip link add wire0 mtu 4200 type veth peer name wire1 mtu 4200 || return
	for f in all wire0 wire1; do
		echo 0 >"/proc/sys/net/ipv4/conf/$f/rp_filter"
		echo 1 >"/proc/sys/net/ipv4/conf/$f/accept_local"
		echo 1 >"/proc/sys/net/ipv4/conf/$f/arp_ignore"
	done
	ip link set wire0 up
	ip link set wire1 up
	ip addr add 10.9.1.1/32 dev wire0
	ip addr add 10.9.1.2/32 dev wire1
	ip rule add pref 10 iif wire0 lookup local &&
		ip rule add pref 11 iif wire1 lookup local &&
		ip rule add pref 20 to 10.9.1.1 lookup 101 &&
		ip rule add pref 21 to 10.9.1.2 lookup 102 &&
		ip route add 10.9.1.1 dev wire1 src 10.9.1.2 table 101 &&
		ip route add 10.9.1.2 dev wire0 src 10.9.1.1 table 102 &&
		ip rule add pref 1000 lookup local &&
		ip rule del pref 0 &&
		rdma link add rxew0 type rxe netdev wire0 &&
		rdma link add rxew1 type rxe netdev wire1
}

pair_is_active()
{
	local d

	for d in "${pair_devices[@]}"; do
		[[ $(rdma link show "$d/1" 2>/dev/null) == *ACTIVE* ]] || return 1
	done
}
