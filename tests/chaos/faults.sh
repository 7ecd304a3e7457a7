# shellcheck shell=bash disable=SC2034,SC2154,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What goes wrong in a round of chaos. fault_X NUMBER NUMBER returns when it is over, and leaves everything as it was but
# what died. The numbers are random ones of the plan.

pause()
{
	local now end

	clock
	end=$((now + $1))
	while [ "$now" -lt "$end" ]; do
		nap
		clock
	done
}

# Packets can be harmed where they pass a queue: those of siw and TCP on the loopback interface, those of rxe on a wire of two ends.
netem='' queues=(lo)
choose_faults()
{
	local all=(kill_client kill_daemon restart stop_client stop_daemon interrupt full reload) f

	netdev=${RDCP_LAB_NETDEV-lo}
	# rxe of Linux 6.1 cannot connect any more when it has tried to disconnect without a link
	if on_rxe; then queues=("${pair_ends[@]}") all+=(cut); else all+=(link); fi
	! shape netem delay 1ms 2>/dev/null || netem=yes
	unshape
	all+=(delay blackout)
	faults=()
	for f in "${all[@]}"; do
		[ -n "$fault_names" ] && [[ " $fault_names " != *" $f "* ]] || faults+=("$f")
	done
	[ "${#faults[@]}" != 0 ] || { echo "skip chaos_$kind: none of the faults '$fault_names' here"; exit 0; }
	echo "# faults: ${faults[*]}"
}

# sets victim to the client of one of the movers, and mover_dir; fails if it has none now
pick_client()
{
	mover_dir=$work/mover$(($1 % ${#mover_way[@]}))
	victim=
	{ victim=$(<"$mover_dir/pid"); } 2>/dev/null
	[ -n "$victim" ] && ! gone "$victim"
}

fault_kill_client()
{
	pick_client "$1" || return 0
	: >"$mover_dir/killed"
	kill -KILL "$victim"
}

fault_interrupt()
{
	pick_client "$1" || return 0
	: >"$mover_dir/killed"
	kill "-$([ $(($2 % 2)) = 0 ] && echo INT || echo TERM)" "$victim"
}

fault_stop_client()
{
	pick_client "$1" || return 0
	kill -STOP "$victim"
	pause $(($2 % (4000 * slow)))
	kill -CONT "$victim"
}

fault_stop_daemon()
{
	kill -STOP "$daemon"
	pause $(($2 % (4000 * slow)))
	kill -CONT "$daemon"
}

start_again()
{
	local before

	before=$(grep -c 'listening on' "$log")
	"$build/rdcpd" -c "$conf" </dev/null >>"$log" 2>&1 {nap_fd}<&- &
	daemon=$!
	daemons=("$daemon")
	await 40 listens_again "$before" || complain "the daemon does not listen again"
}

listens_again()
{
	gone "$daemon" || [ "$(grep -c 'listening on' "$log")" -gt "$1" ]
}

fault_kill_daemon()
{
	! gone "$daemon" || complain "the daemon died"
	: >"$work/daemon_killed"
	kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	pause $(($2 % 3000))
	start_again
}

fault_restart()
{
	! gone "$daemon" || complain "the daemon died"
	daemon_stop
	[ "$status" = 0 ] || complain "the daemon ends with status $status"
	pause $(($2 % 3000))
	start_again
}

# every other time with a mistake, which changes nothing
fault_reload()
{
	if [ $(($1 % 2)) = 0 ]; then
		printf '[daemon]\nmax-sessions = %d\nio-threads = %d\n' $((2 + $1 % 30)) $((1 + $2 % 5)) >"$conf.d/x.conf"
	else
		echo 'no such = thing' >"$conf.d/x.conf"
	fi
	kill -HUP "$daemon"
	pause $(($2 % 1000))
	rm "$conf.d/x.conf"
	kill -HUP "$daemon"
}

# shape WORD...: of tc(8), for the packets of all copies
shape()
{
	local dev

	for dev in "${queues[@]}"; do
		tc qdisc replace dev "$dev" root "$@" || return
	done
}

unshape()
{
	local dev

	for dev in "${queues[@]}"; do
		tc qdisc del dev "$dev" root 2>/dev/null
	done
}

# Loss, delay, reordering, and packets that come twice. Where there is no netem a narrow queue delays and drops.
fault_delay()
{
	if on_rxe; then # which takes a fraction of a second for each packet that is lost or overtaken
		shape netem delay $(($1 % 4))ms loss 0.$(($2 % 10))%
	elif [ "$netem" ]; then
		shape netem delay $(($1 % 40))ms 5ms loss $(($2 % 6))% reorder $(($1 % 10))% duplicate $(($2 % 4))%
	else
		shape tbf rate $((1 + $1 % 20))mbit burst 20k latency $((5 + $2 % 80))ms
	fi
	pause $((500 + $2 % 4000))
	unshape
}

fault_blackout()
{
	if [ "$netem" ]; then
		shape netem loss 100%
	else
		shape tbf rate 8bit burst 1 limit 1
	fi
	pause $((200 + $2 % (6000 * slow)))
	unshape
}

# a connection breaks while both of its sides are well
fault_cut()
{
	local end=${pair_ends[$1 % 2]} address

	address=$(<"/sys/class/net/$end/address")
	ip link set "$end" address 02:00:00:00:00:77
	pause $(($2 % 500))
	ip link set "$end" address "$address"
}

fault_link()
{
	ip link set "$netdev" down
	pause $((200 + $2 % 5000))
	ip link set "$netdev" up
	[ "$netdev" = lo ] || ip addr add "$RDCP_LAB_ADDR6/64" dev "$netdev" nodad 2>/dev/null
}

# The file system of a destination is full but for some pages, for a while.
fault_full()
{
	local i=$(($1 % ${#mover_way[@]})) free now

	mover_dir=$work/mover$i
	: >"$mover_dir/filling"
	free=$(df --output=avail -B4096 "${mover_to[i]}" | tail -n 1)
	free=$((free - $2 % 3000))
	[ "$free" -le 0 ] || fallocate -l $((free * 4096)) "${mover_to[i]}/filler" 2>/dev/null
	pause $((200 + $2 % 3000))
	rm -f "${mover_to[i]}/filler"
	clock
	echo "$now" >"$mover_dir/filled"
	rm "$mover_dir/filling"
}
