#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: build_packages.sh [RELEASE]
# Builds the Debian packages (RELEASE: 1, the number after the version) into build-packages/deb, and prints their paths. The
# commit's date is in them, so that the same commit makes the same packages.
set -euo pipefail

release=${1:-1}
if [ $# -gt 1 ] || ! [[ $release =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: build_packages.sh [RELEASE], a whole number from 1" >&2
    exit 64
fi
cd "$(dirname "$(readlink -f "$0")")/../.."
folder=build-packages
log=$folder/log
mkdir -p "$folder"

# Two at a time would take packages from each other.
exec 9>"$folder/lock"
flock 9

# quiet COMMAND...: prints what it said only if it fails.
quiet() {
    "$@" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        echo "build_packages.sh: failed: $*" >&2
        exit 1
    }
}

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
quiet cmake --preset packages
quiet cmake --build --preset packages --parallel "${IW_JOBS:-$(nproc)}"
rm -rf "$folder/deb/_CPack_Packages"
rm -f "$folder"/deb/*-"$release"_*.deb
(umask 022 && quiet cpack --config "$folder/CPackConfig.cmake" -D "CPACK_DEBIAN_PACKAGE_RELEASE=$release")
rm -rf "$folder/deb/_CPack_Packages"
ls "$folder"/deb/*-"$release"_*.deb
