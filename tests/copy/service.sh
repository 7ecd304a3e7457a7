#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# The unit file by itself: how much of the system it leaves to the service, and that systemd understands all of it.
set -u
cd "$(dirname "$0")/../.." || exit
limit=20 # tenths
unit=systemd/rdcpd.service

if ! command -v systemd-analyze >/dev/null; then
	echo "skip unit_exposure: no systemd-analyze here"
	exit
fi
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT

result()
{
	if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; fi
}

systemd-analyze security --offline=yes --threshold=$limit $unit >"$tmp/out" 2>&1
result $? unit_exposure_is_at_most_2.0 "$(tail -n 1 "$tmp/out")"

# what the program is called does not matter here, and the manual pages are not installed
sed 's|/usr/sbin/rdcpd|/bin/true|; /^Documentation=/d' $unit >"$tmp/rdcpd.service"
systemd-analyze verify "$tmp/rdcpd.service" >"$tmp/out" 2>&1
rc=$?
[ ! -s "$tmp/out" ] || rc=1
result $rc unit_is_understood "$(head -n 1 "$tmp/out")"

# the drop-in that is not enabled: understood, and not much is left open by it
mkdir "$tmp/rdcpd.service.d"
cp systemd/users.conf "$tmp/rdcpd.service.d"
systemd-analyze verify "$tmp/rdcpd.service" >"$tmp/out" 2>&1
rc=$?
[ ! -s "$tmp/out" ] || rc=1
result $rc unit_with_users_is_understood "$(head -n 1 "$tmp/out")"
cat $unit <(sed '/^#/d' systemd/users.conf) >"$tmp/joined.service"
systemd-analyze security --offline=yes --threshold=25 "$tmp/joined.service" >"$tmp/out" 2>&1
result $? unit_with_users_exposure_is_at_most_2.5 "$(tail -n 1 "$tmp/out")"
rm -r "$tmp/rdcpd.service.d" "$tmp/joined.service"

# each number of a message is in the catalogue, and the other way round
diff <(grep -oE '"[0-9a-f]{32}"' rdcpd/journal.c | tr -d '"' | sort) \
	<(sed -n 's/^-- //p' systemd/rdcpd.catalog | sort) >"$tmp/out"
result $? messages_are_catalogued "$(tr '\n' ' ' <"$tmp/out")"
if command -v journalctl >/dev/null; then
	mkdir -p "$tmp/root/usr/lib/systemd/catalog" "$tmp/root/var/lib/systemd/catalog"
	cp systemd/rdcpd.catalog "$tmp/root/usr/lib/systemd/catalog"
	journalctl --root="$tmp/root" --update-catalog >"$tmp/out" 2>&1
	journalctl --root="$tmp/root" --dump-catalog >"$tmp/dump" 2>>"$tmp/out"
	[ "$(grep -c '^-- ' "$tmp/dump")" = "$(grep -c '^-- ' systemd/rdcpd.catalog)" ]
	result $? catalogue_is_understood "$(head -n 1 "$tmp/out")"
fi
if command -v systemd-sysusers >/dev/null && command -v systemd-tmpfiles >/dev/null; then
	mkdir "$tmp/root/etc"
	for kind in sysusers.d tmpfiles.d; do
		mkdir -p "$tmp/root/usr/lib/$kind"
		cp systemd/$kind/rdcp.conf "$tmp/root/usr/lib/$kind"
	done
	systemd-sysusers --root="$tmp/root" rdcp.conf >"$tmp/out" 2>&1 && grep -q '^rdcpd:' "$tmp/root/etc/passwd"
	result $? user_is_understood "$(head -n 1 "$tmp/out")"
	if [ "$(id -u)" = 0 ]; then
		systemd-tmpfiles --root="$tmp/root" --create rdcp.conf >"$tmp/out" 2>&1 &&
			[ "$(stat -c %a "$tmp/root/etc/rdcp/keys" "$tmp/root/srv/rdcp" | tr '\n' ' ')" = "2750 750 " ]
		result $? directories_are_understood "$(head -n 1 "$tmp/out")"
	fi
fi
