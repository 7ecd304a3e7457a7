#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Copies that are interrupted and go on over RDMA.
# lab: uml-rxe machine
# timeout: 500
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme resume
finish
