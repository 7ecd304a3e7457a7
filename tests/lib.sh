# shellcheck shell=bash disable=SC2034,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What the tests of the two programs from the outside share. A script in tests/copy (this machine, TCP) or tests/integration
# (lab, RDMA) sources it, calls `theme NAME` for files of tests/cases and `finish` at its end; the cases do not know which
# of the two they run in. `SCRIPT PATTERN` runs only the cases whose names match.
#
# A case is a function that `run NAME FUNCTION [ARG...]` calls in a subshell: it ends with `fail WHY`, `skip WHY`, or well.
# It finds the folders $here (the client's) and $there (the daemon's, in a read-write export) empty, and a daemon that
# serves $host:$port; it may start others, which end with it. Behind each case is checked that no temporary file is left, that the
# daemon is alive and back to its number of descriptors and threads, and that no sanitizer has complained.
#
# Nothing sleeps for a fixed time: `await SECONDS COMMAND...` polls, every program has a deadline. Processes are costly in the
# guests (10 ms each), so what the shell can do itself it does.

set -u
export LC_ALL=C.UTF-8
unset RDCP_FAULT COLUMNS
umask 022
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${RDCP_BUILD:-$tests/../build}" && pwd) || exit

# Mounts of the tests are nobody else's.
if [ -z "${RDCP_LAB_KIND-}${RDCP_TEST_UNSHARED-}" ] && unshare --mount --propagation private true 2>/dev/null; then
	RDCP_TEST_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi

only=${1:-*}
slow=1 # times every deadline
case ${RDCP_LAB_KIND-}$build in
qemu*) slow=6 ;;
uml*) slow=2 ;;
*san*) slow=4 ;;
esac
if [ -n "${RDCP_LAB_KIND-}" ]; then
	transport=rdma host=$RDCP_LAB_ADDR
else
	transport=tcp host=127.0.0.1
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/rdcp-test.XXXXXX") || exit
srv=$work/srv ro=$work/ro
mkdir "$srv" "$ro" "$work/here" "$work/home" "$work/d" "$work/d/keys"
chmod 0755 "$work"
: >"$work/pattern"
echo 0 >"$work/pattern.size"
export HOME=$work/home RDCP_KEY_FILE=none
# A fault of the program under test must not look like an exit status of its own: it goes to a file, which is looked for.
export ASAN_OPTIONS=log_path=$work/san:detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=log_path=$work/san:print_stacktrace=1 TSAN_OPTIONS=log_path=$work/san:second_deadlock_stack=1:atexit_sleep_ms=0

# ---- time

mkfifo "$work/nap"
exec {nap_fd}<>"$work/nap"

nap()
{
	read -rt 0.02 -u "$nap_fd"
	return 0
}

# sets now, in milliseconds
clock()
{
	now=$((${EPOCHREALTIME/[.,]/} / 1000))
}

# await SECONDS COMMAND...: until the command succeeds; SECONDS are those of a fast machine
await()
{
	local now end

	clock
	end=$((now + $1 * slow * 1000))
	shift
	until "$@"; do
		clock
		[ "$now" -lt "$end" ] || return 1
		nap
	done
}

# a zombie is gone, too: the shell may be late to notice
gone()
{
	local stat

	{ read -ra stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[ "${stat[2]}" = Z ]
}

# ticks_of PID: the processor time that it has used
ticks_of()
{
	local stat

	read -ra stat <"/proc/$1/stat"
	echo $((stat[13] + stat[14]))
}

# ---- verdicts

fail()
{
	echo "$*" >"$work/why"
	exit 1
}

skip()
{
	echo "$*" >"$work/why"
	exit 77
}

# need PROGRAM...
need()
{
	local p

	for p in "$@"; do
		command -v "$p" >/dev/null || skip "no $p here"
	done
}

need_root()
{
	[ "$EUID" = 0 ] || skip "needs root"
}

# One line of result, names and reasons without what would confuse its readers.
verdict()
{
	local text=$2 why=${3-}

	why=${why//$'\n'/ | }
	why=${why//[$'\x01'-$'\x1f']/?}
	echo "$1 $text${why:+: $why}"
}

# ---- the daemon

# daemon_start [LINE...]: a daemon with these lines in [daemon], sections included; sets daemon (its pid), port, log. A case can set
# `auth`, `exports` (sections) and `prefix` (words in front of the command) before.
auth=none
exports="[export srv]
path = $srv
access = read-write
[export ro]
path = $ro"
prefix=()
daemons=()
pids=()

daemon_start()
{
	local try id=${#daemons[@]}$BASHPID

	conf=$work/d/$id.conf log=$work/d/$id.log
	for try in 1 2 3 4 5; do
		port=$((20000 + RANDOM % 12000))
		printf '%s\n' "[daemon]" "auth = $auth" "listen = ${listen:-$host}:$port" "transport = $transport" "$@" \
			"$exports" >"$conf"
		: >"$log"
		"${prefix[@]}" "$build/rdcpd" -c "$conf" </dev/null >"$log" 2>&1 {nap_fd}<&- &
		daemon=$!
		await 20 daemon_spoke
		if daemon_says 'listening on'; then
			daemons+=("$daemon")
			return
		fi
		kill -KILL "$daemon" 2>/dev/null
		wait "$daemon"
		daemon_says 'cannot listen' || break
	done
	fail "the daemon does not listen: $(<"$log")"
}

daemon_spoke()
{
	gone "$daemon" || daemon_says 'listening on' || daemon_says 'cannot listen'
}

daemon_says()
{
	[[ $(<"$log") == *"$1"* ]]
}

# how many lines of the daemon's log hold $1
daemon_count()
{
	local text

	text=$(<"$log")
	text=${text//"$1"/$'\x01'}
	text=${text//[^$'\x01']/}
	echo ${#text}
}

# daemon_stop: ends it as systemd does; sets status
# daemon_again: the same configuration and port, once more
daemon_again()
{
	: >"$log"
	"${prefix[@]}" "$build/rdcpd" -c "$conf" </dev/null >"$log" 2>&1 {nap_fd}<&- &
	daemon=$!
	daemons+=("$daemon")
	await 20 daemon_says 'listening on' || fail "the daemon does not listen again: $(<"$log")"
}

daemon_stop()
{
	kill -TERM "$daemon"
	await 15 gone "$daemon" || kill -KILL "$daemon"
	wait "$daemon" 2>/dev/null
	status=$?
}

# sets fds and tasks: how many of them the process has
usage_of()
{
	local list

	list=("/proc/$1/fd/"*) fds=${#list[@]}
	list=("/proc/$1/task/"*) tasks=${#list[@]}
}

# at_rest PID FDS TASKS: nothing of a session is left
at_rest()
{
	usage_of "$1"
	[ "$fds" -le "$2" ] && [ "$tasks" -le "$3" ]
}

# ---- the client

identity=(-i none --retries=0)

# rdcp WORD...: in the foreground
rdcp()
{
	timeout -k 5 $((rdcp_seconds * slow)) "${prefix_rdcp[@]}" "$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" "$@"
}
prefix_rdcp=()
rdcp_seconds=30

# copy WORD...: sets status, out, err
copy()
{
	rdcp "$@" </dev/null >"$case_dir/out" 2>"$case_dir/err"
	status=$?
	collect_output
}

collect_output()
{
	{ out=$(<"$case_dir/out") err=$(<"$case_dir/err"); } 2>/dev/null # that says so if it drops a NUL
	[ "$status" != 124 ] || fail "rdcp was not done in time; $err"
}

# A script's shell starts what goes to the background with SIGINT ignored, and rdcp would leave it so.
background=(env --default-signal=INT)

# start_copy WORD...: in the background; sets client
start_copy()
{
	"${background[@]}" "${prefix_rdcp[@]}" "$build/rdcp" --transport="$transport" -P "$port" "${identity[@]}" "$@" </dev/null \
		>"$case_dir/out" 2>"$case_dir/err" {nap_fd}<&- &
	client=$!
	pids+=("$client")
}

# end_copy SECONDS: waits for it; sets status, out, err and took, the milliseconds of waiting
end_copy()
{
	local now began

	clock
	began=$now
	await "$1" gone "$client" || fail "rdcp does not end within $(($1 * slow)) s; $(state_of "$client"); $(<"$case_dir/err")"
	clock
	took=$((now - began))
	wait "$client" 2>/dev/null
	status=$?
	collect_output
}

# where the threads of a process are, for whoever looks for the reason
state_of()
{
	local t stat

	for t in "/proc/$1/task/"*; do
		{ read -ra stat <"$t/stat"; } 2>/dev/null || continue
		echo "thread ${stat[1]} ${stat[2]} in $(cat "$t/wchan" 2>/dev/null)"
	done
}

# no_part_in FOLDER: nothing unfinished is there any more
no_part_in()
{
	! compgen -G "$1/.*.rdcp-part" >/dev/null
}

# part_in FOLDER: a file that is being written there has got some bytes
part_in()
{
	local f

	for f in "$1"/.*.rdcp-part; do
		[ ! -s "$f" ] || return 0
	done
	return 1
}

# start_long_copy [OPTION...] NAME DEST: like transfer(), but of many zeros in the smallest pieces, and it returns in the
# middle of it
long_size=1G
start_long_copy()
{
	truncate -s "$long_size" "$from/${*: -2:1}"
	towards "$@"
	start_copy --no-resume --no-sparse --slot-size=4K --slots=2 "${words[@]}"
	await 10 part_in "$to" || fail "the copy does not begin; $(<"$case_dir/err")"
	! gone "$client" || fail "the copy is over already; $(<"$case_dir/err")"
}

# transfer [OPTION...] NAME DEST: copies $from/NAME to $to/DEST, push or pull as `way` says
transfer()
{
	towards "$@"
	copy "${words[@]}"
}

towards()
{
	local options=("${@:1:$#-2}") name=${*: -2:1} dest=${*: -1}

	if [ "$way" = push ]; then
		words=("${options[@]}" "$from/$name" "$host:$to/$dest")
	else
		words=("${options[@]}" "$host:$from/$name" "$to/$dest")
	fi
}

# ---- what is expected

# expect STATUS [TEXT...]: of the last copy; each text is in its standard error
expect()
{
	local text

	[ "$status" = "$1" ] || fail "exit status $status instead of $1; $err"
	shift
	for text in "$@"; do
		[[ $err == *"$text"* ]] || fail "'$text' is not in: $err"
	done
}

expect_ok()
{
	expect 0
	[ -z "$err" ] || fail "it says: $err"
}

# expect_one_line: an error is one line
expect_one_line()
{
	[ -n "$err" ] && [[ $err != *$'\n'* ]] || fail "not one line: $err"
}

# same A B: byte for byte; a pattern file tells which bytes came to the wrong place
same()
{
	local at

	at=$(cmp "$1" "$2" 2>&1) || fail "$at"
}

# holds FILE TEXT
holds()
{
	[ -f "$1" ] && [ "$(<"$1")" = "$2" ] || fail "'$1' does not hold '$2'"
}

# ---- files

# pattern FILE BYTES: each 8-byte word is its offset, so that a piece at the wrong place is not the same as any other.
# One of the largest size asked for so far is kept.
pattern()
{
	local pattern_size

	pattern_size=$(<"$work/pattern.size")
	if [ "$2" -gt "$pattern_size" ]; then
		pattern_size=$((($2 + 1048575) / 1048576 * 1048576))
		echo "$pattern_size" >"$work/pattern.size"
		# shellcheck disable=SC2016
		perl -e 'for ($i = 0; $i < $ARGV[0] / 8; $i += 8192) { print pack("Q<8192", map { $_ * 8 } $i .. $i + 8191) }' \
			"$pattern_size" >"$work/pattern"
	fi
	head -c "$2" "$work/pattern" >"$1"
}

# text FILE TEXT
text()
{
	printf '%s\n' "$2" >"$1"
}

# ---- running cases

# In the subshell: what the case started ends with it.
case_end()
{
	local p

	for p in "${pids[@]}" "${daemons[@]}"; do
		kill -KILL "$p" 2>/dev/null
		kill -CONT "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	for p in "${mounts[@]}"; do
		umount "$p"
	done
}

# sets left to what is left behind, as sentences; the daemon may still be at it
leftovers()
{
	local f

	left=
	if [ -z "$daemon" ]; then
		: # a theme has stopped it
	elif gone "$daemon"; then
		left+="the daemon died; "
	elif ! await 5 at_rest "$daemon" "$idle_fds" "$idle_tasks"; then
		usage_of "$daemon"
		left+="the daemon has $fds descriptors and $tasks threads, at rest it was $idle_fds and $idle_tasks; "
	fi
	shopt -s nullglob globstar dotglob
	for f in "$srv"/**/*.rdcp-part "$work/here"/**/*.rdcp-part; do
		left+="left: $f; "
	done
	for f in "$work"/san.*; do
		left+="sanitizer: $(<"$f"); "
		rm "$f"
	done
	shopt -u nullglob globstar dotglob
}

# run NAME FUNCTION [ARG...]
run()
{
	local name=$1 rc left why=

	shift
	# shellcheck disable=SC2254
	case $name in $only) ;; *) return ;; esac
	case_dir=$work/case here=$work/here/$name there=$srv/$name
	mkdir "$case_dir" "$here" "$there"
	: >"$work/why"
	(
		daemons=() pids=() mounts=()
		trap case_end EXIT
		cd "$here" || exit
		"$@"
	)
	rc=$?
	why=$(<"$work/why")
	leftovers
	if [ "$rc" = 77 ] && [ -z "$left" ]; then
		verdict skip "$name" "$why"
	elif [ "$rc" = 0 ] && [ -z "$left" ]; then
		verdict ok "$name"
	else
		verdict "not ok" "$name" "$why${why:+; }$left"
		tail -n 12 "$log" | sed 's/^/#   daemon: /'
		[ -z "$daemon" ] || ! gone "$daemon" || serve
	fi
	rm -rf "$case_dir" "$here" "$there"
}

# both NAME FUNCTION [ARG...]: as a push and as a pull, with the source in $from and the destination in $to. ThreadSanitizer is slow,
# and either way the same engines run in the same threads: there the ways take turns.
turn=0
both()
{
	local name=$1 way from to ways=(push pull)

	shift
	case $build in *tsan*) ways=("${ways[turn++ % 2]}") ;; esac
	for way in "${ways[@]}"; do
		run "${way}_$name" there_and_back "$way" "$@"
	done
}

there_and_back()
{
	way=$1
	shift
	if [ "$way" = push ]; then from=$here to=$there; else from=$there to=$here; fi
	"$@"
}

# theme NAME: the cases of tests/cases/NAME.sh, by its function NAME
theme()
{
	# shellcheck disable=SC1090
	. "$tests/cases/$1.sh"
	"$1"
}

# ---- begin and end of the script

# The daemon of all cases that start none. What it keeps after its first clients is not counted as a leak.
serve()
{
	case_dir=$work/warm
	mkdir -p "$case_dir"
	daemon_start "max-sessions = 64"
	text "$case_dir/f" warm
	copy "$case_dir/f" "$host:$srv/warm"
	[ "$status" = 0 ] && copy "$host:$srv/warm" "$case_dir/g"
	if [ "$status" != 0 ]; then
		verdict "not ok" "${0##*/}_first_copy" "exit status $status; $err; $(<"$log")"
		exit 1
	fi
	await 5 daemon_ended 2
	usage_of "$daemon"
	idle_fds=$fds idle_tasks=$tasks
	rm -r "$case_dir" "$srv/warm"
}

daemon_ended()
{
	[ "$(daemon_count 'session ends')" -ge "$1" ] && usage_of "$daemon" && [ "$tasks" -le "${idle_tasks:-2}" ]
}

# of the lab's device: how many queue pairs, memory regions, ... there are
rdma_resources()
{
	timeout 20 rdma resource show "$RDCP_LAB_DEVICE" 2>/dev/null | sed 's/^[0-9]*: //'
}

resources_are()
{
	[ "$(rdma_resources)" = "$1" ]
}

finish()
{
	local name=${0##*/} resources

	name=${name%.sh}
	daemon_stop
	if [ "$status" = 0 ]; then
		verdict ok "${name}_daemon_ends_well"
	else
		verdict "not ok" "${name}_daemon_ends_well" "exit status $status: $(tail -n 5 "$log")"
	fi
	daemons=()
	if [ "$transport" = rdma ]; then
		if await 5 resources_are "$resources_before"; then
			verdict ok "${name}_resources_back"
		else
			resources=$(rdma_resources)
			verdict "not ok" "${name}_resources_back" "before: $resources_before; after: $resources"
		fi
	fi
	for f in "$work"/san.*; do
		[ ! -e "$f" ] || verdict "not ok" "${name}_sanitizer" "$(<"$f")"
	done
}

on_exit()
{
	local p

	for p in "${daemons[@]}"; do
		kill -KILL "$p" 2>/dev/null
	done
	rm -rf "$work"
}

trap on_exit EXIT
trap 'exit 130' INT TERM HUP
[ "$transport" = tcp ] || resources_before=$(rdma_resources)
serve
