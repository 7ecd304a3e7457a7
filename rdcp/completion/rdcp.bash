# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Completion of rdcp for bash 4.4 and newer, with or without bash-completion(7), which loads it when it is wanted. Options and
# their values; local files; hosts of known_hosts and /etc/hosts, with their colon; and behind the colon what is there, if a key is
# there to ask with and the daemon answers within two seconds. Whatever fails offers nothing.
#
# readline replaces only the end of a word: what is behind the last ':' or '=', or behind an open quote. So the line is read
# here as the shell reads it (_rdcp_scan), candidates are whole words without any quoting, and _rdcp_add makes of each what
# has to stand behind the part that stays. Spaces behind finished words are ours, too (-o nospace), as none may follow ':' and '/'.

# The left column of `rdcp --help`; tests/lint compares.
_rdcp_options='
-i --identity=KEYFILE
-r --recursive
-p --preserve
-a --archive
   --numeric-ids
-L --dereference
   --no-clobber
   --mkpath
   --partial-dir=DIR
   --no-resume
   --no-sparse
-u --update
   --checksum
   --ignore-existing
-n --dry-run
   --remove-source-files
   --exclude=PATTERN
   --include=PATTERN
   --exclude-from=FILE
   --include-from=FILE
   --files-from=FILE
   --from0
   --fsync=end|file|none
-q --quiet
-v --verbose
   --progress=auto|always|never
   --stats
   --json
-P --port=PORT
-4 --ipv4
-6 --ipv6
   --transport=rdma|tcp
   --connect-timeout=SECONDS
   --timeout=SECONDS
   --retries=COUNT
   --slot-size=SIZE
   --slots=COUNT
   --limit-rate=RATE
   --direct
   --verify
   --io-threads=COUNT
   --list
   --doctor
-h --help
-V --version
'

# Splits $1 into `words`, without quotes; the last one goes on at the end of it, as `raw` it is what was typed. `quote` is the
# quote that is open there, `expands` is set when the shell would expand something in that word.
_rdcp_scan()
{
	local text=$1 c word='' i

	words=() raw='' quote='' expands=''
	for ((i = 0; i < ${#text}; i++)); do
		c=${text:i:1}
		if [[ -z $quote && $c == [[:space:]] ]]; then
			[[ -z $raw ]] || words+=("$word")
			word='' raw='' expands=''
			continue
		fi
		raw+=$c
		case $quote$c in
		\' | \") quote=$c ;;
		\'\' | \"\") quote='' ;;
		\\ | \"\\)
			[[ -z $quote || ${text:i+1:1} == [\"\$\`\\] ]] || word+=$c
			i=$((i + 1))
			raw+=${text:i:1} word+=${text:i:1}
			;;
		[\$\`] | \"[\$\`]) expands=1 word+=$c ;;
		*) word+=$c ;;
		esac
	done
	words+=("$word")
}

# Offers the word $1, with $2 behind it when it is complete. What cannot be shown on a terminal is not offered.
_rdcp_add()
{
	local text=$1 special c

	[[ $text == "$kept"* && $text != *[[:cntrl:]]* ]] || return
	text=${text#"$kept"}
	case $kept_quote in
	\') special="" text=${text//\'/\'\\\'\'} ;;
	\") special="\\\"\$\`" ;;
	# the last ones would break the word for readline, unless it was told not to
	*) special="\\ \"'\`\$&|;<>()[]{}*?!#~^$breaks" ;;
	esac
	for ((c = 0; c < ${#special}; c++)); do
		text=${text//"${special:c:1}"/\\"${special:c:1}"}
	done
	# what the user means to be expanded, and the colon of a host, which is no part of a name
	[[ -z $kept && $raw == \~* && $text == \\~* ]] && text=${text#\\}
	[[ -z $kept && -n ${3-} ]] && text=${text/%\\:/:}
	[[ -n $kept_quote ]] || text+=$2
	COMPREPLY+=("$text")
}

# The local files whose names go on from $2; $1 stands before them, as of --identity=.
_rdcp_local()
{
	local before=$1 start=$2 real file shown home=${HOME-}

	real=$start
	[[ $raw == *\~* && $start == \~/* ]] && real=$home${start#\~}
	while IFS= read -rd '' file; do
		shown=$file
		# behind a '=' the shell expands no '~'
		[[ $real == "$start" || -n $before ]] || shown=\~${file#"$home"}
		# without it, the colon would make it a host's
		[[ -n $before || $shown != *:* || ${shown%%:*} == */* ]] || shown=./$shown
		if [[ -d $file ]]; then _rdcp_add "$before$shown/" ''; else _rdcp_add "$before$shown" ' '; fi
	done < <(
		shopt -u failglob
		shopt -s nullglob
		set +f
		for file in "$real"*; do printf '%s\0' "$file"; done
	)
}

# Names and addresses of hosts, one a line; an IPv6 address in brackets.
_rdcp_hosts()
{
	local file files=()

	for file in "${HOME-}/.ssh/known_hosts" "${HOME-}/.ssh/known_hosts2" /etc/ssh/ssh_known_hosts "${HOSTFILE:-/etc/hosts}"; do
		[[ ! -r $file || -d $file ]] || files+=("$file")
	done
	[[ ${#files[@]} -gt 0 ]] && awk -v table="${HOSTFILE:-/etc/hosts}" '
	function say(host) {
		if (host ~ /[*?!|\/@]/ || host == "" || host in said) return
		said[host]
		print (host ~ /:/ ? "[" host "]" : host)
	}
	{ sub(/#.*/, "") }
	FILENAME == table { for (i = 2; i <= NF; i++) say($i); next }
	{
		n = split($1 ~ /^@/ ? $2 : $1, name, ",")
		for (i = 1; i <= n; i++) {
			sub(/\]:[0-9]+$/, "", name[i])
			sub(/^\[/, "", name[i])
			say(name[i])
		}
	}' "${files[@]}" 2>/dev/null
}

# Hosts that go on from the word, with $1 (a colon, or nothing) and $2 behind them.
_rdcp_add_hosts()
{
	local host

	while IFS= read -r host; do
		[[ $host == "$cur"* ]] && _rdcp_add "$host$1" "$2" "$1"
	done < <(_rdcp_hosts)
}

# From the words before: `asked` gets the options that say how to reach the daemon, `key` the key file.
_rdcp_connection()
{
	local i word value

	asked=() key=${RDCP_KEY_FILE-}
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		word=${words[i]} value=${words[i + 1]}
		case $word in
		--) break ;;
		-i | --identity) key=$value ;;
		-i*) key=${word#-i} ;;
		--identity=*) key=${word#*=} ;;
		-P | --port | --transport) asked+=("$word" "$value") ;;
		-P* | --port=* | --transport=* | -4 | -6 | --ipv4 | --ipv6) asked+=("$word") ;;
		esac
	done
	for word in "${HOME-}/.config/rdcp/key" /etc/rdcp/key; do
		[[ -n $key || ! -r $word ]] || key=$word
	done
	key=${key/#\~\//${HOME-}/}
}

# What is in the folder at the host that the word names so far.
_rdcp_remote()
{
	local host=$1 path=$2 folder='' entry key asked

	_rdcp_connection
	[[ $key == none || (-f $key && -r $key) ]] || return
	[[ $path != */* ]] || folder=${path%/*}/
	while IFS= read -rd '' entry; do
		[[ $entry == "${path##*/}"* ]] || continue
		# hidden ones only when they are asked for
		[[ $entry != .* || ${path##*/} == .* ]] || continue
		if [[ $entry == */ ]]; then _rdcp_add "$host:$folder$entry" ''; else _rdcp_add "$host:$folder$entry" ' '; fi
	done < <(timeout 2 "${words[0]/#\~\//${HOME-}/}" -q -i "$key" "${asked[@]}" --list --from0 -- "$host:$folder" 2>/dev/null </dev/null)
}

_rdcp_operand()
{
	local doctor=''

	[[ " ${words[*]} " != *" --doctor "* ]] || doctor=1
	if [[ -n $doctor ]]; then
		_rdcp_add_hosts '' ' '
	elif [[ $cur =~ ^(\[[^]/]+\]|[^/:\[]+):(.*)$ && $cur != rdcp://* ]]; then
		_rdcp_remote "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	else
		[[ $cur == */* || $cur == \~* ]] || _rdcp_add_hosts : ''
		_rdcp_local '' "$cur"
	fi
}

# sets argument: what the option $1 takes, as the table has it
_rdcp_argument_of()
{
	local line

	argument=''
	while IFS= read -r line; do
		case $1 in
		--*) [[ "$line" == *" $1="* ]] && argument=${line#*=} ;;
		*) [[ $line == "$1 "*=* ]] && argument=${line#*=} ;;
		esac
	done <<<"$_rdcp_options"
	[[ -n $argument ]]
}

# The value of an option: $1 as in the table, $2 stands before it in the same word.
_rdcp_value()
{
	local word words_of=()

	case $1 in
	*\|*) IFS=\| read -ra words_of <<<"$1" ;;
	*FILE) _rdcp_local "$2" "${cur#"$2"}" ;;
	*DIR) _rdcp_local "$2" "${cur#"$2"}" ;;
	SIZE) words_of=(64K 256K 1M 4M 16M) ;;
	esac
	[[ $1 != KEYFILE ]] || words_of=(none)
	for word in "${words_of[@]}"; do
		[[ $2$word == "$cur"* ]] && _rdcp_add "$2$word" ' '
	done
}

_rdcp_option()
{
	local line option

	while IFS= read -r line; do
		option=${line#???}
		if [[ $cur == -? && $line == "$cur "* ]]; then
			_rdcp_add "$cur" ' '
		elif [[ $option == *=* && $option == "$cur"* ]]; then
			_rdcp_add "${option%%=*}=" '' # the '=' of an option is no part of a name, either
			COMPREPLY[-1]=${COMPREPLY[-1]/%\\=/=}
		elif [[ -n $option && $option == "$cur"* ]]; then
			_rdcp_add "$option" ' '
		fi
	done <<<"$_rdcp_options"
}

_rdcp()
{
	local words raw quote expands argument cur kept kept_quote typed breaks='' operands='' i

	COMPREPLY=()
	_rdcp_scan "${COMP_LINE:0:COMP_POINT}"
	typed=$raw
	# what stays: the word but for its end that readline replaces
	_rdcp_scan "${typed%"$2"}"
	kept=${words[-1]} kept_quote=$quote
	_rdcp_scan "${COMP_LINE:0:COMP_POINT}"
	cur=${words[-1]}
	for i in : = @; do
		[[ -n ${COMP_WORDBREAKS-} && $COMP_WORDBREAKS != *"$i"* ]] || breaks+=$i
	done
	compopt -o nospace 2>/dev/null
	if [[ -n $expands || ($raw == \~* && $raw != */*) ]]; then
		compopt +o nospace -o default -o filenames 2>/dev/null
		return
	fi
	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		[[ ${words[i]} != -- ]] || operands=1
	done
	argument=''
	if [[ -z $operands && ${#words[@]} -gt 2 ]]; then
		case ${words[-2]} in
		--*) _rdcp_argument_of "${words[-2]}" ;;
		-?*) _rdcp_argument_of "-${words[-2]: -1}" ;;
		esac
	fi
	if [[ -n $argument ]]; then
		_rdcp_value "$argument" ''
	elif [[ -z $operands && $cur == --*=* ]]; then
		_rdcp_argument_of "${cur%%=*}" && _rdcp_value "$argument" "${cur%%=*}="
	elif [[ -z $operands && $cur == -* ]]; then
		_rdcp_option
	else
		_rdcp_operand
	fi
}

complete -F _rdcp rdcp
