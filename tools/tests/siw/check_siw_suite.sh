#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_siw_suite.sh FOLDER-OF-PROGRAMS TARGET BASELINE RESULTS [DECODER...]
# The suite against siw: what differs from the baseline, and differs three times when only that is played, is a failure, and so is
# what the second decoder finds in the captures. The results stay in RESULTS, the last of those times in RESULTS/again. Skipped (77)
# where no kernel has been built yet or it does not start. Has a TMPDIR, and so a kernel, of its own.
set -euo pipefail

bin=$1 target=$2 baseline=$3 results=$4
decoder=("${@:5}")
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

# play SECONDS RESULTS [CASE...]: the exit status of iwarp-conform.
play() {
    local limit=$1 folder=$2 status=0
    shift 2
    mkdir -p "$folder"
    timeout "$limit" "$bin/iwarp-conform" run --target "$target" --baseline "$baseline" --results "$folder" --pcap-dir "$folder/pcaps" "$@" || status=$?
    "$bin/iwarp-siw" console >"$folder/console" || true
    return $status
}

# differ RESULTS: the ids of the cases that differ from the baseline.
differ() {
    /usr/bin/python3 - "$1/run.json" <<'EOF'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    print(*(case["id"] for case in json.load(f)["cases"] if case.get("baseline") in ("new", "stale")))
EOF
}

rm -rf "$results"
status=0
play 900 "$results" || status=$?
case $status in
1 | 2 | 3) ;;
*) exit $status ;;
esac

# The kernel and rping's server have lives of their own: in one run of some, on a loaded machine, either is lost. And siw has races:
# a Reply of 44 segments in 3 ms left it standing in two runs of some hundred.
read -ra again < <(differ "$results")
[ ${#decoder[@]} = 0 ] || "${decoder[@]}" "$results/pcaps"
[ ${#again[@]} -gt 0 ] || exit $status
for _ in 1 2 3; do
    echo "once more what differs: ${again[*]}"
    "$bin/iwarp-siw" down
    or_skip "$bin/iwarp-siw" up
    rm -rf "$results/again"
    status=0
    play 200 "$results/again" "${again[@]}" || status=$?
    case $status in
    1 | 2 | 3) read -ra again < <(differ "$results/again") ;;
    *) break ;;
    esac
    [ ${#again[@]} -gt 0 ] || break
done
exit $status
