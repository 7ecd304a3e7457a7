#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What stands on endpoints, over real verbs; tests/run starts it in each of the guests. Prints libcheck's TAP.
# timeout: 180
set -u
endpoints=('endpoint*')
case $RDCP_LAB_KIND in
qemu-*)
	slow=10
	endpoints=(endpoint endpoint_data)
	echo "skip endpoint_end: emulation is slower than the deadlines in it"
	;;
*) slow=4 ;;
esac
tap=$TMPDIR/unit.tap
RDCP_TEST_RDMA_ADDR=$RDCP_LAB_ADDR RDCP_TEST_RDMA_ONLY=1 CK_TIMEOUT_MULTIPLIER=$slow CK_VERBOSITY=silent CK_TAP_LOG_FILE_NAME=$tap \
	"${RDCP_BUILD:-build}/unit" "${endpoints[@]}" engine sender "receiver*" peer
rc=$?
cat "$tap"
exit $rc
