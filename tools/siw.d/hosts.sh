#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: hosts.sh make SERVER-DRIVER CLIENT-DRIVER       (siw or iwarp)
#        hosts.sh run server|client COMMAND [ARG...]
# Inside the user-mode kernel: two network namespaces with a cable between them, each with a device of its driver, as two
# hosts have; and commands there. The server is at 10.8.0.1 and fd08::1, the client at 10.8.0.2 and fd08::2. Those made
# before go.
set -euo pipefail
state=/run/iwarp-hosts

within() {
    nsenter --net="/proc/$(cat "$state/$1")/ns/net" "${@:2}"
}

forget() {
    local one
    for one in server client; do
        [ ! -e "$state/$one" ] || kill "$(cat "$state/$one")" || true
    done
    rm -rf "$state"
    # Their network devices go later, and only then the devices on them.
    while rdma link show | grep -q ' host[sc][0-9]*/'; do sleep 0.05; done
}

# add SIDE DRIVER NETDEV NUMBER
add() {
    setsid unshare -n sleep infinity </dev/null >/dev/null 2>&1 &
    echo $! >"$state/$1"
    until [ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    ip link set "$3" netns $!
    within "$1" ip link set lo up
    within "$1" ip link set "$3" up
    within "$1" ip addr add "10.8.0.$4/24" dev "$3"
    within "$1" ip addr add "fd08::$4/64" dev "$3" nodad
    within "$1" rdma link add "$3" type "$2" netdev "$3"
}

case "${1:-}:$#" in
make:3)
    forget
    mkdir "$state"
    ip link add "hosts$$" type veth peer name "hostc$$"
    add server "$2" "hosts$$" 1
    add client "$3" "hostc$$" 2
    ;;
run:1 | run:2) exit 64 ;;
run:*)
    ulimit -l unlimited # siw counts registered memory against it, also root's
    exec nsenter --net="/proc/$(cat "$state/$2")/ns/net" "${@:3}"
    ;;
*)
    sed -n '3,4s/^# //p' "$0" >&2
    exit 64
    ;;
esac
