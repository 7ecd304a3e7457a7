#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Where a copy can go, and what becomes of what is there, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme destinations
finish
