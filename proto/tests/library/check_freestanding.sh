#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_freestanding.sh CC PROTO_DIR GENERATED_DIR
# The core's rule: its sources compile with nothing but the compiler's own headers and a <string.h> of six
# functions, use no others of the compiler's headers than five, without floating point or vectors, in stack
# frames of at most 1024 octets, and need no symbol beyond those of freestanding/symbols.txt.
set -euo pipefail

cc=$1
proto=$2
generated=$3
rooms=(rules crc32c wire stream mpa ddp rdmap quirk endpoint observer)
headers='stdint|stddef|stdbool|stdarg|limits|string'

case $("$cc" --version | head -n 1) in
*clang*) own="$("$cc" -print-resource-dir)/include" ;;
*) own=$("$cc" -print-file-name=include) ;;
esac
# GCC's <limits.h> asks for the C library's as well unless a macro says that it was read already.
flags=(-std=c11 -O2 -ffreestanding -nostdinc -isystem "$own" -D_LIBC_LIMITS_H_
    -isystem "$proto/tests/library/freestanding" -I"$proto/include" -I"$generated/include" -I"$proto"
    -Werror -Wframe-larger-than=1024)

objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

# Not every machine's compiler has the option.
if "$cc" -mgeneral-regs-only -x c -c /dev/null -o "$objects/none" 2>/dev/null; then
    flags+=(-mgeneral-regs-only)
fi
rm -f "$objects/none"

sources=()
for room in "${rooms[@]}"; do
    for source in "$proto/$room"/*.c "$generated/$room"/*.c; do
        if [ -e "$source" ]; then sources+=("$source"); fi
    done
done
[ "${#sources[@]}" -gt 0 ]

if grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<' "${sources[@]}" \
    "${rooms[@]/#/"$proto"/}" --include='*.[ch]' -r |
    grep -vE "<($headers)\.h>" | grep -v '/hosted/' >"$objects/foreign"; then
    echo "headers that the core may not use:" >&2
    sort -u "$objects/foreign" >&2
    exit 1
fi

for source in "${sources[@]}"; do
    name=${source#"$proto"/}
    name=${name#"$generated"/}
    "$cc" "${flags[@]}" -c "$source" -o "$objects/${name//\//_}.o"
done

"$cc" -r -nostdlib "$objects"/*.o -o "$objects/core"
"$("$cc" -print-prog-name=nm)" -u "$objects/core" | awk '{print $NF}' >"$objects/needed"
if grep -vxF -f <(grep -v '^#' "$proto/tests/library/freestanding/symbols.txt") "$objects/needed" >"$objects/foreign"; then
    echo "symbols that the core may not need:" >&2
    cat "$objects/foreign" >&2
    exit 1
fi
echo "${#sources[@]} sources of the core are freestanding with $cc"
