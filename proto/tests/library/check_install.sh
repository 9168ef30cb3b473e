#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_install.sh BUILD_DIR EXAMPLES_DIR CC CMAKE
# Installs into a temporary prefix and there builds and runs every example, once with pkg-config and once
# with find_package.
set -euo pipefail

build=$1
examples=$2
cc=$3
cmake=$4

work=$(mktemp -d "$build/install-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log"

pc=$(find "$work/prefix" -name iwarp.pc)
export PKG_CONFIG_PATH=${pc%/*}
mkdir "$work/pkg-config"
for source in "$examples"/*.c; do
    name=$(basename "$source" .c)
    # shellcheck disable=SC2046  # the flags are several words
    "$cc" -std=c11 $(pkg-config --cflags iwarp) "$source" -o "$work/pkg-config/$name" $(pkg-config --libs iwarp)
    "$work/pkg-config/$name"
done
pkg-config --exists --print-errors iwarp-host

# A program may take its headers from the prefix alone.
[ ! -e "$work/prefix/include/iwarp/table.h" ]
[ -e "$work/prefix/include/iwarp/checks.h" ]

"$cmake" -S "$examples" -B "$work/find-package" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
    -DCMAKE_PREFIX_PATH="$work/prefix" >>"$work/log"
"$cmake" --build "$work/find-package" >>"$work/log"
for source in "$examples"/*.c; do
    "$work/find-package/$(basename "$source" .c)"
done
