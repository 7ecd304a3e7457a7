#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What is on stable storage when, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme durability
finish
