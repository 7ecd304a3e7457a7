# shellcheck shell=bash disable=SC2034,SC2154,SC2120,SC2119,SC2015
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What a person sees: the screen of a real terminal, tmux(1), compared with tests/golden/NAME.txt. What differs from run to run
# (rates, times, ports, ids) is masked. `GOLDEN=write tests/copy/terminal.sh` writes the files anew, to be read before they are
# committed.

golden=$tests/golden
screens=0

tmux_do()
{
	tmux -u -S "$case_dir/tmux.$screens" -f "$case_dir/tmux.conf" "$@" 2>/dev/null
}

# screen COLUMNS ROWS COMMAND: runs the command in a terminal of that size; rdcp in it is the one under test
screen()
{
	local columns=$1 rows=$2

	need tmux
	screens=$((screens + 1)) # a server that is told to end may still be there
	mkdir -p "$case_dir/bin"
	printf '#!/bin/sh\nexec %q --transport=%q -P %q %s "$@"\n' "$build/rdcp" "$transport" "$port" "${identity[*]}" \
		>"$case_dir/bin/rdcp"
	chmod +x "$case_dir/bin/rdcp"
	printf '%s\n' 'set -g status off' 'set -g history-limit 0' >"$case_dir/tmux.conf"
	printf '%s\n' "PATH=$case_dir/bin:\$PATH" "cd $here" "trap : INT" "$3" 'echo "status $?"' "exec cat" >"$case_dir/script"
	env -u TMUX LC_ALL=C.UTF-8 tmux -u -S "$case_dir/tmux.$screens" -f "$case_dir/tmux.conf" new-session -d -x "$columns" -y "$rows" \
		"sh $case_dir/script" {nap_fd}<&- || skip "tmux does not start"
	trap 'tmux_do kill-server; case_end' EXIT
}

# shows TEXT: it is on the screen
shows()
{
	[[ $(tmux_do capture-pane -p) == *"$1"* ]]
}

# What a run has of its own becomes the same for all.
mask()
{
	sed -E -e "s|$host|HOST|g; s|$port|PORT|g; s|$here|HERE|g; s|$there|THERE|g" \
		-e 's/ [ 0-9]{4,}(\.[0-9])? ([KMG]i)?B\/s/       RATE\/s/; s/^rate: .*/rate: RATE/' \
		-e 's/[0-9]{2}:[0-9]{2}( ETA)/MM:SS\1/; s/    [0-9]{2}:[0-9]{2}( *)$/    MM:SS\1/' \
		-e 's/[0-9]+\.[0-9]{3} s/SECONDS/g; s/[0-9.]+ ms\)/TIME)/; s/at most [0-9]+ in flight/at most N in flight/' \
		-e 's/[0-9a-f]{8}-[0-9a-f-]{27}/ID/; s/[[:space:]]+$//'
}

# looks_like NAME: the screen, once the command has ended
looks_like()
{
	await 20 shows 'status ' || fail "it does not end: $(tmux_do capture-pane -p)"
	compare "$1" <<<"$(tmux_do capture-pane -p | mask)"
	tmux_do kill-server
}

# compare NAME: the standard input with that of old
compare()
{
	cat >"$case_dir/seen"
	if [ "${GOLDEN-}" = write ]; then
		cp "$case_dir/seen" "$golden/$1.txt"
	else
		diff -u "$golden/$1.txt" "$case_dir/seen" >"$case_dir/diff" || fail "$1: $(tail -n +3 "$case_dir/diff")"
	fi
}

bar_of_any_width()
{
	local columns

	pattern disk.img 5000000
	for columns in 20 40 60 80 200 400; do
		screen "$columns" 4 "rdcp disk.img $host:${there##*/}/"
		looks_like "bar-$columns"
	done
}

bar_of_a_tree()
{
	local i

	mkdir -p photos/2026
	for i in 1 2 3 4 5 6 7; do pattern "photos/2026/$i.jpg" "${i}00000"; done
	text notes 'to do'
	screen 80 4 "rdcp -r photos $host:${there##*/}/"
	looks_like bar-tree
	screen 80 4 "rdcp -r photos notes $host:${there##*/}/"
	looks_like bar-total
	screen 80 4 "rdcp -r $host:${there##*/}/photos back"
	looks_like bar-tree-pull
}

# In the middle there is one line, and ^C leaves nothing of it.
bar_redraws()
{
	truncate -s 1G disk.img
	screen 60 5 "rdcp --no-resume --no-sparse --slot-size=4K --slots=2 disk.img $host:${there##*/}/g"
	await 10 shows 'MiB/s' || fail "no progress: $(tmux_do capture-pane -p)"
	tmux_do capture-pane -p | mask | sed -E 's/ +[0-9]+%  +[0-9.]+ [KM]iB/ PERCENT BYTES/' | compare bar-moves
	tmux_do send-keys C-c
	looks_like interrupted
}

names()
{
	local name=$'\e[31mr\xff\n日本'

	text "$name" content
	text f content
	screen 80 6 "rdcp -v ./*日本 $host:${there##*/}/"
	looks_like name-of-any-bytes
}

errors()
{
	text f content
	mkdir dir
	screen 80 8 "rdcp missing dir f $host:${there##*/}/"
	looks_like error-some-files
	screen 80 8 "rdcp f $host:missing/f"
	looks_like error-destination
	screen 80 8 "rdcp f"
	looks_like error-usage
	screen 80 8 "rdcp --connect-timeout=2 f rdcp://127.0.0.1:1/g"
	looks_like error-nobody-listens
	screen 80 8 "rdcp f $host:/elsewhere/"
	looks_like error-not-allowed
}

verbose_and_stats()
{
	mkdir src
	pattern src/a 1000000
	screen 80 16 "rdcp -rv --stats src $host:${there##*/}/"
	looks_like stats
	screen 80 16 "rdcp -rv $host:${there##*/}/src back"
	looks_like verbose-pull
}

help_text()
{
	screen 80 100 "rdcp --help"
	looks_like help
}

# Of the machine's own state only the form can be the same everywhere.
doctor()
{
	[ "$transport" = tcp ] || skip "over TCP only"
	screen 80 24 "rdcp --doctor"
	await 20 shows 'status ' || fail "it does not end"
	[[ $(tmux_do capture-pane -p) =~ \[(\ ok\ |fail|warn)\]\  ]] || fail "no result: $(tmux_do capture-pane -p)"
	tmux_do kill-server
	screen 120 24 "rdcp --doctor $host"
	looks_like doctor-host
}

terminal()
{
	run bar_fits_any_width bar_of_any_width
	run bar_of_a_tree_counts_files bar_of_a_tree
	run bar_redraws_and_goes bar_redraws
	run names_do_no_harm names
	run errors_are_one_line_each errors
	run verbose_and_stats_are_plain verbose_and_stats
	run help_fits help_text
	run doctor_fits doctor
}
