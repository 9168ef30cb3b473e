#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_install.sh BUILD_DIR EXAMPLES_DIR CC CMAKE
# Installs into a temporary prefix, moves it elsewhere, and there builds and runs every example and a program that uses both
# libraries, in C and in C++, static and shared, with pkg-config and with find_package.
set -euo pipefail

build=$1
examples=$2
cc=$3
cmake=$4
here=$(dirname "$(readlink -f "$0")")

work=$(mktemp -d "$build/install-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

# One at a time: the build keeps one list of what was installed.
DESTDIR=$work/first flock "$build/install.lock" "$cmake" --install "$build" --prefix /somewhere >"$work/log"
mv "$work/first/somewhere" "$work/prefix"

pc=$(find "$work/prefix" -name iwarp.pc)
export PKG_CONFIG_PATH=${pc%/*}
libraries=${pc%/*/*}
read -ra cflags < <(pkg-config --cflags iwarp)
# The archives alone: ours are static, all others as the machine has them.
mapfile -t required < <(pkg-config --print-requires --print-requires-private iwarp-host | grep -v iwarp)
read -ra others < <(pkg-config --libs "${required[@]}")
mkdir "$work/pkg-config"

# built NAME SOURCE OPTION...: builds a program in C.
built() {
    "$cc" -std=c11 -Wall -Wextra -Werror "${cflags[@]}" "$2" -o "$work/pkg-config/$1" "${@:3}"
}

# uses_shared YES_OR_NO PROGRAM
uses_shared() {
    local found=no
    ! readelf -d "$2" | grep 'NEEDED.*libiwarp' >/dev/null || found=yes
    [ "$found" = "$1" ] || {
        echo "$2 uses the shared library: $found, expected: $1" >&2
        exit 1
    }
}

for source in "$examples"/*.c; do
    name=$(basename "$source" .c)
    built "$name" "$source" -L"$libraries" -l:libiwarp.a
    uses_shared no "$work/pkg-config/$name"
    "$work/pkg-config/$name" >"$work/$name.out"
    if [ -e "$libraries/libiwarp.so" ]; then
        read -ra libs < <(pkg-config --libs iwarp)
        built "$name-shared" "$source" "${libs[@]}"
        uses_shared yes "$work/pkg-config/$name-shared"
        LD_LIBRARY_PATH=$libraries "$work/pkg-config/$name-shared" | diff "$work/$name.out" -
    fi
done

# says PROGRAM: it reports what libiwarp and libiwarp_host answered.
says() {
    LD_LIBRARY_PATH=$libraries "$1" | grep -Fx "RDMA Write; /nonexistent.pcapng: cannot be opened: No such file or directory" || {
        echo "$1 says something else:" >&2
        LD_LIBRARY_PATH=$libraries "$1" >&2
        exit 1
    }
}
built consumer "$here/consumer.c" -L"$libraries" -l:libiwarp_host.a -l:libiwarp.a "${others[@]}"
uses_shared no "$work/pkg-config/consumer"
says "$work/pkg-config/consumer"
if [ -e "$libraries/libiwarp_host.so" ]; then
    read -ra libs < <(pkg-config --libs iwarp-host)
    [[ "${libs[*]}" != *pcap* ]] # which the shared library finds itself
    built consumer-shared "$here/consumer.c" "${libs[@]}"
    uses_shared yes "$work/pkg-config/consumer-shared"
    says "$work/pkg-config/consumer-shared"
    if cxx=$(command -v g++ || command -v clang++); then
        "$cxx" -std=c++17 -Wall -Wextra -Werror "${cflags[@]}" -x c++ "$here/consumer.c" -o "$work/pkg-config/consumer-cxx" "${libs[@]}"
        says "$work/pkg-config/consumer-cxx"
    fi
fi

# Where the machine has what libiwarp-messages needs.
if pkg-config --exists iwarp-messages; then
    wrong="connections, timeout_ms or spin_us: Invalid argument"
    read -ra others < <(pkg-config --libs nettle jansson libibverbs librdmacm)
    built messages "$here/consumer_messages.c" -L"$libraries" -l:libiwarp-messages.a "${others[@]}"
    uses_shared no "$work/pkg-config/messages"
    "$work/pkg-config/messages" | grep -Fx "$wrong"
    if [ -e "$libraries/libiwarp-messages.so" ]; then
        read -ra libs < <(pkg-config --libs iwarp-messages)
        [[ "${libs[*]}" != *rdmacm* ]] # which the shared library finds itself
        built messages-shared "$here/consumer_messages.c" "${libs[@]}"
        uses_shared yes "$work/pkg-config/messages-shared"
        LD_LIBRARY_PATH=$libraries "$work/pkg-config/messages-shared" | grep -Fx "$wrong"
    fi
elif [ -e "$libraries/libiwarp-messages.a" ]; then
    echo "libiwarp-messages is installed without a file for pkg-config" >&2
    exit 1
fi

# A program may take its headers from the prefix alone.
[ ! -e "$work/prefix/include/iwarp/table.h" ]
[ -e "$work/prefix/include/iwarp/checks.h" ]

for shared in '' ON; do
    "$cmake" -S "$examples" -B "$work/find-package$shared" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" \
        -DCMAKE_PREFIX_PATH="$work/prefix" -DEXAMPLES_SHARED="$shared" >>"$work/log"
    "$cmake" --build "$work/find-package$shared" >>"$work/log"
    for source in "$examples"/*.c; do
        name=$(basename "$source" .c)
        program=$work/find-package$shared/$name
        uses_shared "$([ -z "$shared" ] && echo no || echo yes)" "$program"
        "$program" | diff "$work/$name.out" -
    done
    [ -e "$libraries/libiwarp.so" ] || break
done

# Both libraries by find_package. A shared library brings what it needs itself.
mkdir "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(iwarp REQUIRED COMPONENTS host)
foreach(kind host host_shared)
  if(TARGET iwarp::${kind})
    add_executable(consumer-${kind} ${SOURCE})
    target_link_libraries(consumer-${kind} PRIVATE iwarp::${kind})
  endif()
endforeach()
END
"$cmake" -S "$work/consumer" -B "$work/consumer/build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DSOURCE="$here/consumer.c" >>"$work/log"
"$cmake" --build "$work/consumer/build" >>"$work/log"
says "$work/consumer/build/consumer-host"
if [ -e "$libraries/libiwarp_host.so" ]; then
    uses_shared yes "$work/consumer/build/consumer-host_shared"
    says "$work/consumer/build/consumer-host_shared"
fi
