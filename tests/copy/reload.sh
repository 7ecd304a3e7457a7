#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# SIGHUP, over TCP.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
theme reload
finish
