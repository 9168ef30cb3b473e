#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: debian-root.sh make FOLDER [SUITE]           a bare Debian of this machine's kind in FOLDER, which it makes anew
#        debian-root.sh run FOLDER COMMAND [ARG...]   a command in there, with processes and mounts of its own
# Needs root and mmdebstrap. SUITE: bookworm, Debian 12.
set -euo pipefail

usage() {
    sed -n '3,5s/^# //p' "$0" >&2
    exit 64
}

[ $# -ge 2 ] || usage
command=$1
root=$2
shift 2
[ "$(id -u)" -eq 0 ] || {
    echo "debian-root.sh: needs root" >&2
    exit 77
}
case $command in
make)
    [ $# -le 1 ] || usage
    rm -rf "$root"
    mkdir -p "$root"
    mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Retries "3"' "${1:-bookworm}" "$root"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir "$root/dev/net"
    mknod "$root/dev/net/tun" c 10 200
    ;;
run)
    if [ $# -eq 0 ] || [ ! -d "$root" ]; then usage; fi
    # All ends with the command, and nothing stays mounted.
    # shellcheck disable=SC2016  # expanded by the inner shell
    exec unshare --mount --pid --fork --kill-child -- sh -c 'mount -t proc proc "$1/proc" && root=$1 && shift &&
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"' sh "$root" "$@"
    ;;
*) usage ;;
esac
