#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The first process inside the user-mode kernel: siw_lines=N (the kernel's command line) serial lines are
# served once siw0 is there, with siw_driver=iwarp beside iw0. It prints errors on the console; when this process ends,
# the kernel ends, too.
set -u
: "${siw_lines:?}" "${siw_address:?}" "${siw_address6:?}"
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

give_up() {
    echo "siw: $*"
    exit 1
}

mount -t proc none /proc || exit 1
mount -t sysfs none /sys || give_up "no sysfs"
mount -t devtmpfs none /dev || give_up "no devtmpfs"
mkdir -p /dev/pts /dev/shm
mount -t devpts none /dev/pts
mount -t tmpfs -o mode=1777 none /dev/shm || give_up "no tmpfs"
mount -t tmpfs -o mode=755 none /run
ln -s /proc/self/fd /dev/fd
# perftest measures time with the processor's clock, which is the host's.
[ -z "${siw_clock:-}" ] ||
    { { cat /proc/cpuinfo && echo "cpu MHz : $siw_clock"; } >/run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo; } ||
    give_up "no clock"
hostname siw

# Station and peer meet on lo: with Ethernet's MTU their segments are those of a real network.
ip link set lo mtu 1500 up || give_up "no loopback"

# add_device NAME TYPE NETDEV ADDRESS ADDRESS6
add_device() {
    { ip link set "$3" up && ip addr add "$4/24" dev "$3" && ip addr add "$5/64" dev "$3" nodad; } || give_up "no $3"
    rdma link add "$1" type "$2" netdev "$3" || give_up "no $1"
    rdma link show "$1/1" | grep -q 'state ACTIVE' || give_up "$1 is not active: $(rdma link show)"
}

if [ "${siw_driver:-siw}" = iwarp ]; then
    mount -t debugfs none /sys/kernel/debug || give_up "no debugfs"
    mount -t tracefs none /sys/kernel/tracing || give_up "no tracefs"
    mount -t configfs none /sys/kernel/config || give_up "no configfs"
    add_device iw0 iwarp dummy0 "$siw_address" "$siw_address6"
    ip link add dummy1 type dummy || give_up "no dummy1"
    add_device siw0 siw dummy1 10.7.1.1 fd07:0:0:1::1
else
    add_device siw0 siw dummy0 "$siw_address" "$siw_address6"
fi
[ -e /dev/infiniband/rdma_cm ] || give_up "no /dev/infiniband/rdma_cm"

/usr/bin/python3 -IS "${0%/*}/channel.py" serve "$siw_lines"
give_up "the command channels have ended"
