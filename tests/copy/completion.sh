#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Completion of the command line, with an rdcp that only knows how to list a few names: what the function for bash offers for a
# line, and what the shells make of keys that are typed.
# shellcheck disable=SC2030,SC2031,SC2088
set -u
cd "$(dirname "$0")/../.." || exit
export LC_ALL=C.UTF-8
completion=$PWD/rdcp/completion
build=$(realpath -m "${RDCP_BUILD:-build}")
only=${1:-*}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$tmp/bin" "$tmp/home/.ssh" "$tmp/home/.config/rdcp" "$tmp/here/sub"
cd "$tmp/here" || exit
touch 'a b' 'a:c' plain
echo key >"$tmp/home/.config/rdcp/key"
cat >"$tmp/home/.ssh/known_hosts" <<'END'
storage,10.9.0.1 ssh-ed25519 AAAA
|1|c2FsdA==|aGFzaA== ssh-ed25519 AAAA
[backup.example]:2222 ssh-ed25519 AAAA
fe80::1 ssh-ed25519 AAAA
*.example ssh-ed25519 AAAA
END
printf '127.0.0.1 localhost\n10.0.0.9 stone stone.lan # but not this\n' >"$tmp/hosts"
cat >"$tmp/bin/rdcp" <<'END'
#!/bin/bash
# lists what is at storage: and storage:dir/; else keeps its arguments
case " $* " in
*" --list "*) printf '%s\n' "$*" >>"$TMP_OF_TEST/asked" ;;
*) printf '%s\n' "$@" >"$TMP_OF_TEST/arguments"; exit ;;
esac
case ${*: -1} in
storage:) printf '%s\0' 'with space' plain.txt dir/ co:lon "\"quo'te\$" .hidden $'new\nline' ;;
storage:dir/) printf '%s\0' 'a b/' inner ;;
silent:) exec tail -f /dev/null ;;
esac
END
chmod +x "$tmp/bin/rdcp"
export PATH="$tmp/bin:$PATH" HOME="$tmp/home" HOSTFILE="$tmp/hosts" TMP_OF_TEST="$tmp"
unset RDCP_KEY_FILE

# result NAME WHY: well, if there is no WHY
result()
{
	if [ -z "$2" ]; then echo "ok $1"; else echo "not ok $1: ${2//$'\n'/ | }"; fi
}

wanted()
{
	# shellcheck disable=SC2254
	case $1 in $only) return 0 ;; *) return 1 ;; esac
}

# ---- the function for bash

# offers NAME LINE END [WORD...]: these are offered for a line, of which readline would replace the END
offers()
{
	local name=completion_$1 line=$2 end=$3 got expected=

	wanted "$name" || return
	shift 3
	[ $# = 0 ] || printf -v expected '<%s>' "$@"
	got=$(
		# shellcheck disable=SC1091
		. "$completion/rdcp.bash"
		COMP_LINE=$line COMP_POINT=${#line}
		_rdcp rdcp "$end" '' 2>&1
		[ ${#COMPREPLY[@]} = 0 ] || printf '<%s>' "${COMPREPLY[@]}"
	)
	if [ "$got" = "$expected" ]; then got=; else got="offered for '$line': ${got:-nothing}"; fi
	result "$name" "$got"
}

# asked TEXT: the daemon was asked like that, last
asked()
{
	local last

	last=$(tail -n 1 "$tmp/asked" 2>/dev/null)
	[[ $last == *"$1"* ]] || echo "asked: $last"
}

bash_offers()
{
	offers of_hosts_has_colons 'rdcp st' st 'storage:' 'stone:' 'stone.lan:'
	offers of_host_with_port_is_the_host 'rdcp ba' ba 'backup.example:'
	offers of_ipv6_host_is_in_brackets 'rdcp [' '[' '\[fe80\:\:1\]:'
	offers behind_the_colon_is_remote 'rdcp storage:p' p 'plain.txt '
	offers of_all_remote_names_escapes_them 'rdcp storage:' '' 'with\ space ' 'plain.txt ' 'dir/' 'co\:lon ' "\\\"quo\\'te\\\$ "
	COMP_WORDBREAKS=$' \t\n"'\''><;|&(' offers of_whole_words_if_readline_takes_them 'rdcp storage:w' storage:w 'storage:with\ space '
	offers of_hidden_names_is_on_demand 'rdcp storage:.' . '.hidden '
	offers in_double_quotes_escapes_less 'rdcp "storage:' 'storage:' 'storage:with space' 'storage:plain.txt' 'storage:dir/' \
		'storage:co:lon' "storage:\\\"quo'te\\\$"
	offers in_single_quotes_escapes_quotes "rdcp 'storage:\"" 'storage:"' "storage:\"quo'\\''te\$"
	offers of_remote_folder_goes_on 'rdcp storage:dir/' 'dir/' 'dir/a\ b/' 'dir/inner '
	offers behind_an_escaped_space_goes_on 'rdcp storage:dir/a\ ' 'dir/a\ ' 'dir/a\ b/'
	offers of_two_operands_is_for_the_last 'rdcp plain storage:w' w 'with\ space '
	offers of_unknown_host_is_nothing 'rdcp nowhere:x' x
	offers of_url_is_nothing 'rdcp rdcp://storage/p' '//storage/p'
	offers of_local_names_escapes_them 'rdcp a' a 'a\ b ' './a\:c '
	offers of_local_folder_has_a_slash 'rdcp ./s' './s' './sub/'
	offers of_home_keeps_the_tilde 'rdcp ~/.c' '~/.c' '~/.config/'
	offers of_options 'rdcp --fs' --fs '--fsync='
	offers of_flag_ends_it 'rdcp --prog' --prog '--progress='
	offers of_choices 'rdcp --fsync=' '' 'end ' 'file ' 'none '
	offers of_choices_apart 'rdcp --transport t' t 'tcp '
	offers of_keys_are_files 'rdcp -i p' p 'plain '
	offers of_number_is_nothing 'rdcp -P ' ''
	offers of_doctor_has_no_colon 'rdcp --doctor sto' sto 'storage ' 'stone ' 'stone.lan '
	offers behind_two_hyphens_is_no_option 'rdcp -- --f' --f
}

# What the daemon is asked with, and when it is not.
questions()
{
	: >"$tmp/asked"
	offers asks_where_it_was_told 'rdcp -P 7 --transport=tcp -6 storage:p' p 'plain.txt '
	wanted completion_asks_with_those_options &&
		result completion_asks_with_those_options "$(asked "-i $HOME/.config/rdcp/key -P 7 --transport=tcp -6 --list --from0 -- storage:")"
	: >"$tmp/asked"
	offers without_key_file_is_nothing 'rdcp -i nothing storage:p' p
	wanted completion_asks_nobody_without_a_key &&
		result completion_asks_nobody_without_a_key "$(cat "$tmp/asked")"
	offers without_a_key_on_purpose_is_the_same 'rdcp -i none storage:p' p 'plain.txt '
	SECONDS=0
	offers of_silent_daemon_is_nothing 'rdcp silent:x' x
	wanted completion_waits_for_seconds_only &&
		result completion_waits_for_seconds_only "$([ $SECONDS -le 10 ] || echo "$SECONDS s")"
}

# ---- typing

# await COMMAND...: for ten seconds
await()
{
	local end=$((SECONDS + 10))

	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		read -rt 0.05 -u 9
	done
	return 0
}
mkfifo "$tmp/nap"
exec 9<>"$tmp/nap"

prompt_is_there()
{
	grep -q 'READY>' "$tmp/typescript" 2>/dev/null
}

arguments_are_there()
{
	[ -s "$tmp/arguments" ]
}

# typed SHELL NAME KEYS ARGUMENT...: keys, typed at the shell's prompt, make rdcp run with these arguments
typed()
{
	local shell=$1 name=completion_in_$1_$2 keys=$3 command why=

	wanted "$name" || return
	shift 3
	command -v script >/dev/null || { echo "skip $name: no script here"; return; }
	command -v "$shell" >/dev/null || { echo "skip $name: no $shell here"; return; }
	case $shell in
	bash) command="bash --noprofile --rcfile $tmp/bashrc -i" ;;
	zsh) command="env ZDOTDIR=$tmp zsh -i" ;;
	esac
	rm -f "$tmp/arguments" "$tmp/typescript" "$tmp/keys"
	mkfifo "$tmp/keys"
	TERM=vt100 INPUTRC=/dev/null timeout 40 script -qfec "$command" "$tmp/typescript" <"$tmp/keys" >/dev/null 2>&1 9>&- &
	exec 8>"$tmp/keys"
	await prompt_is_there && printf '%b' "$keys\n" >&8
	if ! await arguments_are_there; then
		why="nothing was run: $(tail -n 2 "$tmp/typescript" | tr -d '\0-\037')"
	elif [ "$(printf '%s\n' "$@")" != "$(<"$tmp/arguments")" ]; then
		why="run with: $(<"$tmp/arguments")"
	fi
	printf '\003\nexit\n' >&8
	exec 8>&-
	wait
	result "$name" "$why"
}

typing()
{
	printf "PS1='READY> '\n. '%s'\n" "$completion/rdcp.bash" >"$tmp/bashrc"
	typed bash name_with_space 'rdcp -q storage:wi\tx' -q 'storage:with space' x
	typed bash name_with_space_in_quotes 'rdcp "storage:wi\t y' 'storage:with space' y
	typed bash name_with_colon 'rdcp storage:c\t.' storage:co:lon .
	typed bash name_with_quotes "rdcp 'storage:\"\t ." "storage:\"quo'te\$" .
	typed bash name_with_dollar 'rdcp storage:\\"\t.' "storage:\"quo'te\$" .
	typed bash host_name_and_option 'rdcp stora\tp\t--fsy\tn\t.' storage:plain.txt --fsync=none .
	typed bash local_names 'rdcp ./a:\ta\\ \t' ./a:c 'a b'
	cat >"$tmp/.zshrc" <<END
fpath=($completion \$fpath)
autoload -U compinit
compinit -u -D
zstyle ':completion:*' hosts storage stone
PS1='READY> '
END
	typed zsh name_with_space 'rdcp -q storage:wi\tx' -q 'storage:with space' x
	typed zsh name_in_a_folder 'rdcp -P 7 storage:di\ti\t.' -P 7 storage:dir/inner .
	typed zsh host_name_and_option 'rdcp stora\tp\t--fsy\tno\t.' storage:plain.txt --fsync=none .
}

# ---- the others

syntax()
{
	local why

	for shell in bash zsh fish; do
		wanted "completion_for_${shell}_is_understood" || continue
		case $shell in bash) file=rdcp.bash ;; zsh) file=_rdcp ;; fish) file=rdcp.fish ;; esac
		if ! command -v $shell >/dev/null; then
			echo "skip completion_for_${shell}_is_understood: no $shell here"
			continue
		fi
		why=$($shell -n "$completion/$file" 2>&1) || why=${why:-"status $?"}
		result "completion_for_${shell}_is_understood" "$why"
	done
}

# The table in the completion for bash, which tests/lint compares with the source, is what the program itself says.
help_is_known()
{
	local name=completion_knows_the_options_of_help

	wanted $name || return
	if [ ! -x "$build/rdcp" ]; then
		echo "skip $name: no rdcp is built"
		return
	fi
	result $name "$(diff <("$build/rdcp" --help | sed -nE 's/^  (-.|  ),? +(--[^ ]+).*/\1 \2/p') \
		<(sed -n "/^_rdcp_options='/,/^'/p" "$completion/rdcp.bash" | sed '1d;$d'))"
}

# fish_offers NAME LINE WORD...
fish_offers()
{
	local name=completion_in_fish_$1 line=$2 got

	wanted "$name" || return
	shift 2
	command -v fish >/dev/null || { echo "skip $name: no fish here"; return; }
	got=$(LINE=$line fish --no-config -c "source '$completion/rdcp.fish'; complete -C\"\$LINE\"" 2>&1 | cut -f 1)
	if [ "$got" = "$(printf '%s\n' "$@")" ]; then got=; else got="offered for '$line': ${got:-nothing}"; fi
	result "$name" "$got"
}

syntax
help_is_known
bash_offers
questions
fish_offers remote_names 'rdcp storage:w' 'storage:with space'
fish_offers remote_folder 'rdcp -P 7 storage:dir/' 'storage:dir/a b/' storage:dir/inner
fish_offers hosts 'rdcp stora' storage:
fish_offers choices 'rdcp --transport ' rdma tcp
typing
