#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two iwarp-peer processes: echo and rping, IPv4 and IPv6, all combinations of CRC and Markers.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

for address in 127.0.0.1 '[::1]'; do
    for crc in on off; do
        for markers in on off; do
            wire=(--crc "$crc" --markers "$markers")
            listen "$address:0" --once "${wire[@]}"
            out=$("$bin/iwarp-peer" connect "$at" --count 3 --size 16384 "${wire[@]}" 2>&1)
            same "echo client, $address ${wire[*]}" "0 " "$? $out"
            end_of "$pid"
            same "echo server, $address ${wire[*]}" "0 " "$status $(cat "$scratch/server")"

            listen "$address:0" --once --personality rping --verify "${wire[@]}"
            out=$("$bin/iwarp-peer" connect "$at" --personality rping --count 70 --size 3000 \
                --verify "${wire[@]}" 2>&1)
            same "rping client, $address ${wire[*]}" \
                "0 rping: 70 exchanges of 3000 octets, verified" "$? $out"
            end_of "$pid"
            same "rping server, $address ${wire[*]}" "0 " "$status $(cat "$scratch/server")"
        done
    done
done

# The options of the start-up reach the wire.
for options in "--revision 1" "--enhanced off" "--peer-to-peer on" \
    "--peer-to-peer on --rtr read" "--peer-to-peer on --rtr send" "--mulpdu 128" \
    "--ird 0x3fff --ord 0x3fff" "--private 00ff10"; do
    listen 127.0.0.1:0 --once --personality rping --verify
    # shellcheck disable=SC2086
    out=$("$bin/iwarp-peer" connect "$at" --personality rping --count 2 --size 500 --verify $options 2>&1)
    same "rping with $options" "0 rping: 2 exchanges of 500 octets, verified" "$? $out"
    end_of "$pid"
    same "its server" "0 " "$status $(cat "$scratch/server")"
done

# A line each way in streaming mode (RFC 5044 §7.1.3).
listen 127.0.0.1:0 --once --personality rping --verify --stream "MPA it is"
out=$("$bin/iwarp-peer" connect "$at" --personality rping --count 3 --size 3000 --verify --stream "MPA?" 2>&1)
same "rping after streaming mode" "0 rping: 3 exchanges of 3000 octets, verified" "$? $out"
end_of "$pid"
same "its server" "0 " "$status $(cat "$scratch/server")"

# Revision 0, asked for or answered with (RFC 5044 Appendix C).
for pair in "--revision 0,--permissive on" "--permissive on --revision 1,--revision 0" \
    "--revision 0,--revision 0"; do
    # shellcheck disable=SC2086
    listen 127.0.0.1:0 --once --personality rping --verify ${pair#*,}
    # shellcheck disable=SC2086
    out=$("$bin/iwarp-peer" connect "$at" --personality rping --count 3 --size 3000 --verify ${pair%,*} 2>&1)
    same "rping, $pair" "0 rping: 3 exchanges of 3000 octets, verified" "$? $out"
    end_of "$pid"
    same "its server" "0 " "$status $(cat "$scratch/server")"
done

# Many connections at once.
listen 127.0.0.1:0 --personality rping --verify --limit 6
clients=()
for i in 1 2 3 4 5 6 7 8; do
    "$bin/iwarp-peer" connect "$at" --personality rping --count 20 --size 20000 --verify \
        >"$scratch/client$i" 2>&1 &
    clients+=($!)
done
for i in 1 2 3 4 5 6 7 8; do
    wait "${clients[i - 1]}"
    same "client $i of 8" "0 rping: 20 exchanges of 20000 octets, verified" "$? $(cat "$scratch/client$i")"
done
kill -TERM "$pid"
end_of "$pid"
same "their server after SIGTERM" "0 " "$status $(cat "$scratch/server")"

# One end bends a rule: the other notices, and both say so.
listen 127.0.0.1:0 --once
out=$("$bin/iwarp-peer" connect "$at" --violate mpa-crc 2>&1)
status=$?
same "a wrong CRC is answered" 1 "$status"
same "with its Terminate" "Terminate 2/0/02 from the peer" \
    "$(grep -o 'Terminate 2/0/02 from the peer' <<<"$out")"
end_of "$pid"
same "the listener fails" 1 "$status"
same "and names the rule" "fault mpa-crc (MPA-8-02)" \
    "$(grep -o 'fault mpa-crc (MPA-8-02)' "$scratch/server")"

# A Terminate in reversed bit order is read all the same.
listen 127.0.0.1:0 --once --violate rdmap-terminate-reversed
out=$("$bin/iwarp-peer" connect "$at" --violate mpa-crc 2>&1)
same "a reversed Terminate is understood" \
    "Terminate 2/0/02 from the peer (the control word of the Terminate is in reversed bit order: it says 0/2/02)" \
    "$(grep -o 'Terminate 2/0/02 from the peer ([^)]*)' <<<"$out")"
end_of "$pid"

exit "$failed"
