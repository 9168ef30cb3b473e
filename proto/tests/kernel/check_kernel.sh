#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_kernel.sh [--module]
# Compiles the core's files with a kernel's own flags and headers, of the newest package linux-headers-*-amd64 that is installed;
# with --module, the whole driver, with W=1, against each of them. A warning is a failure. Skipped (77) without such a package.
set -euo pipefail
kernel=$(cd "$(dirname "$0")/../../kernel" && pwd)
mapfile -t trees < <(find /usr/src -maxdepth 1 -name 'linux-headers-*-amd64' | sort -V)
[ ${#trees[@]} -gt 0 ] || {
    echo "skipped: no kernel's headers are installed (package linux-headers-amd64)"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bash "$kernel/stage.sh" "$work/module"

# compile TREE ARGUMENT...
compile() {
    local status=0
    make -s -C "$1" M="$work/module" CONFIG_RDMA_IWARP=m CONFIG_DEBUG_INFO_BTF_MODULES= -j2 "${@:2}" >"$work/log" 2>&1 || status=$?
    if [ $status != 0 ] || grep -q 'warning:' "$work/log"; then
        cat "$work/log" >&2
        echo "against $1" >&2
        exit 1
    fi
}

if [ "${1:-}" = --module ]; then
    for tree in "${trees[@]}"; do
        compile "$tree" clean
        compile "$tree" W=1 modules
        [ -s "$work/module/iwarp.ko" ]
        echo "$(basename "$tree"): iwarp.ko, no warning"
    done
else
    cd "$work/module"
    sources=(core/*/*.c)
    compile "${trees[-1]}" "${sources[@]/%.c/.o}"
    echo "${#sources[@]} files of the core, no warning: $(basename "${trees[-1]}")"
fi
