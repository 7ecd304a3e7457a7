# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Completion of rdcp for fish: options and their values, local files, hosts with their colon, and behind the colon what is
# there, if a key is there to ask with and the daemon answers within two seconds. tests/lint compares with `rdcp --help`.

# The value of the first of the options $argv in front of the cursor.
function __rdcp_value_of
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        for option in $argv
            if test "$words[$i]" = "$option"; and test $i -lt (count $words)
                echo $words[(math $i + 1)]
                return
            else if string match -q -- "$option=*" "$words[$i]"
                string replace -- "$option=" '' "$words[$i]"
                return
            end
        end
    end
    return 1
end

# The key to ask with, or none: then nothing is asked.
function __rdcp_key
    set -l key (__rdcp_value_of -i --identity)
    test -n "$key"; or set key $RDCP_KEY_FILE
    for file in ~/.config/rdcp/key /etc/rdcp/key
        test -n "$key"; or not test -r $file; or set key $file
    end
    if test "$key" = none
        echo none
    else if test -f "$key"; and test -r "$key"
        echo $key
    else
        return 1
    end
end

function __rdcp_at_host
    string match -q -r -- '^(\[[^]/]+\]|[^/:\[]+):' (commandline -ct | string unescape)
end

# HOST:PATH for what is in the folder that the word names so far.
function __rdcp_remote
    set -l word (commandline -ct | string unescape)
    set -l part (string match -r -- '^(\[[^]/]+\]|[^/:\[]+):(.*/)?[^/]*$' "$word")
    or return
    string match -q -- 'rdcp://*' "$word"; and return
    set -l key (__rdcp_key)
    or return
    set -l asked
    for option in -P --port --transport
        set -l value (__rdcp_value_of $option)
        and set asked $asked $option $value
    end
    for option in -4 -6 --ipv4 --ipv6
        contains -- $option (commandline -opc); and set asked $asked $option
    end
    set -l folder "$part[2]:$part[3]"
    set -l program (commandline -opc)[1]
    timeout 2 $program -q -i $key $asked --list --from0 -- "$folder" 2>/dev/null </dev/null | while read -lz entry
        string match -q -r -- '[[:cntrl:]]' "$entry"; and continue
        # hidden ones only when they are asked for
        string match -q -- '.*' "$entry"; and not string match -q -r -- '[:/]\.[^/]*$' "$word"; and continue
        echo "$folder$entry"
    end
end

function __rdcp_hosts
    string match -q -r -- '[:/]' (commandline -ct); and return
    if contains -- --doctor (commandline -opc)
        __fish_print_hostnames
    else
        __fish_print_hostnames | string replace -r -- '$' ':'
    end
end

complete -c rdcp -n __rdcp_at_host -f -a '(__rdcp_remote)'
complete -c rdcp -a '(__rdcp_hosts)' -d host

complete -c rdcp -s i -l identity -r -F -d 'prove this key'
complete -c rdcp -s r -l recursive -d 'copy directories with all that is in them'
complete -c rdcp -s p -l preserve -d 'keep modes and modification times'
complete -c rdcp -s a -l archive -d '-r -p, owners, ACLs, xattrs, hard links'
complete -c rdcp -l numeric-ids -d 'with -a: owners by number, not by name'
complete -c rdcp -s L -l dereference -d 'follow symlinks in directories'
complete -c rdcp -l no-clobber -d 'leave files alone that exist already'
complete -c rdcp -l mkpath -d 'make missing directories on the way'
complete -c rdcp -l partial-dir -x -d 'directory for what is left of large files'
complete -c rdcp -l no-resume -d 'start over, and leave nothing to go on with'
complete -c rdcp -l no-sparse -d 'send holes as zeros'
complete -c rdcp -s u -l update -d 'skip what is as new there, or newer'
complete -c rdcp -l checksum -d 'skip what has the same bytes there'
complete -c rdcp -l ignore-existing -d 'skip what is there already'
complete -c rdcp -s n -l dry-run -d 'copy nothing, say what would be copied'
complete -c rdcp -l remove-source-files -d 'remove what was copied to a host'
complete -c rdcp -l exclude -x -d 'leave out what matches, in directories'
complete -c rdcp -l include -x -d 'but not what matches this'
complete -c rdcp -l exclude-from -r -F -d 'patterns from a file, one a line'
complete -c rdcp -l include-from -r -F -d 'the same for --include'
complete -c rdcp -l files-from -r -F -d 'copy what a file names, in the one source'
complete -c rdcp -l from0 -d 'entries of such files end with a NUL byte'
complete -c rdcp -l fsync -x -a 'end file none' -d 'when files reach stable storage'
complete -c rdcp -s q -l quiet -d 'show neither progress nor warnings'
complete -c rdcp -s v -l verbose -d 'say more; twice: everything'
complete -c rdcp -l stats -d 'print counts, bytes and times at the end'
complete -c rdcp -l json -d 'say what happens in objects of JSON'
complete -c rdcp -l progress -x -a 'auto always never' -d 'draw the progress line'
complete -c rdcp -s P -l port -x -d 'the port of the daemon'
complete -c rdcp -s 4 -l ipv4 -d 'use IPv4 addresses only'
complete -c rdcp -s 6 -l ipv6 -d 'use IPv6 addresses only'
complete -c rdcp -l transport -x -a 'rdma tcp' -d 'what carries the connection'
complete -c rdcp -l connect-timeout -x -d 'give up a step of connecting after'
complete -c rdcp -l timeout -x -d 'give up when the peer is silent for'
complete -c rdcp -l retries -x -d 'attempts after the connection broke'
complete -c rdcp -l slot-size -x -a '64K 256K 1M 4M 16M' -d 'bytes in a slot, 4K to 64M'
complete -c rdcp -l slots -x -d 'slots in flight, a power of two'
complete -c rdcp -l direct -d 'read and write large files past the page cache'
complete -c rdcp -l verify -d 'read again what was stored, and compare'
complete -c rdcp -l limit-rate -x -a '500K 10M 1G' -d 'bytes a second at most'
complete -c rdcp -l io-threads -x -d 'threads that read and write files'
complete -c rdcp -l list -d 'print the names at a host, copy nothing'
complete -c rdcp -l doctor -d 'check this machine, and the way to a host'
complete -c rdcp -s h -l help -d 'print a summary of the options'
complete -c rdcp -s V -l version -d 'print the version'
