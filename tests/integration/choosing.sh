#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Which files are copied, over RDMA.
# lab: uml-rxe uml-siw machine
# timeout: 240
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme choosing
finish
