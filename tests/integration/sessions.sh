#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Limits and the death of either side, over RDMA.
# timeout: 180
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme limits
theme deaths
finish
