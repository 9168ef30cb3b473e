#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: live-peers.sh SECONDS
# Fuzzes our own peer, built with sanitizers, at the same time an agent and the stock rping on our own libibverbs, and, if there is a
# kernel with it, siw with KASAN.
set -euo pipefail
seconds=$1
folder=build-asan/fuzz-live
rm -rf "$folder"
mkdir -p "$folder"
status=0
IWARP_AGENT=build-asan/bin/iwarp-agent build-gcc/bin/iwarp-fuzz --time "$seconds" --results "$folder/own" --json "$folder/own.json" &
own=$!
others=()
for target in verbs-agent verbs-rping; do
    PATH=$PWD/build-gcc/bin:$PATH build-gcc/bin/iwarp-fuzz --target "$target" --time "$seconds" --results "$folder/$target" --json "$folder/$target.json" &
    others+=($!)
done
export IW_SIW_CHECKED=1
if tools/siw up; then
    build-gcc/bin/iwarp-fuzz --target siw --coverage --time "$seconds" --suppress fuzz/live/siw.known --results "$folder/siw" \
        --json "$folder/siw.json" || status=$?
    tools/siw down
else
    echo "siw is left out: there is no kernel with it"
fi
wait $own || status=$?
for other in "${others[@]}"; do
    wait "$other" || status=$?
done
exit $status
