#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: mutated-frames.sh FRAMES
# Shows mutated frames to the plugin under ASan, shared out among the processors; each night others.
set -euo pipefail
[ -d build-asan/wireshark ] || { echo "no plugin was built"; exit 77; }
IW_PRELOAD=$(clang -print-file-name="libclang_rt.asan-$(uname -m).so")
export IW_PRELOAD PYTHONPATH=tools
exec tools/dev.d/share.py "$1" -- python3 -B dissector/tests/check_mutated.py build-asan/wireshark "$(ls build-asan/wireshark)" \
    '{count}' '{seed}'
