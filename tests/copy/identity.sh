#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Clients that are users of the daemon's host, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme identity
finish
