#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: self-check.sh FOLDER ARG...
# Runs iwarp-conform self-check: the run without a switch must be clean, no error, at least 90 % of the checks noticed.
set -euo pipefail
out=$1
shift
rm -rf "$out"
status=0
build-gcc/bin/iwarp-conform self-check --results "$out" --json "$out.json" "$@" || status=$?
[ $status -le 1 ] || exit $status
python3 -c '
import json, sys
s = json.load(open(sys.argv[1], encoding="utf-8"))["summary"]
print(s)
sys.exit(s["unclean"] > 0 or s["errors"] > 0 or s["checks_noticed"] < 0.9 * s["checks"])' "$out.json"
