#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: siw_rping_inside.sh FOLDER-OF-PROGRAMS
# The stock rping on siw at either end against iwarp-peer at the other; to be run inside the kernel of tools/siw.
# Both ends look at the data, and both must end well.
set -u

peer=$1/iwarp-peer address=10.7.0.1 port=7400 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# outcome WHAT RPING'S-STATUS PEER'S-STATUS
outcome() {
    if [ "$2" -eq 0 ] && [ "$3" -eq 0 ]; then
        echo "ok - $1"
    else
        echo "not ok - $1: rping $2, iwarp-peer $3"
        cat "$scratch/rping" "$scratch/peer"
        failed=1
    fi
}

# connects SIZE OPTION...: rping -c against `iwarp-peer listen`.
connects() {
    local size=$1 line ours theirs
    shift
    exec {out}< <(exec "$peer" listen "$address:0" --personality rping --verify --once "$@" 2>"$scratch/peer")
    pid=$!
    read -r -t 30 line <&"$out"
    timeout 60 rping -c -V -C 10 -S "$size" -a "$address" -p "${line##*:}" >"$scratch/rping" 2>&1
    theirs=$?
    [ $theirs -eq 0 ] || kill "$pid"
    wait "$pid"
    ours=$?
    exec {out}<&-
    outcome "rping -c -S $size, iwarp-peer listen $*" $theirs $ours
}

# serves SIZE OPTION...: rping -s against `iwarp-peer connect`.
serves() {
    local size=$1 ours theirs server
    shift
    port=$((port + 1))
    timeout 60 rping -s -V -C 10 -S "$size" -a "$address" -p $port >"$scratch/rping" 2>&1 &
    server=$!
    until [ -n "$(ss -Htln "sport = :$port")" ] || ! kill -0 $server; do sleep 0.02; done
    "$peer" connect "$address:$port" --personality rping --verify --count 10 --size "$size" "$@" >"$scratch/peer" 2>&1
    ours=$?
    [ $ours -eq 0 ] || kill $server
    wait $server
    theirs=$?
    outcome "rping -s -S $size, iwarp-peer connect $*" $theirs $ours
}

for crc in on off; do
    for size in 32 64 1000 65536; do
        connects $size --crc $crc
        serves $size --crc $crc
    done
    for rtr in write read; do
        serves 1000 --crc $crc --peer-to-peer on --rtr $rtr
    done
done
exit $failed
