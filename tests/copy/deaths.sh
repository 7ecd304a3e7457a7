#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# One side dies, hangs or stops, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme deaths
finish
