#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Directories and all that is in them, over TCP.
# shellcheck disable=SC1091
. "$(dirname "$0")/../lib.sh"
theme trees
run five_thousand_files_arrive there_and_back push many_files 5000 100
finish
