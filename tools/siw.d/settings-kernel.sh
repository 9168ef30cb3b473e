#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: settings-kernel.sh WORK
# Builds the kernel WORK/linux, in which settings of siw that are constants in Linux 6.1 are parameters of its module (some
# minutes and 1 GB; it is used again).
set -euo pipefail
mkdir -p "${1:?}"
work=$(readlink -f "$1")
here=$(dirname "$(dirname "$(readlink -f "$0")")")

[ ! -x "$work/linux" ] || exit 0
mkdir "$work/source"
"$here/siw" source "$work/source"
siw=$work/source/drivers/infiniband/sw/siw
sed -i -E \
    -e 's/^const bool (zcopy_tx|try_gso|mpa_crc_required|mpa_crc_strict|siw_tcp_nagle|peer_to_peer)\>(.*);/bool \1\2; module_param(\1, bool, 0644);/' \
    -e 's/^(u_char (mpa_version)\>.*;)/\1 module_param(\2, byte, 0644);/' "$siw/siw_main.c"
sed -i -E 's/^extern const bool (zcopy_tx|try_gso|mpa_crc_required|mpa_crc_strict|siw_tcp_nagle|peer_to_peer);/extern bool \1;/' \
    "$siw/siw.h"
make -C "$work/source" ARCH=um -j "${IW_JOBS:-$(nproc)}" linux >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    exit 1
}
mv "$work/source/linux" "$work/linux"
rm -rf "$work/source"
