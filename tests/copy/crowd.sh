#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Many clients at one time, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../cases/crowd.sh"
crowd "${2-}"
finish
