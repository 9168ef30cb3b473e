#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Mistakes on iwarp-agent's command line, and where it refuses to listen.

# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

unset IWARP_AGENT_TOKEN
open="other hosts can reach it: expected --token-file, a token in the environment variable"
open="$open IWARP_AGENT_TOKEN, or --no-token"
refuses 64 "iwarp-agent: --listen 0.0.0.0:0: $open" iwarp-agent --listen 0.0.0.0:0
refuses 64 "iwarp-agent: --listen [::]:0: $open" iwarp-agent --listen "[::]:0"
refuses 64 "iwarp-agent: token file /none: No such file or directory" iwarp-agent --token-file /none
echo short >"$scratch/token"
expected="expected a token of 16 to 128 printable ASCII octets without spaces"
refuses 64 "iwarp-agent: token file $scratch/token: $expected" iwarp-agent --token-file "$scratch/token"
refuses 64 "iwarp-agent: --no-token contradicts --token-file" \
    iwarp-agent --no-token --token-file "$scratch/token"
export IWARP_AGENT_TOKEN=short
refuses 64 "iwarp-agent: environment variable IWARP_AGENT_TOKEN: $expected" iwarp-agent

unset IWARP_AGENT_TOKEN
# A socket that is none, and bounds of its number; addresses that are none, or not this host's.
refuses 64 "iwarp-agent: --control-fd 99: not a usable socket: Bad file descriptor" iwarp-agent --control-fd 99
refuses 64 "iwarp-agent: --control-fd 1048576: not a usable socket: Bad file descriptor" iwarp-agent --control-fd 1048576
refuses 64 "iwarp-agent: --control-fd 1048577: expected a number from 0 to 1048576" iwarp-agent --control-fd 1048577
refuses 64 'iwarp-agent: --listen nonsense: bad address "nonsense": expected HOST:PORT' iwarp-agent --listen nonsense
refuses 69 "iwarp-agent: cannot listen on 192.0.2.1:1: Cannot assign requested address" iwarp-agent --listen 192.0.2.1:1
refuses 64 "iwarp-agent: --backend ibverbs: expected endpoint or verbs" iwarp-agent --backend ibverbs
refuses 64 "iwarp-agent: --device: needs --backend verbs" iwarp-agent --device siw0
# No device of this name, none at all, or not built in: one line.
status=0
"$bin/iwarp-agent" --backend verbs --device no-such-device >"$scratch/out" 2>&1 || status=$?
same "verbs without a device" 69 $status
same "verbs without a device: lines" 1 "$(wc -l <"$scratch/out")"
same "verbs without a device: text" "iwarp-agent: --" "$(head -c 15 "$scratch/out")"

# listens OPTION...: the agent starts to listen and ends cleanly.
listens() {
    local out line
    exec {out}< <(exec "$bin/iwarp-agent" "$@" 2>/dev/null)
    local pid=$!
    pids+=("$pid")
    read -r -t 60 line <&"$out" || line=""
    same "$*" "control on " "${line%%[0-9[]*}"
    kill "$pid"
    wait "$pid"
    same "$* ends with 0" 0 $?
    exec {out}<&-
}
export IWARP_AGENT_TOKEN=0123456789abcdef
listens --listen 0.0.0.0:0
unset IWARP_AGENT_TOKEN
listens --listen 0.0.0.0:0 --no-token
listens --listen 127.0.0.1:0
listens --listen 127.255.255.254:0
listens --backend endpoint
if [ -s /proc/net/if_inet6 ]; then
    listens --listen "[::1]:0"
    listens --listen "[::ffff:127.0.0.1]:0"
fi
exit "$failed"
