#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Modes and times, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme attributes
finish
