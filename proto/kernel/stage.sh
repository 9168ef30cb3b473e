#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# usage: stage.sh DIR
# Makes in DIR, a new folder, the sources of the module as Kbuild wants them, below one folder: this room's files, the core's
# as they are, and the tables that are generated from the catalogue of rules.
set -euo pipefail
[ $# -eq 1 ] || {
    echo "usage: ${0##*/} DIR" >&2
    exit 64
}
here=$(cd "$(dirname "$0")" && pwd)
proto=${here%/*}
rooms=(rules crc32c wire stream mpa ddp rdmap quirk endpoint)

mkdir "$1" "$1/shim" "$1/core"
cp "$here"/Kbuild "$here"/Kconfig "$here"/*.[ch] "$1"
for header in stdint stdbool stddef string; do
    echo '#include "iwk_shim.h"' >"$1/shim/$header.h"
done
for room in "${rooms[@]}"; do
    mkdir "$1/core/$room"
    for file in "$proto/$room"/*.[ch]; do
        [ ! -e "$file" ] || cp "$file" "$1/core/$room"
    done
done
mkdir -p "$1/core/include/iwarp"
cp "$proto"/include/iwarp/*.h "$1/core/include/iwarp"
python3 "$proto/rules/generate.py" "$proto/rules/requirements.csv" "$proto/rules/checks.csv" \
    "$1/core/include/iwarp/checks.h" "$1/core/rules/rules_table.c"
python3 "$proto/crc32c/generate_tables.py" "$1/core/crc32c/crc32c_table.c"
