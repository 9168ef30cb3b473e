#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: stability.sh IWARP-CONFORM [RUNS]
# Runs the suite RUNS times (20) with four cases at a time beside two busy loops: every case must get the same
# verdict each time.
set -euo pipefail

conform=$1
runs=${2:-20}

work=$(mktemp -d)
loops=()
# shellcheck disable=SC2317  # called by the trap
finish() {
    kill "${loops[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# A loop also ends when this script was killed.
busy() {
    while kill -0 $$ 2>/dev/null; do :; done
}

verdicts() {
    python3 -c '
import json, sys
for case in json.load(open(sys.argv[1], encoding="utf-8"))["cases"]:
    print(case["id"], case["verdict"])' "$1"
}

for _ in 1 2; do
    busy &
    loops+=($!)
done

differing=0
for ((run = 1; run <= runs; run++)); do
    began=$SECONDS status=0
    "$conform" run -j4 --results "$work/results" --json "$work/report.json" \
        </dev/null >"$work/log" 2>&1 || status=$?
    if ! verdicts "$work/report.json" >"$work/$run"; then
        cat "$work/log" >&2
        exit 1
    fi
    echo "run $run: exit $status, $(wc -l <"$work/$run") cases, $((SECONDS - began)) s"
    echo "exit $status" >>"$work/$run"
    if ! diff "$work/1" "$work/$run"; then
        differing=$((differing + 1))
        cat "$work/log"
    fi
    rm -rf "$work/results" "$work/report.json"
done

[ "$differing" -eq 0 ] || {
    echo "$differing of $runs runs differ from the first" >&2
    exit 1
}
echo "$runs runs gave identical verdicts: $(sed '$d' "$work/1" | awk '{n[$2]++} END {for (v in n) print n[v], v}' | sort -rn | paste -sd,)"
