#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# What a copy tells, and ^C, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme reports
finish
