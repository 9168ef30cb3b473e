#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: live-peers.sh SECONDS
# Fuzzes our own peer, built with sanitizers, at the same time an agent on our own libibverbs, and, if there is a kernel with it, siw
# with KASAN.
set -euo pipefail
seconds=$1
folder=build-asan/fuzz-live
rm -rf "$folder"
mkdir -p "$folder"
status=0
IWARP_AGENT=build-asan/bin/iwarp-agent build-gcc/bin/iwarp-fuzz --time "$seconds" --results "$folder/own" --json "$folder/own.json" &
own=$!
PATH=$PWD/build-gcc/bin:$PATH build-gcc/bin/iwarp-fuzz --target verbs-agent --time "$seconds" --results "$folder/verbs" --json "$folder/verbs.json" &
verbs=$!
export IW_SIW_CHECKED=1
if tools/siw up; then
    build-gcc/bin/iwarp-fuzz --target siw --coverage --time "$seconds" --suppress fuzz/live/siw.known --results "$folder/siw" \
        --json "$folder/siw.json" || status=$?
    tools/siw down
else
    echo "siw is left out: there is no kernel with it"
fi
wait $own || status=$?
wait $verbs || status=$?
exit $status
