#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Clients that mean no good, over TCP. Worth most with RDCP_BUILD of a build with sanitizers.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme hostile
finish
