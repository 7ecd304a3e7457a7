# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Sweeps like those of faults.sh over the calls of rdma-core: the k-th fails, for k = 1, 2, ... until there is no k-th any more. Whatever
# fails, and however, nobody dies or hangs, the exit status is true, and the daemon serves the next client.

# shellcheck disable=SC1091
. "$tests/cases/faults.sh"

# How the call fails in turn: without an errno, with one, with one as its result.
ways_to_fail=(0 ENOMEM +EINVAL)

# call_failed: sets call; there was a k-th call
call_failed()
{
	{ call="call $k, $(<"$case_dir/hit")"; } 2>/dev/null || return 1
	rm -f "$case_dir/hit"
}

# verbs_sweep LEAST: `attempt` with k = 1, 2, ..., or some of them; at least so many calls are made
every=${every:-17}
verbs_sweep()
{
	local call how tried=0

	need_faults
	export RDCP_VERBS_FAULT_LOG=$case_dir/hit
	pattern "$from/f" 30000
	for ((k = first; ; k += every)); do
		how=${ways_to_fail[(tried++ + first_way) % ${#ways_to_fail[@]}]}
		text "$to/g" old
		attempt
		[ "$status" != 124 ] || fail "call $k does not end"
		call_failed || break
		k="$call ($how)" whole_or_old
	done
	[ "$k" -gt "$1" ] || fail "only $k calls"
	expect_ok
}

client_verbs_calls()
{
	first=$1 first_way=$2
	attempt()
	{
		RDCP_VERBS_FAULT=$k:$how transfer --slot-size=4K --slots=4 --timeout=5 --connect-timeout=5 f g
		! gone "$daemon" || fail "call $k: the daemon died"
	}
	verbs_sweep 20
}

serves_again()
{
	transfer f again
	[ "$status" = 0 ]
}

# The daemon listens again by itself when that has failed, at the start or later.
daemon_verbs_calls()
{
	first=$1 first_way=$2
	daemon_start
	daemon_stop
	attempt()
	{
		RDCP_VERBS_FAULT=$k:$how daemon_again
		transfer --slot-size=4K --slots=4 --timeout=5 --connect-timeout=5 f g
		local copied=$status said=$err
		! gone "$daemon" || fail "call $k: the daemon died"
		await 10 serves_again || fail "call $k: the daemon does not serve the next; $err"
		daemon_stop
		[ "$status" = 0 ] || fail "call $k: the daemon ends with status $status"
		status=$copied err=$said
	}
	verbs_sweep 40
}

# all_verbs_calls: each call fails in each way
all_verbs_calls()
{
	local first_way

	every=1
	for ((first_way = 0; first_way < ${#ways_to_fail[@]}; first_way++)); do
		both "verbs_calls_of_the_client_fail_in_turn_$first_way" client_verbs_calls 1 "$first_way"
		both "verbs_calls_of_the_daemon_fail_in_turn_$first_way" daemon_verbs_calls 1 "$first_way"
	done
}

# With five pages of queues each, those of the 29th lie where siw needs help (endpoint_rdma_siw.c).
queues_of_32_clients()
{
	local i members=()

	daemon_start "max-sessions = 40"
	pattern f 1000000
	for ((i = 0; i < 32; i++)); do
		rdcp --slot-size=64K --slots=16 --limit-rate=250K --connect-timeout=30 f "$host:$there/f$i" </dev/null \
			>/dev/null 2>"$case_dir/err$i" &
		members+=($!)
	done
	for i in "${!members[@]}"; do
		wait "${members[i]}" || fail "client $i: exit status $?; $(<"$case_dir/err$i")"
		same f "$there/f$i"
	done
	! gone "$daemon" || fail "the daemon died"
}

verbs()
{
	run queues_of_32_clients_are_made queues_of_32_clients
	run push_verbs_calls_of_the_client_fail_in_turn there_and_back push client_verbs_calls 1 0
	run pull_verbs_calls_of_the_client_fail_in_turn there_and_back pull client_verbs_calls 4 1
	run push_verbs_calls_of_the_daemon_fail_in_turn there_and_back push daemon_verbs_calls 5 1
	run pull_verbs_calls_of_the_daemon_fail_in_turn there_and_back pull daemon_verbs_calls 6 2
}
