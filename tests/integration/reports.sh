#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What a copy tells, and how it ends when it is interrupted, over RDMA.
# lab: uml-rxe uml-siw machine
# timeout: 180
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme reports
finish
