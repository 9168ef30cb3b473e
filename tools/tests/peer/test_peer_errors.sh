#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One clear line and the right exit status for each mistake; clean ends on signals.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

peer() {
    refuses "$1" "iwarp-peer: $2" iwarp-peer "${@:3}"
}

peer 64 "expected listen or connect (see --help)"
peer 64 "expected HOST:PORT (see --help)" listen
peer 64 'expected listen or connect, not "serve"' serve 127.0.0.1:0
peer 64 "extra: unexpected argument; see --help" listen 127.0.0.1:0 extra
peer 64 'bad address "127.0.0.1": expected HOST:PORT' listen 127.0.0.1
peer 64 'bad port "99999" in "127.0.0.1:99999": expected 0 to 65535' listen 127.0.0.1:99999
peer 64 "connect needs a port above 0" connect 127.0.0.1:0
peer 64 "--colour: unknown option; see --help" listen 127.0.0.1:0 --colour red
peer 64 "-v: unknown option; see --help" listen 127.0.0.1:0 -v
peer 64 "--crc: expected a value; see --help" listen 127.0.0.1:0 --crc
peer 64 '--crc yes: expected on or off' listen 127.0.0.1:0 --crc yes
peer 64 '--crc "": expected on or off' listen 127.0.0.1:0 --crc=
peer 64 "--once=1: takes no value" listen 127.0.0.1:0 --once=1
peer 64 '--revision 3: expected a number from 0 to 2' listen 127.0.0.1:0 --revision 3
peer 64 '--ird 0x4000: expected a number from 0 to 16383' listen 127.0.0.1:0 --ird 0x4000
peer 64 '--ord -1: expected a number from 0 to 16383' listen 127.0.0.1:0 --ord -1
peer 64 '--mulpdu 127: expected a number from 128 to 64768' listen 127.0.0.1:0 --mulpdu 127
peer 64 '--count 18446744073709551617: expected a number from 1 to 4294967295' \
    listen 127.0.0.1:0 --count 18446744073709551617
peer 64 '--rtr send,: expected a list of send, write and read' listen 127.0.0.1:0 --rtr send,
peer 64 '--private 000g: expected pairs of hex digits, not "0g" at character 3' \
    listen 127.0.0.1:0 --private 000g
peer 64 '--private 000: expected pairs of hex digits, not "0" at character 3' \
    listen 127.0.0.1:0 --private 000
peer 64 "--private $(printf '0%.0s' $(seq 200)): expected at most 512 octets, not 513" \
    listen 127.0.0.1:0 --private "$(printf '00%.0s' $(seq 513))"
peer 64 "--private: expected at most 508 octets with --enhanced on" \
    listen 127.0.0.1:0 --private "$(printf '00%.0s' $(seq 509))"
head -c 600 /dev/zero >"$scratch/long"
peer 64 "--private @$scratch/long: \"$scratch/long\" holds more than 512 octets" \
    listen 127.0.0.1:0 --private "@$scratch/long"
peer 64 "--private @$scratch/none: cannot read \"$scratch/none\"" listen 127.0.0.1:0 --private "@$scratch/none"
peer 64 '--ignore mpa-crd: unknown check or rule (did you mean mpa-crc?)' listen 127.0.0.1:0 --ignore mpa-crd
peer 64 '--overstrict mpa-crc: this is not a legal thing that could be refused; see --list-rules' \
    listen 127.0.0.1:0 --overstrict mpa-crc
peer 64 '--botch mpa-crc: expected NAME=layer|type|code|place|close|silent|again' \
    listen 127.0.0.1:0 --botch mpa-crc
peer 64 "--enhanced on needs --revision 2" listen 127.0.0.1:0 --revision 1 --enhanced on
peer 64 "--stream $(printf 'x%.0s' $(seq 200)): expected one line of at most 200 octets" \
    listen 127.0.0.1:0 --stream "$(printf 'x%.0s' $(seq 201))"
peer 64 "--revision 0 needs --permissive on" listen 127.0.0.1:0 --revision 0 --permissive off
peer 64 "--peer-to-peer on needs --enhanced on" connect 127.0.0.1:1 --revision 1 --peer-to-peer on
peer 64 '--personality ping: expected echo or rping' listen 127.0.0.1:0 --personality ping
peer 64 "--size: rping needs at least 23 octets" \
    connect 127.0.0.1:1 --personality rping --size 22
peer 64 "--verify: only with --personality rping" connect 127.0.0.1:1 --verify
peer 64 "--verify: only with --personality rping" listen 127.0.0.1:0 --personality echo --verify
peer 64 "--once and --limit: only for a listening peer" connect 127.0.0.1:1 --once
peer 64 "--once and --limit: only for a listening peer" connect 127.0.0.1:1 --limit 3
peer 64 '--trace xml: expected json' listen 127.0.0.1:0 --trace xml
peer 73 "--trace-file: cannot write \"$scratch/no/file\": No such file or directory" \
    listen 127.0.0.1:0 --trace-file "$scratch/no/file"

refuses 64 "iwarp-agent: 127.0.0.1:0: unexpected argument; see --help" iwarp-agent 127.0.0.1:0
refuses 64 'iwarp-agent: --listen here: bad address "here": expected HOST:PORT' iwarp-agent --listen here

# Port 1 is a privileged port that nobody listens on.
peer 3 "connection 0 with 127.0.0.1:1: cannot connect: Connection refused" connect 127.0.0.1:1

listen 127.0.0.1:0
peer 69 "cannot listen on $at: Address already in use" listen "$at"
refuses 69 "iwarp-agent: cannot listen on $at: Address already in use" iwarp-agent --listen "$at"
for signal in TERM INT; do
    exec {open}<>"/dev/tcp/127.0.0.1/${at##*:}"
    kill -"$signal" "$pid"
    end_of "$pid"
    same "SIG$signal with a connection open" "$([ "$signal" = INT ] && echo 130 || echo 0)" "$status"
    exec {open}<&-
    [ "$signal" = INT ] || listen 127.0.0.1:0
done

# What was to be done and is not.
listen 127.0.0.1:0
"$bin/iwarp-peer" connect "$at" --count 4000000000 --trace-file "$scratch/trace" 2>"$scratch/said" &
asking=$!
pids+=("$asking")
until [ -s "$scratch/trace" ]; do sleep 0.01; done
kill "$asking"
wait "$asking"
same "an interrupted connect" "1 iwarp-peer: connection 0 with $at: interrupted before everything was done" "$? $(cat "$scratch/said")"
peer 73 '--trace-file: cannot write "/dev/full"' connect "$at" --trace-file /dev/full
kill "$pid"
end_of "$pid"
listen 127.0.0.1:0 --personality rping --once
"$bin/iwarp-peer" connect "$at" --personality rping >/dev/full 2>"$scratch/said"
same "no room for what rping says" "73 iwarp-peer: cannot write to standard output" "$? $(tail -n 1 "$scratch/said" | cut -d: -f1,2)"
end_of "$pid"
# No file, and above all no socket, becomes a standard descriptor that was closed.
listen 127.0.0.1:0 --once
"$bin/iwarp-peer" connect "$at" --trace json <&- >&- 2>&-
same "all three closed" 0 $?
end_of "$pid"
same "nothing got into the stream" "0 " "$status $(cat "$scratch/server")"
"$bin/iwarp-peer" listen 127.0.0.1:0 >/dev/full 2>"$scratch/said"
same "no room for the address" "73 iwarp-peer: cannot write to standard output" "$? $(cut -d: -f1,2 "$scratch/said")"

# One line of each failure: the Reply cannot be refused any more.
listen 127.0.0.1:0 --once
exec {open}<>"/dev/tcp/127.0.0.1/${at##*:}"
printf 'MPA ID Req Frame\x40\x01\0\0\0\0\0\0\0\0\0\0' >&"$open"
cat <&"$open" >/dev/null 2>&1
exec {open}<&-
end_of "$pid"
same "more than a Request" "1 1 mpa-pd-surplus" "$status $(wc -l <"$scratch/server") $(grep -o mpa-pd-surplus "$scratch/server")"

# Silence, an octet now and then, and noise end the start-up.
listen 127.0.0.1:0 --once --startup-timeout 50
exec {open}<>"/dev/tcp/127.0.0.1/${at##*:}"
printf 'MPA' >&"$open"
cat <&"$open" >/dev/null
exec {open}<&-
end_of "$pid"
same "a silent peer" "1 mpa-startup-timeout" "$status $(grep -o mpa-startup-timeout "$scratch/server")"

listen 127.0.0.1:0 --once
exec {open}<>"/dev/tcp/127.0.0.1/${at##*:}"
printf 'GET / HTTP/1.0\r\n\r\n' >&"$open"
cat <&"$open" >/dev/null 2>&1
exec {open}<&-
end_of "$pid"
same "a peer that speaks HTTP" "1 mpa-req-key" "$status $(grep -o mpa-req-key "$scratch/server")"

# What is asked for is printed, and nothing else happens.
for program in iwarp-peer iwarp-agent; do
    same "$program --version" "0 $program 0.1.0" "$("$bin/$program" --version >"$scratch/out"; echo "$? $(cat "$scratch/out")")"
    same "$program --help" "usage: $program" "$("$bin/$program" --help | head -n 1 | cut -d' ' -f1-2)"
done
"$bin/iwarp-peer" --list-rules >"$scratch/rules"
same "--list-rules names a check" 1 "$(grep -c '^mpa-crc .*ignore,violate,botch.* 2/0/02  *MPA-8-02  *MPA-4.4-11  *the CRC' "$scratch/rules")"
same "--list-rules shows which reaction can be botched" 1 "$(grep -c '^mpa-rev .*ignore,violate,botch=silent ' "$scratch/rules")"
same "--list-rules shows where nothing can be placed" 1 "$(grep -c '^ddp-qn .*ignore,violate,botch!=place ' "$scratch/rules")"
same "--list-rules names a rule" 1 "$(grep -c '^MPA-8-02 .*MUST' "$scratch/rules")"
same "--list-rules names all rules" \
    "$(($(wc -l <"$(dirname "$0")/../../../proto/rules/requirements.csv") - 1))" \
    "$(grep -cE '^(MPA|EMPA|DDP|RDMAP|EXT|SEC|SCTP)-' "$scratch/rules")"

exit "$failed"
