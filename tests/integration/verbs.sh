#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Calls of rdma-core that fail in turn; with `SCRIPT PATTERN all` each of them in each way.
# lab: uml-rxe uml-siw machine
# build: faults
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cases/verbs.sh"
if [ "${2-}" = all ]; then all_verbs_calls; else verbs; fi
finish
