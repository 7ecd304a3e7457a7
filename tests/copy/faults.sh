#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Calls that fail in turn, over TCP.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
theme faults
finish
