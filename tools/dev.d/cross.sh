#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: cross.sh PRESET ARCHITECTURE
# Builds the core and its tests for another machine and runs them under qemu-user.
set -euo pipefail
tools/foreign-root.sh "$2" "build-$1/root" libcmocka0 libcmocka-dev
cmake --preset "$1"
cmake --build --preset "$1" --parallel "$JOBS"
tools/dev.d/ctest.sh "$1" --parallel "$JOBS"
