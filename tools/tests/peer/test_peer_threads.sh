#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Several threads of one iwarp-peer, many connections, the memory that it reports and the descriptors that it lacks.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# memory: asks the peer for it; sets connections and each.
memory() {
    kill -USR1 "$pid"
    read -r -t 60 line <&"$server_out" || line=""
    connections=$(sed -n 's/^connections \([0-9]*\), octets in memory [0-9]*, of each connection [0-9]*$/\1/p' <<<"$line")
    each=${line##* }
}

listen 127.0.0.1:0 --threads 3 --personality rping --verify
clients=()
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$bin/iwarp-peer" connect "$at" --personality rping --count 20 --size 20000 --verify \
        >"$scratch/client$i" 2>&1 &
    clients+=($!)
done
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    wait "${clients[i - 1]}"
    same "client $i of 12" "0 rping: 20 exchanges of 20000 octets, verified" "$? $(cat "$scratch/client$i")"
done
memory
same "a line on memory" "connections 0 each 0" "connections $connections each $each"
kill -TERM "$pid"
end_of "$pid"
same "three threads end with SIGTERM" "0 " "$status $(cat "$scratch/server")"

# Connections that have done their start-up and nothing else.
listen 127.0.0.1:0 --threads 2 --limit 2000 --crc off
cat >"$scratch/open.py" <<'EOP'
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
connections = [socket.create_connection((host, int(port))) for _ in range(200)]
for c in connections:
    c.sendall(b"MPA ID Req Frame" + bytes([0, 1, 0, 0]))
for c in connections:
    assert c.recv(16, socket.MSG_WAITALL) == b"MPA ID Rep Frame"
print("open", flush=True)
sys.stdin.read()
EOP
coproc hold { exec python3 -B "$scratch/open.py" "$at"; }
read -r -t 60 opened <&"${hold[0]}" || opened=""
same "200 connections" open "$opened"
memory
same "all are counted" 200 "$connections"
hold_in=${hold[1]}
exec {hold_in}>&-
kill -TERM "$pid"
end_of "$pid"
same "the peer of 200 connections" "0" "$status"

# One clear line when there are not enough descriptors, and service goes on with those that there are.
listen_few() {
    ulimit -n 64
    listen 127.0.0.1:0 --limit 100 --personality rping --verify
}
listen_few
same "missing descriptors are reported" "iwarp-peer: --limit 100: expected 116 descriptors (ulimit -n), there are 64; more connections wait" \
    "$(cat "$scratch/server")"
out=$("$bin/iwarp-peer" connect "$at" --personality rping --count 2 --size 500 --verify 2>&1)
same "and rping goes on" "0 rping: 2 exchanges of 500 octets, verified" "$? $out"
kill -TERM "$pid"
end_of "$pid"

refuses 64 "iwarp-peer: --threads: only for a listening peer, and not with --once" iwarp-peer connect 127.0.0.1:1 --threads 2
refuses 64 "iwarp-peer: --threads: only for a listening peer, and not with --once" iwarp-peer listen 127.0.0.1:0 --once --threads 2
exit "$failed"
