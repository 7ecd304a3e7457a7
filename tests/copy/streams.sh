#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Standard input and output, limits, direct input and output, verifying, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme streams
finish
