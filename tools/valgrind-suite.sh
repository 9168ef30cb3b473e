#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: valgrind-suite.sh FOLDER-OF-PROGRAMS RESULTS [ARG...]
# Runs the suite (iwarp-conform run ARG...) against our own stack under valgrind, in an agent that forgets the earlier content
# of its buffers (iwarp-agent-undefined): sending an octet that was never written, or reading one that did not come, is an
# error, and so is every other error that valgrind finds. Its reports are in RESULTS/valgrind.
set -euo pipefail

usage() {
    sed -n '3p' "$0" | cut -c 3- >&2
    exit 64
}
[ $# -ge 2 ] || usage
bin=$(realpath "$1") results=$2
shift 2
agent=$bin/tests/iwarp-agent-undefined
[ -x "$agent" ] || {
    echo "valgrind-suite: there is no $agent" >&2
    exit 64
}
command -v valgrind >/dev/null || {
    echo "valgrind-suite: there is no valgrind" >&2
    exit 64
}

rm -rf "$results"
mkdir -p "$results/valgrind"
results=$(realpath "$results")
cat >"$results/agent" <<END
#!/bin/sh
exec valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite --log-file='$results/valgrind/%p' '$agent' "\$@"
END
chmod +x "$results/agent"

status=0
"$bin/iwarp-conform" run --agent "$results/agent" --results "$results/suite" --time-scale 10 "$@" || status=$?
find "$results/valgrind" -type f -size 0 -delete
for report in "$results"/valgrind/*; do
    [ -e "$report" ] || continue
    echo "valgrind: $report"
    head -n 40 "$report"
    status=1
done
exit $status
