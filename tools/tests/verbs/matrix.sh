#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: matrix.sh [ARGUMENT of matrix.py...]
# Runs the rows of stock programs on the build of tools/dev build.
here=$(dirname "$0")
exec python3 -B "$here/matrix.py" "$here/../../../build/bin/iwarp-run" "$@"
