#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What the daemon tells of itself, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme status
finish
