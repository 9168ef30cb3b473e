#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: siw_rping_both_ends.sh FOLDER-OF-PROGRAMS [brief]
# The stock rping on siw at either end against iwarp-peer at the other; to be run inside the kernel of tools/siw.
# Both ends look at the data, and both must end well. brief: one size of each kind. CRC in the environment: what
# iwarp-peer's --crc is tried with, "on off" unless it says otherwise.
set -u

peer=$1/iwarp-peer port=7400 failed=0 sizes="23 32 64 1000 4096 65535 65536"
[ "${2:-}" != brief ] || sizes="23 1000 65536"
v4=10.7.0.1 v6=fd07::1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# rping_status STATUS: 0 in place of what the stock `rping -s` now and then ends with after all went well: one of its
# threads closes the event channel that the other still reads, and that one calls exit(-1).
rping_status() {
    if [ "$1" -eq 255 ] && grep -q 'DISCONNECT EVENT' "$scratch/rping" &&
        [ "$(tail -n 1 "$scratch/rping")" = "rdma_get_cm_event: Bad file descriptor" ]; then
        echo 0
    else
        echo "$1"
    fi
}

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

# place ADDRESS: as iwarp-peer writes it before a port.
place() {
    case $1 in *:*) echo "[$1]" ;; *) echo "$1" ;; esac
}

# connects ADDRESS "OPTIONS OF RPING" OPTION...: rping -c against `iwarp-peer listen`.
connects() {
    local address=$1 theirs line ours
    read -ra theirs <<<"$2"
    shift 2
    exec {out}< <(exec "$peer" listen "$(place "$address"):0" --personality rping --verify --once "$@" 2>"$scratch/peer")
    pid=$!
    read -r -t 30 line <&"$out"
    timeout 60 rping -c -V "${theirs[@]}" -a "$address" -p "${line##*:}" >"$scratch/rping" 2>&1
    set -- $? "$@"
    [ "$1" -eq 0 ] || kill "$pid"
    wait "$pid"
    ours=$?
    exec {out}<&-
    outcome "rping -c ${theirs[*]} -a $address, iwarp-peer listen ${*:2}" "$1" $ours
}

# serves ADDRESS "OPTIONS OF RPING" "COUNT SIZE" OPTION...: rping -s against `iwarp-peer connect`.
serves() {
    local address=$1 theirs what ours server
    read -ra theirs <<<"$2"
    read -ra what <<<"$3"
    shift 3
    port=$((port + 1))
    timeout 60 rping -s -V "${theirs[@]}" -a "$address" -p $port >"$scratch/rping" 2>&1 &
    server=$!
    until [ -n "$(ss -Htln "sport = :$port")" ] || ! kill -0 $server; do sleep 0.02; done
    "$peer" connect "$(place "$address"):$port" --personality rping --verify --count "${what[0]}" --size "${what[1]}" \
        "$@" >"$scratch/peer" 2>&1
    ours=$?
    [ $ours -eq 0 ] || kill $server
    wait $server
    outcome "rping -s ${theirs[*]} -a $address, iwarp-peer connect --count ${what[0]} --size ${what[1]} $*" \
        "$(rping_status $?)" $ours
}

# both COUNT SIZE OPTION...: in either direction, over IPv4.
both() {
    connects $v4 "-C $1 -S $2" "${@:3}"
    serves $v4 "-C $1 -S $2" "$1 $2" "${@:3}"
}

for crc in ${CRC:-on off}; do
    for size in $sizes; do
        both 10 "$size" --crc "$crc"
    done
    for rtr in write read; do
        serves $v4 "-C 10 -S 1000" "10 1000" --crc "$crc" --peer-to-peer on --rtr $rtr
    done
    for size in 23 65536; do # and over IPv6
        connects $v6 "-C 10 -S $size" --crc "$crc"
        serves $v6 "-C 10 -S $size" "10 $size" --crc "$crc"
    done
done
if [ "${2:-}" != brief ]; then
    both 1 64
    both 1000 4096
    both 10 65536 --mulpdu 128
    both 10 65536 --ird 1 --ord 1
    both 10 1000 --extensions off
    connects $v4 "-C 10 -S 65536 -I $v4"
fi
exit $failed
