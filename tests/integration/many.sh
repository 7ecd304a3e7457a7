#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# A hundred thousand files of one directory, there and back over RDMA.
# lab: uml-siw machine
# timeout: 400
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cases/trees.sh"
run hundred_thousand_files_arrive vast 100000
finish
