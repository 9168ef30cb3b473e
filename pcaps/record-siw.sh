#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: pcaps/record-siw.sh PROGRAMS FOLDER
# Records traffic of the kernel's siw into FOLDER/uml-*.pcap, inside the user-mode kernel of tools/siw: stock programs on both
# sides (rping, perftest), and iwarp-peer (of the folder PROGRAMS) where CRCs or errors are wanted that siw does not
# make by itself. Needs tcpdump and perftest beside what tools/siw needs (tools/dev setup record). What has to be found
# in the files says manifest.json; ports and addresses of memory differ from one recording to the next.
set -euo pipefail

self=$(readlink -f "$0")
siw=${self%/*}/../tools/siw
address=10.7.0.1 port=7300

inside() {
    bin=$1 folder=$2
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    # One FPDU a segment, and segments as a network would carry them.
    ip link set lo gso_max_segs 1 gso_max_size 1500

    # perftest wants the clock of the processor and gives up where it finds none.
    printf 'cpu MHz\t\t: 1000.000\n' >"$scratch/cpuinfo"
    mount --bind "$scratch/cpuinfo" /proc/cpuinfo

    record rping-64B "rping -s -a $address -p PORT -C 3" "rping -c -a $address -p PORT -C 3"
    record rping-5000B "rping -s -a $address -p PORT -C 2 -S 5000 -V" "rping -c -a $address -p PORT -C 2 -S 5000 -V"
    record ib_send_lat "ib_send_lat -R -p PORT -n 5 -s 64" "ib_send_lat -R -p PORT -n 5 -s 64 $address"
    record ib_write_bw "ib_write_bw -R -p PORT -n 5 -s 4096" "ib_write_bw -R -p PORT -n 5 -s 4096 $address"
    record ib_read_bw "ib_read_bw -R -p PORT -n 5 -s 4096 -o 2" "ib_read_bw -R -p PORT -n 5 -s 4096 -o 2 $address"
    record rping-crc "rping -s -a $address -p PORT -C 2" "$bin/iwarp-peer connect $address:PORT --personality rping --count 2 --crc on"
    record error-msn "rping -s -P -a $address -p PORT" \
        "$bin/iwarp-peer connect $address:PORT --personality rping --count 1 --crc on --violate ddp-msn"
    record error-read-stag "$bin/iwarp-peer listen $address:PORT --personality rping --once --crc on --violate rdmap-read-stag" \
        "rping -c -a $address -p PORT -C 1"
    record error-write-stag "$bin/iwarp-peer listen $address:PORT --personality rping --once --crc on --violate ddp-stag" \
        "rping -c -a $address -p PORT -C 1"
}

# exchange SERVER CLIENT: both at once; 0 if both have ended well.
exchange() {
    local serving status=0
    timeout 60 bash -c "exec $1" >"$scratch/server" 2>&1 </dev/null &
    serving=$!
    until [ -n "$(ss -Htln "sport = :$port")" ]; do kill -0 $serving && sleep 0.02; done
    timeout 60 bash -c "exec $2" >"$scratch/client" 2>&1 </dev/null || status=1
    [[ $1 != *' -P '* ]] || kill $serving # it serves for ever
    wait $serving || status=1
    return $status
}

# record NAME SERVER CLIENT: what goes over this port.
record() {
    local name=$1 all=$scratch/all.pcap dump try good server client
    for try in {1..20}; do
        good=yes
        server=${2//PORT/$port} client=${3//PORT/$port}
        tcpdump -Z root -i lo -n -U --immediate-mode -s 2000 -B 16384 -w "$all" 2>"$scratch/tcpdump" &
        dump=$!
        until grep -q 'listening on' "$scratch/tcpdump"; do kill -0 $dump && sleep 0.02; done
        # perftest looks at the clocks, too, before it ends; not always they please it.
        exchange "$server" "$client" || [[ $name == error-* ]] || good=no
        # Once this datagram is in the file, all that was before it is.
        until [ -n "$(tcpdump -n -r "$all" udp port 9 2>/dev/null)" ]; do
            echo end >/dev/udp/$address/9 || true
            sleep 0.05
        done
        kill -INT $dump
        wait $dump
        grep -q '^0 packets dropped by kernel' "$scratch/tcpdump" || good=no
        tcpdump -Z root -n -r "$all" -w "$folder/uml-$name.pcap" "tcp port $port" 2>/dev/null
        port=$((port + 1))
        [ $good = no ] || break
    done
    [ $good = yes ] || {
        echo "$name: no good recording in $try" >&2
        cat "$scratch/server" "$scratch/client" >&2
        exit 1
    }
    echo "uml-$name.pcap: $(tcpdump -n -r "$folder/uml-$name.pcap" 2>/dev/null | wc -l) frames"
}

if [ "${1:-}" = --inside ]; then
    inside "$2" "$3"
    exit
fi
[ $# -eq 2 ] || {
    sed -n '3,7s/^# //p' "$self" >&2
    exit 64
}
bin=$(realpath "$1")
mkdir -p "$2"
TMPDIR=$(mktemp -d)
export TMPDIR
trap '"$siw" down; rm -rf "$TMPDIR"' EXIT
"$siw" up
"$siw" exec -w "$2" bash "$self" --inside "$bin" "$(realpath "$2")"
