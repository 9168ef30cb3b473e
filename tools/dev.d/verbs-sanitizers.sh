#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: verbs-sanitizers.sh [PATTERN...]
# Runs rows of stock programs on the verbs library built with ASan and UBSan, then with TSan. The programs are as they come, so
# the sanitizer is preloaded. A report fails the run, also one of a server that is ended. Then rping under valgrind, rping that breaks
# rules, and our agent on the library with ASan under iwarp-fuzz.
set -euo pipefail
# rping is left out: it ends beside a thread that may still ask for an event, and if that is slow, finds the channel closed.
[ $# -gt 0 ] || set -- 'rdma-*' 'ucmatose*' cmtime cmtime-200 rcopy 'rstream*' 'riostream*' write-lat write-bw-inline \
    'send-lat*' 'send-bw-[4s]*' read-lat read-bw-events atomic-bw qperf-rc-lat 'qperf-ver-*' 'fi-*'
rows=("$@")
status=0

# usage: rows_under FOLDER SANITIZER NAME=OPTIONS
rows_under() {
    local folder=$1 library=$2 name=${3%%=*} options=${3#*=}
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -B tools/tests/verbs/matrix.py "$run" --env LD_PRELOAD="$library" --env "$name=$options:log_path=$PWD/$folder/report" "${rows[@]}" || status=$?
    cat "$folder"/report.* 2>/dev/null && status=1
    return 0
}

# The launcher of the build without sanitizers, beside the library with them: it takes no part.
mkdir -p build-asan/verbs/bin
cp build-gcc/bin/iwarp-run build-asan/verbs/bin
ln -sfn "$PWD/build-asan/lib" build-asan/verbs/lib
run=build-asan/verbs/bin/iwarp-run
asan=$(clang -print-file-name=libclang_rt.asan-x86_64.so)
# Leaks are the programs' own.
rows_under build-asan/verbs/reports "$asan" ASAN_OPTIONS=detect_leaks=0:exitcode=66

# Only what the library has to do with: the end of rping is not always clean.
rm -f build-asan/verbs/valgrind.*
python3 -B tools/tests/verbs/matrix.py build-gcc/bin/iwarp-run rping-verify rping-6 --under "valgrind --leak-check=full --show-leak-kinds=definite \
    --suppressions=$PWD/proto/tests/verbs/valgrind.supp --log-file=$PWD/build-asan/verbs/valgrind.%p" || true
if grep libibverbs build-asan/verbs/valgrind.*; then status=1; fi

# rping as a hostile peer: our own memory stays safe.
cat >build-asan/verbs/run <<EOF
#!/bin/sh
LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0:exitcode=66:log_path=$PWD/build-asan/verbs/violating exec "$PWD/$run" "\$@"
EOF
chmod +x build-asan/verbs/run
rm -f build-asan/verbs/violating.*
tools/harness.py tools/tests/verbs/check_violations.py build-asan/verbs/run build-gcc/bin/iwarp-peer || status=$?
cat build-asan/verbs/violating.* 2>/dev/null && status=1

cat >build-asan/verbs/agent <<EOF
#!/bin/sh
LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0:exitcode=66 exec "$PWD/$run" "$PWD/build-gcc/bin/iwarp-agent" --backend verbs "\$@"
EOF
chmod +x build-asan/verbs/agent
build-gcc/bin/iwarp-fuzz --agent build-asan/verbs/agent --time 120 --results build-asan/verbs/fuzz || status=$?

cmake --preset tsan && cmake --build --preset tsan --parallel "$JOBS" --target iw_verbs iwarp-run
run=build-tsan/bin/iwarp-run
rows_under build-tsan/verbs "$(gcc -print-file-name=libtsan.so)" \
    TSAN_OPTIONS="exitcode=66:die_after_fork=0:suppressions=$PWD/proto/tests/verbs/tsan.supp"
exit $status
