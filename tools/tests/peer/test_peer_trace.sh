#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --trace json: one object a line, on stderr or in a file.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

listen 127.0.0.1:0 --once --trace json
"$bin/iwarp-peer" connect "$at" --count 1 --size 4 --trace json --trace-file "$scratch/client"
same "client" 0 $?
end_of "$pid"
same "server" 0 "$status"

summary() {
    python3 - "$1" <<'PYTHON'
import json, sys
for line in open(sys.argv[1]):
    o = json.loads(line)
    assert o["schema"] == 1 and o["connection"] == 0 and o["time"] > 0, o
    print(o["kind"], o.get("pos", "-"), o.get("length", "-"), o["text"])
PYTHON
}

same "the client's trace" "startup-out - - mpa request rev 2 C S pd 4 ird 16 ord 16
startup-in - - mpa reply rev 2 C S pd 4 ird 16 ord 16
state - - established
fpdu-out 24 22 send L msn 1 mo 0 len 4
fpdu-in 24 22 send L msn 1 mo 0 len 4
state - - peer-closed
state - - closed" "$(summary "$scratch/client")"
same "the server's trace" "startup-in - - mpa request rev 2 C S pd 4 ird 16 ord 16
startup-out - - mpa reply rev 2 C S pd 4 ird 16 ord 16" \
    "$(summary "$scratch/server" | grep startup)"
same "octets are hex" 4d504120494420526571204672616d65 \
    "$(grep startup-out "$scratch/client" | grep -o '"octets":"[0-9a-f]*"' | cut -c11-42)"

listen 127.0.0.1:0 --once --trace json
"$bin/iwarp-peer" connect "$at" --violate ddp-msn --count 1 2>"$scratch/client"
same "a peer that breaks a rule" 1 $?
end_of "$pid"
same "the fault is traced" \
    '"kind":"fault","check":"ddp-msn","rule":"DDP-7.1-09"' \
    "$(grep -o '"kind":"fault","check":"ddp-msn","rule":"DDP-7.1-09"' "$scratch/server")"

# The RTR form named first is preferred.
for rtr in "write,read,send:write" "send,read,write:send" "read,write:read"; do
    listen 127.0.0.1:0 --once
    "$bin/iwarp-peer" connect "$at" --peer-to-peer on --rtr "${rtr%:*}" --count 1 --size 4 \
        --trace json --trace-file "$scratch/rtr" 2>/dev/null
    same "rtr $rtr" 0 $?
    end_of "$pid"
    same "the first FPDU with $rtr" "${rtr#*:}" \
        "$(summary "$scratch/rtr" | awk '$1 == "fpdu-out" { print $4; exit }' | cut -d- -f1)"
done
exit "$failed"
