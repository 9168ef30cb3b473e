#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_siw_suite.sh FOLDER-OF-PROGRAMS TARGET BASELINE RESULTS
# The suite against siw: what differs from the baseline is a failure, and its results stay in RESULTS. Skipped (77) where no
# kernel has been built yet or it does not start. Has a TMPDIR, and so a kernel, of its own.
set -euo pipefail

bin=$1 target=$2 baseline=$3 results=$4
# or_skip COMMAND...: 3 is what tools/siw cannot do here.
or_skip() {
    local status=0
    "$@" || status=$?
    [ $status != 3 ] || {
        echo "skipped: there is no kernel, or it does not start"
        exit 77
    }
    return $status
}

or_skip "$bin/iwarp-siw" cached
TMPDIR=$(mktemp -d)
export TMPDIR
trap '"$bin/iwarp-siw" down; rm -rf "$TMPDIR"' EXIT
or_skip "$bin/iwarp-siw" up

rm -rf "$results"
mkdir -p "$results"
status=0
timeout 1000 "$bin/iwarp-conform" run --target "$target" --baseline "$baseline" --results "$results" || status=$?
"$bin/iwarp-siw" console >"$results/console" || true
exit $status
