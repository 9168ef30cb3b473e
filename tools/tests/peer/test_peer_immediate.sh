#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The echo of iwarp-peer sends Immediate Data back as Immediate Data; its buffers, of one octet here,
# hold nothing of it.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

listen 127.0.0.1:0 --size 1 --buffers 1
exec {agent_out}< <(exec "$bin/iwarp-agent" --listen 127.0.0.1:0)
pids+=("$!")
read -r -t 60 line <&"$agent_out"
port=${line##*:}
exec {control}<>"/dev/tcp/127.0.0.1/$port"

say() { printf '%s\n' "$1" >&"$control"; }

# wait_for TEXT: reads what the agent says up to a line with TEXT.
wait_for() {
    local said=""
    while [[ $said != *"$1"* ]]; do
        if ! read -r -t 60 said <&"$control"; then
            echo "not ok - the agent did not say $1" >&2
            exit 1
        fi
        said=${said//: /:}
    done
}

say "{\"id\":1,\"do\":\"connect\",\"host\":\"127.0.0.1\",\"port\":${at##*:}}"
wait_for '"event":"established"'
for data in 01020304050607ff 8000000000000000; do
    say '{"id":2,"do":"recv","conn":1,"work":7}'
    say "{\"id\":3,\"do\":\"post\",\"conn\":1,\"work\":8,\"op\":\"immediate\",\"immediate\":\"$data\"}"
    wait_for "\"immediate\":\"$data\""
done
