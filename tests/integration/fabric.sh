#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Links, devices, addresses and what is printed about them, over RDMA.
# timeout: 120
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme output
theme fabric
outages
finish
