#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Standard input and output, users and what the daemon tells of itself, over RDMA.
# lab: uml-rxe machine
# timeout: 300
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme streams
theme identity
theme status
finish
