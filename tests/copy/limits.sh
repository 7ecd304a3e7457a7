#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Many clients, and limits of the daemon, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme limits
finish
