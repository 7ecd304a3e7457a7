#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Directories and all that is in them over RDMA.
# lab: uml-rxe uml-siw machine
# timeout: 300
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme trees
finish
