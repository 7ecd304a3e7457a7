#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Calls that fail in turn, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme faults
finish
