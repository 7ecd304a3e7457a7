#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Links, devices and addresses over RDMA.
# timeout: 180
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme fabric
outages
finish
