#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: stability.sh IWARP-CONFORM [ROUNDS [LOOPS [RUN-OPTION...]]]
# Plays every case ROUNDS times (50), two at a time beside LOOPS (2) busy loops: each must get the same verdict each time, and
# none may be an ERROR or INCONCLUSIVE.
set -euo pipefail

conform=$1
rounds=${2:-50}
busy_loops=${3:-2}
shift $(($# < 3 ? $# : 3))

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

for ((i = 0; i < busy_loops; i++)); do
    busy &
    loops+=($!)
done

status=0
"$conform" run -j2 --repeat "$rounds" --results "$work/results" --json "$work/report.json" "$@" \
    </dev/null >"$work/log" 2>&1 || status=$?
python3 - "$work/report.json" "$rounds" "$status" <<'EOF' || {
import json, sys
report, rounds, status = json.load(open(sys.argv[1], encoding="utf-8")), int(sys.argv[2]), int(sys.argv[3])
flaky = [case for case in report["cases"] if len(case.get("rounds", {})) > 1]
bad = [case for case in report["cases"] if case["verdict"] in ("ERROR", "INCONCLUSIVE")]
for case in flaky + bad:
    print(case["id"], case["verdict"], case.get("rounds", ""), case.get("reason", ""))
print("%d cases, %d times each in %.0f s, exit %d: %d with more than one verdict; %s" %
      (len(report["cases"]), rounds, report["seconds"], status, len(flaky),
       ", ".join("%d %s" % (n, v) for v, n in report["summary"].items())))
sys.exit(bool(flaky or bad or status))
EOF
    tail -n 100 "$work/log" >&2
    exit 1
}
