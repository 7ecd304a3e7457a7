#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Many clients at one time, over RDMA.
# lab: uml-rxe uml-siw machine
# timeout: 240
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cases/crowd.sh"
crowd "${2:-8}" # 32 and more take minutes here: make check-long
finish
