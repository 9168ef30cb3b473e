#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: messages-sanitizers.sh
# Ends of messages as processes, built with ASan and UBSan, then with TSan, on the verbs library built with the same: iwarp-msg ping, serve and get,
# kills, and a service that begins elsewhere. A report fails the run, also one of an end that is killed later. The unit tests of messages run in each
# sanitizer's build with all others.
set -euo pipefail
status=0
export PYTHONPATH=tools

# usage: ends_under BUILD PRELOADED NAME=OPTIONS
ends_under() {
    local build=$1 preloaded=$2 name=${3%%=*} options=${3#*=} folder=$1/messages
    rm -rf "$folder"
    mkdir -p "$folder/bin"
    # The launcher and the judge of captures of the build without sanitizers, beside the library with them: they take no part.
    cp build-gcc/bin/iwarp-run build-gcc/bin/iwarp-lint "$folder/bin"
    ln -sfn "$PWD/$build/lib" "$folder/lib"
    cat >"$folder/run" <<END
#!/bin/sh
export LD_PRELOAD=$preloaded $name=$options:log_path=$PWD/$folder/report
exec "$PWD/$folder/bin/iwarp-run" "\$@"
END
    chmod +x "$folder/run"
    python3 -B tools/tests/messages/check_messages.py "$folder/run" "$build/bin/iwarp-msg" "$folder/bin/iwarp-lint" || status=$?
    python3 -B tools/tests/messages/check_messages_move.py "$folder/run" "$build/bin/tests/message_load" 10 || status=$?
    python3 -B tools/tests/messages/check_messages_kill.py "$folder/run" "$build/bin/tests/message_load" 20 || status=$?
    cat "$folder"/report.* 2>/dev/null && status=1
    return 0
}

ends_under build-asan "" ASAN_OPTIONS=exitcode=66
cmake --preset tsan && cmake --build --preset tsan --parallel "$JOBS" --target iw_verbs iwarp-msg message_load
ends_under build-tsan "$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS="exitcode=66:die_after_fork=0:suppressions=$PWD/proto/tests/verbs/tsan.supp"
exit $status
