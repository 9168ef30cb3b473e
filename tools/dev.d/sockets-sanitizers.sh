#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: sockets-sanitizers.sh [PATTERN...]
# Runs small rows of socket programs on the libraries built with ASan and UBSan, then with TSan. The programs are as they come, so the sanitizer is
# preloaded. A report fails the run. Rows that fork, or have more than three connections in a process, are left out: ASan's own pthread_create does not
# let librdmacm's threads be started again in a child, and its allocator hides the room that librdmacm's services are given (proto/sockets/README.md).
set -euo pipefail
[ $# -gt 0 ] || set -- 'iperf3' 'iperf3-any' 'iperf3-reverse' 'iperf3-6' 'netcat' 'netcat-6' 'http-server' 'exchange-*'
rows=("$@")
status=0

# usage: rows_under PROGRAMS FOLDER SANITIZER NAME=OPTIONS
rows_under() {
    local programs=$1 folder=$2 library=$3 name=${4%%=*} options=${4#*=}
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -B tools/tests/sockets/socket_programs.py "$programs" --env LD_PRELOAD="$library" --env "$name=$options:log_path=$PWD/$folder/report" "${rows[@]}" || status=$?
    cat "$folder"/report.* 2>/dev/null && status=1
    return 0
}

# The launcher and the judge of captures of the build without sanitizers, beside the libraries with them: they take no part.
for build in asan tsan; do
    mkdir -p build-$build/sockets/bin
    cp build-gcc/bin/iwarp-run build-gcc/bin/iwarp-lint build-$build/sockets/bin
    ln -sfn "$PWD/build-$build/lib" build-$build/sockets/lib
done
# Leaks are the programs' own. The sanitizers set no limit of core dumps: that would come to our setrlimit before there is shadow memory.
rows_under build-asan/sockets/bin build-asan/sockets/reports "$(clang -print-file-name=libclang_rt.asan-x86_64.so)" ASAN_OPTIONS=disable_coredump=0:detect_leaks=0:exitcode=66

cmake --preset tsan && cmake --build --preset tsan --parallel "$JOBS" --target iw_verbs iw_sockets
rows_under build-tsan/sockets/bin build-tsan/sockets/reports "$(gcc -print-file-name=libtsan.so)" \
    TSAN_OPTIONS="disable_coredump=0:exitcode=66:die_after_fork=0:suppressions=$PWD/proto/tests/verbs/tsan.supp"
exit $status
