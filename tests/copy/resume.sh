#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Interrupted copies go on, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme resume
finish
