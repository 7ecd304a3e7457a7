#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What can be read, and what changes meanwhile, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme sources
finish
