#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: check_siw_errors.sh FOLDER-OF-PROGRAMS
# tools/siw where it cannot do its work: a kernel that does not start, packages that are missing, no room, a build that is
# killed; and what measures there. Needs no kernel, but what one is built and run with; skipped (77) without. Has folders of its own.
set -euo pipefail

siw=$(realpath -s "$1")/iwarp-siw
source=/usr/src/linux-source-6.1.tar.xz
for path in "$source" /etc/libibverbs.d/siw.driver; do
    [ -e "$path" ] || {
        echo "skipped: there is no $path"
        exit 77
    }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/tmp" "$scratch/cache"
export TMPDIR=$scratch/tmp XDG_CACHE_HOME=$scratch/cache
cache=$XDG_CACHE_HOME/iwarp/siw
cd "$scratch"

fail() {
    echo "not so: $*" >&2
    cat "$scratch/said" >&2
    exit 1
}

# fails WHAT REGEX COMMAND...: exit status $expected, this is said, and nothing stays.
expected=3
fails() {
    local status=0
    "${@:3}" >said 2>&1 || status=$?
    [ $status = $expected ] || fail "$1: exit status $status"
    grep -qE "$2" said || fail "$1: expected '$2'"
    [ -z "$(ls "$TMPDIR")" ] || fail "$1: $(ls "$TMPDIR") stays"
}

# kernel LINE...: a program in its place.
kernel() {
    printf '%s\n' '#!/bin/sh' "$@" >kernel
    chmod +x kernel
}

# in_namespace COMMAND...: as root of a namespace of its own, which may mount.
in_namespace() {
    unshare -rm "$@"
}

export IW_SIW_KERNEL=$scratch/kernel
fails "no such kernel" "^siw: there is no program $scratch/kernel" "$siw" up
kernel 'echo "Linux version 0"' 'echo "Kernel panic - not syncing: no root"' 'exit 1'
fails "it ends" '^Kernel panic - not syncing: no root$' "$siw" up
grep -q "^siw: the kernel did not start; all of its console: $cache/console.log$" said || fail "it ends: what next?"
grep -q 'Linux version 0' "$cache/console.log" || fail "its console is kept"
kernel 'echo "siw: no siw0"' 'exec sleep 1000'
fails "it has no siw" '^siw: no siw0$' "$siw" up
kernel 'echo "siw: serving"' 'exit 1'
fails "it ends when it is needed" 'the kernel did not start' "$siw" up
printf 'no program' >kernel
fails "it is no program" 'the kernel did not start' "$siw" up
unset IW_SIW_KERNEL
expected=64
fails "no such mend" '^mend: 1,99: expected .all., .none., or numbers of 1,2,3' "$siw" up --mend 1,99
fails "no version" '^siw: --kernel 6: expected a version of Linux, like 6.1.176 or 6.12$' "$siw" up --kernel 6
expected=3
fails "no such version" '^siw: there is no package linux-source-5.99 of Linux 5.99.1 here; apt-cache policy linux-source-5.99 shows them$' \
    "$siw" build --mend none --kernel 5.99.1

if in_namespace true 2>/dev/null; then
    # shellcheck disable=SC2016
    fails "no package" '^siw: packages are missing; tools/dev setup siw, or install: linux-source-6.1$' \
        in_namespace sh -c 'mount -t tmpfs none /usr/src && exec "$0" up' "$siw"
    # shellcheck disable=SC2016
    fails "no room" "^siw: not enough room in $cache: a build needs [0-9]+ MB, 1 MB are free$" \
        in_namespace sh -c 'mount -t tmpfs -o size=1m none "$XDG_CACHE_HOME" && exec "$0" up' "$siw"
fi

# The measurements inside the kernel.
tools=$(dirname "$(readlink -f "$siw")")
expected=1
fails "no perftest" '^bench_siw.py: there is no ib_write_bw, .*tools/dev setup record' \
    env PATH=/nowhere /usr/bin/python3 "$tools/bench_siw.py" "$1" work
fails "no perftest for the driver" '^bench_kernel.py: there is no ib_write_bw, .*tools/dev setup record' \
    env PATH=/nowhere /usr/bin/python3 "$tools/bench_kernel.py" "$1" work
# rate PROGRAM
rate() {
    # shellcheck disable=SC2016
    unshare -rmn sh -c 'mount -t tmpfs none /sys/module && mkdir -p /sys/module/siw/parameters && exec timeout 60 "$@"' \
        sh "$tools/siw.d/rate.py" "$1" 64 1 N
}
cat >perftest <<'EOF'
#!/usr/bin/python3
import socket, sys, time
if sys.argv[-1] == "10.7.0.1":
    sys.exit(2)
server = socket.create_server(("", 18515))
time.sleep(1000)
EOF
chmod +x perftest
if unshare -rmn true 2>/dev/null; then
    fails "its server ends" '^rate.py: false ended with status 1 before it listened$' rate false
    fails "its client ends" '^rate.py: the client of .*/perftest ended with status 2$' rate "$scratch/perftest"
    sed -i '/^server = /d' perftest
    IW_RATE_PATIENCE=1 fails "its server does not listen" '^rate.py: .*/perftest does not listen$' rate "$scratch/perftest"
    pgrep -f "$scratch/perftest" && fail "its server goes on"
fi
expected=73
fails "no place" '^siw: cannot make /proc/iwarp/siw' env XDG_CACHE_HOME=/proc "$siw" up
expected=3

# A build that is killed outright leaves its folder and its processes; the next one removes them. One that is asked to
# end leaves nothing.
begin_build() {
    "$siw" build >said 2>&1 &
    building=$!
    until compgen -G "$cache/build.??????/arch" >left && [ "$(cat left)" != "${1:-}" ]; do
        kill -0 $building || fail "it builds"
        sleep 0.02
    done
    read -r group _ <"$cache/building"
}

# alive GROUP: has it processes that are more than zombies?
alive() {
    pgrep -r R,S,D,T -g "$1" >/dev/null
}

begin_build
kill -KILL $building
wait $building && fail "killed, it does not end well"
alive "$group" || fail "what it had started goes on"
killed=$group
begin_build "$(cat left)"
alive "$killed" && fail "that is ended by the next one"
kill -TERM $building
wait $building && fail "asked to end, it does not end well"
alive "$group" && fail "its processes end"
left=$(cd "$cache" && ls)
[ "$left" = "$(printf '%s\n' build.log console.log)" ] || fail "$left stay"
echo "all as it should be"
