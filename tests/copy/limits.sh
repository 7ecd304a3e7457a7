#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Many clients, and limits of the daemon, over TCP.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
theme limits
finish
