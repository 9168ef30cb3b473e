# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# For the test scripts: starts peers, compares, cleans up. Source it with the programs' folder as $1.

bin=$1
scratch=$(mktemp -d)
failed=0
pids=()

clean_up() {
    local pid
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
    rm -rf "$scratch"
}
trap clean_up EXIT

# listen OPTION...: starts `iwarp-peer listen OPTION...`. Sets pid and at, where it listens. Its
# messages go to $scratch/server.
listen() {
    exec {server_out}< <(exec "$bin/iwarp-peer" listen "$@" 2>"$scratch/server")
    pid=$!
    pids+=("$pid")
    local line
    read -r -t 60 line <&"$server_out" || line=""
    at=${line#listening on }
    if [ "$at" = "$line" ]; then
        echo "not ok - listen $*: first line '$line'" >&2
        cat "$scratch/server" >&2
        exit 1
    fi
}

# end_of PID: its exit status, in $status.
end_of() {
    wait "$1"
    status=$?
    exec {server_out}<&-
}

# same WHAT EXPECTED ACTUAL
same() {
    if [ "$2" = "$3" ]; then
        echo "ok - $1"
    else
        printf 'not ok - %s\n  expected: %s\n  actual:   %s\n' "$1" "$2" "$3" >&2
        failed=1
    fi
}

# refuses STATUS MESSAGE PROGRAM ARGUMENT...: the program ends with this status and this one line.
refuses() {
    local status expected=$1 message=$2 out
    shift 2
    out=$("$bin/$1" "${@:2}" 2>&1 </dev/null)
    status=$?
    same "$*" "$expected: $message" "$status: $out"
}
