#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# For ClusterFuzzLite and OSS-Fuzz: all harnesses into $OUT, with seeds and dictionaries, with the compiler, the flags and the engine
# that the environment names ($CC $CFLAGS $CXX $CXXFLAGS $LIB_FUZZING_ENGINE $SANITIZER). How to try it by hand: fuzz/README.md.
set -euo pipefail

source=$(cd "$(dirname "$0")/.." && pwd)
[ -d "$source/fuzz" ] || source=${SRC:?}/iwarp
work=${WORK:-$(mktemp -d)}/iwarp-${SANITIZER:-none}
: "${OUT:?the folder for the fuzzers}" "${LIB_FUZZING_ENGINE:?what they are linked with}"

# MemorySanitizer takes what libraries without it have written (libpcap, Jansson, Lua) for uninitialised: only the core's harnesses.
options=()
[ "${SANITIZER:-}" != memory ] || options+=(-DIW_CORE_ONLY=ON)

cmake -S "$source" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DIW_FUZZ=libfuzzer "${options[@]}"
cmake --build "$work" --parallel "$(nproc)" --target fuzzers

for program in "$work"/bin/fuzz/fuzz-*-libfuzzer; do
    harness=$(basename "$program" -libfuzzer)
    harness=${harness#fuzz-}
    [ "$harness" != empty ] || continue
    name=iwarp-$harness
    cp "$program" "$OUT/$name"
    cp "$source/fuzz/iwarp.dict" "$OUT/$name.dict"
    printf '[libfuzzer]\nmax_len = 4096\n' >"$OUT/$name.options"
    rm -f "$OUT/${name}_seed_corpus.zip"
    for folder in corpus regress; do
        [ ! -d "$source/fuzz/$folder/$harness" ] || (cd "$source/fuzz/$folder/$harness" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
    done
done
