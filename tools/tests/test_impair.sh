#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The proxy that impairs TCP: nothing is changed on the way, in whatever pieces, and verdicts are the same through it.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/lib.sh"
impair=$(dirname "$0")/../impair.py

# Plain connections, cut into pieces of a few octets.
listen 127.0.0.1:0 --personality rping --verify
exec {proxy_out}< <(exec python3 -B "$impair" proxy "$at" --pieces 5 --seed 7)
pids+=("$!")
read -r -t 60 line <&"$proxy_out" || line=""
through=${line#listening on }
for crc in on off; do
    out=$("$bin/iwarp-peer" connect "$through" --personality rping --count 3 --size 3000 --verify --crc "$crc" 2>&1)
    same "rping in pieces, CRC $crc" "0 rping: 3 exchanges of 3000 octets, verified" "$? $out"
done
# A reset is passed on, not a FIN.
out=$("$bin/iwarp-peer" connect "$through" --violate mpa-crc --personality rping --count 1 --size 100 2>&1)
same "a fault's Terminate comes through" 1 "$(grep -c 'Terminate 2/0/02 from the peer' <<<"$out")"
kill -TERM "$pid"
end_of "$pid"
out=$("$bin/iwarp-peer" connect "$through" --personality rping --count 1 --size 100 2>&1)
same "no peer at the other end" "3 1" "$? $(grep -c 'cannot connect' <<<"$out")"
exec {proxy_out}<&-

# An agent at the other end: its listeners and its own connects, too.
out=$(python3 -B "$impair" suite "$bin" "$scratch/results" --pieces 40 --delay 0.2 -- --jobs 4 --select 'mpa-crc-*')
same "suite through the proxy: exit" 0 $?
same "no verdict differs" ", 0 verdicts differ through the proxy, 0 of them unexpectedly" "${out#* cases}"
same "cases were run" 1 "$((${out%% *} > 10))"

refuses_python() {
    local out status
    out=$(python3 -B "$impair" "${@:2}" 2>&1)
    status=$?
    same "impair.py ${*:2}" "64: impair: $1" "$status: $out"
}
refuses_python "expected suite, netem or proxy; the head of this file says more" nothing
refuses_python "expected HOST:PORT" proxy nowhere
refuses_python "expected PROGRAMS RESULTS" suite "$bin"
exit "$failed"
