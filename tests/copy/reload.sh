#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# SIGHUP, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme reload
finish
