#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: ctest.sh PRESET ARG...
# Runs tests of a build. A run of no tests is a failure.
set -euo pipefail
preset=$1
shift
export UBSAN_OPTIONS=print_stacktrace=1
exec ctest --preset "$preset" --no-tests=error --no-label-summary "$@"
