#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_kernel_switches.sh FOLDER-OF-PROGRAMS RESULTS
# What the driver of proto/kernel/ has for its tester, in the kernel of `tools/siw --driver iwarp`: a switch makes a case of the
# suite fail with the right finding, a fault is counted and traced, and all is off before. Skipped (77) where no kernel has been
# built yet or it does not start. Has a TMPDIR, and so a kernel, of its own.
set -euo pipefail

bin=$(cd "$1" && pwd) results=$2
files=/sys/kernel/debug/iwarp/iw0 events=/sys/kernel/tracing/events/iwarp trace=/sys/kernel/tracing/trace
export IW_SIW_DRIVER=iwarp PATH="$bin:$PATH"
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'iwarp-siw down; rm -rf "$TMPDIR"' EXIT
{ iwarp-siw cached && iwarp-siw up; } || {
    echo "skipped: there is no kernel, or it does not start"
    exit 77
}

fail() {
    echo "$*" >&2
    exit 1
}

inside() {
    iwarp-siw exec bash -c "$1"
}

# play STATUS CASE [FINDING]: the case ends with this exit status, and the report has this text.
play() {
    local status=0
    iwarp-conform run --target kernel-agent --results "$results" "$2" >"$TMPDIR/report" 2>&1 || status=$?
    cat "$TMPDIR/report"
    [ $status = "$1" ] || fail "$2: exit status $status, expected $1"
    grep -qF -- "${3:-PASS}" "$TMPDIR/report" || fail "$2: no '$3' in the report"
}

# counted NAME: of the port's counters.
counted() {
    inside "cat /sys/class/infiniband/iw0/ports/1/hw_counters/$1"
}

# All is off, and nobody but root may look.
[ -z "$(inside "cat $files/ignore $files/overstrict $files/violate $files/botch $files/faults")" ] || fail "a switch is on, or a fault counted"
[ "$(inside "cat $events/enable")" = 0 ] || fail "a tracepoint is on"
! inside "setpriv --reuid 65534 --clear-groups cat $files/ignore" 2>/dev/null || fail "$files/ignore can be read by anybody"

# A fault is counted under the rule that was broken, and traced with the Terminate for it.
inside "echo 1 >$events/enable"
play 0 bug-crc-not-checked
inside "echo 0 >$events/enable"
crcs=$(inside "grep ' mpa-crc ' $files/faults")
[[ "$crcs" =~ ^MPA-[0-9.]+-[0-9]+\ mpa-crc\ [1-9] ]] || fail "no wrong CRC is counted: $crcs"
[ "$(counted faults_mpa)" -gt 0 ] || fail "no fault is counted"
[ "$(counted terminates_out)" -gt 0 ] || fail "no Terminate is counted"
for line in 'iwarp_startup: iw0 conn [0-9]* in .*mpa request' 'iwarp_fpdu: iw0 conn [0-9]* in' 'iwarp_fpdu: iw0 conn [0-9]* out' \
    'iwarp_fault: iw0 conn [0-9]*: mpa-crc, the peer broke MPA-' 'iwarp_terminate: iw0 conn [0-9]* out .*terminate 2/0/02'; do
    inside "grep -q '$line' $trace" || fail "the trace has no '$line'"
done

# A switch makes the same case fail; it goes as it came.
inside "echo mpa-crc >$files/ignore"
[ "$(inside "cat $files/ignore")" = mpa-crc ] || fail "the switch is not shown"
play 1 bug-crc-not-checked "FAIL MPA-4.4-17"
[ "$crcs" = "$(inside "grep ' mpa-crc ' $files/faults")" ] || fail "a check that is ignored counts"
inside "echo >$files/ignore; echo mpa-crc >$files/violate"
play 1 bug-crc-not-computed "FAIL MPA-"
inside "echo >$files/violate; echo mpa-crc=code >$files/botch"
[ "$(inside "cat $files/botch")" = mpa-crc=code ] || fail "the reaction is not shown"
play 1 bug-crc-not-checked "FAIL RDMAP-4.8-01"
inside "echo >$files/botch"
play 0 bug-crc-not-checked

# What is not known, or not possible, changes nothing.
inside "echo mpa-crc >$files/ignore"
for wrong in 'ignore nonsense' 'ignore mpa-crc=code' 'botch mpa-crc=nonsense' 'overstrict mpa-crc'; do
    ! inside "echo ${wrong#* } >$files/${wrong% *}" 2>/dev/null || fail "$wrong is taken"
done
[ "$(inside "cat $files/ignore $files/overstrict $files/botch")" = mpa-crc ] || fail "a wrong word has changed a switch"
echo "switches, counters, tracepoints: as they should be"
