#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Names, attributes, destinations, keys and exports over RDMA.
# lab: uml-rxe uml-siw machine
# timeout: 100
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme names
theme attributes
theme destinations
theme access
finish
