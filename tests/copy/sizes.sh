#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Files of all sizes over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme sizes
# under TSan, or in small segments, it takes a minute and shows nothing new
case $build${RDCP_DRIP:+-tsan} in *tsan*) ;; *) run beyond_4_gib_is_the_same beyond_4_gib ;; esac
finish
