#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What a person sees on a terminal, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme terminal
finish
