#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Sources, names, attributes, destinations, keys, exports and what is printed over RDMA.
# lab: uml-rxe uml-siw machine
# timeout: 240
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme sources
theme destinations
theme access
theme names
theme attributes
theme output
finish
