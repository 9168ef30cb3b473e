#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: tools/siw-settings.sh FOLDER-OF-PROGRAMS WORK
# The stock rping on siw against iwarp-peer, under settings of siw that are constants in Linux 6.1: builds a kernel in the
# folder WORK in which they are parameters (some minutes and 1 GB; it is used again), and tries them one after the other.
set -euo pipefail

[ $# -eq 2 ] || {
    sed -n '3,5s/^# //p' "$0" >&2
    exit 64
}
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$2"
work=$(readlink -f "$2")

"$here/siw.d/settings-kernel.sh" "$work"

TMPDIR=$(mktemp -d)
export TMPDIR IW_SIW_KERNEL=$work/linux
trap '"$here/siw" down; rm -rf "$TMPDIR"' EXIT
"$here/siw" up
status=0
# try CRC... -- NAME=VALUE...: the exchanges with these settings of siw and iwarp-peer's --crc.
try() {
    local crc=()
    while [ "$1" != -- ]; do
        crc+=("$1")
        shift
    done
    shift
    echo "# $*, --crc ${crc[*]}"
    # shellcheck disable=SC2016
    "$here/siw" exec sh -c 'for one in "$@"; do echo "${one#*=}" >"/sys/module/siw/parameters/${one%=*}"; done' sh "$@"
    CRC=${crc[*]} "$here/siw" exec bash "$here/tests/siw/siw_rping_both_ends.sh" "$bin" brief || status=1
}
both="on off"
# shellcheck disable=SC2086
{
    try $both -- peer_to_peer=1
    try $both -- peer_to_peer=0 siw_tcp_nagle=1
    try $both -- siw_tcp_nagle=0 zcopy_tx=0
    try $both -- zcopy_tx=1 try_gso=1
    try $both -- try_gso=0 mpa_version=1
    # It then refuses a Reply without C, and with strict alone any peer that asks for CRCs.
    try on -- mpa_version=2 mpa_crc_required=1
    try on -- mpa_crc_strict=1
    try off -- mpa_crc_required=0
}
exit $status
