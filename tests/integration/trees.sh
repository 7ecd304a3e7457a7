#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Directories with all that is in them over RDMA.
# lab: uml-siw machine
# timeout: 400
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme trees
finish
