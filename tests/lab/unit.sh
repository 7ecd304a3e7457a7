#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# The endpoint suites over real verbs; tests/run starts it in each of the guests. Prints libcheck's TAP.
# timeout: 120
set -u
case $RDCP_LAB_KIND in
qemu-*) slow=10 ;;
*) slow=4 ;;
esac
tap=$TMPDIR/unit.tap
RDCP_TEST_RDMA_ADDR=$RDCP_LAB_ADDR CK_TIMEOUT_MULTIPLIER=$slow CK_VERBOSITY=silent CK_TAP_LOG_FILE_NAME=$tap \
	"${RDCP_BUILD:-build}/unit" "endpoint*"
rc=$?
cat "$tap"
exit $rc
