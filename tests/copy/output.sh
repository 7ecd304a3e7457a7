#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What is printed where, over TCP.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
theme output
finish
