#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: wireshark-versions.sh FOLDER [SUITE...]
# The Wireshark plugin with the Wireshark of other Debians (trixie: 4.4, sid: 4.6): each is unpacked into
# FOLDER/SUITE (1 GB, kept for the next time), where the committed plugin is built, with warnings as errors for
# its own code, and its tests are run. Needs root and mmdebstrap.
set -euo pipefail

[ $# -gt 0 ] || { sed -n '3,6s/^# //p' "$0" >&2; exit 64; }
mkdir -p "$1"
folder=$(readlink -f "$1")
shift
cd "$(dirname "$(readlink -f "$0")")/.."
packages=(tshark libwireshark-dev libglib2.0-dev cmake ninja-build pkg-config gcc libc6-dev libpcap-dev
    liblua5.4-dev libjansson-dev libisal-dev libcmocka-dev libibverbs-dev librdmacm-dev zlib1g-dev python3)

inside() {
    tools/debian-root.sh run "$root" sh -ec "$1"
}

status=0
for suite in "${@:-trixie}"; do
    root=$folder/$suite
    [ -x "$root/usr/bin/apt-get" ] || tools/debian-root.sh make "$root" "$suite"
    inside "command -v tshark cmake >/dev/null && pkg-config wireshark" || inside \
        "apt-get -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=false update
        apt-get install -y --no-install-recommends ${packages[*]}"
    rm -rf "$root/iwarp"
    mkdir "$root/iwarp"
    git archive HEAD | tar -x -C "$root/iwarp"
    inside "cd /iwarp; cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo
        cmake --build build --target iwarp_dissector iwarp-lint"
    for test in captures settings ulps; do
        printf '%s, %s, check_%s: ' "$suite" "$(inside 'tshark --version 2>/dev/null | sed 1q')" "$test"
        inside "cd /iwarp; PYTHONPATH=tools python3 -B dissector/tests/check_$test.py build/wireshark \$(ls build/wireshark) \
            build/bin/iwarp-lint" || status=1
    done
done
exit $status
