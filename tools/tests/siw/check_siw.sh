#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_siw.sh FOLDER-OF-PROGRAMS
# tools/siw: commands inside the kernel, what they may write, a run of the suite, the stock rping against
# iwarp-peer, and that nothing stays. Skipped (77) where no kernel has been built yet. Has a TMPDIR, and so a kernel, of its own.
set -euo pipefail

bin=$1
tests=$(dirname "$(readlink -f "$0")")
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
state=$TMPDIR/iwarp-siw-$(id -u)
mkdir "$TMPDIR/work"
cd "$TMPDIR/work"

fail() {
    "$bin/iwarp-siw" console >&2 || true
    echo "not so: $*" >&2
    exit 1
}

"$bin/iwarp-siw" status && fail "down at first"
"$bin/iwarp-siw" exec true && fail "no command without a kernel"
IW_SIW_DRIVER=iwarp "$bin/iwarp-siw" exec true 2>err && fail "nor one for another driver"
grep -q '^siw: is not up; tools/siw up --driver iwarp starts it$' err || fail "it says how this driver's kernel is started: $(cat err)"
or_skip "$bin/iwarp-siw" up
read -r pid _ <"$state/pid"
read -r kernel _ <"$state/kernel"
"$bin/iwarp-siw" up # once is enough
status=0
IW_SIW_KERNEL=/bin/true "$bin/iwarp-siw" up 2>err || status=$?
{ [ $status = 3 ] && grep -q '^siw: another kernel is up, .*: tools/siw down ends it$' err; } || fail "it is not the one asked for"
IW_SIW_DRIVER=iwarp "$bin/iwarp-siw" exec true 2>err && fail "this kernel has no such driver"
grep -q '^siw: another kernel is up, .* tools/siw up --driver iwarp starts the right one$' err || fail "it says so: $(cat err)"
"$bin/iwarp-siw" status
! grep -q '^cpu MHz' /proc/cpuinfo || "$bin/iwarp-siw" exec grep -q '^cpu MHz' /proc/cpuinfo || fail "perftest learns the clock's rate"

status=0
"$bin/iwarp-siw" exec sh -c 'echo to out; echo to err >&2; exit 7' >out 2>err || status=$?
[ $status = 7 ] || fail "the exit status comes back: $status"
[ "$(cat out)" = "to out" ] || fail "standard output comes back"
[ "$(cat err)" = "to err" ] || fail "standard error comes back"
status=0
"$bin/iwarp-siw" exec sh -c 'kill -KILL $$' || status=$?
[ $status = 137 ] || fail "a signal is not reported as a shell does: $status"
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

# However far it has got: a signal ends the command and us. (Before it is another program it is this script, which
# would clear up.)
for looks in 0 0 10 20 40 80 160; do
    "$bin/iwarp-siw" exec sleep 1000 &
    sleeper=$!
    until grep -q sleep "/proc/$sleeper/cmdline"; do :; done
    for ((i = 0; i < looks; i++)); do cat /proc/self/stat >/dev/null; done
    [ $looks -lt 80 ] || "$bin/iwarp-siw" exec true # two at a time
    kill -TERM $sleeper
    wait $sleeper && fail "a signal reaches the command"
    "$bin/iwarp-siw" exec pgrep -x sleep && fail "it has ended"
done

"$bin/iwarp-siw" exec rdma link show siw0/1 | grep -q 'state ACTIVE' || fail "siw0 is active"
"$bin/iwarp-conform" run --target siw --keep all --results results mpa-startup-no-c >report 2>&1 || fail "$(cat report)"
grep -q '^1 PASS, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR' report || fail "$(cat report)"
[ -s results/mpa-startup-no-c.pcapng ] || fail "the capture has come out"

"$bin/iwarp-siw" exec bash "$tests/siw_rping_both_ends.sh" "$bin" >report 2>&1 || fail "$(cat report)"
[ "$(grep -c "^ok - " report)" -eq 51 ] || fail "51 exchanges with the stock rping: $(cat report)"
if ! "$bin/iwarp-agent" --backend verbs --device none 2>&1 | grep -q 'not built in'; then
    "$bin/iwarp-conform" run --target siw-agent --results agent mpa-startup-no-c mpa-close-by-target >report 2>&1 ||
        fail "$(cat report)"
    grep -q '^2 PASS, 0 NOTE, 0 FAIL, 0 INCONCLUSIVE, 0 SKIP, 0 ERROR' report || fail "$(cat report)"
fi

# nothing_stays SESSION: no file, process, mount or socket. A process that has ended is a matter of its parent.
nothing_stays() {
    local alive
    [ "$(ls "$TMPDIR")" = work ] || fail "no files stay: $(ls -R "$TMPDIR")"
    # shellcheck disable=SC2009 # pgrep lists zombies too
    alive=$(ps -o stat=,pid=,args= -s "$1" | grep -v '^[ZX]') || true
    [ -z "$alive" ] || fail "no processes stay: $alive"
    ! grep -F "$TMPDIR" /proc/net/unix || fail "no sockets stay"
    ! grep -F "$TMPDIR" /proc/self/mountinfo || fail "no mounts stay"
}

"$bin/iwarp-siw" down
nothing_stays "$pid"

status=0
IW_SIW_KERNEL=$kernel "$bin/iwarp-siw" up --mend 1 2>err || status=$?
{ [ $status = 3 ] && grep -q "^siw: the kernel $kernel has no mends$" err; } || fail "a kernel that cannot mend is refused"
"$bin/iwarp-siw" status && fail "it does not stay up"

# `up` killed half-way: whatever it has got to, the next `up` goes on or begins again.
for sign in KILL TERM; do
    while
        "$bin/iwarp-siw" up &
        starting=$!
        until [ -s "$state/pid" ]; do sleep 0.01; done
        read -r pid _ <"$state/pid"
        kill -$sign $starting || true
        wait $starting
    do
        "$bin/iwarp-siw" down # it was up before we could kill it
    done
    "$bin/iwarp-siw" up
    "$bin/iwarp-siw" exec true || fail "up again after SIG$sign"
    "$bin/iwarp-siw" down
    nothing_stays "$pid"
done
echo "all as it should be"
