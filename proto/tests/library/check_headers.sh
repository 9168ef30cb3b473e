#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_headers.sh CC INCLUDE_DIR...
# Each public header compiles alone, and twice in one file; in C++, too, if there is a compiler for it, with functions of C.
set -euo pipefail

cc=$1
shift
warnings=(-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror)
includes=("${@/#/-I}")
case ${cc##*/} in
gcc*) cxx=$(command -v g++ || true) ;;
clang*) cxx=$(command -v clang++ || true) ;;
*) cxx= ;; # of another machine
esac
count=0
failed=0
for dir in "$@"; do
    for header in "$dir"/iwarp/*.h; do
        [ -e "$header" ] || continue
        count=$((count + 1))
        name=iwarp/${header##*/}
        printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
            "$cc" -std=c11 -pedantic "${warnings[@]}" "${includes[@]}" -fsyntax-only -x c - || {
            echo "$name does not compile alone with $cc" >&2
            failed=1
        }
        ! grep -q ');$' "$header" || grep -q 'extern "C"' "$header" || {
            echo "$name does not say extern \"C\"" >&2
            failed=1
        }
        [ -z "$cxx" ] || printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
            "$cxx" -std=c++17 -Wall -Wextra -Werror "${includes[@]}" -fsyntax-only -x c++ - || {
            echo "$name does not compile alone with $cxx" >&2
            failed=1
        }
    done
done
[ "$count" -gt 0 ] || {
    echo "no headers in $*" >&2
    exit 1
}
[ "$failed" -eq 0 ] && echo "$count headers compile alone with $cc"
