#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What can be read, and what changes meanwhile, over TCP.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
theme sources
finish
