#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# All that files have, over RDMA, on a file system that can keep it.
# lab: uml-siw machine
# timeout: 300
if [ "${RDCP_LAB_KIND-}" != machine ] && truncate -s 400M /mnt/t/ext4 && mkfs.ext4 -qF -b 4096 /mnt/t/ext4 2>/dev/null; then
	mkdir -p /mnt/ext4
	mount -o loop /mnt/t/ext4 /mnt/ext4 && export TMPDIR=/mnt/ext4
fi
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme archive
finish
