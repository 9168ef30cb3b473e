#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A written capture is clean, has what was asked for, and comes out the same every time.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

perf() {
    refuses 64 "iwarp-perf: $1" iwarp-perf loop "${@:2}"
}

# record SUMMARY FINDINGS-EXIT OPTION...: writes a capture and looks for a line in its summary.
record() {
    local wanted=$1
    shift
    "$bin/iwarp-perf" loop --pcap "$scratch/made.pcapng" "$@" >"$scratch/said" || fail "$*: exit $?"
    "$bin/iwarp-lint" --summary "$scratch/made.pcapng" >"$scratch/summary" || fail "$*: lint: exit $?"
    grep -q "$wanted" "$scratch/summary" || fail "$*: no $wanted in" "$(cat "$scratch/summary")"
}

fail() {
    printf 'not ok - %s\n' "$@" >&2
    failed=1
}

record "10.0.0.1:10000: rev 1 C, 8 write (524288 octets, 65536 each), 8 read-request" --total 1048576
record " 8 read-response (524288 octets, 65536 each)" --total 1048576
cp "$scratch/made.pcapng" "$scratch/first.pcapng"
record " 8 read-response (524288 octets, 65536 each)" --total 1048576
cmp "$scratch/first.pcapng" "$scratch/made.pcapng" || fail "two captures differ"
record "10.0.0.1:10002: rev 1 M, 50 write (50000 octets, 1000 each), 50 read-request" \
    --connections 3 --size 1000 --total 300000 --crc off --markers on --mss 200
record " 3 iWARP connections, 0 findings" --connections 3 --size 1000 --total 300000 --burst 7 --mss 9000
record "10.0.0.1:10000: rev 1 C M, 1 write (1 octets, 1 each), 1 read-request" --size 1 --total 1 --markers on --mss 140

record "10.0.0.1:10000: rev 1 C M, 30 write (300000 octets, 10000 each), 0 findings" \
    --traffic writes --size 10000 --total 300000 --fpdu 3000 --markers on --port 4711
record "10.0.0.1:10001: rev 1 C, 15 send (150000 octets, 10000 each), 0 findings" \
    --traffic sends --size 10000 --total 300000 --fpdu 8192 --connections 2 --port 4711

perf "--mss 139: expected a number from 140 to 65495" --pcap x --mss 139
perf "--connections 0: expected a number from 1 to 1000000" --pcap x --connections 0
perf "--traffic reads: expected mixed, writes or sends" --pcap x --traffic reads
perf "--rounds: of no use with --pcap" --pcap x --rounds 3
perf "--mss: of no use with a measurement (see --pcap)" --mss 1460
refuses 73 "iwarp-perf: /nonexistent/x: cannot be created: No such file or directory" \
    iwarp-perf loop --pcap /nonexistent/x
exit "$failed"
