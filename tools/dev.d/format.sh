#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: format.sh [--fix]
# Checks the format of C sources and runs shellcheck; with --fix, reformats the C sources.
set -euo pipefail
sources() {
    git ls-files -z -- '*.c' '*.h'
}
if [ "${1-}" = --fix ]; then
    sources | xargs -0 clang-format -i
    exit
fi
sources | xargs -0 clang-format --dry-run --Werror
git ls-files -z -- '*.sh' .ci/run tools/container tools/dev tools/siw tools/siw.d/siw-agent 'tools/siw.d/siw-rping-*' | xargs -0 shellcheck
