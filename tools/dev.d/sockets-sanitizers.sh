#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: sockets-sanitizers.sh [PATTERN...]
# Runs small rows of socket programs on the libraries built with ASan and UBSan, then with TSan. The programs are as they come, so the sanitizer is
# preloaded, after our libraries: threads of librdmacm are started by them, and again in a child of fork. A report fails the run.
# Left out are PostgreSQL and curl, which stop before main() does anything if either sanitizer is preloaded, without our libraries, too; and under TSan rows
# whose children start threads: it takes the second thread with the number of one of the parent's for an error of its own.
set -euo pipefail
rows=(iperf3 iperf3-any iperf3-reverse iperf3-6 netcat netcat-6 lighttpd-python http-server redis 'exchange-*')
forking=(nginx-python rsync rsync-push scp)
[ $# -eq 0 ] || rows=("$@") forking=()
status=0

# usage: rows_under BUILD SANITIZER NAME=OPTIONS PATTERN...
rows_under() {
    local build=$1 folder=build-$1/sockets library=$2 name=${3%%=*} options=${3#*=}
    shift 3
    rm -rf "$folder"
    mkdir -p "$folder/bin" "$folder/reports"
    # The launcher and the judge of captures of the build without sanitizers, beside the libraries with them: they take no part.
    cp build-gcc/bin/iwarp-run build-gcc/bin/iwarp-lint "$folder/bin"
    ln -sfn "$PWD/build-$build/lib" "$folder/lib"
    python3 -B tools/tests/sockets/socket_programs.py "$folder/bin" --env LD_PRELOAD="$library" --env "$name=$options:log_path=$PWD/$folder/reports/report" "$@" || status=$?
    cat "$folder"/reports/* 2>/dev/null && status=1
    return 0
}

# Leaks are the programs' own. The sanitizers set no limit of core dumps: that would come to our setrlimit before there is shadow memory.
rows_under asan "$(clang -print-file-name=libclang_rt.asan-x86_64.so)" ASAN_OPTIONS=verify_asan_link_order=0:disable_coredump=0:detect_leaks=0:exitcode=66 \
    "${rows[@]}" "${forking[@]}"

# What handlers of signals do is the programs' own, too; the detector of deadlocks has no room for as many locks as a fork takes.
cmake --preset tsan && cmake --build --preset tsan --parallel "$JOBS" --target iw_verbs iw_sockets
rows_under tsan "$(gcc -print-file-name=libtsan.so)" \
    "TSAN_OPTIONS=disable_coredump=0:exitcode=66:die_after_fork=0:report_signal_unsafe=0:detect_deadlocks=0:suppressions=$PWD/proto/tests/verbs/tsan.supp" "${rows[@]}"
exit $status
