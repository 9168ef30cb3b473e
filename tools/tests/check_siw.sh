#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_siw.sh FOLDER-OF-PROGRAMS
# tools/siw: commands inside the kernel, what they may write, a run of the suite, the stock rping against
# iwarp-peer, and that nothing stays. Skipped (77) where no kernel has been built yet. Has a TMPDIR, and so a kernel, of its own.
set -euo pipefail

bin=$1
tests=$(dirname "$(readlink -f "$0")")
if ! why=$("$bin/iwarp-siw" cached 2>&1); then
    echo "skipped: $why"
    exit 77
fi

TMPDIR=$(mktemp -d)
export TMPDIR
trap '"$bin/iwarp-siw" down; rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR"

fail() {
    echo "not so: $*" >&2
    "$bin/iwarp-siw" console >&2 || true
    exit 1
}

"$bin/iwarp-siw" status && fail "down at first"
"$bin/iwarp-siw" exec true && fail "no command without a kernel"
"$bin/iwarp-siw" up
read -r pid _ <"$TMPDIR/iwarp-siw-$(id -u)/pid"
"$bin/iwarp-siw" up # once is enough
"$bin/iwarp-siw" status

status=0
"$bin/iwarp-siw" exec sh -c 'echo to out; echo to err >&2; exit 7' >out 2>err || status=$?
[ $status = 7 ] || fail "the exit status comes back: $status"
[ "$(cat out)" = "to out" ] || fail "standard output comes back"
[ "$(cat err)" = "to err" ] || fail "standard error comes back"
status=0
"$bin/iwarp-siw" exec sh -c 'kill -KILL $$' || status=$?
[ $status = 137 ] || fail "a signal is told as a shell does: $status"
status=0
"$bin/iwarp-siw" exec no-such-command 2>err || status=$?
{ [ $status = 125 ] && grep -q 'No such file' err; } || fail "a command that is not there"
"$bin/iwarp-siw" exec seq 200000 >out
{ [ "$(wc -l <out)" = 200000 ] && [ "$(tail -n 1 out)" = 200000 ]; } || fail "much output comes through"
[ "$("$bin/iwarp-siw" exec pwd)" = "$PWD" ] || fail "the folder is the same"

"$bin/iwarp-siw" exec touch stray 2>/dev/null && fail "the host's files are read-only"
mkdir given
"$bin/iwarp-siw" exec -w given sh -c 'echo inside >given/file'
[ "$(cat given/file)" = inside ] || fail "what is given with -w can be written"
"$bin/iwarp-siw" exec touch given/stray 2>/dev/null && fail "it is given to one command only"

"$bin/iwarp-siw" exec sleep 100 &
sleeper=$!
"$bin/iwarp-siw" exec true # two at a time
kill -TERM $sleeper
wait $sleeper && fail "a signal reaches the command"

"$bin/iwarp-siw" exec rdma link show siw0/1 | grep -q 'state ACTIVE' || fail "siw0 is active"
"$bin/iwarp-conform" run --target siw --results results mpa-startup-no-c >report 2>&1 || fail "$(cat report)"
grep -q '^1 PASS, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR' report || fail "$(cat report)"
[ -s results/mpa-startup-no-c.pcapng ] || fail "the capture has come out"

"$bin/iwarp-siw" exec bash "$tests/siw_rping_inside.sh" "$bin" >report 2>&1 || fail "$(cat report)"
[ "$(grep -c '^ok - ' report)" -eq 20 ] || fail "20 exchanges with the stock rping: $(cat report)"
if ! "$bin/iwarp-agent" --backend verbs --device none 2>&1 | grep -q 'not built in'; then
    "$bin/iwarp-conform" run --target siw-agent --results agent mpa-startup-no-c mpa-close-by-target >report 2>&1 ||
        fail "$(cat report)"
    grep -q '^2 PASS, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR' report || fail "$(cat report)"
fi

"$bin/iwarp-siw" down
[ ! -e "$TMPDIR/iwarp-siw-$(id -u)" ] || fail "no files stay"
[ -z "$(ps -o pid= -s "$pid")" ] || fail "no processes stay"
echo "all as it should be"
