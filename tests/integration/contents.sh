#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Files of all sizes over RDMA.
# timeout: 180
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme sizes
finish
